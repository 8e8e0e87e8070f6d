//! Packets: parsing undoes emitting, any bytes are parsed or refused, and a stream may be cut anywhere.

use proptest::prelude::*;
use voxpath_mqtt::packet::{
    Acknowledge, Connack, Connect, Disconnect, Granted, RetainHandling, Subscribe, SubscribeTo, Unsubscribe,
    Varint,
};
use voxpath_mqtt::{Decoder, Packet, Properties, Property, Publish, Qos, Reason, Version, Will};
use voxpath_wire::Payload;

fn hex(payload: &Payload) -> String {
    let mut bytes = Vec::new();
    payload.write_to(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn packets_are_the_bytes_that_mosquitto_and_paho_send() {
    // Recorded between mosquitto_pub 2.0.11, paho 2.1 and mosquitto 2.0.11.
    let connect = |version, properties| Connect {
        version,
        clean: true,
        keep_alive: 60,
        client_id: "c-0".into(),
        will: None,
        user: None,
        password: None,
        properties: Properties(properties),
    };
    let publish = |qos, id| Publish {
        dup: false,
        qos,
        retain: false,
        topic: "a/b".into(),
        id,
        properties: Properties::default(),
        payload: Payload::bytes(b"hello".as_slice().into()),
    };
    let subscribe = || Subscribe {
        id: 1,
        to: vec![SubscribeTo::new("a/#".into(), Qos::ExactlyOnce)],
        properties: Properties::default(),
    };
    let granted = |properties| Granted { id: 1, reasons: vec![Reason(2)], properties };
    let none = Properties::default;
    let (v4, v5) = (Version::V311, Version::V5);
    for (version, packet, expected) in [
        (v4, Packet::Connect(connect(v4, vec![])), "100f00044d5154540402003c0003632d30"),
        (v5, Packet::Connect(connect(v5, vec![])), "101000044d5154540502003c000003632d30"),
        (
            v5,
            Packet::Connect(connect(v5, vec![Property::ReceiveMaximum(20)])),
            "101300044d5154540502003c032100140003632d30",
        ),
        (v4, Packet::Publish(publish(Qos::AtMostOnce, None)), "300a0003612f6268656c6c6f"),
        (v4, Packet::Publish(publish(Qos::AtLeastOnce, Some(1))), "320c0003612f62000168656c6c6f"),
        (v5, Packet::Publish(publish(Qos::ExactlyOnce, Some(1))), "340d0003612f6200010068656c6c6f"),
        (
            v5,
            Packet::Connack(Connack {
                session_present: false,
                reason: Reason::SUCCESS,
                properties: Properties(vec![Property::TopicAliasMaximum(10), Property::ReceiveMaximum(20)]),
            }),
            "200900000622000a210014",
        ),
        (v5, Packet::Puback(Acknowledge::because(1, Reason::NO_MATCHING_SUBSCRIBERS)), "4003000110"),
        (v5, Packet::Pubrel(Acknowledge::new(1)), "62020001"),
        (v4, Packet::Subscribe(subscribe()), "820800010003612f2302"),
        (v5, Packet::Subscribe(subscribe()), "82090001000003612f2302"),
        (v4, Packet::Suback(granted(none())), "9003000102"),
        (v5, Packet::Suback(granted(none())), "900400010002"),
        (v5, Packet::Disconnect(Disconnect::because(Reason::SUCCESS)), "e000"),
    ] {
        assert_eq!(hex(&packet.emit(version)), expected, "{packet:?}");
    }
}

fn text() -> impl Strategy<Value = voxpath_mqtt::Text> {
    "[a-zé/]{0,20}".prop_map(Into::into)
}

fn topic() -> impl Strategy<Value = voxpath_mqtt::Text> {
    "[a-z/]{1,300}".prop_map(Into::into)
}

fn qos() -> impl Strategy<Value = Qos> {
    prop_oneof![Just(Qos::AtMostOnce), Just(Qos::AtLeastOnce), Just(Qos::ExactlyOnce)]
}

fn user() -> impl Strategy<Value = Vec<Property>> {
    prop::collection::vec((text(), text()).prop_map(Property::User), 0..3)
}

fn connect(version: Version) -> impl Strategy<Value = Packet> {
    let will = (topic(), prop::collection::vec(any::<u8>(), 0..50), qos(), any::<bool>(), any::<u32>());
    let secrets = prop::option::of((text(), prop::option::of(prop::collection::vec(any::<u8>(), 0..20))));
    (any::<bool>(), any::<u16>(), text(), prop::option::of(will), secrets, any::<u32>(), user()).prop_map(
        move |(clean, keep_alive, client_id, will, secrets, expiry, user)| {
            let is_v5 = version == Version::V5;
            let mut properties = vec![];
            if is_v5 {
                properties.push(Property::SessionExpiry(expiry));
                properties.extend(user);
            }
            let (user, password) = secrets.map_or((None, None), |(user, password)| (Some(user), password));
            Packet::Connect(Connect {
                version,
                clean,
                keep_alive,
                client_id,
                will: will.map(|(topic, payload, qos, retain, delay)| Will {
                    topic,
                    payload: payload.into(),
                    qos,
                    retain,
                    properties: Properties(if is_v5 { vec![Property::WillDelay(delay)] } else { vec![] }),
                }),
                user,
                password: password.map(Into::into),
                properties: Properties(properties),
            })
        },
    )
}

fn publish(version: Version) -> impl Strategy<Value = Packet> {
    (topic(), qos(), any::<bool>(), any::<bool>(), 1..=u16::MAX, (0..100_000_u32, 1..50_u32), user())
        .prop_map(move |(topic, qos, dup, retain, id, (len, ids), user)| {
            let mut properties = vec![];
            if version == Version::V5 {
                properties.extend(user);
                properties.push(Property::MessageExpiry(ids));
                properties.extend((1..=ids % 4).map(|id| Property::SubscriptionId(Varint(id * 1000))));
            }
            Packet::Publish(Publish {
                dup: dup && qos > Qos::AtMostOnce,
                qos,
                retain,
                topic,
                id: (qos > Qos::AtMostOnce).then_some(id),
                properties: Properties(properties),
                payload: Payload::pattern(1, 8, len),
            })
        })
}

fn other(version: Version) -> impl Strategy<Value = Packet> {
    let reason = if version == Version::V5 { any::<u8>().boxed() } else { Just(0).boxed() };
    let filters = prop::collection::vec((topic(), qos(), any::<bool>(), any::<bool>(), 0..3_u8), 1..5);
    (1..=u16::MAX, reason, filters, user(), 0..10_u8).prop_map(move |(id, reason, filters, user, which)| {
        let is_v5 = version == Version::V5;
        let properties = || Properties(if is_v5 { user.clone() } else { vec![] });
        let acknowledge = || Acknowledge { id, reason: Reason(reason), properties: properties() };
        let reasons = vec![Reason(1); filters.len()];
        match which {
            0 => Packet::Puback(acknowledge()),
            1 => Packet::Pubrec(acknowledge()),
            2 => Packet::Pubrel(acknowledge()),
            3 => Packet::Pubcomp(acknowledge()),
            4 => {
                let to =
                    filters.into_iter().map(|(filter, qos, no_local, as_published, handling)| SubscribeTo {
                        filter,
                        qos,
                        no_local: is_v5 && no_local,
                        retain_as_published: is_v5 && as_published,
                        retain_handling: match handling {
                            1 if is_v5 => RetainHandling::IfNew,
                            2 if is_v5 => RetainHandling::Never,
                            _ => RetainHandling::Always,
                        },
                    });
                Packet::Subscribe(Subscribe { id, to: to.collect(), properties: properties() })
            }
            5 => Packet::Suback(Granted { id, reasons, properties: properties() }),
            6 => {
                let filters = filters.into_iter().map(|(filter, ..)| filter).collect();
                Packet::Unsubscribe(Unsubscribe { id, filters, properties: properties() })
            }
            7 => {
                let reasons = if is_v5 { reasons } else { vec![] };
                Packet::Unsuback(Granted { id, reasons, properties: properties() })
            }
            8 => Packet::Disconnect(Disconnect { reason: Reason(reason), properties: properties() }),
            _ => Packet::Pingreq,
        }
    })
}

fn packet() -> impl Strategy<Value = (Version, Packet)> {
    prop_oneof![Just(Version::V311), Just(Version::V5)].prop_flat_map(|version| {
        prop_oneof![connect(version).boxed(), publish(version).boxed(), other(version).boxed()]
            .prop_map(move |packet| (version, packet))
    })
}

proptest! {
    #[test]
    fn parsing_undoes_emitting_wherever_a_stream_is_cut(
        (version, packet) in packet(),
        cuts in prop::collection::vec(1..5000_u32, 0..6),
        as_bytes in any::<bool>(),
    ) {
        let mut stream = packet.emit(version);
        let len = stream.len();
        let mut bytes = Vec::new();
        stream.write_to(&mut bytes);
        if as_bytes {
            stream = Payload::bytes(bytes.clone().into());
        }
        let mut decoder = Decoder::new(u32::MAX);
        let mut at = 0;
        for cut in cuts {
            let take = cut.min(len - at);
            decoder.push(stream.slice(at, take));
            at += take;
            if at < len {
                prop_assert_eq!(decoder.next(version), Ok(None));
            }
        }
        decoder.push(stream.slice(at, len - at));
        let (found, length) = decoder.next(version).expect("it is a packet").expect("it is whole");
        prop_assert_eq!(length, len);
        prop_assert_eq!(decoder.octets(), 0);
        if as_bytes {
            let mut again = Vec::new();
            found.emit(version).write_to(&mut again);
            prop_assert_eq!(again, bytes);
        } else {
            prop_assert_eq!(found, packet);
        }
    }

    #[test]
    fn any_bytes_are_parsed_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        is_v5 in any::<bool>(),
    ) {
        let version = if is_v5 { Version::V5 } else { Version::V311 };
        let mut decoder = Decoder::new(1000);
        decoder.push(Payload::bytes(bytes.into()));
        while let Ok(Some((packet, _))) = decoder.next(version) {
            let emitted = packet.emit(version);
            let mut again = Decoder::new(u32::MAX);
            again.push(emitted);
            prop_assert_eq!(again.next(version).map(|found| found.map(|(packet, _)| packet)), Ok(Some(packet)));
        }
    }
}
