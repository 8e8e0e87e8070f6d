//! The logic of the loop, on a pretended machine: its clock moves when the loop waits and when it works.

#[path = "../../sim/tests/common/mod.rs"]
mod common;

use bytes::Bytes;
use common::{pipe, wire};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::net::IpAddr;
use voxpath_host::{Edge, HostError, Progress, Timing, drive};

use voxpath_sim::plan::{App, Cbr, Flow, LinkChange, LinkEvent, Plan, Relay, Transport, Way};
use voxpath_sim::{Observe, RealTime};
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::ip::{IpHeader, Protocol};
use voxpath_wire::packet::emit_udp;
use voxpath_wire::udp::UdpHeader;

const END: Time = ms(1000);
/// One way.
const DELAY: Span = Span::from_millis(5);

const fn ms(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// A machine that has two real hosts.
#[derive(Debug, Default)]
struct Pretended {
    now: Time,
    /// What hosts send: when, who, what; in order of time.
    frames: VecDeque<(Time, u32, Bytes)>,
    /// How long a packet takes to be taken in, and to be handed over.
    costs: [Span; 2],
    /// How much later than asked the loop is woken.
    oversleep: Span,
    /// Hosts take only every so many packets; none is all.
    takes_every: Option<usize>,
    /// The device fails then.
    breaks: Option<Time>,
    offered: Vec<(Time, u32, Vec<u8>)>,
    /// When the loop began to wait, and until when.
    waits: Vec<(Time, Option<Time>)>,
}

impl Edge for Pretended {
    fn now(&mut self) -> Time {
        self.now
    }

    fn receive(&mut self) -> Result<Option<(u32, Bytes)>, HostError> {
        if self.breaks.is_some_and(|at| at <= self.now) {
            return Err(HostError { action: "read from net0".into(), reason: "it is gone".into() });
        }
        if self.frames.front().is_none_or(|&(at, ..)| at > self.now) {
            return Ok(None);
        }
        let (_, host, bytes) = self.frames.pop_front().expect("was looked at");
        self.now += self.costs[0];
        Ok(Some((host, bytes)))
    }

    fn deliver(&mut self, host: u32, packet: &[u8]) -> bool {
        self.now += self.costs[1];
        self.offered.push((self.now, host, packet.to_vec()));
        self.takes_every.is_none_or(|every| self.offered.len().is_multiple_of(every))
    }

    fn wait(&mut self, deadline: Option<Time>) -> Result<(), HostError> {
        self.waits.push((self.now, deadline));
        // A host that sends, or the end of the run, wakes at once; the timer may be late.
        let sends = self.frames.front().map(|&(at, ..)| at);
        let woken = deadline.filter(|&deadline| deadline > self.now).map(|at| at + self.oversleep);
        let soonest = [sends, woken.or(deadline), Some(END)].into_iter().flatten().min();
        self.now = self.now.max(soonest.expect("the end is always to come"));
        Ok(())
    }
}

/// Two real hosts on a wire.
fn plan() -> Plan {
    let mut plan = pipe(wire(DELAY.as_nanos()), wire(DELAY.as_nanos()));
    plan.flows.push(Flow {
        through: None,
        from_address: None,
        to_address: None,
        simulated: false,
        name: "flow".into(),
        from: 0,
        to: 1,
        start_ns: 0,
        transport: Transport::Udp,
        app: App::Cbr(Cbr { packet_bytes: 100, interval_ns: 1, packets: Some(1) }),
    });
    plan
}

/// The `number`th packet of a host.
fn frame(host: u32, number: u16) -> Bytes {
    let addresses = plan().nodes.into_iter().map(|node| node.addresses[0]).collect::<Vec<_>>();
    let (src, dst) = (addresses[host as usize], addresses[1 - host as usize]);
    let header = IpHeader { identification: number, ..IpHeader::new(src, dst, Protocol::Udp) };
    let mut bytes = Vec::new();
    emit_udp(&header, &UdpHeader { src_port: 1, dst_port: 2 }, &Payload::pattern(1, 0, 100), &mut bytes);
    bytes.into()
}

/// Runs until the end; what came of it, and when that was.
fn run(edge: &mut Pretended) -> (Timing, Time) {
    run_plan(&plan(), edge)
}

fn run_plan(plan: &Plan, edge: &mut Pretended) -> (Timing, Time) {
    let mut world = RealTime::new(plan.clone(), 0, &Observe::default()).expect("a plan that can run");
    let mut timing = Timing::default();
    let ended = drive(&mut world, edge, &mut timing, |now, _, _| match now < END {
        true => Progress::Continue,
        false => Progress::Stop,
    });
    (timing, ended.expect("no device fails"))
}

fn sent(frames: impl IntoIterator<Item = (Time, u32)>) -> VecDeque<(Time, u32, Bytes)> {
    (0..).zip(frames).map(|(number, (at, host))| (at, host, frame(host, number))).collect()
}

#[test]
fn a_packet_is_handed_over_when_it_is_due_and_not_before() {
    let mut edge = Pretended { frames: sent([(ms(10), 0), (ms(12), 1)]), ..Pretended::default() };
    let (timing, ended) = run(&mut edge);
    let expected = [(ms(15), 1, frame(0, 0).to_vec()), (ms(17), 0, frame(1, 1).to_vec())];
    assert_eq!(edge.offered, expected);
    assert_eq!((timing.packets_in, timing.packets_out, timing.refused), (2, 2, 0));
    assert_eq!((timing.deliveries.count(), timing.deliveries.max()), (2, Span::ZERO));
    assert_eq!(ended, END);
}

#[test]
fn it_sleeps_until_the_next_thing_is_due_and_for_good_where_nothing_is() {
    let mut edge = Pretended { frames: sent([(ms(10), 0), (ms(12), 0)]), ..Pretended::default() };
    run(&mut edge);
    let expected = [
        (ms(0), None),
        (ms(10), Some(ms(15))),
        (ms(12), Some(ms(15))),
        (ms(15), Some(ms(17))),
        (ms(17), None),
    ];
    assert_eq!(edge.waits, expected);
}

#[test]
fn what_was_due_before_a_packet_came_happens_before_it() {
    let mut plan = plan();
    // 1500 bytes of a simulated flow take the link from 15 to 18 ms.
    plan.links[0].ab.rate_bps = Some(4_000_000);
    plan.flows.push(Flow {
        simulated: true,
        name: "beside".into(),
        start_ns: 15_000_000,
        app: App::Cbr(Cbr { packet_bytes: 1472, interval_ns: 1, packets: Some(1) }),
        ..plan.flows[0].clone()
    });
    // The loop hears of a frame of 128 bytes at 14 ms, and has it at 17.
    let costs = [Span::from_millis(3), Span::ZERO];
    let mut edge = Pretended { frames: sent([(ms(14), 0)]), costs, ..Pretended::default() };
    run_plan(&plan, &mut edge);
    let [(at, 1, _)] = edge.offered[..] else { panic!("{:?}", edge.offered) };
    assert_eq!(at, ms(18) + Span::from_micros(256) + DELAY);
}

#[test]
fn a_slow_machine_is_told_by_how_late_it_was() {
    let costs = [Span::ZERO, Span::from_millis(2)];
    let mut edge = Pretended {
        frames: sent([(ms(10), 0), (ms(10), 0), (ms(10), 0)]),
        costs,
        oversleep: Span::from_millis(1),
        ..Pretended::default()
    };
    let (timing, _) = run(&mut edge);
    // Due at 15 ms, woken at 16, handed over at 18, 20 and 22.
    let late: Vec<_> = timing.deliveries.buckets().map(|(_, count)| count).collect();
    assert_eq!((late, timing.deliveries.max()), (vec![1, 1, 1], Span::from_millis(7)));
    assert_eq!((timing.wakeups.count(), timing.wakeups.max()), (1, Span::from_millis(1)));
}

#[test]
fn what_is_due_already_is_not_slept_for() {
    // Handing the first over takes so long that the second is due by then.
    let costs = [Span::ZERO, Span::from_millis(2)];
    let frames = sent([(ms(10), 0), (ms(11), 0)]);
    let mut edge = Pretended { frames, costs, ..Pretended::default() };
    let (timing, _) = run(&mut edge);
    let slept_in_vain = edge.waits.iter().filter(|&&(at, deadline)| deadline.is_some_and(|to| to < at));
    assert_eq!(slept_in_vain.count(), 0, "{:?}", edge.waits);
    assert!(edge.waits.contains(&(ms(17), Some(ms(17)))), "the devices are looked at: {:?}", edge.waits);
    let handed: Vec<_> = edge.offered.iter().map(|&(at, ..)| at).collect();
    assert_eq!(handed, [ms(17), ms(19)]);
    // Nobody was woken late.
    assert_eq!((timing.wakeups.count(), timing.wakeups.max()), (1, Span::ZERO));
}

#[test]
fn packets_that_a_host_does_not_take_are_counted() {
    let frames = sent((0..10).map(|i| (ms(10 + i), 0)));
    let mut edge = Pretended { frames, takes_every: Some(5), ..Pretended::default() };
    let (timing, _) = run(&mut edge);
    assert_eq!((timing.packets_in, timing.packets_out, timing.refused), (10, 2, 8));
}

#[test]
fn a_device_that_fails_ends_the_run() {
    let mut edge = Pretended { breaks: Some(ms(0)), ..Pretended::default() };
    let mut world = RealTime::new(plan(), 0, &Observe::default()).expect("a plan that can run");
    let ended = drive(&mut world, &mut edge, &mut Timing::default(), |_, _, _| Progress::Continue);
    assert_eq!(ended.expect_err("the device is gone").to_string(), "cannot read from net0: it is gone");
}

#[test]
fn frames_that_have_no_place_in_the_plan_are_strays() {
    let mut edge = Pretended::default();
    let forged = frame(1, 0);
    edge.frames.extend([(ms(1), 0, Bytes::from_static(b"no packet")), (ms(2), 0, forged)]);
    let mut world = RealTime::new(plan(), 0, &Observe::default()).expect("a plan that can run");
    let stop =
        |now, _: &mut RealTime, _: &Timing| if now < END { Progress::Continue } else { Progress::Stop };
    drive(&mut world, &mut edge, &mut Timing::default(), stop).expect("no device fails");
    let strays = world.strays();
    assert_eq!((strays.unparsed, strays.unroutable, edge.offered.len()), (1, 1, 0));
}

/// The delay of the link from the first host becomes 9 ms.
fn slower() -> LinkEvent {
    LinkEvent { link: 0, direction: Way::Ab, set: LinkChange::Delay { delay_ns: ms(9).as_nanos() } }
}

#[test]
fn a_change_by_hand_is_for_what_is_sent_from_then_on_and_among_the_events() {
    let mut edge =
        Pretended { frames: sent([(ms(10), 0), (ms(12), 0), (ms(13), 1)]), ..Pretended::default() };
    let mut world = RealTime::steered(plan(), 0, &Observe::default()).expect("a plan that can run");
    let mut changed = None;
    let turn = |now: Time, world: &mut RealTime, _: &Timing| {
        if now >= ms(12) && changed.is_none() {
            changed = Some(now);
            assert_eq!(world.change(now, vec![slower()]), Ok(()));
        }
        if now < END { Progress::Continue } else { Progress::Stop }
    };
    let ended = drive(&mut world, &mut edge, &mut Timing::default(), turn).expect("no device fails");
    let handed: Vec<_> = edge.offered.iter().map(|&(at, host, _)| (at, host)).collect();
    assert_eq!(handed, [(ms(15), 1), (ms(18), 0), (ms(21), 1)]);
    let report = world.finish(ended, Vec::new(), Vec::new(), &[]);
    let events = report.tables.iter().find(|table| table.name == "events").expect("something happened");
    let told = format!("{:?}", events.columns);
    assert!(told.contains("12000000") && told.contains("ab") && told.contains("9000000"), "{told}");
}

#[test]
fn what_cannot_be_changed_by_hand_is_refused_as_a_whole() {
    let mut world = RealTime::new(plan(), 0, &Observe::default()).expect("a plan that can run");
    let refused = world.change(ms(1), vec![slower()]).expect_err("its links do not change");
    assert_eq!(refused[0].message, "the links of this run cannot be changed by hand");
    let mut world = RealTime::steered(plan(), 0, &Observe::default()).expect("a plan that can run");
    let nowhere = LinkEvent { link: 7, ..slower() };
    let refused = world.change(ms(1), vec![slower(), nowhere]).expect_err("there is no such link");
    assert_eq!(refused.len(), 1);
    assert_eq!(
        (refused[0].path.to_string().as_str(), refused[0].message.as_str()),
        ("events[1].change.link", "there is no such link")
    );
    let report = world.finish(ms(2), Vec::new(), Vec::new(), &[]);
    assert!(report.tables.iter().all(|table| table.name != "events"));
}

#[test]
fn the_host_that_stands_for_the_internet_has_every_address_that_nobody_has() {
    let mut plan = plan();
    plan.relays.push(Relay::Internet { node: 1 });
    let [client, _] = [0, 1].map(|host| plan.nodes[host].addresses[0]);
    let between = |src, dst| {
        let header = IpHeader { identification: 1, ..IpHeader::new(src, dst, Protocol::Udp) };
        let mut bytes = Vec::new();
        emit_udp(&header, &UdpHeader { src_port: 1, dst_port: 2 }, &Payload::pattern(1, 0, 100), &mut bytes);
        Bytes::from(bytes)
    };
    let outside = IpAddr::from([192, 0, 2, 1]);
    let frames = [
        (0, between(client, outside)),
        (1, between(outside, client)),
        // Nobody else speaks for it, and some addresses are no host's.
        (0, between(outside, client)),
        (0, between(client, IpAddr::from([224, 0, 0, 1]))),
        (0, between(client, IpAddr::from([255; 4]))),
    ];
    let sent = (1..).zip(&frames).map(|(at, (host, bytes))| (ms(at), *host, bytes.clone())).collect();
    let mut edge = Pretended { frames: sent, ..Pretended::default() };
    let mut world = RealTime::new(plan, 0, &Observe::default()).expect("a plan that can run");
    let stop =
        |now, _: &mut RealTime, _: &Timing| if now < END { Progress::Continue } else { Progress::Stop };
    drive(&mut world, &mut edge, &mut Timing::default(), stop).expect("no device fails");
    let expected = [(ms(6), 1, frames[0].1.to_vec()), (ms(7), 0, frames[1].1.to_vec())];
    assert_eq!(edge.offered, expected);
    assert_eq!(world.strays().unroutable, 3);
}

proptest! {
    /// On any machine: each packet once, in order, never early, and no more waits than things to wait for.
    #[test]
    fn no_machine_confuses_it(
        gaps in prop::collection::vec((0..3_000_000_u64, 0..2_u32), 0..60),
        costs in prop::array::uniform2(0..2_000_000_u64),
        oversleep in 0..2_000_000_u64,
    ) {
        let mut at = Time::ZERO;
        let frames = sent(gaps.iter().map(|&(gap, host)| {
            at += Span::from_nanos(gap);
            (at, host)
        }));
        let mut edge = Pretended {
            frames: frames.clone(),
            costs: costs.map(Span::from_nanos),
            oversleep: Span::from_nanos(oversleep),
            ..Pretended::default()
        };
        let (timing, _) = run(&mut edge);
        let count = frames.len() as u64;
        prop_assert_eq!((timing.packets_in, timing.packets_out), (count, count));
        prop_assert_eq!(timing.deliveries.count(), count);
        for to in 0..2 {
            let expected = frames.iter().filter(|&&(_, from, _)| from != to);
            let handed = edge.offered.iter().filter(|&&(_, host, _)| host == to);
            for ((sent_at, _, bytes), (handed_at, _, packet)) in expected.zip(handed) {
                prop_assert_eq!(&bytes[..], &packet[..]);
                prop_assert!(*handed_at >= *sent_at + DELAY);
            }
        }
        let most = 2 * count + 1;
        prop_assert!(edge.waits.len() as u64 <= most, "{} waits", edge.waits.len());
    }
}
