//! MQTT over simulated TCP: what QoS 0, 1 and 2 promise holds, whatever the timeline does to links and processes.
#![allow(missing_docs)]

mod common;

use common::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use voxpath_sim::plan::{
    Change, Event, Link, LinkChange, LinkEvent, MptcpEnd, MptcpEnds, Plan, Process, ProcessApp, ProcessEvent,
    Way, loss,
};
use voxpath_sim::{Data, Report, Simulation, check};
use voxpath_tcp::Profile;

const MESSAGES: u32 = 12;
/// Everybody has connected and subscribed by then.
const BEGIN: u64 = 5;
/// Nothing breaks any more, and whatever was stopped runs again.
const HEALED: u64 = 60;
const END: u64 = 400;

/// Processes, by their index.
const BROKER: u32 = 0;
const PUBLISHER: u32 = 1;
const SUBSCRIBER: u32 = 2;

/// Something that goes wrong, and for how many seconds.
#[derive(Debug, Clone)]
enum Trouble {
    Stopped(u32),
    Cut { link: u32 },
    Lossy { link: u32, way: Way, percent: u32 },
}

fn trouble() -> impl Strategy<Value = (Trouble, u64, u64)> {
    let way = || prop_oneof![Just(Way::Ab), Just(Way::Ba)];
    let what = prop_oneof![
        3 => (0..3_u32).prop_map(Trouble::Stopped),
        2 => (0..2_u32).prop_map(|link| Trouble::Cut { link }),
        3 => (0..2_u32, way(), 1..40_u32)
            .prop_map(|(link, way, percent)| Trouble::Lossy { link, way, percent }),
    ];
    // Tenths of seconds, so that troubles overlap, and some end in the moment in which others begin.
    (what, BEGIN * 10..HEALED * 10 - 1, 1..200_u64)
}

fn clients(name: &str, version: &str, start_s: u64, in_flight: u16, layers: &Value) -> Value {
    json!({
        "broker": {"node": 1, "port": 1883}, "count": 1, "start_ns": start_s * SECOND, "spread_ns": 0,
        "retry_ns": SECOND, "version": version, "client_id": name, "clean": false, "keep_alive_s": 4,
        "session_expiry_s": if version == "5" { 100_000 } else { 0 }, "in_flight": in_flight,
        "topic_aliases": 0, "user": null, "password": null, "will": null, "layers": layers,
    })
}

/// TLS with OpenSSL's sizes, WebSocket, or one over the other.
fn layers([tls, websocket]: [bool; 2]) -> Value {
    let sizes = json!({
        "library": "openssl", "server": "cloud", "certificate_bytes": 800,
    });
    let place = json!({"host": "cloud:1883", "path": "/mqtt"});
    json!({"tls": tls.then_some(sizes), "websocket": websocket.then_some(place)})
}

/// A publisher, a broker and a subscriber in a row.
fn plan(versions: [bool; 2], qos: u8, in_flight: u16, persistent: bool) -> Plan {
    plan_over(&json!({"tls": null, "websocket": null}), versions, qos, in_flight, persistent)
}

/// The same, over layers.
fn plan_over(layers: &Value, versions: [bool; 2], qos: u8, in_flight: u16, persistent: bool) -> Plan {
    let way = |delay_ms: u64| {
        let mut way = wire(delay_ms * MS);
        way.rate_bps = Some(1_000_000);
        way
    };
    let mut plan = pipe(way(10), way(10));
    let mut third = plan.nodes[1].clone();
    third.name = "third".into();
    third.addresses = vec![[10, 0, 0, 3].into()];
    plan.nodes.push(third);
    plan.links.push(Link { mtu: None, name: "line".into(), a: 1, b: 2, ab: way(30), ba: way(30) });
    plan.duration_ns = Some(END * SECOND);
    let version = |is_five: bool| if is_five { "5" } else { "3.1.1" };
    let broker = json!({
        "kind": "broker", "port": 1883, "connections": 100, "sessions": 100, "packet_bytes": 1_000_000,
        "in_flight": in_flight, "queue_messages": 1000, "queue_bytes": null, "full": "drop_new",
        "queue_qos0": false, "retained_messages": 100, "topic_aliases": 10, "session_expiry_s": u32::MAX,
        "maximum_qos": 2, "users": [], "persistent": persistent, "layers": layers,
    });
    let publisher = json!({
        "kind": "publisher", "clients": clients("p", version(versions[0]), BEGIN, in_flight, layers), "topic": "a/b",
        "sizes": [100, 3000], "interval_ns": 3 * SECOND, "messages": MESSAGES, "qos": qos, "retain": false,
        "expiry_s": null,
    });
    // It never has enough, so that the run goes on for as long as it may.
    let subscriber = json!({
        "kind": "subscriber", "clients": clients("s", version(versions[1]), 0, in_flight, layers),
        "filters": ["a/#"], "qos": 2, "messages": 1_000_000,
    });
    for (node, name, app) in
        [(1, "broker", broker), (0, "publisher", publisher), (2, "subscriber", subscriber)]
    {
        let app: ProcessApp = serde_json::from_value(app).expect("settings");
        let tcp = Profile::Linux.config().into();
        plan.processes.push(Process {
            name: name.into(),
            node,
            simulated: false,
            tcp,
            mptcp: None,
            wake_ns: 0,
            app,
        });
    }
    plan
}

/// Has troubles happen. A process that is stopped twice at a time is stopped until the last of them is over.
fn add(plan: &mut Plan, troubles: &[(Trouble, u64, u64)]) {
    let tenth = SECOND / 10;
    let mut events: Vec<(u64, Change)> = Vec::new();
    let mut stops: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
    for (what, at, lasts) in troubles {
        let end = (at + lasts).min(HEALED * 10);
        let mut link = |link: u32, way: Way, begins: LinkChange, ends: LinkChange| {
            let change = |set| Change::Link(LinkEvent { link, direction: way, set });
            events.push((*at, change(begins)));
            events.push((end, change(ends)));
        };
        match what {
            Trouble::Stopped(process) => stops.entry(*process).or_default().push((*at, end)),
            Trouble::Cut { link: it } => {
                for way in [Way::Ab, Way::Ba] {
                    link(*it, way, LinkChange::Up { up: false }, LinkChange::Up { up: true });
                }
            }
            Trouble::Lossy { link: it, way, percent } => {
                let lost = |p| LinkChange::Loss { loss: loss::Bernoulli { p }.into() };
                link(*it, *way, lost(f64::from(*percent) / 100.0), lost(0.0));
            }
        }
    }
    for (process, mut spans) in stops {
        spans.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::new();
        for (at, end) in spans {
            match merged.last_mut() {
                Some((_, last)) if at <= *last => *last = end.max(*last),
                _ => merged.push((at, end)),
            }
        }
        for (at, end) in merged {
            events.push((at, Change::Process(ProcessEvent { process, runs: false })));
            events.push((end, Change::Process(ProcessEvent { process, runs: true })));
        }
    }
    events.sort_by_key(|(at, _)| *at);
    plan.events = events.into_iter().map(|(at, change)| Event { at_ns: at * tenth, change }).collect();
}

fn numbers(report: &Report, of: &str, name: &str) -> Vec<u64> {
    match column(table(report, of), name) {
        Data::U64(values) => values.clone(),
        Data::OptU64(values) => values.iter().map(|value| value.expect("a message of this run")).collect(),
        other => panic!("{name} is no number: {other:?}"),
    }
}

fn went(plan: &Plan) -> Report {
    let problems = check(plan);
    assert!(problems.is_empty(), "{problems:?}");
    let report = Simulation::new(plan.clone(), 0, &Default::default()).expect("a valid plan").run();
    assert!(report.verdict.valid, "{:?}", report.verdict.problems);
    report
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn messages_come_as_their_qos_promises_over_restarts_disconnects_and_loss(
        versions in any::<[bool; 2]>(),
        qos in 0..3_u8,
        in_flight in 1..5_u16,
        over in any::<[bool; 2]>(),
        multipath in any::<[bool; 3]>(),
        wake_us in prop_oneof![Just(0_u64), 1..50_000_u64],
        troubles in prop::collection::vec(trouble(), 0..8),
    ) {
        let mut plan = plan_over(&layers(over), versions, qos, in_flight, true);
        plan.processes.iter_mut().for_each(|process| process.wake_ns = wake_us * 1000);
        for (process, _) in plan.processes.iter_mut().zip(multipath).filter(|(_, over)| *over) {
            let end = MptcpEnd { tcp: process.tcp.clone(), mptcp: Default::default(), backups: vec![] };
            process.mptcp = Some(MptcpEnds { client: end.clone().into(), server: end.into() });
        }
        add(&mut plan, &troubles);
        let report = went(&plan);
        let deliveries = numbers(&report, "publications", "deliveries");
        let duplicates = numbers(&report, "publications", "duplicates");
        prop_assert_eq!(deliveries.len(), MESSAGES as usize);
        for (message, (&came, &again)) in deliveries.iter().zip(&duplicates).enumerate() {
            match qos {
                0 => prop_assert!(came <= 1 && again == 0, "{message} came {came} times, and {again} again"),
                1 => prop_assert_eq!(came, 1, "{} did not come", message),
                _ => prop_assert!(came == 1 && again == 0, "{message} came {came} times, and {again} again"),
            }
        }
        // Of those that came for the first time, none overtook another.
        let came = numbers(&report, "deliveries", "message").into_iter();
        let again = numbers(&report, "deliveries", "again");
        let firsts: Vec<u64> = came.zip(again).filter(|(_, again)| *again == 0).map(|(it, _)| it).collect();
        prop_assert!(firsts.is_sorted(), "{firsts:?}");
    }
}

fn stop_and_start(process: u32, at: u64, again: Option<u64>) -> Vec<Event> {
    let event =
        |at: u64, runs| Event { at_ns: at * SECOND, change: Change::Process(ProcessEvent { process, runs }) };
    let mut events = vec![event(at, false)];
    events.extend(again.map(|at| event(at, true)));
    events
}

#[test]
fn a_broker_that_stores_nothing_forgets_who_had_subscribed() {
    // The subscriber is away when the broker comes back, so it cannot subscribe again in time.
    let mut plan = plan([false, false], 2, 4, false);
    plan.events = stop_and_start(SUBSCRIBER, 6, Some(60));
    plan.events.extend(stop_and_start(BROKER, 7, Some(8)));
    plan.events.sort_by_key(|event| event.at_ns);
    let forgets = went(&plan);
    assert_eq!(numbers(&forgets, "publications", "deliveries")[1..].iter().sum::<u64>(), 0);
    if let ProcessApp::Broker(broker) = &mut plan.processes[BROKER as usize].app {
        broker.persistent = true;
    }
    let stores = went(&plan);
    assert_eq!(numbers(&stores, "publications", "deliveries").iter().sum::<u64>(), u64::from(MESSAGES));
}

#[test]
fn a_broker_that_is_stopped_refuses_connections_and_those_that_it_had_are_reset() {
    let mut plan = plan([false, false], 1, 4, true);
    plan.events = stop_and_start(BROKER, 10, Some(20));
    let report = went(&plan);
    // Each tries again a second after it was reset or refused: about ten times in the ten seconds.
    for lost in numbers(&report, "clients", "connections_lost") {
        assert!((9..=11).contains(&lost), "{lost} connections were lost");
    }
    let told = table(&report, "events");
    assert_eq!(*column(told, "what"), Data::Text(vec!["process".into(); 2]));
    assert_eq!(*column(told, "value"), Data::Text(vec!["false".into(), "true".into()]));
}

#[test]
fn a_publisher_that_is_stopped_for_good_is_not_waited_for() {
    let mut plan = plan([false, false], 1, 4, true);
    plan.duration_ns = None;
    let ProcessApp::Subscriber(subscriber) = &mut plan.processes[SUBSCRIBER as usize].app else {
        panic!("a subscriber")
    };
    subscriber.messages = None;
    let ProcessApp::Publisher(publisher) = &mut plan.processes[PUBLISHER as usize].app else {
        panic!("a publisher")
    };
    publisher.messages = None;
    assert!(check(&plan)[0].path.to_string().ends_with("processes[1].app"), "it never ends");
    plan.events = stop_and_start(PUBLISHER, 10, None);
    let report = went(&plan);
    // At 5, 8 seconds and what connecting took.
    assert_eq!(numbers(&report, "publications", "deliveries"), [1, 1]);
    assert_eq!(status(&report, PUBLISHER as usize), "unfinished");
}

#[test]
fn a_publisher_does_not_wait_for_messages_of_qos_0_that_its_connection_lost() {
    let mut plan = plan([false, false], 0, 4, true);
    plan.duration_ns = None;
    for process in &mut plan.processes {
        match &mut process.app {
            ProcessApp::Subscriber(subscriber) => subscriber.messages = None,
            ProcessApp::Publisher(publisher) => {
                (publisher.interval_ns, publisher.messages) = (100 * MS, Some(300));
                // It does not hear by itself that the broker is gone, so its buffer fills up.
                publisher.clients.keep_alive_s = 0;
                Arc::make_mut(&mut process.tcp).send_buffer = 20_000;
            }
            _ => {}
        }
    }
    // The broker is killed behind a link that is cut, so its reset does not come before the next segment is sent.
    let cut = |at: u64, up| {
        let change = |direction| Change::Link(LinkEvent { link: 0, direction, set: LinkChange::Up { up } });
        [Way::Ab, Way::Ba].map(|way| Event { at_ns: at * SECOND, change: change(way) })
    };
    plan.events = cut(10, false).into_iter().chain(stop_and_start(BROKER, 12, Some(13))).collect();
    plan.events.extend(cut(40, true));
    let report = went(&plan);
    assert_eq!(status(&report, PUBLISHER as usize), "completed");
    let deliveries = numbers(&report, "publications", "deliveries");
    let came: u64 = deliveries.iter().sum();
    assert!(deliveries.len() == 300 && (50..300).contains(&came), "{came} came");
    let Data::OptU64(sent) = column(table(&report, "publications"), "sent_ns") else { panic!("times") };
    assert!(sent.iter().any(Option::is_none), "the buffer took all");
}

/// When the first message was at the broker, and what the publisher's end put on the wire.
fn first_message(over: [bool; 2]) -> (u64, u64) {
    let report = went(&plan_over(&layers(over), [false, false], 0, 4, true));
    let Data::OptU64(at) = column(table(&report, "publications"), "broker_ns") else { panic!("times") };
    let sent = numbers(&report, "wire", "data_bytes_sent");
    let end = texts(&report, "wire", "end").iter().position(|end| end == "opened by publisher");
    (at[0].expect("it came"), sent[end.expect("its end")])
}

#[test]
fn layers_cost_their_round_trips_and_octets() {
    let [plain, tls, websocket, both] =
        [[false, false], [true, false], [false, true], [true, true]].map(first_message);
    // TCP's handshake, that of a layer, and CONNECT take a round trip of 20 ms each, and what the link needs to send them.
    for (layered, trips) in [(tls, 1), (websocket, 1), (both, 2)] {
        let later = layered.0 - plain.0;
        let least = trips * 20 * MS;
        assert!((least..least + 25 * MS).contains(&later), "{trips} round trips: {later} ns");
    }
    // CONNECT, PUBLISHes and DISCONNECT are so many packets.
    let packets = u64::from(MESSAGES) + 2;
    assert_eq!(tls.1 - plain.1, 517 + 80 + packets * 22 + 24);
    // A client's frame has 2 octets of header up to 125, 4 above, and a mask; half the bodies have 3000.
    let frames = packets * 6 + u64::from(MESSAGES) / 2 * 2;
    // A Close frame has a status code.
    let close = 2 + 4 + 2;
    let request = websocket.1 - plain.1 - frames - close;
    assert_eq!(both.1 - tls.1, request + 1 + 22 + frames + close + 22, "its Origin is https://");
}

#[test]
fn events_of_processes_come_in_turn() {
    let fails = |events: Vec<Event>, place: &str| {
        let mut plan = plan([false, false], 1, 4, true);
        plan.events = events;
        let problems = check(&plan);
        assert!(problems.iter().any(|problem| problem.path.to_string() == place), "{problems:?}");
    };
    fails(stop_and_start(9, 10, None), "events[0].change.process");
    fails(stop_and_start(BROKER, 10, Some(20)).split_off(1), "events[0].change.process");
    let mut twice = stop_and_start(BROKER, 10, None);
    twice.extend(stop_and_start(BROKER, 20, None));
    fails(twice, "events[1].change.process");
}
