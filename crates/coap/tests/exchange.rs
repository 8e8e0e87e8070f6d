//! Clients and servers across a network that loses, repeats and holds back.
#![expect(clippy::tests_outside_test_module, reason = "a test crate")]

use core::net::SocketAddr;
use proptest::prelude::*;
use std::collections::BTreeMap;
use voxpath_coap::*;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;

const FROM: SocketAddr = SocketAddr::new(core::net::IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 1)), 5683);

const TRANSMISSION: Transmission = Transmission { ack_timeout: Span::from_secs(2), max_retransmit: 4 };

fn client(confirmable: bool, block: u32) -> Client {
    let exponent = Block::exponent_of(block).unwrap();
    Client::new(ClientSettings {
        confirmable,
        path: vec!["field".into(), "data".into()],
        block: Block { number: 0, more: false, exponent },
        body: 1 << 20,
        transmission: TRANSMISSION,
        first_id: 65_530,
    })
}

fn server() -> Server {
    server_of(1 << 20, 1000)
}

fn server_of(body: u32, kept: usize) -> Server {
    let (confirmable, transmission) = (true, TRANSMISSION);
    Server::new(ServerSettings { body, exponent: 6, kept, confirmable, transmission, first_id: 0 })
}

/// The answer to a datagram, if there is one.
fn asked(server: &mut Server, now: Time, datagram: &Payload) -> Option<Payload> {
    server.receive(now, FROM, datagram, &mut |_| Span::ZERO);
    server.poll_transmit().map(|(_, answer)| answer)
}

/// What became of bodies, and what the server got, with what happens to each datagram: lost, once, or twice.
fn run(
    mut client: Client,
    server: &mut Server,
    sizes: &[u32],
    mut fates: impl FnMut() -> u8,
) -> (Vec<Ended>, Vec<Payload>) {
    let mut below = |limit: Span| Span::from_nanos(limit.as_nanos() / 2);
    let mut now = Time::ZERO;
    for (key, &size) in (0..).zip(sizes) {
        client.put(now, key, Payload::pattern(7, u64::from(key) << 32, size), &mut below);
    }
    let (mut ended, mut bodies) = (Vec::new(), Vec::new());
    let mut steps = 0;
    while client.is_busy() {
        steps += 1;
        assert!(steps < 100_000, "it goes on for ever");
        while let Some(datagram) = client.poll_transmit() {
            for _ in 0..fates() {
                if let Some(answer) = asked(server, now, &datagram) {
                    for _ in 0..fates() {
                        client.receive(now, &answer, &mut below);
                    }
                }
            }
        }
        if let Some(due) = client.poll_timeout().filter(|_| client.is_busy()) {
            now = now.max(due);
            client.advance(now, &mut below);
        }
    }
    while let Some(one) = client.poll_ended() {
        ended.push(one);
    }
    while let Some(one) = server.poll_received() {
        assert_eq!(one.path, ["field", "data"]);
        bodies.push(one.body);
    }
    (ended, bodies)
}

#[test]
fn a_small_body_is_one_request_and_one_answer_with_the_octets_of_the_standard() {
    let mut it = client(true, 1024);
    it.put(Time::ZERO, 0, Payload::bytes(b"hello".as_slice().into()), &mut |_| Span::ZERO);
    let mut bytes = Vec::new();
    it.poll_transmit().unwrap().write_to(&mut bytes);
    // Version 1, CON, a token of two octets; PUT; identifier; token; two segments of Uri-Path; marker; body.
    assert_eq!(bytes, b"\x42\x03\xff\xfa\xff\xfa\xb5field\x04data\xffhello");
    let answer = asked(&mut server(), Time::ZERO, &Payload::bytes(bytes.into())).unwrap();
    let mut bytes = Vec::new();
    answer.write_to(&mut bytes);
    assert_eq!(bytes, b"\x62\x44\xff\xfa\xff\xfa");
    assert_eq!(it.poll_timeout(), Some(Time::from_nanos(2_000_000_000)));
    it.receive(Time::ZERO, &answer, &mut |_| Span::ZERO);
    assert_eq!(it.poll_ended(), Some(Ended { key: 0, outcome: Outcome::Done }));
    assert!(!it.is_busy());
}

#[test]
fn a_large_body_is_blocks_and_stays_a_pattern() {
    let mut it = server();
    let (ended, bodies) = run(client(true, 64), &mut it, &[1000], || 1);
    assert_eq!(ended, [Ended { key: 0, outcome: Outcome::Done }]);
    assert_eq!(bodies, [Payload::pattern(7, 0, 1000)]);
    assert_eq!(it.counts().received, 16);
}

#[test]
fn silence_is_asked_again_four_times_at_doubled_intervals() {
    let mut it = client(true, 1024);
    let mut below = |_| Span::ZERO;
    it.put(Time::ZERO, 3, Payload::Empty, &mut below);
    let mut at = Vec::new();
    while let Some(due) = it.poll_timeout() {
        at.push(due.as_nanos() / 1_000_000_000);
        it.advance(due, &mut below);
    }
    // RFC 7252 section 4.8.2: MAX_TRANSMIT_WAIT is 93 s with the largest random factor, 62 s with the smallest.
    assert_eq!(at, [2, 6, 14, 30, 62]);
    assert_eq!(it.counts().retransmissions, 4);
    assert_eq!(it.poll_ended(), Some(Ended { key: 3, outcome: Outcome::TimedOut }));
}

#[test]
fn a_block_out_of_order_and_a_body_too_large_are_refused() {
    let mut it = server_of(100, 10);
    let mut ask = |id: u16, number: u32, more: bool, len: u32| {
        let mut request = Message::new(Kind::Confirmable, Code::PUT, id, vec![]);
        request.block1 = Some(Block { number, more, exponent: 2 });
        request.payload = Payload::pattern(0, 0, len);
        Message::parse(&asked(&mut it, Time::ZERO, &request.emit()).unwrap()).unwrap().code
    };
    assert_eq!(ask(0, 1, true, 64), Code::REQUEST_ENTITY_INCOMPLETE);
    assert_eq!(ask(1, 0, true, 64), Code::CONTINUE);
    assert_eq!(ask(2, 1, false, 37), Code::REQUEST_ENTITY_TOO_LARGE);
    assert_eq!(ask(3, 0, true, 63), Code::REQUEST_ENTITY_INCOMPLETE);
    assert_eq!(ask(4, 0, true, 64), Code::CONTINUE);
    assert_eq!(ask(5, 1, false, 36), Code::CHANGED);
}

#[test]
fn what_a_server_does_not_know_is_answered_as_the_standard_says() {
    let mut it = server();
    let mut ask = |bytes: &'static [u8]| {
        let answer = asked(&mut it, Time::ZERO, &Payload::bytes(bytes.into()))?;
        let mut out = Vec::new();
        answer.write_to(&mut out);
        Some(out)
    };
    // A ping is reset; a critical option of 9 is bad; what is not there is not found, DELETE is no method here; an acknowledgment is not answered.
    assert_eq!(ask(b"\x40\x00\x00\x01").unwrap(), b"\x70\x00\x00\x01");
    assert_eq!(ask(b"\x40\x03\x00\x02\x90").unwrap(), b"\x60\x82\x00\x02");
    assert_eq!(ask(b"\x50\x03\x00\x03\x90"), None);
    assert_eq!(ask(b"\x40\x01\x00\x04").unwrap(), b"\x60\x84\x00\x04");
    assert_eq!(ask(b"\x40\x04\x00\x07").unwrap(), b"\x60\x85\x00\x07");
    assert_eq!(ask(b"\x60\x44\x00\x05"), None);
    assert_eq!(ask(b"\xc0\x03\x00\x06"), None);
}

proptest! {
    #[test]
    fn a_confirmed_body_is_there_once_and_whole(
        sizes in prop::collection::vec(0_u32..5000, 1..6),
        block in prop::sample::select(vec![16_u32, 64, 1024]),
        fates in prop::collection::vec(prop::sample::select(vec![0_u8, 1, 1, 1, 2]), 1..50),
        confirmable in any::<bool>(),
    ) {
        let mut fates = fates.into_iter().cycle();
        let (ended, bodies) = run(client(confirmable, block), &mut server(), &sizes, || fates.next().unwrap());
        prop_assert_eq!(ended.len(), sizes.len());
        let mut times = BTreeMap::new();
        for body in &bodies {
            *times.entry(format!("{body:?}")).or_insert(0) += 1;
        }
        for one in ended {
            let size = sizes[one.key as usize];
            let whole = format!("{:?}", Payload::pattern(7, u64::from(one.key) << 32, size));
            let came = times.get(&whole).copied().unwrap_or(0);
            // Whatever the client knows, the server has it at most once; what is done is there. Empty ones are alike.
            if size > 0 {
                prop_assert!(came <= 1);
                prop_assert!(one.outcome != Outcome::Done || came == 1);
            }
        }
    }

    #[test]
    fn no_datagram_makes_either_panic(datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..30)) {
        let mut it = client(true, 1024);
        let mut below = |_| Span::ZERO;
        it.put(Time::ZERO, 0, Payload::pattern(0, 0, 3000), &mut below);
        let mut other = server();
        for bytes in datagrams {
            let datagram = Payload::bytes(bytes.into());
            asked(&mut other, Time::ZERO, &datagram);
            it.receive(Time::ZERO, &datagram, &mut below);
        }
    }

    #[test]
    fn messages_are_what_was_emitted(
        id in any::<u16>(), token in prop::collection::vec(any::<u8>(), 0..=8), code in 1_u8..=255,
        path in prop::collection::vec("[a-z]{0,300}", 0..4), number in 0..Block::MOST, more in any::<bool>(),
        exponent in 0_u8..7, len in 0_u32..2000,
    ) {
        let mut message = Message::new(Kind::NonConfirmable, Code(code), id, token);
        message.path = path;
        message.block1 = Some(Block { number, more, exponent });
        message.block2 = Some(Block { number: Block::MOST - 1 - number, more: !more, exponent });
        (message.observe, message.max_age) = (Some(number), Some(u32::from(id) << 16));
        message.etag = (!message.token.is_empty()).then(|| message.token.clone());
        message.payload = Payload::pattern(3, 5, len);
        prop_assert_eq!(Message::parse(&message.emit()), Some(message));
    }
}
