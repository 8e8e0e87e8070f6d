//! GET, block-wise (RFC 7959), and observation (RFC 7641), across a network that loses and repeats.
#![expect(clippy::tests_outside_test_module, reason = "a test crate")]

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use proptest::prelude::*;
use voxpath_coap::*;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;

const FROM: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 5683);
const TRANSMISSION: Transmission = Transmission { ack_timeout: Span::from_secs(2), max_retransmit: 4 };
const PATH: &[&str] = &["sensors", "1"];

fn path() -> Vec<String> {
    PATH.iter().map(ToString::to_string).collect()
}

fn client(block: u32) -> Client {
    let exponent = Block::exponent_of(block).unwrap();
    Client::new(ClientSettings {
        confirmable: true,
        path: path(),
        block: Block { number: 0, more: false, exponent },
        body: 1 << 20,
        transmission: TRANSMISSION,
        first_id: 65_530,
    })
}

fn server(confirmable: bool) -> Server {
    server_of(confirmable, 1000)
}

fn server_of(confirmable: bool, kept: usize) -> Server {
    let transmission = TRANSMISSION;
    Server::new(ServerSettings { body: 1 << 20, exponent: 6, kept, confirmable, transmission, first_id: 7 })
}

fn half(limit: Span) -> Span {
    Span::from_nanos(limit.as_nanos() / 2)
}

fn reading(number: u32, size: u32) -> Payload {
    Payload::pattern(number, 0, size)
}

/// A client and a server, and what happens to each datagram between them: lost, once, or twice.
struct Pair<F> {
    now: Time,
    client: Client,
    server: Server,
    fates: F,
    contents: Vec<Payload>,
    ended: Vec<Outcome>,
}

impl<F: FnMut() -> u8> Pair<F> {
    fn new(client: Client, server: Server, fates: F) -> Self {
        Self { now: Time::ZERO, client, server, fates, contents: Vec::new(), ended: Vec::new() }
    }

    fn update(&mut self, number: u32, size: u32) {
        self.server.update(self.now, &path(), reading(number, size), None, &mut half);
        self.carry();
    }

    /// Carries what there is, until nobody has anything to say.
    fn carry(&mut self) {
        for _ in 0..10_000 {
            let mut is_quiet = true;
            while let Some(datagram) = self.client.poll_transmit() {
                is_quiet = false;
                for _ in 0..(self.fates)() {
                    self.server.receive(self.now, FROM, &datagram, &mut half);
                }
            }
            while let Some((to, datagram)) = self.server.poll_transmit() {
                is_quiet = false;
                assert_eq!(to, FROM);
                for _ in 0..(self.fates)() {
                    self.client.receive(self.now, &datagram, &mut half);
                }
            }
            self.contents.extend(core::iter::from_fn(|| self.client.poll_content()).map(|it| it.body));
            self.ended.extend(core::iter::from_fn(|| self.client.poll_ended()).map(|it| it.outcome));
            if is_quiet {
                return;
            }
        }
        panic!("they talk for ever");
    }

    /// Lets time pass until `to`.
    fn pass(&mut self, to: Time) {
        while let Some(at) =
            Time::earliest([self.client.poll_timeout(), self.server.poll_timeout()]).filter(|at| *at <= to)
        {
            self.now = self.now.max(at);
            self.client.advance(self.now, &mut half);
            self.server.advance(self.now, &mut half);
            self.carry();
        }
        self.now = to;
    }

    fn wait(&mut self, seconds: u64) {
        self.pass(self.now + Span::from_secs(seconds));
    }
}

fn octets(datagram: &Payload) -> Vec<u8> {
    let mut bytes = Vec::new();
    datagram.write_to(&mut bytes);
    bytes
}

#[test]
fn a_registration_and_a_notification_have_the_octets_of_the_standard() {
    let (mut client, mut server) = (client(1024), server(true));
    let two = |text: &'static [u8]| Payload::bytes(text.into());
    server.update(Time::ZERO, &path(), two(b"22"), Some(30), &mut half);
    client.observe(Time::ZERO, 0, &mut half);
    let request = client.poll_transmit().unwrap();
    // CON GET with a token of two octets; Observe 0, which is no octet; Uri-Path.
    assert_eq!(octets(&request), b"\x42\x01\xff\xfa\xff\xfa\x60\x57sensors\x011");
    server.receive(Time::ZERO, FROM, &request, &mut half);
    let (_, answer) = server.poll_transmit().unwrap();
    // ACK 2.05; Observe 1; Max-Age 30 (14 = 6 + 8).
    assert_eq!(octets(&answer), b"\x62\x45\xff\xfa\xff\xfa\x61\x01\x81\x1e\xff22");
    client.receive(Time::ZERO, &answer, &mut half);
    let at = Time::ZERO + Span::from_millis(5);
    server.update(at, &path(), two(b"23"), Some(30), &mut half);
    let (_, told) = server.poll_transmit().unwrap();
    assert_eq!(octets(&told), b"\x42\x45\x00\x07\xff\xfa\x61\x05\x81\x1e\xff23");
    client.receive(at, &told, &mut half);
    assert_eq!(octets(&client.poll_transmit().unwrap()), b"\x60\x00\x00\x07");
    let bodies: Vec<_> = core::iter::from_fn(|| client.poll_content()).map(|it| octets(&it.body)).collect();
    assert_eq!(bodies, [b"22", b"23"]);
    // Fresh for 30 s; then it waits for 5 s, and half of the 10 s that it draws below.
    assert_eq!(client.poll_timeout(), Some(at + Span::from_secs(40)));
}

#[test]
fn a_server_that_observes_no_more_tells_its_large_representation_once() {
    for size in [40, 5000] {
        let mut pair = Pair::new(client(64), server_of(true, 1), || 1);
        pair.update(3, size);
        let mut other = client(64);
        other.observe(Time::ZERO, 0, &mut half);
        let elsewhere = SocketAddr::new(FROM.ip(), FROM.port() + 1);
        pair.server.receive(Time::ZERO, elsewhere, &other.poll_transmit().unwrap(), &mut half);
        while pair.server.poll_transmit().is_some() {}
        pair.client.observe(pair.now, 0, &mut half);
        pair.carry();
        assert_eq!(pair.contents, [reading(3, size)]);
        assert_eq!(pair.ended, [Outcome::NotObserved]);
    }
}

#[test]
fn a_large_representation_is_fetched_block_by_block_and_stays_a_pattern() {
    for (block, datagrams) in [(1024, 5), (64, 79)] {
        let mut pair = Pair::new(client(block), server(true), || 1);
        pair.update(3, 5000);
        pair.client.get(pair.now, 0, &mut half);
        pair.carry();
        assert_eq!(pair.contents, [reading(3, 5000)]);
        assert_eq!((pair.ended, pair.client.counts().sent), (vec![Outcome::Done], datagrams));
    }
}

#[test]
fn what_changes_while_it_is_fetched_is_fetched_from_the_start_and_given_up_in_the_end() {
    let (mut client, mut server) = (client(64), server(true));
    client.get(Time::ZERO, 0, &mut half);
    for number in 0..50 {
        server.update(Time::ZERO, &path(), reading(number, 200), None, &mut half);
        let Some(request) = client.poll_transmit() else { break };
        server.receive(Time::ZERO, FROM, &request, &mut half);
        client.receive(Time::ZERO, &server.poll_transmit().unwrap().1, &mut half);
    }
    assert_eq!(client.poll_ended().map(|it| it.outcome), Some(Outcome::Changed));
    // A first time, and MAX_RETRANSMIT times again: two requests each.
    assert_eq!((client.counts().sent, client.poll_content()), (2 * 5, None));
}

#[test]
fn what_is_not_there_or_too_large_is_told() {
    let mut pair = Pair::new(client(1024), server(true), || 1);
    pair.client.get(pair.now, 0, &mut half);
    pair.client.observe(pair.now, 1, &mut half);
    pair.carry();
    assert_eq!(pair.ended, [Outcome::Refused(Code::NOT_FOUND); 2]);
    pair.update(0, (1 << 20) + 1);
    pair.client.get(pair.now, 2, &mut half);
    pair.carry();
    assert_eq!(pair.ended[2..], [Outcome::Refused(Code::REQUEST_ENTITY_TOO_LARGE)]);
    assert!(pair.contents.is_empty());
}

#[test]
fn what_is_put_is_told_to_whoever_asks_or_observes() {
    let mut pair = Pair::new(client(1024), server(true), || 1);
    pair.client.put(pair.now, 0, reading(1, 3000), &mut half);
    pair.carry();
    pair.client.observe(pair.now, 1, &mut half);
    pair.carry();
    pair.client.put(pair.now, 2, reading(2, 10), &mut half);
    pair.carry();
    assert_eq!(pair.contents, [reading(1, 3000), reading(2, 10)]);
}

#[test]
fn who_leaves_is_told_nothing_more_and_who_resets_is_forgotten() {
    let mut pair = Pair::new(client(1024), server(false), || 1);
    pair.update(0, 10);
    pair.client.observe(pair.now, 0, &mut half);
    pair.carry();
    pair.client.leave(pair.now, &mut half);
    pair.carry();
    assert_eq!((pair.server.observations(), &pair.ended[..]), (0, &[Outcome::Done][..]));
    // Its good-bye is lost: the first notification is reset, though it is not confirmable.
    let mut pair = Pair::new(client(1024), server(false), || 1);
    pair.update(0, 10);
    pair.client.observe(pair.now, 0, &mut half);
    pair.carry();
    pair.client.leave(pair.now, &mut half);
    while pair.client.poll_transmit().is_some() {}
    assert_eq!(pair.server.observations(), 1);
    pair.update(1, 10);
    assert_eq!((pair.server.observations(), pair.contents.len()), (0, 1));
}

#[test]
fn while_a_notification_is_on_its_way_only_the_last_state_waits() {
    let (mut client, mut server) = (client(1024), server(true));
    let at = |millis| Time::ZERO + Span::from_millis(millis);
    server.update(at(0), &path(), reading(0, 10), None, &mut half);
    client.observe(at(0), 0, &mut half);
    server.receive(at(0), FROM, &client.poll_transmit().unwrap(), &mut half);
    client.receive(at(0), &server.poll_transmit().unwrap().1, &mut half);
    for number in 1..5 {
        server.update(at(u64::from(number)), &path(), reading(number, 10), None, &mut half);
    }
    let lost = server.poll_transmit().unwrap().1;
    assert_eq!(server.poll_transmit(), None);
    // 2.5 s later the last state takes its place, and has a message identifier of its own.
    let due = server.poll_timeout().unwrap();
    assert_eq!(due, at(2501));
    server.advance(due, &mut half);
    let told = server.poll_transmit().unwrap().1;
    assert_ne!(Message::parse(&told).unwrap().id, Message::parse(&lost).unwrap().id);
    assert_eq!(server.poll_timeout(), Some(due + Span::from_secs(5)));
    client.receive(due, &told, &mut half);
    // What was on its way for so long is acknowledged, and older.
    client.receive(due, &lost, &mut half);
    let came: Vec<_> = core::iter::from_fn(|| client.poll_content()).map(|it| it.body).collect();
    assert_eq!(came, [reading(0, 10), reading(4, 10)]);
    while let Some(answer) = client.poll_transmit() {
        server.receive(due, FROM, &answer, &mut half);
    }
    assert!(!server.is_busy() && server.observations() == 1);
}

#[test]
fn who_does_not_answer_is_an_observer_until_five_attempts_have_failed() {
    let mut pair = Pair::new(client(1024), server(true), || 1);
    pair.update(0, 10);
    pair.client.observe(pair.now, 0, &mut half);
    pair.carry();
    let now = pair.now;
    pair.server.update(now, &path(), reading(1, 10), None, &mut half);
    let mut sent = 0;
    while let Some(due) = pair.server.poll_timeout() {
        sent += core::iter::from_fn(|| pair.server.poll_transmit()).count();
        assert_eq!(pair.server.observations(), 1);
        pair.server.advance(due, &mut half);
    }
    assert_eq!((sent, pair.server.observations()), (5, 0));
}

#[test]
fn a_client_that_hears_nothing_registers_again_and_so_survives_a_server_that_forgets() {
    let mut pair = Pair::new(client(1024), server(true), || 1);
    pair.update(0, 10);
    pair.client.observe(pair.now, 0, &mut half);
    pair.carry();
    pair.server.forget_all();
    pair.wait(10);
    pair.update(1, 10);
    assert_eq!(pair.contents.len(), 1, "nobody observes");
    pair.wait(60);
    assert_eq!(pair.contents, [reading(0, 10), reading(1, 10)]);
    pair.update(2, 10);
    assert_eq!(pair.contents[2..], [reading(2, 10)]);
}

proptest! {
    #[test]
    fn an_observer_has_the_last_state_in_the_end_and_none_out_of_order(
        confirmable in any::<bool>(),
        block in prop::sample::select(vec![16_u32, 64, 1024]),
        states in prop::collection::vec((1..300_u32, 0..100_000_u64), 1..20),
        fates in prop::collection::vec(prop::sample::select(vec![0_u8, 1, 1, 1, 2]), 1..50),
    ) {
        let mut lossy = fates.into_iter().cycle();
        let whole = core::cell::Cell::new(false);
        let fates = || if whole.get() { 1 } else { lossy.next().unwrap() };
        let mut pair = Pair::new(client(block), server(confirmable), fates);
        pair.update(0, 10);
        pair.client.observe(pair.now, 0, &mut half);
        pair.carry();
        for (number, (size, millis)) in (1..).zip(&states) {
            pair.pass(pair.now + Span::from_millis(*millis));
            pair.update(number, *size);
        }
        // From now on nothing is lost: what is missing comes by a retransmission, or when what came last is out of date.
        whole.set(true);
        pair.wait(400);
        prop_assert!(pair.ended.is_empty());
        let numbers: Vec<u32> = pair.contents.iter().map(|body| match body {
            Payload::Pattern { stream, .. } => *stream,
            other => panic!("{other:?}"),
        }).collect();
        prop_assert!(numbers.is_sorted(), "{:?}", numbers);
        let (size, _) = states[states.len() - 1];
        prop_assert_eq!(pair.contents.last(), Some(&reading(states.len() as u32, size)));
    }
}
