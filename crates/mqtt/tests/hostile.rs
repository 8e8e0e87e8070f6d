//! A broker and clients that break the rules: each is told the right reason and closed, and the others notice nothing.

mod common;

use common::{World, message, settings};
use voxpath_mqtt::broker::{BrokerSettings, Full};
use voxpath_mqtt::packet::{Connect, Disconnect};
use voxpath_mqtt::{Broker, Decoder, Packet, Properties, Property, Qos, Reason, Version};
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;

fn connect(version: Version, name: &str) -> Packet {
    Packet::Connect(Connect {
        version,
        clean: true,
        keep_alive: 10,
        client_id: name.into(),
        will: None,
        user: None,
        password: None,
        properties: Properties::default(),
    })
}

fn bytes(text: &str) -> Payload {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pairs = digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("digits"), 16).expect("hexadecimal"));
    Payload::bytes(pairs.collect::<Vec<u8>>().into())
}

/// What a broker answers to bytes after the CONNECT of a client, and whether it closes then.
fn answers(broker: &mut Broker, version: Version, sent: &Payload) -> (Vec<Packet>, bool) {
    broker.accept(Time::ZERO, 0);
    broker.handle_input(Time::ZERO, 0, connect(version, "hostile").emit(version));
    broker.handle_input(Time::ZERO, 0, sent.clone());
    let mut decoder = Decoder::new(u32::MAX);
    while broker.poll_ready().is_some() {
        while let Some(data) = broker.poll_transmit(0) {
            decoder.push(data);
        }
        broker.wrote(Time::ZERO, 0);
    }
    let mut packets = Vec::new();
    while let Ok(Some((packet, _))) = decoder.next(version) {
        packets.push(packet);
    }
    let closes = broker.wants_close(0);
    broker.closed(Time::ZERO, 0);
    (packets, closes)
}

#[test]
fn who_breaks_a_rule_is_told_which_and_closed() {
    for (sent, reason, what) in [
        ("00 00", Reason::MALFORMED, "a packet of no type"),
        ("30 FF FF FF FF", Reason::MALFORMED, "a length of five bytes"),
        ("36 05 0001 61 0001", Reason::MALFORMED, "QoS 3"),
        ("38 04 0001 61 00", Reason::MALFORMED, "a repetition at QoS 0"),
        ("32 06 0001 61 0000 00", Reason::PROTOCOL_ERROR, "an identifier of zero"),
        ("30 04 0001 2B 00", Reason::TOPIC_INVALID, "a topic with a wildcard"),
        ("30 03 0000 00", Reason::PROTOCOL_ERROR, "neither a topic nor an alias"),
        ("30 07 0001 61 03 23 0000", Reason::TOPIC_ALIAS_INVALID, "an alias of zero"),
        ("30 07 0001 61 03 23 000B", Reason::TOPIC_ALIAS_INVALID, "an alias above the maximum"),
        ("30 06 0000 03 23 0001", Reason::PROTOCOL_ERROR, "an alias that stands for nothing"),
        ("30 08 0001 61 04 0101 0100", Reason::PROTOCOL_ERROR, "a property twice"),
        ("30 06 0001 61 02 7F00", Reason::MALFORMED, "a property that is none"),
        ("30 09 0001 61 05 11 00000001", Reason::PROTOCOL_ERROR, "a property of another packet"),
        ("30 06 0001 61 02 0B01", Reason::PROTOCOL_ERROR, "a client's subscription identifier"),
        ("30 04 0001 FF 00", Reason::MALFORMED, "a topic that is no UTF-8"),
        ("30 04 0001 00 00", Reason::MALFORMED, "a topic with U+0000"),
        ("80 07 0001 00 0001 61 00", Reason::MALFORMED, "flags that are reserved"),
        ("82 03 0001 00", Reason::PROTOCOL_ERROR, "a subscription to nothing"),
        ("82 07 0001 00 0001 61 03", Reason::PROTOCOL_ERROR, "a subscription at QoS 3"),
        ("82 07 0001 00 0001 61 C0", Reason::MALFORMED, "options that are reserved"),
        ("82 10 0001 00 000A 2473686172652F672F61 04", Reason::PROTOCOL_ERROR, "no local, but shared"),
        ("C0 01 00", Reason::MALFORMED, "a ping with content"),
        ("D0 00", Reason::PROTOCOL_ERROR, "what only a server sends"),
        ("20 03 00 00 00", Reason::PROTOCOL_ERROR, "a CONNACK of a client"),
        ("E0 07 00 05 11 00000001", Reason::PROTOCOL_ERROR, "a session that is kept at last"),
    ] {
        let mut broker = Broker::new(BrokerSettings::default());
        let (packets, closes) = answers(&mut broker, Version::V5, &bytes(sent));
        let expected = Packet::Disconnect(Disconnect::because(reason));
        assert_eq!(packets.last(), Some(&expected), "{what}");
        assert!(closes, "{what}");
        let (packets, closes) =
            answers(&mut broker, Version::V5, &connect(Version::V5, "x").emit(Version::V5));
        assert_eq!(packets.last(), Some(&Packet::Disconnect(Disconnect::because(Reason::PROTOCOL_ERROR))));
        assert!(closes, "a second CONNECT");
    }
}

#[test]
fn a_packet_that_is_too_large_is_refused_before_it_is_there() {
    let settings = BrokerSettings { maximum_packet: 1000, ..BrokerSettings::default() };
    let mut broker = Broker::new(settings);
    // Says that a quarter of a gigabyte follows.
    let (packets, closes) = answers(&mut broker, Version::V5, &bytes("30 FF FF FF 7F 00"));
    let too_large = Packet::Disconnect(Disconnect::because(Reason::PACKET_TOO_LARGE));
    assert_eq!((packets.last(), closes), (Some(&too_large), true));
}

#[test]
fn more_than_the_receive_maximum_in_flight_is_refused() {
    let settings = BrokerSettings { receive_maximum: 3, ..BrokerSettings::default() };
    let mut broker = Broker::new(settings);
    let sent = (1..=4).map(|id| bytes(&format!("34 06 0001 61 {id:04X} 00")));
    let (packets, closes) = answers(&mut broker, Version::V5, &Payload::rope(sent));
    let exceeded = Packet::Disconnect(Disconnect::because(Reason::RECEIVE_MAXIMUM_EXCEEDED));
    assert_eq!((packets.len(), packets.last(), closes), (5, Some(&exceeded), true));
}

#[test]
fn wrong_credentials_versions_and_numbers_of_clients_are_refused() {
    let users = vec![("ann".into(), b"secret".as_slice().into())];
    let mut broker = Broker::new(BrokerSettings { users, ..BrokerSettings::default() });
    for (version, code) in [(Version::V311, 4), (Version::V5, 0x86)] {
        let (packets, closes) = answers(&mut broker, version, &Payload::Empty);
        let Some(Packet::Connack(connack)) = packets.last() else { panic!("{packets:?}") };
        let mut emitted = Vec::new();
        packets[0].emit(version).write_to(&mut emitted);
        assert_eq!((emitted[3], closes), (code, true));
        assert_eq!(connack.reason, Reason::BAD_CREDENTIALS);
    }
    let mut broker = Broker::new(BrokerSettings { connections: 1, ..BrokerSettings::default() });
    broker.accept(Time::ZERO, 1);
    broker.accept(Time::ZERO, 2);
    assert!(!broker.wants_close(1) && broker.wants_close(2), "the second one is too many");
    let mut broker = Broker::new(BrokerSettings::default());
    broker.accept(Time::ZERO, 0);
    broker.handle_input(Time::ZERO, 0, bytes("10 0D 0004 4D515454 09 02 0000 0001 61"));
    assert!(broker.wants_close(0), "there is no version 9");
}

#[test]
fn who_never_connects_and_who_falls_silent_is_closed() {
    let mut world = World::new(BrokerSettings::default());
    world.broker.accept(Time::ZERO, 9);
    let mut silent = settings(Version::V5, "silent");
    silent.keep_alive = 10;
    let silent = world.add(silent, &[]);
    world.connect(silent);
    world.deliver(silent, false, u32::MAX);
    world.broker.handle_timeout(Time::ZERO + Span::from_millis(14_999));
    assert!(!world.broker.wants_close(0));
    world.broker.handle_timeout(Time::ZERO + Span::from_millis(15_000));
    assert!(world.broker.wants_close(0), "one and a half times ten seconds have passed");
    world.broker.handle_timeout(Time::ZERO + Span::from_millis(90_000));
    assert!(world.broker.wants_close(9), "it has said nothing at all");
}

#[test]
fn a_full_queue_drops_the_new_or_the_old_or_the_client() {
    for (full, expected, stays) in
        [(Full::DropNew, vec![0, 1, 2], true), (Full::DropOld, vec![7, 8, 9], true)]
    {
        let broker = BrokerSettings { queue_messages: 3, full, ..BrokerSettings::default() };
        let mut world = World::new(broker);
        let publisher = world.add(settings(Version::V5, "p"), &[]);
        let subscriber = world.add(settings(Version::V5, "s"), &[("a", Qos::AtLeastOnce)]);
        world.settle();
        world.cut(subscriber);
        for token in 0..10 {
            world.publish(publisher, message(token, "a", Qos::AtLeastOnce));
            while world.deliver(publisher, false, u32::MAX) | world.deliver(publisher, true, u32::MAX) {}
        }
        world.settle();
        let came: Vec<u64> = world.clients[subscriber].came.iter().map(common::token_of).collect();
        assert_eq!(came, expected, "{full:?}");
        assert_eq!(world.broker.counts().messages_dropped, 7);
        assert_eq!(world.broker.counts().longest_queue, 3);
        assert!(stays);
    }
    let broker = BrokerSettings {
        queue_messages: 3,
        receive_maximum: 1,
        full: Full::Disconnect,
        ..BrokerSettings::default()
    };
    let mut world = World::new(broker);
    let publisher = world.add(settings(Version::V5, "p"), &[]);
    let subscriber = world.add(settings(Version::V5, "s"), &[("a", Qos::AtLeastOnce)]);
    world.settle();
    // The subscriber takes nothing: one message is in flight, three wait, the fifth has no room.
    for token in 0..5 {
        world.publish(publisher, message(token, "a", Qos::AtLeastOnce));
        while world.deliver(publisher, false, u32::MAX) | world.deliver(publisher, true, u32::MAX) {}
    }
    assert_eq!(world.broker.counts().messages_dropped, 1);
    assert!(!world.deliver(subscriber, true, u32::MAX), "its connection is gone");
}

#[test]
fn retained_messages_wills_and_shared_subscriptions_are_as_the_standard_says() {
    let mut world = World::new(BrokerSettings::default());
    let publisher = world.add(settings(Version::V5, "p"), &[]);
    let members: Vec<usize> = (0..2)
        .map(|it| world.add(settings(Version::V5, &format!("m{it}")), &[("$share/g/a/+", Qos::AtLeastOnce)]))
        .collect();
    world.settle();
    for token in 0..10 {
        let retained = message(token, "a/b", Qos::AtLeastOnce);
        world.publish(publisher, voxpath_mqtt::Outgoing { retain: true, ..retained });
        world.settle();
    }
    let counts = members.iter().map(|&it| world.clients[it].came.len()).collect::<Vec<_>>();
    assert_eq!(counts, [5, 5], "each message goes to one of the group, in turn");
    let late = world.add(settings(Version::V311, "late"), &[("a/#", Qos::AtLeastOnce)]);
    world.settle();
    let came = &world.clients[late].came;
    assert_eq!(came.iter().map(|it| (common::token_of(it), it.retain)).collect::<Vec<_>>(), [(9, true)]);
    let mut dying = settings(Version::V5, "dying");
    dying.will = Some(voxpath_mqtt::Will {
        topic: "a/will".into(),
        payload: b"gone".as_slice().into(),
        qos: Qos::AtLeastOnce,
        retain: false,
        properties: Properties(vec![Property::WillDelay(5)]),
    });
    let dying = world.add(dying, &[]);
    world.connect(dying);
    while world.deliver(dying, false, u32::MAX) | world.deliver(dying, true, u32::MAX) {}
    world.cut(dying);
    let deliver = |world: &mut World| {
        while world.deliver(late, true, u32::MAX) | world.deliver(late, false, u32::MAX) {}
    };
    world.advance(Span::from_millis(4_999));
    deliver(&mut world);
    assert_eq!(world.clients[late].came.len(), 1);
    world.advance(Span::from_millis(1));
    deliver(&mut world);
    let will = &world.clients[late].came[1];
    assert_eq!(
        (&*will.topic, will.payload.as_bytes().map(|it| &it[..])),
        ("a/will", Some(b"gone".as_slice()))
    );
}
