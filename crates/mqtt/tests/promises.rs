//! What QoS 0, 1 and 2 promise holds, whatever breaks: connections at any octet, and the broker, which comes back with the
//! sessions that outlive their connections.

mod common;

use common::{World, message, settings, token_of};
use proptest::prelude::*;
use std::collections::BTreeMap;
use voxpath_mqtt::broker::BrokerSettings;
use voxpath_mqtt::{Client, ClientEvent, Outgoing, Properties, Qos, Version};
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;

const TOPICS: [&str; 3] = ["a", "a/b", "c/d/e"];
const LEVELS: [Qos; 3] = [Qos::AtMostOnce, Qos::AtLeastOnce, Qos::ExactlyOnce];

#[derive(Debug, Clone)]
enum Act {
    /// A publisher has a message.
    Publish { publisher: usize, topic: usize, qos: usize },
    /// Some octets arrive.
    Deliver { client: usize, down: bool, most: u32 },
    /// A connection breaks.
    Cut { client: usize },
    /// A client connects, if it is not connected.
    Connect { client: usize },
    /// The broker ends and begins again.
    Restart,
    /// Time passes.
    Wait { millis: u64 },
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0..2_usize, 0..3_usize, 0..3_usize)
            .prop_map(|(publisher, topic, qos)| Act::Publish { publisher, topic, qos }),
        12 => (0..4_usize, any::<bool>(), 1..200_u32)
            .prop_map(|(client, down, most)| Act::Deliver { client, down, most }),
        1 => (0..4_usize).prop_map(|client| Act::Cut { client }),
        3 => (0..4_usize).prop_map(|client| Act::Connect { client }),
        1 => Just(Act::Restart),
        1 => (0..20_000_u64).prop_map(|millis| Act::Wait { millis }),
    ]
}

fn version() -> impl Strategy<Value = Version> {
    prop_oneof![Just(Version::V311), Just(Version::V5)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn each_message_comes_as_often_as_its_qos_promises_and_in_order(
        versions in prop::collection::vec(version(), 4),
        in_flight in 1..5_u16,
        acts in prop::collection::vec(act(), 0..400),
    ) {
        let broker = BrokerSettings {
            receive_maximum: in_flight,
            queue_messages: u32::MAX,
            ..BrokerSettings::default()
        };
        let mut world = World::new(broker);
        // Two publishers, and two subscribers of overlapping filters.
        world.add(settings(versions[0], "p0"), &[]);
        world.add(settings(versions[1], "p1"), &[]);
        world.add(settings(versions[2], "s0"), &[("#", Qos::ExactlyOnce)]);
        world.add(settings(versions[3], "s1"), &[("a/#", Qos::ExactlyOnce), ("+/+/e", Qos::ExactlyOnce), ("a/b", Qos::ExactlyOnce)]);
        world.settle();
        let mut sent: Vec<(usize, usize, usize)> = Vec::new();
        for act in acts {
            match act {
                Act::Publish { publisher, topic, qos } => {
                    let token = sent.len() as u64;
                    sent.push((publisher, topic, qos));
                    world.publish(publisher, message(token, TOPICS[topic], LEVELS[qos]));
                }
                Act::Deliver { client, down, most } => { world.deliver(client, down, most); }
                Act::Cut { client } => world.cut(client),
                Act::Connect { client } => world.connect(client),
                Act::Restart => world.restart(),
                Act::Wait { millis } => world.advance(Span::from_millis(millis)),
            }
        }
        world.settle();
        prop_assert_eq!(world.broker.held(), 0, "nothing is left at the broker");
        for publisher in 0..2 {
            prop_assert_eq!(world.clients[publisher].client.backlog(), 0);
        }
        for subscriber in [2, 3] {
            let mut times: BTreeMap<u64, usize> = BTreeMap::new();
            // Of each publisher, topic and QoS the last message that came for the first time.
            let mut last: BTreeMap<(usize, usize, usize), u64> = BTreeMap::new();
            for publish in &world.clients[subscriber].came {
                let token = token_of(publish);
                let (publisher, topic, qos) = sent[token as usize];
                prop_assert_eq!(&*publish.topic, TOPICS[topic]);
                prop_assert_eq!(publish.qos, LEVELS[qos]);
                let came = times.entry(token).or_default();
                *came += 1;
                if *came == 1 {
                    let before = last.insert((publisher, topic, qos), token);
                    prop_assert!(before < Some(token), "{token} came after {before:?}");
                }
            }
            for (token, &(_, _, qos)) in (0..).zip(&sent) {
                let came = times.get(&token).copied().unwrap_or(0);
                match LEVELS[qos] {
                    Qos::AtMostOnce => prop_assert!(came <= 1, "{token} came {came} times"),
                    Qos::AtLeastOnce => prop_assert!(came >= 1, "{token} did not come"),
                    Qos::ExactlyOnce => prop_assert_eq!(came, 1, "{}", token),
                }
            }
        }
        let acknowledged: usize = (0..2).map(|it| world.clients[it].acknowledged.len()).sum();
        prop_assert_eq!(acknowledged, sent.iter().filter(|(_, _, qos)| *qos > 0).count());
    }
}

#[test]
fn a_client_tells_of_messages_of_qos_0_that_a_lost_connection_did_not_take() {
    let mut client = Client::new(settings(Version::V311, "one").into(), [].into());
    let publish = |client: &mut Client, token, qos| {
        let topic = "a".into();
        let (payload, properties) = (Payload::pattern(0, 0, 100), Properties::default());
        client.publish(Time::ZERO, Outgoing { token, topic, qos, retain: false, payload, properties });
    };
    client.connected(Time::ZERO);
    client.handle_input(Time::ZERO, Payload::bytes(b"\x20\x02\0\0".as_slice().into()));
    (0..3).zip(LEVELS).for_each(|(token, qos)| publish(&mut client, token, qos));
    // CONNECT is taken, and the first octets of the first message.
    client.poll_transmit();
    let first = client.poll_transmit().expect("a message");
    client.untake(first.slice(10, first.len() - 10));
    client.wrote(Time::ZERO);
    client.disconnected();
    let told: Vec<ClientEvent> = core::iter::from_fn(|| client.poll_event()).collect();
    assert_eq!(told, [ClientEvent::Connected { session_present: false }, ClientEvent::Lost(0)]);
    // The others are sent again, so nothing is told of them.
    assert_eq!(client.backlog(), 2);
}
