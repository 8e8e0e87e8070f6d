//! Any bytes as CoAP messages; and a server that strangers feed, beside a client that keeps the rules and is fed as well.
//!
//! Whatever comes, nothing panics, a message that was understood is the one that is emitted again, and what the server keeps is
//! bounded. In the end a body of the client still comes, block by block, once, and comes back to it when it asks and observes.

use crate::source::Source;
use bytes::Bytes;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use voxpath_coap::{
    Block, Client, ClientSettings, Code, Ended, Kind, Message, Outcome, Server, ServerSettings, Transmission,
};
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;

/// Octets of the largest body that the server takes, and what it keeps of others.
const LARGEST: u32 = 500;
const KEPT: usize = 6;
/// Who keeps the rules; strangers have the ports above.
const CLIENT: u16 = 40_000;

/// Panics if something does not hold.
pub fn run(bytes: &[u8]) {
    if let Some(message) = Message::parse(&octets(bytes)).filter(|message| !message.has_bad_option) {
        assert_eq!(Message::parse(&message.emit()), Some(message));
    }
    feed(&mut Source::new(bytes));
}

fn octets(bytes: &[u8]) -> Payload {
    Payload::bytes(Bytes::copy_from_slice(bytes))
}

const fn from(port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)
}

fn below(limit: Span) -> Span {
    Span::from_nanos(limit.as_nanos() / 2)
}

fn feed(source: &mut Source<'_>) {
    let transmission = Transmission { ack_timeout: Span::from_secs(2), max_retransmit: 4 };
    let mut server = Server::new(ServerSettings {
        body: LARGEST,
        exponent: source.u8() % 7,
        kept: KEPT,
        confirmable: source.bit(),
        transmission,
        first_id: source.u16(),
    });
    let path = vec![String::from("honest")];
    let mut client = Client::new(ClientSettings {
        confirmable: source.bit(),
        path: path.clone(),
        block: Block { number: 0, more: false, exponent: source.u8() % 7 },
        body: LARGEST,
        transmission,
        first_id: source.u16(),
    });
    let mut now = Time::ZERO;
    let mut is_observing = false;
    while !source.is_empty() {
        match source.below(9) {
            0 => now += Span::from_millis(source.u16().into()),
            1 => client.put(now, 0, Payload::pattern(1, 0, source.u8().into()), &mut below),
            // Whoever answers in the server's name: nothing is promised of the exchange then.
            2 | 3 => {
                let forged = if source.bit() { response(source) } else { any(source) };
                client.receive(now, &forged, &mut below);
            }
            4 => client.advance(now, &mut below),
            5 => client.get(now, 1, &mut below),
            6 if !is_observing => {
                client.observe(now, 2, &mut below);
                is_observing = true;
            }
            6 => {
                server.update(now, &path, Payload::pattern(1, 0, source.u8().into()), None, &mut below);
                server.advance(now, &mut below);
            }
            _ => {
                let stranger = from(CLIENT + 1 + u16::from(source.u8() % 4));
                let datagram = if source.bit() { request(source) } else { any(source) };
                server.receive(now, stranger, &datagram, &mut below);
            }
        }
        // What both say is lost so far.
        while client.poll_transmit().is_some() {}
        while server.poll_transmit().is_some() {}
        while client.poll_content().is_some() {}
        assert!(server.kept() <= 4 * KEPT, "what is kept is bounded");
    }
    // Exchanges that were begun are given up, and notifications, too.
    client.leave(now, &mut below);
    while let Some(due) = Time::earliest([client.poll_timeout(), server.poll_timeout()]) {
        now = now.max(due);
        client.advance(now, &mut below);
        server.advance(now, &mut below);
        while client.poll_transmit().is_some() {}
        while server.poll_transmit().is_some() {}
    }
    while client.poll_ended().is_some() {}
    while server.poll_received().is_some() {}
    // Strangers may have all the places that there are.
    server.forget_all();
    let body = Payload::pattern(1, 0, LARGEST);
    client.put(now, 7, body.clone(), &mut below);
    client.get(now, 8, &mut below);
    talk(now, &mut client, &mut server);
    client.observe(now, 9, &mut below);
    talk(now, &mut client, &mut server);
    let ended: Vec<Ended> = core::iter::from_fn(|| client.poll_ended()).collect();
    assert_eq!(ended, [7, 8].map(|key| Ended { key, outcome: Outcome::Done }));
    let came: Vec<Payload> = core::iter::from_fn(|| server.poll_received()).map(|it| it.body).collect();
    assert_eq!(came, core::slice::from_ref(&body), "whoever keeps the rules is served, once");
    let back: Vec<Payload> = core::iter::from_fn(|| client.poll_content()).map(|it| it.body).collect();
    assert_eq!(back, [body.clone(), body]);
    assert_eq!(server.observations(), 1);
}

/// Carries what both have to say, without a loss.
fn talk(now: Time, client: &mut Client, server: &mut Server) {
    loop {
        let mut is_quiet = true;
        while let Some(request) = client.poll_transmit() {
            is_quiet = false;
            server.receive(now, from(CLIENT), &request, &mut below);
        }
        while let Some((to, answer)) = server.poll_transmit() {
            is_quiet = false;
            assert_eq!(to, from(CLIENT), "nobody else observes");
            client.receive(now, &answer, &mut below);
        }
        if is_quiet {
            return;
        }
    }
}

fn any(source: &mut Source<'_>) -> Payload {
    let len = source.u8().into();
    octets(source.take(len))
}

/// A request that is right, so that what is in it is looked at.
fn request(source: &mut Source<'_>) -> Payload {
    let kind = source.pick(&[Kind::Confirmable, Kind::NonConfirmable]);
    let code = source.pick(&[Code::PUT, Code::POST, Code::GET, Code(4)]);
    let mut message = Message::new(kind, code, source.u8().into(), vec![source.u8()]);
    message.path = vec![source.pick(&["honest", "a", ""]).into()];
    let number = u32::from(source.u8() % 4);
    let block = Block { number, more: source.bit(), exponent: source.u8() % 7 };
    message.block1 = source.bit().then_some(block);
    message.block2 = source.bit().then_some(block);
    message.observe = source.bit().then(|| u32::from(source.u8() % 3));
    let len = if source.bit() { block.size() } else { source.u8().into() };
    message.payload = Payload::pattern(2, u64::from(number) * 16, len);
    message.emit()
}

/// An answer to one of the client's first requests, or nearly.
fn response(source: &mut Source<'_>) -> Payload {
    let kind = source.pick(&[Kind::Acknowledgement, Kind::Confirmable, Kind::NonConfirmable, Kind::Reset]);
    let code =
        source.pick(&[Code::EMPTY, Code::CHANGED, Code::CONTENT, Code::CONTINUE, Code::METHOD_NOT_ALLOWED]);
    let id = source.u16();
    let token = if code == Code::EMPTY { Vec::new() } else { id.to_be_bytes().to_vec() };
    let mut message = Message::new(kind, code, id, token);
    let block = Block { number: u32::from(source.u8() % 3), more: source.bit(), exponent: source.u8() % 7 };
    if code == Code::CONTENT {
        message.observe = source.bit().then(|| source.u16().into());
        message.block2 = source.bit().then_some(block);
        message.payload = Payload::pattern(1, block.offset(), block.size());
    } else if code != Code::EMPTY {
        message.block1 = source.bit().then_some(block);
    }
    message.emit()
}
