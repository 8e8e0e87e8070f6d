//! What changes during a run, and when.
#![allow(missing_docs)]

mod common;

use common::*;
use voxpath_sim::plan::{
    AddressEvent, App, Bulk, Cbr, Change, Direction, Download, Event, Flow, FlowEvent, LinkChange, LinkEvent,
    Loss, Plan, Route, Transport, Way, loss,
};
use voxpath_sim::{Data, Observe, Report, Simulation, check};
use voxpath_tcp::Profile;

fn limited(rate_bps: u64) -> Direction {
    Direction { rate_bps: Some(rate_bps), queue_packets: Some(100), ..wire(10 * MS) }
}

/// A datagram of 1000 bytes every 10 ms, for two seconds.
fn stream(way: Direction) -> Plan {
    let mut plan = pipe(way.clone(), way);
    plan.duration_ns = Some(3 * SECOND);
    plan.flows.push(Flow {
        through: None,
        from_address: None,
        to_address: None,
        simulated: false,
        name: "stream".into(),
        from: 0,
        to: 1,
        start_ns: 0,
        transport: Transport::Udp,
        app: App::Cbr(Cbr { packet_bytes: 1000, interval_ns: 10 * MS, packets: Some(200) }),
    });
    plan
}

fn at(plan: &mut Plan, ms: u64, set: LinkChange) {
    let change = Change::Link(LinkEvent { link: 0, direction: Way::Ab, set });
    plan.events.push(Event { at_ns: ms * MS, change });
}

fn deliveries(plan: &Plan) -> Vec<u64> {
    let observe = Observe { packets: true, ..Observe::default() };
    let report = run_observed(plan, 0, &observe);
    let packets = table(&report, "packets");
    let (Data::U64(times), Data::Label { names, index }) =
        (column(packets, "time_ns"), column(packets, "action"))
    else {
        panic!("columns of the table")
    };
    (0..times.len()).filter(|&i| names[index[i] as usize] == "delivered").map(|i| times[i]).collect()
}

#[test]
fn a_delay_changes_for_what_is_sent_from_then_on() {
    let mut plan = stream(wire(10 * MS));
    at(&mut plan, 1000, LinkChange::Delay { delay_ns: 30 * MS });
    let times = deliveries(&plan);
    // Datagram 100 leaves when the delay changes, and the event comes first.
    assert_eq!((times[99], times[100]), (990 * MS + 10 * MS, 1000 * MS + 30 * MS));
    assert_eq!(times.len(), 200);
}

#[test]
fn a_rate_changes_for_what_is_being_sent_too() {
    // 1028 bytes at 8.224 Mbit/s are a millisecond.
    let mut plan = stream(limited(8_224_000));
    plan.events.clear();
    let set = LinkChange::Rate { rate_bps: 4_112_000 };
    let change = Change::Link(LinkEvent { link: 0, direction: Way::Ab, set });
    plan.events.push(Event { at_ns: 1000 * MS + MS / 2, change });
    let times = deliveries(&plan);
    assert_eq!(times[99], 990 * MS + MS + 10 * MS);
    assert_eq!(times[100], 1000 * MS + MS / 2 + MS + 10 * MS, "its second half takes twice as long");
    assert_eq!(times[101], 1010 * MS + 2 * MS + 10 * MS);
}

#[test]
fn a_link_that_is_down_drops_and_comes_up_again() {
    let mut plan = stream(wire(10 * MS));
    at(&mut plan, 500, LinkChange::Up { up: false });
    at(&mut plan, 1000, LinkChange::Up { up: true });
    let report = run(&plan, 0);
    assert_eq!(datagrams(&report, 0)[1], 150);
    assert_eq!(status(&report, 0), "completed");
}

#[test]
fn loss_and_room_change() {
    let mut plan = stream(wire(10 * MS));
    at(&mut plan, 500, LinkChange::Loss { loss: loss::Bernoulli { p: 1.0 }.into() });
    at(&mut plan, 600, LinkChange::Loss { loss: loss::List { packets: vec![1, 3] }.into() });
    at(&mut plan, 700, LinkChange::Loss { loss: Loss::None });
    assert_eq!(datagrams(&run(&plan, 0), 0)[1], 200 - 10 - 2);
    // Half the rate that the stream needs: the queue fills, and then holds what it may.
    let mut plan = stream(limited(411_200));
    at(&mut plan, 1500, LinkChange::Queue { packets: Some(5), bytes: None });
    let report = run(&plan, 0);
    // 20 ms a datagram: 75 are sent by then and 75 wait. Then none comes in until five wait, which is at 2.9 s.
    assert_eq!(datagrams(&report, 0)[1], 149);
    assert!(datagrams(&report, 0)[0] == 200);
}

fn stop(plan: &mut Plan, ms: u64) {
    plan.events.push(Event { at_ns: ms * MS, change: Change::Flow(FlowEvent { flow: 0, runs: false }) });
}

#[test]
fn every_application_can_be_stopped() {
    let cases: [(App, &str); 5] = [
        (App::Bulk(Bulk { bytes: None }), "completed"),
        (App::Bulk(Bulk { bytes: Some(100_000_000) }), "stopped"),
        (download(), "stopped"),
        (voice(), "stopped"),
        (
            App::Download(Download { request_bytes: 100, response_bytes: 100, requests: 2, pause_ns: 0 }),
            "completed",
        ),
    ];
    for (app, expected) in cases {
        let ways = limited(10_000_000);
        let mut plan = with_tcp(pipe(ways.clone(), ways), &Profile::Linux.config(), app.clone());
        stop(&mut plan, 1000);
        // It ends by itself: nothing is left to do once both ends have closed.
        let report = run(&plan, 0);
        assert_eq!(status(&report, 0), expected, "{app:?}");
        let ended = report.verdict.ended_ns;
        assert!(ended < 5 * SECOND, "{app:?} goes on until {ended}");
    }
    let mut plan = stream(wire(10 * MS));
    stop(&mut plan, 1000);
    let report = run(&plan, 0);
    assert_eq!((status(&report, 0), datagrams(&report, 0)[1]), ("stopped", 100));
    let App::Cbr(Cbr { packets, .. }) = &mut plan.flows[0].app else { panic!("it is") };
    *packets = None;
    assert_eq!(status(&run(&plan, 0), 0), "completed");
}

#[test]
fn to_stop_what_has_sent_all_changes_nothing() {
    let lost = Direction { loss: loss::Bernoulli { p: 1.0 }.into(), ..wire(10 * MS) };
    let mut plan = stream(lost);
    stop(&mut plan, 2500);
    let goodput = |plan: &Plan| {
        let report = run(plan, 0);
        let Data::OptF64(values) = column(table(&report, "flows"), "goodput_bps") else { panic!("no rates") };
        (report.verdict.ended_ns, values[0])
    };
    let (alone_ended, alone) = goodput(&plan);
    let mut longer = plan.flows[0].clone();
    longer.name = "longer".into();
    longer.start_ns = SECOND;
    plan.flows.push(longer);
    let (joined_ended, joined) = goodput(&plan);
    // The run of one is over before the stop, that of both is not.
    assert!(alone_ended < 2500 * MS && 2500 * MS < joined_ended, "{alone_ended} {joined_ended}");
    assert_eq!((alone, joined), (None, None));
}

#[test]
fn a_flow_is_stopped_before_its_connection_stands() {
    let mut plan = with_tcp(pipe(wire(SECOND), wire(SECOND)), &Profile::Linux.config(), download());
    stop(&mut plan, 500);
    let report = run(&plan, 0);
    assert_eq!(status(&report, 0), "stopped");
}

#[test]
fn what_happened_stands_in_the_results() {
    let mut plan = stream(wire(10 * MS));
    at(&mut plan, 500, LinkChange::Rate { rate_bps: 1_000_000 });
    at(&mut plan, 500, LinkChange::Queue { packets: Some(5), bytes: Some(9000) });
    at(&mut plan, 500, LinkChange::Loss { loss: loss::Bernoulli { p: 0.5 }.into() });
    stop(&mut plan, 600);
    at(&mut plan, 2900, LinkChange::Up { up: false });
    let report = run(&plan, 0);
    let events = table(&report, "events");
    let text = |name| match column(events, name) {
        Data::Text(values) => values.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(*column(events, "time_ns"), Data::U64([500, 500, 500, 600].map(|ms| ms * MS).to_vec()));
    assert_eq!(text("what"), ["link", "link", "link", "flow"]);
    assert_eq!(text("name"), ["pipe ab", "pipe ab", "pipe ab", "stream"]);
    assert_eq!(text("change"), ["rate_bps", "queue", "loss", "runs"]);
    assert_eq!(text("value"), ["1000000", "5 packets, 9000 bytes", "0.5", "false"]);
    assert!(run(&stream(wire(0)), 0).tables.iter().all(|table| table.name != "events"));
}

#[test]
fn an_event_of_the_timeline_comes_before_all_else_of_its_time() {
    // The link goes down in the moment in which the flow starts.
    let mut plan = stream(wire(10 * MS));
    at(&mut plan, 0, LinkChange::Up { up: false });
    assert_eq!(datagrams(&run(&plan, 0), 0)[1], 0);
}

#[test]
fn a_run_with_events_is_the_same_in_whatever_steps() {
    let whole = |steps: u64| {
        let ways = Direction { loss: loss::Bernoulli { p: 0.01 }.into(), ..limited(5_000_000) };
        let mut plan =
            with_tcp(pipe(ways.clone(), ways), &Profile::Linux.config(), App::Bulk(Bulk { bytes: None }));
        plan.duration_ns = Some(5 * SECOND);
        at(&mut plan, 1000, LinkChange::Rate { rate_bps: 500_000 });
        at(&mut plan, 2000, LinkChange::Up { up: false });
        at(&mut plan, 2100, LinkChange::Delay { delay_ns: 50 * MS });
        at(&mut plan, 2500, LinkChange::Up { up: true });
        let mut simulation = Simulation::new(plan, 0, &Observe::default()).expect("a valid plan");
        while !simulation.advance(steps).done {}
        let report: Report = simulation.finish();
        (report.verdict, report.tables)
    };
    assert_eq!(whole(1), whole(u64::MAX));
}

#[test]
fn events_that_cannot_happen_are_refused() {
    let broken = |change: &dyn Fn(&mut Plan)| {
        let mut plan = stream(wire(10 * MS));
        plan.flows[0].start_ns = 10 * MS;
        change(&mut plan);
        check(&plan).into_iter().map(|problem| problem.path.to_string()).collect::<Vec<_>>()
    };
    let event = |at_ns, change| Event { at_ns, change };
    let flow = |flow, runs| Change::Flow(FlowEvent { flow, runs });
    let link = |link, set| Change::Link(LinkEvent { link, direction: Way::Ba, set });
    let up = || LinkChange::Up { up: true };
    let cases: Vec<(Vec<Event>, &str)> = vec![
        (vec![event(3 * SECOND, link(0, up()))], "events[0].at_ns"),
        (vec![event(2, link(0, up())), event(1, link(0, up()))], "events[1].at_ns"),
        (vec![event(1, link(1, up()))], "events[0].change.link"),
        (vec![event(1, link(0, LinkChange::Rate { rate_bps: 0 }))], "events[0].change.set.rate_bps"),
        (
            vec![event(1, link(0, LinkChange::Loss { loss: loss::Bernoulli { p: 2.0 }.into() }))],
            "events[0].change.set.loss.p",
        ),
        (vec![event(MS, flow(1, false))], "events[0].change.flow"),
        (vec![event(10 * MS, flow(0, false))], "events[0].at_ns"),
        (vec![event(11 * MS, flow(0, false)), event(12 * MS, flow(0, false))], "events[1].change.flow"),
        (vec![event(11 * MS, flow(0, true))], "events[0].change.flow"),
        (
            vec![event(1, Change::Address(AddressEvent { node: 2, address: 0, up: false }))],
            "events[0].change.node",
        ),
        (
            vec![event(1, Change::Address(AddressEvent { node: 0, address: 1, up: false }))],
            "events[0].change.address",
        ),
        (vec![event(1, Change::Route(Route { node: 0, to: 1, link: 0 }))], "events[0].change.node"),
    ];
    for (events, path) in cases {
        assert_eq!(broken(&|plan| plan.events = events.clone()), [path]);
    }
    assert_eq!(broken(&|plan| plan.events = vec![event(10 * MS, flow(0, true))]), [""; 0]);
}
