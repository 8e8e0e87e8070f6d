//! Random plans: any network, any flows, any weather.

use super::{MS, SECOND};
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use voxpath_sim::plan::{
    App, Bulk, Capacity, CapacityState, Cbr, Change, DelayVariation, Direction, Download, Draw, Event, Flow,
    Framing, Law, Link, LinkChange, Loss, Node, NodeKind, ObjectCount, ObjectSize, OnOff, Plan, Push,
    PushWay, Queueing, Reorder, Transport, VERSION, Voice, Way, Web, loss,
};
use voxpath_tcp::{Config, Congestion, Profile, Recovery};
use voxpath_units::Span;

/// A plan that can run: routers in a tree with doubled links, hosts at them with one or two links, up to four flows.
pub fn plan() -> impl Strategy<Value = Plan> {
    let shape = (1..4_usize, 2..6_usize, any::<u64>());
    (shape, prop::option::of(1..10 * SECOND)).prop_flat_map(|((routers, hosts, seed), duration_ns)| {
        // Each router but the first hangs on one before it; each host on one router, some on a second.
        let trunks = prop::collection::vec((any::<u32>(), direction(), direction()), routers - 1);
        let accesses = prop::collection::vec((any::<u32>(), direction(), direction()), hosts);
        let seconds = prop::collection::vec((any::<u32>(), any::<u32>(), direction(), direction()), 0..3);
        let addresses = (any::<bool>(), prop::collection::vec(0..3_u8, hosts));
        let flows = prop::collection::vec((any::<u32>(), any::<u32>(), conversation()), 1..5);
        let mtus = prop::collection::vec(prop::option::weighted(0.2, 1280..1600_u32), 12);
        let events = prop::collection::vec((any::<u32>(), any::<u64>(), event()), 0..6);
        (trunks, accesses, seconds, addresses, flows, (events, mtus)).prop_map(
            move |(trunks, accesses, seconds, (v6, homes), flows, (events, mtus))| {
                let (routers, hosts) = (routers as u32, hosts as u32);
                let mut nodes: Vec<Node> = (0..routers).map(|i| router(i, v6)).collect();
                nodes.extend((0..hosts).zip(homes).map(|(i, home)| host(i, v6, home)));
                let mut ends = Vec::new();
                for (router, (parent, ab, ba)) in (1..).zip(trunks) {
                    ends.push((parent % router, router, ab, ba));
                }
                for (host, (router, ab, ba)) in (routers..).zip(accesses) {
                    ends.push((host, router % routers, ab, ba));
                }
                for (host, router, ab, ba) in seconds {
                    ends.push((router % routers, routers + host % hosts, ab, ba));
                }
                let links = ends.into_iter().enumerate().map(|(i, (a, b, ab, ba))| Link {
                    mtu: mtus[i],
                    name: format!("link{i}"),
                    a,
                    b,
                    ab,
                    ba,
                });
                let flows = flows.into_iter().enumerate().map(|(i, (from, to, conversation))| {
                    let from = from % hosts;
                    let to = (from + 1 + to % (hosts - 1)) % hosts;
                    conversation.flow(i, routers + from, routers + to, duration_ns)
                });
                let links: Vec<Link> = links.collect();
                let flows: Vec<Flow> = flows.collect();
                let events = timeline(&events, &links, &flows, duration_ns);
                Plan {
                    limits: voxpath_sim::plan::Limits::default(),
                    events,
                    programs: vec![],
                    processes: vec![],
                    relays: vec![],
                    version: VERSION,
                    name: "random".into(),
                    seed,
                    duration_ns,
                    nodes,
                    links,
                    interfaces: vec![],
                    routes: vec![],
                    flows,
                }
            },
        )
    })
}

/// What happens to which link or flow; what cannot happen is left out.
fn timeline(
    drawn: &[(u32, u64, Option<LinkChange>)],
    links: &[Link],
    flows: &[Flow],
    duration_ns: Option<u64>,
) -> Vec<Event> {
    let mut events: Vec<Event> = drawn
        .iter()
        .filter_map(|(which, at, change)| {
            let at_ns = at % duration_ns.unwrap_or(5 * SECOND);
            let change = match change {
                // Without an end nothing would bring back what waits for a link that is down.
                Some(LinkChange::Up { .. }) if duration_ns.is_none() => return None,
                Some(set) => {
                    let link = which / 2 % links.len() as u32;
                    let between = &links[link as usize];
                    let (direction, of) =
                        if which % 2 == 0 { (Way::Ab, &between.ab) } else { (Way::Ba, &between.ba) };
                    if matches!(set, LinkChange::Rate { .. }) && of.capacity.is_some() {
                        return None;
                    }
                    Change::Link { link, direction, set: set.clone() }
                }
                None => {
                    let flow = which % flows.len() as u32;
                    let starts = flows[flow as usize].start_ns;
                    (starts < at_ns).then_some(Change::Flow { flow, runs: false })?
                }
            };
            Some(Event { at_ns, change })
        })
        .collect();
    events.sort_by_key(|event| event.at_ns);
    let mut stopped = Vec::new();
    events.retain(|event| match event.change {
        Change::Flow { flow, .. } => !stopped.contains(&flow) && (stopped.push(flow), true).1,
        _ => true,
    });
    events
}

/// A change of a link, or the stop of a flow.
fn event() -> impl Strategy<Value = Option<LinkChange>> {
    prop_oneof![
        (50_000..200_000_000_u64).prop_map(|rate_bps| Some(LinkChange::Rate { rate_bps })),
        (0..100 * MS).prop_map(|delay_ns| Some(LinkChange::Delay { delay_ns })),
        (0.0..0.15_f64).prop_map(|p| Some(LinkChange::Loss { loss: loss::Bernoulli { p }.into() })),
        (prop::option::of(0..60_u32), prop::option::of(0..100_000_u64))
            .prop_map(|(packets, bytes)| Some(LinkChange::Queue { packets, bytes })),
        any::<bool>().prop_map(|up| Some(LinkChange::Up { up })),
        Just(None),
    ]
}

fn router(i: u32, v6: bool) -> Node {
    // Hosts have the other numbers.
    let own = host(1000 + i, v6, 0).addresses;
    let name = format!("router{i}");
    Node { simulated: false, real: false, edge: None, name, kind: NodeKind::Router, addresses: own }
}

/// A host with an address of the plan's family, and perhaps one of the other before or after.
fn host(i: u32, v6: bool, home: u8) -> Node {
    let v4: IpAddr = Ipv4Addr::from(0x0a00_0001 + i).into();
    let v6_address: IpAddr = Ipv6Addr::from((0xfd00_u128 << 112) + 1 + u128::from(i)).into();
    let (ours, other) = if v6 { (v6_address, v4) } else { (v4, v6_address) };
    let addresses = match home {
        0 => vec![ours],
        1 => vec![ours, other],
        _ => vec![other, ours],
    };
    Node {
        simulated: false,
        real: false,
        edge: None,
        name: format!("host{i}"),
        kind: NodeKind::Host,
        addresses,
    }
}

pub fn direction() -> impl Strategy<Value = Direction> {
    let rate = prop_oneof![
        1 => Just((None, None)),
        4 => (50_000..200_000_000_u64).prop_map(|rate| (Some(rate), None)),
        2 => capacity().prop_map(|capacity| (None, Some(capacity))),
    ];
    let queue = (prop::option::of(0..60_u32), prop::option::of(0..100_000_u64), drawn(Queueing::sample));
    let duplicate = prop_oneof![3 => Just(0.0), 1 => 0.0..0.2_f64];
    let reorder =
        prop::option::weighted(0.3, (0.0..0.2_f64, 0..50 * MS).prop_map(|(p, by_ns)| Reorder { p, by_ns }));
    let corruption = prop_oneof![3 => Just(Loss::None), 1 => drawn(Loss::sample)];
    let delay = (0..100 * MS, prop::option::weighted(0.3, variation()));
    (rate, queue, any::<bool>(), drawn(Loss::sample), corruption, duplicate, reorder, delay).prop_map(
        |(
            (rate_bps, capacity),
            queue,
            ethernet,
            loss,
            corruption,
            duplicate,
            reorder,
            (delay_ns, variation),
        )| {
            let limited = rate_bps.is_some() || capacity.is_some();
            let (queue_packets, queue_bytes, queueing) =
                if limited { queue } else { (None, None, Queueing::default()) };
            let traced = matches!(capacity, Some(Capacity::Trace { .. }));
            let stepped = matches!(variation, Some(DelayVariation::Steps { .. }));
            Direction {
                queue_packets,
                queue_bytes,
                queueing,
                rate_bps,
                capacity,
                framing: if ethernet && !traced { Framing::Ethernet } else { Framing::Ip },
                loss,
                corruption,
                duplicate,
                reorder,
                delay_ns: if stepped { 0 } else { delay_ns + 1 },
                delay_variation: variation,
            }
        },
    )
}

/// What an element draws for itself, mild enough for transfers to end.
fn drawn<T: std::fmt::Debug>(sample: fn(&mut dyn Draw) -> T) -> impl Strategy<Value = T> {
    // Without a choice left it takes the first: so lists that shrink give simpler settings.
    prop::collection::vec(any::<u64>(), 0..24).prop_map(move |choices| sample(&mut Mild(choices.into_iter())))
}

struct Mild(std::vec::IntoIter<u64>);

impl Draw for Mild {
    fn below(&mut self, n: u64) -> u64 {
        self.0.next().unwrap_or(0) % n
    }

    fn prob(&mut self) -> f64 {
        self.below(150_000) as f64 / 1e6
    }

    fn span(&mut self) -> u64 {
        self.below(300 * MS)
    }

    fn rate(&mut self) -> u64 {
        if self.below(6) == 0 { 0 } else { 50_000 + self.below(20_000_000) }
    }
}

fn capacity() -> impl Strategy<Value = Capacity> {
    let rate = || prop_oneof![1 => Just(0), 5 => 50_000..20_000_000_u64];
    let steps = (prop::collection::vec((1..500 * MS, rate()), 1..6), 50_000..20_000_000_u64, 1..100 * MS);
    let schedule = (steps, any::<bool>()).prop_map(|((gaps, last, rest), repeats)| {
        let mut at = 0;
        let mut steps = Vec::new();
        for (gap, rate) in gaps {
            steps.push((at, rate));
            at += gap;
        }
        steps.push((at, last));
        Capacity::Schedule { steps, period_ns: repeats.then_some(at + rest) }
    });
    let state = |rate| {
        (rate, MS..500 * MS, any::<bool>(), 0.1..0.9_f64).prop_map(|(rate_bps, dwell_ns, exponential, p)| {
            CapacityState { rate_bps, dwell_ns, exponential, next: vec![p, 1.0 - p] }
        })
    };
    let states = (state(rate().boxed()), state((50_000..20_000_000_u64).boxed()));
    let trace = prop::collection::vec(0..30_u32, 1..100).prop_map(|gaps| {
        let mut opportunities_ms: Vec<u32> = gaps
            .iter()
            .scan(0, |at, gap| {
                *at += gap;
                Some(*at)
            })
            .collect();
        opportunities_ms.push(opportunities_ms[opportunities_ms.len() - 1] + 1);
        Capacity::Trace { opportunities_ms }
    });
    prop_oneof![schedule, states.prop_map(|(a, b)| Capacity::Markov { states: vec![a, b] }), trace,]
}

fn variation() -> impl Strategy<Value = DelayVariation> {
    let steps = (prop::collection::vec((1..500 * MS, 0..100 * MS), 1..6), any::<bool>());
    prop_oneof![
        (0..30 * MS, 0.0..=1.0_f64, any::<bool>()).prop_map(|(deviation_ns, correlation, overtaking)| {
            DelayVariation::Normal { deviation_ns, correlation, overtaking }
        }),
        (1.5..10.0_f64, 0.0..=1.0_f64, any::<bool>()).prop_map(|(shape, correlation, overtaking)| {
            DelayVariation::Pareto { shape, correlation, overtaking }
        }),
        steps.prop_map(|(gaps, repeats)| {
            let mut at = 0;
            let mut steps = Vec::new();
            for (gap, delay) in gaps {
                steps.push((at, delay));
                at += gap;
            }
            DelayVariation::Steps { steps, period_ns: repeats.then_some(at) }
        }),
    ]
}

/// What a flow does, without its ends.
#[derive(Debug, Clone)]
struct Conversation {
    start_ns: u64,
    client: Config,
    server: Config,
    /// Where the application leaves the choice.
    over_udp: bool,
    app: App,
}

impl Conversation {
    fn flow(self, i: usize, from: u32, to: u32, duration_ns: Option<u64>) -> Flow {
        let endless = duration_ns.is_some();
        let (transport, app) = match self.app {
            App::Cbr(Cbr { packet_bytes, interval_ns, packets }) => {
                let packets = packets.or(if endless { None } else { Some(100) });
                (Transport::Udp, App::Cbr(Cbr { packet_bytes, interval_ns, packets }))
            }
            App::OnOff(OnOff { packet_bytes, interval_ns, on, off, packets }) => {
                let packets = packets.or(if endless { None } else { Some(50) });
                let transport = match self.over_udp {
                    true => Transport::Udp,
                    false => Transport::tcp(self.client, self.server),
                };
                (transport, App::OnOff(OnOff { packet_bytes, interval_ns, on, off, packets }))
            }
            App::Bulk(Bulk { bytes }) => {
                let bytes = bytes.or(if endless { None } else { Some(100_000) });
                (Transport::tcp(self.client, self.server), App::Bulk(Bulk { bytes }))
            }
            app => (Transport::tcp(self.client, self.server), app),
        };
        let start_ns = duration_ns.map_or(self.start_ns, |end| self.start_ns % end);
        Flow {
            through: None,
            from_address: None,
            to_address: None,
            simulated: false,
            name: format!("flow{i}"),
            from,
            to,
            start_ns,
            transport,
            app,
        }
    }
}

fn conversation() -> impl Strategy<Value = Conversation> {
    let app = prop_oneof![
        prop::option::of(0..300_000_u64).prop_map(|bytes| App::Bulk(Bulk { bytes })),
        (1..3_000_u64, 1..100_000_u64, 1..5_u32, 0..SECOND).prop_map(
            |(request_bytes, response_bytes, requests, pause_ns)| App::Download(Download {
                request_bytes,
                response_bytes,
                requests,
                pause_ns
            })
        ),
        ([1..8_u32, 1..4], [1..4_000_u64, 1..3_000], 0..500_u64, [MS..400 * MS, 1..SECOND, 1..SECOND])
            .prop_map(
                |(
                    [blocks, requests],
                    [block_bytes, answer_bytes],
                    partial_bytes,
                    [interval_ns, processing_ns, pause_ns],
                )| App::Voice(Voice {
                    blocks,
                    block_bytes,
                    interval_ns,
                    partial_bytes,
                    answer_bytes,
                    processing_ns,
                    requests,
                    pause_ns,
                })
            ),
        (1..3_000_u32, MS..100 * MS, prop::option::of(0..200_u64)).prop_map(
            |(packet_bytes, interval_ns, packets)| App::Cbr(Cbr { packet_bytes, interval_ns, packets })
        ),
        (1..1_000_u64, 0..SECOND, 0..5 * SECOND, 1..4_u32).prop_map(
            |(request_bytes, parsing_ns, reading_ns, pages)| App::Web(Web {
                request_bytes,
                main: object_size(10_710, 25_032),
                embedded: object_size(7_758, 20_000),
                objects: ObjectCount { shape: 1.1, scale: 2.0, bound: 10.0 },
                parsing_ns,
                reading_ns,
                pages: Some(pages),
            })
        ),
        (push_way(), 1..3_000_u64, 4..3_000_u64, updates()).prop_map(
            |(way, request_bytes, head_bytes, updates)| App::Push(Push {
                way,
                request_bytes,
                head_bytes,
                updates
            })
        ),
        (1..3_000_u32, MS..100 * MS, law(), law(), prop::option::of(0..200_u64)).prop_map(
            |(packet_bytes, interval_ns, on, off, packets)| App::OnOff(OnOff {
                packet_bytes,
                interval_ns,
                on,
                off,
                packets
            })
        ),
    ];
    (0..2 * SECOND, config(), config(), any::<bool>(), app).prop_map(
        |(start_ns, client, server, over_udp, app)| Conversation { start_ns, client, server, over_udp, app },
    )
}

fn push_way() -> impl Strategy<Value = PushWay> {
    prop_oneof![
        (4..100_u64).prop_map(|event_bytes| PushWay::Streaming { event_bytes }),
        Just(PushWay::LongPolling),
        (MS..SECOND).prop_map(|every_ns| PushWay::Polling { every_ns }),
    ]
}

fn updates() -> impl Strategy<Value = Vec<(u64, u32)>> {
    prop::collection::vec((0..3 * SECOND, 1..5_000_u32), 1..20).prop_map(|mut updates| {
        updates.sort_unstable();
        updates
    })
}

pub fn object_size(mean_bytes: u64, deviation_bytes: u64) -> ObjectSize {
    ObjectSize { mean_bytes, deviation_bytes, least_bytes: 50, most_bytes: 2_000_000 }
}

fn law() -> impl Strategy<Value = Law> {
    (MS..SECOND, 0..3_u8, 1.1..3.0_f64).prop_map(|(mean_ns, kind, shape)| match kind {
        0 => Law::Constant { mean_ns },
        1 => Law::Exponential { mean_ns },
        _ => Law::Pareto { mean_ns, shape },
    })
}

/// Any profile with any recovery, and buffers, segments and options of its own.
pub fn config() -> impl Strategy<Value = Config> {
    let profile = prop::sample::select(&Profile::ALL[..]).prop_map(|(_, profile)| profile.config());
    let recovery = prop::sample::select(&[Recovery::Tahoe, Recovery::Reno, Recovery::NewReno][..]);
    let congestion = prop::sample::select(Congestion::ALL).prop_map(|(_, congestion)| congestion);
    let options = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let sizes = (100..3_000_u16, 3_000..200_000_u32, 3_000..200_000_u32);
    let delayed = (0..200_u64, 1..4_u32);
    (profile, recovery, congestion, options, sizes, delayed).prop_map(
        |(
            profile,
            recovery,
            congestion,
            options,
            (mss, send_buffer, receive_buffer),
            (delay_ms, segments),
        )| {
            let mut config = Config { recovery, congestion, mss, send_buffer, receive_buffer, ..profile };
            (config.sack, config.timestamps, config.window_scaling, config.nagle) = options;
            config.delayed_ack.max_delay = Span::from_millis(delay_ms);
            config.delayed_ack.max_segments = segments;
            config
        },
    )
}
