//! Every rule of [`check`]: a plan that is broken in exactly one way is told where, and only there.
#![allow(missing_docs)]

mod common;

use common::*;
use std::net::Ipv6Addr;
use std::sync::Arc;
use voxpath_sim::plan::{
    App, Bulk, Cbr, Decoder, Direction, Download, Flow, Link, Node, NodeKind, Plan, Reorder, Route, Segment,
    Speech, SpeechResult, Transport, Voice, loss,
};
use voxpath_sim::{Observe, Simulation, check};
use voxpath_tcp::{Config, Profile};
use voxpath_units::Span;

/// Two hosts, a router between them, and a flow of every kind: valid.
fn valid() -> Plan {
    let mut plan = pipe(wire(10 * MS), wire(10 * MS));
    plan.duration_ns = Some(10 * SECOND);
    plan.nodes.push(Node {
        simulated: false,
        real: false,
        edge: None,
        name: "router".into(),
        kind: NodeKind::Router,
        addresses: vec![],
    });
    plan.links[0].b = 2;
    let second = Link { mtu: None, name: "second".into(), a: 2, b: 1, ab: wire(10 * MS), ba: wire(10 * MS) };
    plan.links.push(second);
    plan.routes.push(Route { node: 2, to: 1, link: 1 });
    for app in [App::Bulk(Bulk { bytes: None }), download()] {
        plan = with_tcp(plan, &Profile::Rfc.config(), app);
    }
    let cbr = App::Cbr(Cbr { packet_bytes: 160, interval_ns: 20 * MS, packets: None });
    plan.flows.push(Flow {
        simulated: false,
        name: "voice".into(),
        transport: Transport::Udp,
        app: cbr,
        ..plan.flows[0].clone()
    });
    plan
}

/// Where [`check`] finds something after `change`, each place once.
fn problems(change: impl FnOnce(&mut Plan)) -> Vec<String> {
    let mut plan = valid();
    change(&mut plan);
    let mut paths: Vec<String> = check(&plan).into_iter().map(|problem| problem.path.to_string()).collect();
    paths.dedup();
    paths
}

#[track_caller]
fn broken(path: &str, change: impl FnOnce(&mut Plan)) {
    assert_eq!(problems(change), [path]);
}

#[track_caller]
fn fine(change: impl FnOnce(&mut Plan)) {
    assert_eq!(problems(change), [""; 0]);
}

const BEYOND: u64 = 1_800_000_000_000_000_001;

#[test]
fn the_valid_plan_is_valid() {
    fine(|_| ());
    assert!(Simulation::new(valid(), 0, &Observe::default()).is_ok());
}

#[test]
fn the_plan_as_a_whole() {
    broken("version", |plan| plan.version = 2);
    broken("duration_ns", |plan| plan.duration_ns = Some(BEYOND));
    fine(|plan| plan.duration_ns = Some(BEYOND - 1));
}

#[test]
fn names() {
    broken("nodes[1].name", |plan| plan.nodes[1].name = "client".into());
    broken("nodes[1].name", |plan| plan.nodes[1].name = String::new());
    broken("links[1].name", |plan| plan.links[1].name = "pipe".into());
    broken("flows[1].name", |plan| plan.flows[1].name = "flow1".into());
}

#[test]
fn addresses() {
    broken("nodes[0].addresses", |plan| plan.nodes[0].addresses.clear());
    broken("nodes[1].addresses[0]", |plan| plan.nodes[1].addresses = plan.nodes[0].addresses.clone());
    for no_host in [[0, 0, 0, 0], [224, 0, 0, 1], [255, 255, 255, 255]] {
        broken("nodes[1].addresses[0]", |plan| plan.nodes[1].addresses = vec![no_host.into()]);
    }
    let v6 = Ipv6Addr::from(0xfd00_u128 << 112 | 7).into();
    broken("nodes[2].addresses[1]", |plan| plan.nodes[2].addresses = vec![v6, v6]);
    // Of several addresses some have to be of one family.
    fine(|plan| plan.nodes[1].addresses.insert(0, v6));
    broken("flows[0].to", |plan| {
        plan.nodes[1].addresses = vec![v6];
        plan.flows.truncate(1);
    });
}

#[test]
fn links() {
    broken("links[1].a", |plan| plan.links[1].a = 3);
    broken("links[1].b", |plan| plan.links[1].b = 3);
    broken("links[1].b", |plan| plan.links[1].b = 2);
}

#[test]
fn directions() {
    fn ab(path: &str, change: impl Fn(&mut Direction)) {
        broken(&format!("links[0].ab{path}"), |plan| change(&mut plan.links[0].ab));
        broken(&format!("links[1].ba{path}"), |plan| change(&mut plan.links[1].ba));
    }
    ab(".rate_bps", |direction| direction.rate_bps = Some(0));
    ab(".rate_bps", |direction| direction.rate_bps = Some(100_000_000_000_001));
    fine(|plan| plan.links[0].ab.rate_bps = Some(100_000_000_000_000));
    ab(".rate_bps", |direction| {
        direction.rate_bps = Some(0);
        direction.queue_packets = Some(10);
    });
    ab(".queue_packets", |direction| direction.queue_packets = Some(10));
    ab(".queue_bytes", |direction| direction.queue_bytes = Some(10_000));
    ab(".delay_ns", |direction| direction.delay_ns = BEYOND);
    for p in [-0.1, 1.000_001, f64::NAN, f64::INFINITY] {
        ab(".duplicate", |direction| direction.duplicate = p);
        ab(".reorder.p", |direction| direction.reorder = Some(Reorder { p, by_ns: 1 }));
        ab(".loss.p", |direction| direction.loss = loss::Bernoulli { p }.into());
        ab(".loss.rate", |direction| {
            direction.loss = loss::BitErrors { rate: p, form: loss::BitErrorForm::Exact }.into();
        });
    }
    ab(".reorder.by_ns", |direction| direction.reorder = Some(Reorder { p: 0.1, by_ns: BEYOND }));
    for (i, packets) in [vec![0, 1], vec![2, 1], vec![1, 2, 2]].into_iter().enumerate() {
        ab(&format!(".loss.packets[{i}]"), |direction| {
            direction.loss = loss::List { packets: packets.clone() }.into()
        });
    }
    fine(|plan| plan.links[0].ab.loss = loss::List { packets: vec![1, 2, 9] }.into());
}

#[test]
fn ends_of_flows() {
    broken("flows[0].from", |plan| plan.flows[0].from = 3);
    broken("flows[0].to", |plan| plan.flows[0].to = 3);
    broken("flows[0].from", |plan| plan.flows[0].from = 2);
    broken("flows[0].to", |plan| plan.flows[0].to = 2);
    broken("flows[0].to", |plan| plan.flows[0].to = 0);
    broken("flows[0].start_ns", |plan| plan.flows[0].start_ns = 10 * SECOND);
    fine(|plan| plan.flows[0].start_ns = 10 * SECOND - 1);
    broken("flows[1].start_ns", |plan| {
        plan.duration_ns = None;
        plan.flows.remove(0);
        plan.flows.truncate(1);
        plan.flows.push(Flow {
            simulated: false,
            name: "late".into(),
            start_ns: BEYOND,
            ..plan.flows[0].clone()
        });
    });
}

#[test]
fn transports() {
    broken("flows[2].transport.kind", |plan| plan.flows[2].transport = plan.flows[0].transport.clone());
    broken("flows[0].transport.kind", |plan| plan.flows[0].transport = Transport::Udp);
    broken("flows[1].transport.kind", |plan| plan.flows[1].transport = Transport::Udp);
    broken("flows[2].transport.kind", |plan| plan.flows[2].app = voice());
}

#[test]
fn parameters_of_tcp() {
    fn tcp(key: &str, change: impl Fn(&mut Config)) {
        for end in ["client", "server"] {
            broken(&format!("flows[1].transport.{end}.{key}"), |plan| {
                let Transport::Tcp { client, server } = &mut plan.flows[1].transport else { unreachable!() };
                change(Arc::make_mut(if end == "client" { client } else { server }));
            });
        }
    }
    let beyond = Span::from_nanos(BEYOND);
    tcp("mss", |config| config.mss = 63);
    tcp("mss", |config| config.mss = 65_496);
    tcp("receive_buffer", |config| config.receive_buffer = 0);
    tcp("receive_buffer", |config| config.receive_buffer = (1 << 30) + 1);
    tcp("send_buffer", |config| config.send_buffer = 0);
    tcp("send_buffer", |config| config.send_buffer = (1 << 30) + 1);
    tcp("initial_window", |config| config.initial_window = 0);
    tcp("dupack_threshold", |config| config.dupack_threshold = 0);
    tcp("slow_start_limit", |config| config.slow_start_limit = 0);
    tcp("delayed_ack.max_segments", |config| config.delayed_ack.max_segments = 0);
    tcp("delayed_ack.max_delay", |config| config.delayed_ack.max_delay = beyond);
    tcp("rto.initial", |config| config.rto.initial = Span::ZERO);
    tcp("rto.initial", |config| config.rto.initial = beyond);
    tcp("rto.min", |config| config.rto.min = Span::ZERO);
    tcp("rto.max", |config| config.rto.max = config.rto.min - Span::from_nanos(1));
    tcp("rto.max", |config| config.rto.max = beyond);
    tcp("rto.variance_floor", |config| config.rto.variance_floor = beyond);
    tcp("rto.tick", |config| config.rto.tick = beyond);
    tcp("persist.min", |config| config.persist.min = Span::ZERO);
    tcp("persist.max", |config| config.persist.max = config.persist.min - Span::from_nanos(1));
    tcp("persist.max", |config| config.persist.max = beyond);
    tcp("msl", |config| config.msl = beyond);
}

/// A second of audio with a segment of speech, a partial and a final result.
fn speech() -> Speech {
    let told = |after_bytes, spoken_bytes| SpeechResult { after_bytes, bytes: 200, spoken_bytes };
    Speech {
        request_bytes: 400,
        response_bytes: 200,
        audio_bytes: 32_000,
        length_ns: 1_000_000_000,
        block_bytes: 8_000,
        paced: true,
        waiting_ns: 0,
        segments: vec![Segment { begins_bytes: 1_000, lead_ns: 0, ends_bytes: Some(30_000) }],
        results: vec![told(Some(20_000), None), told(Some(30_000), Some(25_000)), told(None, Some(32_000))],
        farewell_bytes: 0,
        decoder: Decoder {
            curve_ns: vec![(1_000, 0), (2_000, 500)],
            per_second_ns: 300_000_000,
            listening_ns: 0,
            finishing_ns: 0,
            finishing_per_second_ns: 0,
            spread: 0.0,
            jitter: 3.0,
            finishing_spread: 0.0,
            forwarding_ns: 0,
            piece_bytes: 32_000,
        },
    }
}

#[test]
fn sessions_of_speech() {
    fn app(path: &str, change: impl FnOnce(&mut Speech)) {
        broken(&format!("flows[0].app.{path}"), |plan| {
            let mut speech = speech();
            change(&mut speech);
            plan.flows[0].app = App::Speech(Box::new(speech));
        });
    }
    fine(|plan| plan.flows[0].app = App::Speech(Box::new(speech())));
    app("request_bytes", |speech| speech.request_bytes = 0);
    app("response_bytes", |speech| speech.response_bytes = 0);
    app("length_ns", |speech| speech.length_ns = 0);
    app("length_ns", |speech| speech.length_ns = BEYOND);
    app("block_bytes", |speech| speech.block_bytes = 0);
    app("farewell_bytes", |speech| speech.farewell_bytes = 1_000_000_000_000_000);
    app("waiting_ns", |speech| speech.waiting_ns = BEYOND);
    app("decoder.piece_bytes", |speech| speech.decoder.piece_bytes = 0);
    app("decoder.per_second_ns", |speech| speech.decoder.per_second_ns = BEYOND);
    app("decoder.spread", |speech| speech.decoder.spread = 3.1);
    app("decoder.jitter", |speech| speech.decoder.jitter = -0.1);
    app("decoder.finishing_spread", |speech| speech.decoder.finishing_spread = f64::NAN);
    app("decoder.curve_ns", |speech| speech.decoder.curve_ns[0].0 = 0);
    app("decoder.curve_ns", |speech| speech.decoder.curve_ns[0].0 = 2_000);
    app("decoder.curve_ns", |speech| speech.decoder.curve_ns[0].1 = 501);
    app("segments[0]", |speech| speech.segments[0].begins_bytes = 30_001);
    app("segments[0]", |speech| speech.segments[0].ends_bytes = Some(32_001));
    app("segments[1]", |speech| speech.segments.push(speech.segments[0]));
    app("results[0]", |speech| speech.results[0].bytes = 0);
    app("results[1]", |speech| speech.results[1].spoken_bytes = Some(30_001));
    app("results[1]", |speech| speech.results[0].after_bytes = Some(30_001));
    app("results[1]", |speech| speech.results[0].after_bytes = None);
    // A message of an octet each: more than are kept.
    app("block_bytes", |speech| {
        speech.block_bytes = 1;
        speech.audio_bytes = 1_000_002;
    });
}

#[test]
fn applications() {
    fn app(path: &str, app: App) {
        let flow = if matches!(app, App::Cbr(_)) { 2 } else { 0 };
        broken(&format!("flows[{flow}].app.{path}"), |plan| plan.flows[flow].app = app);
    }
    for flow in [0, 2] {
        broken("flows[0].app", |plan| {
            plan.duration_ns = None;
            plan.flows.swap(0, flow);
            plan.flows.truncate(1);
        });
    }
    let too_much = 1_000_000_000_000_001;
    app("bytes", App::Bulk(Bulk { bytes: Some(too_much) }));
    let asks = |request_bytes, response_bytes, requests, pause_ns| {
        App::Download(Download { request_bytes, response_bytes, requests, pause_ns })
    };
    app("request_bytes", asks(0, 1, 1, 0));
    app("response_bytes", asks(1, 0, 1, 0));
    app("requests", asks(1, 1, 0, 0));
    app("pause_ns", asks(1, 1, 1, BEYOND));
    app("request_bytes", asks(too_much, 1, 1, 0));
    app("response_bytes", asks(1, u64::MAX / 2, 3, 0));
    let cbr = |packet_bytes, interval_ns| App::Cbr(Cbr { packet_bytes, interval_ns, packets: Some(1) });
    app("packet_bytes", cbr(0, 1));
    app("packet_bytes", cbr(65_508, 1));
    app("interval_ns", cbr(1, 0));
    app("interval_ns", cbr(1, BEYOND));
    let speaks = |[blocks, requests]: [u32; 2],
                  [block_bytes, partial_bytes, answer_bytes]: [u64; 3],
                  times: [u64; 3]| {
        let [interval_ns, processing_ns, pause_ns] = times;
        App::Voice(Voice {
            blocks,
            block_bytes,
            interval_ns,
            partial_bytes,
            answer_bytes,
            processing_ns,
            requests,
            pause_ns,
        })
    };
    app("blocks", speaks([0, 1], [1, 0, 1], [1, 0, 0]));
    app("requests", speaks([1, 0], [1, 0, 1], [1, 0, 0]));
    app("block_bytes", speaks([1, 1], [0, 0, 1], [1, 0, 0]));
    app("answer_bytes", speaks([1, 1], [1, 0, 0], [1, 0, 0]));
    app("interval_ns", speaks([1, 1], [1, 0, 1], [0, 0, 0]));
    app("interval_ns", speaks([1, 1], [1, 0, 1], [BEYOND, 0, 0]));
    app("processing_ns", speaks([1, 1], [1, 0, 1], [1, BEYOND, 0]));
    app("pause_ns", speaks([1, 1], [1, 0, 1], [1, 0, BEYOND]));
    let many = u32::MAX;
    app("block_bytes", speaks([many, many], [1, 0, 1], [1, 0, 0]));
    app("partial_bytes", speaks([2, 2], [1, too_much / 2 + 1, 1], [1, 0, 0]));
    app("answer_bytes", speaks([1, 2], [1, 0, too_much / 2 + 1], [1, 0, 0]));
    fine(|plan| plan.flows[0].app = voice());
    fine(|plan| plan.flows[0].app = speaks([1, 1], [1, u64::MAX, 1], [1, 0, 0]));
}

#[test]
fn routes_name_nodes_and_links_that_exist() {
    broken("routes[0].to", |plan| plan.routes[0].to = 3);
    broken("routes[0].link", |plan| plan.routes[0].link = 2);
    broken("routes[0].link", |plan| plan.routes[0].node = 0);
    assert_eq!(problems(|plan| plan.routes[0].node = 3), ["routes[0].node", "routes[0].link"]);
}

#[test]
fn every_flow_has_a_way_there_and_back() {
    let unreachable = ["flows[0]", "flows[1]", "flows[2]"];
    assert_eq!(problems(|plan| plan.links.truncate(1)).as_slice(), ["routes[0].link"]);
    assert_eq!(
        problems(|plan| {
            plan.routes.clear();
            plan.links.truncate(1);
        }),
        unreachable
    );
    // A static route that leads back where it came from.
    assert_eq!(problems(|plan| plan.routes[0].link = 0), unreachable);
}

/// Without it a run would hang in one instant.
#[test]
fn an_endless_transfer_needs_time_to_pass() {
    fn instant(plan: &mut Plan) {
        for link in &mut plan.links {
            (link.ab, link.ba) = (wire(0), wire(0));
        }
    }
    broken("flows[0].app", instant);
    fine(|plan| {
        instant(plan);
        plan.links[1].ba.delay_ns = 1;
    });
    fine(|plan| {
        instant(plan);
        plan.links[0].ab.rate_bps = Some(100_000_000_000_000);
    });
    fine(|plan| {
        instant(plan);
        plan.flows[0].app = App::Bulk(Bulk { bytes: Some(1_000_000) });
    });
}

#[test]
fn all_problems_are_told_at_once() {
    let paths = problems(|plan| {
        plan.version = 0;
        plan.nodes[0].name = String::new();
        plan.links[0].ab.duplicate = 2.0;
        plan.flows[0].from = 9;
    });
    assert_eq!(paths, ["version", "nodes[0].name", "links[0].ab.duplicate", "flows[0].from"]);
}

#[test]
fn only_hosts_that_exist_are_captured() {
    let paths = |observe: Observe| match Simulation::new(valid(), 0, &observe) {
        Ok(_) => vec![],
        Err(problems) => problems.into_iter().map(|problem| problem.path.to_string()).collect(),
    };
    let capture = |names: &[&str]| Observe {
        capture: names.iter().map(|name| String::from(*name)).collect(),
        ..Observe::default()
    };
    assert_eq!(paths(capture(&["client", "server"])), [""; 0]);
    assert_eq!(
        paths(capture(&["client", "clients", "router"])),
        ["observe.capture[1]", "observe.capture[2]"]
    );
    assert_eq!(paths(Observe { snap_bytes: Some(0), ..Observe::default() }), ["observe.snap_bytes"]);
}
