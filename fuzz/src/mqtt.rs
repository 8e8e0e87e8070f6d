//! Any bytes as packets of both versions; and a broker that hostile clients feed, beside two that keep the rules.
//!
//! Whatever comes, nothing panics, a packet that was taken is the one that is emitted again, and what the broker holds for a
//! connection is bounded. In the end a message of the two that keep the rules still comes, once.

use crate::source::Source;
use bytes::Bytes;
use std::sync::Arc;
use voxpath_mqtt::broker::{BrokerSettings, Full};
use voxpath_mqtt::packet::SubscribeTo;
use voxpath_mqtt::{
    Broker, Client, ClientEvent, ClientSettings, Decoder, Outgoing, Properties, Qos, Subscription, Version,
};
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;

/// The largest packet that the broker takes.
const LARGEST: u32 = 2_000;
/// Messages that wait for a session, and that are in flight.
const QUEUE: u32 = 10;
const IN_FLIGHT: u16 = 5;
/// Connections of who is hostile; those of the others have the numbers below.
const HOSTILE: [u32; 3] = [2, 3, 4];

/// Panics if something does not hold.
pub fn run(bytes: &[u8]) {
    for version in [Version::V311, Version::V5] {
        decode(bytes, version);
    }
    feed(&mut Source::new(bytes));
}

fn decode(bytes: &[u8], version: Version) {
    let mut decoder = Decoder::new(LARGEST);
    decoder.push(Payload::bytes(Bytes::copy_from_slice(bytes)));
    while let Ok(Some((packet, len))) = decoder.next(version) {
        assert!(len <= LARGEST);
        let emitted = packet.emit(version);
        let mut again = Decoder::new(u32::MAX);
        again.push(emitted);
        let found = again.next(version).expect("what was emitted is a packet").expect("it is whole").0;
        assert_eq!(found, packet);
    }
}

struct Pair {
    now: Time,
    broker: Broker,
    /// Publishes, and subscribes.
    clients: [Client; 2],
    came: usize,
}

fn feed(source: &mut Source<'_>) {
    let full = source.pick(&[Full::DropNew, Full::DropOld, Full::Disconnect]);
    let broker = Broker::new(BrokerSettings {
        maximum_packet: LARGEST,
        receive_maximum: IN_FLIGHT,
        queue_messages: QUEUE,
        subscriptions: 20,
        sessions: 8,
        retained_messages: 8,
        queue_qos0: source.bit(),
        full,
        ..BrokerSettings::default()
    });
    let client = |name: &str, subscriptions: Vec<Subscription>| {
        // It never falls silent.
        let settings = ClientSettings { keep_alive: 0, ..ClientSettings::new(Version::V5, name) };
        Client::new(Arc::new(settings), subscriptions.into())
    };
    // A hostile client may take the name of one of these: no name of theirs has a letter that is theirs alone.
    let to = SubscribeTo::new("honest/only".into(), Qos::ExactlyOnce);
    let clients = [
        client("honest publisher \u{1F600}", vec![]),
        client("honest subscriber \u{1F600}", vec![Subscription { to, id: None }]),
    ];
    let mut pair = Pair { now: Time::ZERO, broker, clients, came: 0 };
    for id in 0..2 {
        pair.broker.accept(pair.now, id);
        pair.clients[id as usize].connected(pair.now);
    }
    pair.settle();
    while !source.is_empty() {
        let id = source.pick(&HOSTILE);
        match source.below(8) {
            0 => pair.broker.accept(pair.now, id),
            1 => pair.broker.closed(pair.now, id),
            2 => {
                pair.now += Span::from_millis(source.u16().into());
                pair.broker.handle_timeout(pair.now);
            }
            3 => pair.broker.handle_input(pair.now, id, connect(source)),
            4 => pair.broker.handle_input(pair.now, id, subscribe(source)),
            _ => {
                let len = source.u8().into();
                let data = Bytes::copy_from_slice(source.take(len));
                pair.broker.handle_input(pair.now, id, Payload::bytes(data));
            }
        }
        pair.settle();
    }
    // Some hostile client may have filled the honest queue before; it is empty now.
    let before = pair.came;
    let message = Outgoing {
        token: 1,
        topic: "honest/only".into(),
        qos: Qos::ExactlyOnce,
        retain: false,
        payload: Payload::pattern(1, 0, 100),
        properties: Properties::default(),
    };
    pair.clients[0].publish(pair.now, message);
    pair.settle();
    assert_eq!(pair.came, before + 1, "whoever keeps the rules is served");
}

/// A CONNECT that is right, so that what follows is looked at.
fn connect(source: &mut Source<'_>) -> Payload {
    let (version, flags) = (source.pick(&[4_u8, 5]), source.pick(&[0_u8, 2]));
    let mut packet = vec![0x10, 0, 0, 4, b'M', b'Q', b'T', b'T', version, flags, 0, source.u8()];
    if version == 5 {
        packet.extend([5, 0x11, 0, 0, 0, source.u8()]);
    }
    packet.extend([0, 1, b'a' + source.u8() % 4]);
    packet[1] = packet.len() as u8 - 2;
    Payload::bytes(packet.into())
}

/// A SUBSCRIBE of 3.1.1 or 5 that may be right.
fn subscribe(source: &mut Source<'_>) -> Payload {
    let filter = source.pick(&["#", "+/a", "a/b", "$share/g/a", "honest/other"]);
    let mut packet = vec![0x82, 0, 0, 1];
    if source.bit() {
        packet.push(0);
    }
    packet.extend([0, filter.len() as u8]);
    packet.extend(filter.bytes());
    packet.push(source.u8() % 4);
    packet[1] = packet.len() as u8 - 2;
    Payload::bytes(packet.into())
}

impl Pair {
    /// What the broker and the two that keep the rules have for each other arrives; hostile clients take nothing.
    fn settle(&mut self) {
        loop {
            let mut moved = false;
            while let Some(id) = self.broker.poll_ready() {
                if self.broker.wants_close(id) {
                    assert!(id > 1, "who keeps the rules is not closed");
                    self.broker.closed(self.now, id);
                } else if id < 2 {
                    while let Some(data) = self.broker.poll_transmit(id) {
                        self.clients[id as usize].handle_input(self.now, data);
                        self.broker.wrote(self.now, id);
                    }
                    moved = true;
                }
            }
            for id in 0..2_u32 {
                let client = &mut self.clients[id as usize];
                while let Some(data) = client.poll_transmit() {
                    client.wrote(self.now);
                    self.broker.handle_input(self.now, id, data);
                    moved = true;
                }
                while let Some(event) = client.poll_event() {
                    let is_ours = |topic: &str| topic == "honest/only";
                    self.came +=
                        usize::from(matches!(&event, ClientEvent::Message(it) if is_ours(&it.topic)));
                    assert!(!matches!(event, ClientEvent::Ended(_)), "who keeps the rules goes on");
                }
            }
            while self.broker.poll_event().is_some() {}
            if !moved {
                break;
            }
        }
        // Sessions are bounded, and so is what waits for each.
        let each = QUEUE as usize + usize::from(IN_FLIGHT);
        assert!(self.broker.held() <= self.broker.sessions() * each);
        assert!(self.broker.sessions() <= 8);
        for id in HOSTILE {
            assert!(self.broker.wanted(id) <= LARGEST);
        }
    }
}
