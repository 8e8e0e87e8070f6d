//! One direction of a link: what keeps it from being built, and how it is built.

use crate::check::{Checker, FASTEST_BPS};
use crate::plan::{self, Direction, Queueing};
use alloc::format;
use alloc::vec::Vec;
use voxpath_net::LinkConfig;
use voxpath_net::element::{
    self, Delay, Distribution, Dwell, FourState, GilbertElliott, Limit, Opportunities, RandomDelay, State,
    Steps,
};
use voxpath_units::{Prob, Rate, Span};

/// The shortest mean of a state: a chain of shorter ones would keep a run from getting on.
const SHORTEST_DWELL_NS: u64 = 1_000;
/// The shortest update of PIE's probability, and the shortest quantum and the most queues of FQ-CoDel, likewise.
const SHORTEST_UPDATE_NS: u64 = 1_000;
const LEAST_QUANTUM: u32 = 64;
const MOST_QUEUES: u32 = 1 << 20;
/// By how much the probabilities of a state's successors may miss one.
const ROUNDING: f64 = 1e-9;

impl Checker<'_> {
    /// Everything that keeps a direction from being built.
    pub(crate) fn direction(&mut self, path: &str, direction: &Direction) {
        self.capacity(path, direction);
        self.queueing(&format!("{path}.queueing"), &direction.queueing);
        self.loss(&format!("{path}.loss"), &direction.loss);
        self.loss(&format!("{path}.corruption"), &direction.corruption);
        self.probability(format_args!("{path}.duplicate"), direction.duplicate);
        if let Some(reorder) = &direction.reorder {
            self.probability(format_args!("{path}.reorder.p"), reorder.p);
            self.span(format_args!("{path}.reorder.by_ns"), reorder.by_ns);
        }
        self.span(format_args!("{path}.delay_ns"), direction.delay_ns);
        self.variation(&format!("{path}.delay_variation"), direction);
    }

    /// A rate that something is to be served at.
    pub(crate) fn rate(&mut self, path: &str, rate: u64) {
        if rate == 0 {
            self.fail(path, "a rate is above zero");
        }
        self.not_too_fast(path, rate);
    }

    fn capacity(&mut self, path: &str, direction: &Direction) {
        if let Some(rate) = direction.rate_bps {
            self.rate(&format!("{path}.rate_bps"), rate);
        }
        let Some(capacity) = &direction.capacity else {
            if direction.rate_bps.is_none() {
                self.no_queue(path, direction);
            }
            return;
        };
        let path = format!("{path}.capacity");
        if direction.rate_bps.is_some() {
            self.fail(&path, "a link has a constant rate or a capacity that varies, not both");
        }
        match capacity {
            plan::Capacity::Schedule { steps, period_ns } => {
                self.steps(&path, steps, *period_ns);
                for (i, &(_, rate)) in steps.iter().enumerate() {
                    self.not_too_fast(format_args!("{path}.steps[{i}]"), rate);
                }
                if steps.iter().all(|&(_, rate)| rate == 0) {
                    self.fail(format_args!("{path}.steps"), "nothing ever passes: one rate is above zero");
                }
            }
            plan::Capacity::Markov { states } => self.chain(&path, states),
            plan::Capacity::Trace { opportunities_ms } => {
                if Opportunities::new(opportunities_ms).is_none() {
                    self.fail(
                        format_args!("{path}.opportunities_ms"),
                        "a trace is a list of milliseconds that do not descend, the last above zero",
                    );
                }
                if direction.framing != plan::Framing::Ip {
                    self.fail(&path, "a trace counts its own bytes: leave out the framing");
                }
            }
        }
    }

    fn no_queue(&mut self, path: &str, direction: &Direction) {
        let bounds = [
            ("queue_packets", direction.queue_packets.is_some()),
            ("queue_bytes", direction.queue_bytes.is_some()),
            ("queueing", direction.queueing != Queueing::DropTail),
        ];
        for (key, given) in bounds {
            if given {
                self.fail(
                    format_args!("{path}.{key}"),
                    "a queue never fills without a rate: give a rate, or no queue",
                );
            }
        }
    }

    fn not_too_fast(&mut self, path: impl core::fmt::Display, rate: u64) {
        if rate > FASTEST_BPS {
            self.fail(path, format_args!("{rate} bit/s is above 100 Tbit/s"));
        }
    }

    fn chain(&mut self, path: &str, states: &[plan::CapacityState]) {
        if states.iter().all(|state| state.rate_bps == 0) {
            self.fail(format_args!("{path}.states"), "nothing ever passes: one state has a rate above zero");
        }
        for (i, state) in states.iter().enumerate() {
            let path = format!("{path}.states[{i}]");
            self.not_too_fast(format_args!("{path}.rate_bps"), state.rate_bps);
            self.span(format_args!("{path}.dwell_ns"), state.dwell_ns);
            if state.dwell_ns < SHORTEST_DWELL_NS {
                self.fail(format_args!("{path}.dwell_ns"), "a state lasts 1 us at least");
            }
            let sum: f64 = state.next.iter().sum();
            let probable = state.next.iter().all(|&p| Prob::new(p).is_some());
            if state.next.len() != states.len() || !probable || (sum - 1.0).abs() > ROUNDING {
                let count = states.len();
                self.fail(
                    format_args!("{path}.next"),
                    format_args!("are {count} probabilities that sum up to 100 %, one for each state"),
                );
            }
        }
    }

    fn queueing(&mut self, path: &str, queueing: &Queueing) {
        match *queueing {
            Queueing::DropTail => {}
            Queueing::Red { min_packets, max_packets, max_p, weight, mean_packet_bytes, .. } => {
                if !(min_packets >= 0.0 && max_packets > min_packets && max_packets.is_finite()) {
                    self.fail(
                        format_args!("{path}.max_packets"),
                        format_args!("{max_packets} is not above the least average, {min_packets}"),
                    );
                }
                self.probability(format_args!("{path}.max_p"), max_p);
                if !(weight > 0.0 && weight <= 1.0) {
                    self.fail(
                        format_args!("{path}.weight"),
                        format_args!("{weight} is not above 0 and at most 1"),
                    );
                }
                if mean_packet_bytes == 0 {
                    self.fail(format_args!("{path}.mean_packet_bytes"), "at least 1");
                }
            }
            Queueing::Codel { target_ns, interval_ns, .. } => self.codel(path, target_ns, interval_ns),
            Queueing::FqCodel { target_ns, interval_ns, queues, quantum_bytes, .. } => {
                self.codel(path, target_ns, interval_ns);
                if !(1..=MOST_QUEUES).contains(&queues) {
                    self.fail(format_args!("{path}.queues"), format_args!("are from 1 to {MOST_QUEUES}"));
                }
                if quantum_bytes < LEAST_QUANTUM {
                    self.fail(
                        format_args!("{path}.quantum_bytes"),
                        format_args!("is {LEAST_QUANTUM} B at least"),
                    );
                }
            }
            Queueing::Pie { target_ns, update_ns, max_burst_ns, alpha, beta, .. } => {
                for (key, ns) in
                    [("target_ns", target_ns), ("update_ns", update_ns), ("max_burst_ns", max_burst_ns)]
                {
                    self.span(format_args!("{path}.{key}"), ns);
                }
                if update_ns < SHORTEST_UPDATE_NS {
                    self.fail(format_args!("{path}.update_ns"), "is 1 us at least");
                }
                for (key, gain) in [("alpha", alpha), ("beta", beta)] {
                    if !(gain >= 0.0 && gain.is_finite()) {
                        self.fail(format_args!("{path}.{key}"), format_args!("{gain} is not zero or above"));
                    }
                }
            }
        }
    }

    fn codel(&mut self, path: &str, target_ns: u64, interval_ns: u64) {
        self.span(format_args!("{path}.target_ns"), target_ns);
        self.span(format_args!("{path}.interval_ns"), interval_ns);
        if interval_ns == 0 {
            self.fail(format_args!("{path}.interval_ns"), "is above zero");
        }
    }

    pub(crate) fn loss(&mut self, path: &str, loss: &plan::Loss) {
        match loss {
            plan::Loss::None => {}
            plan::Loss::Bernoulli { p } => self.probability(format_args!("{path}.p"), *p),
            plan::Loss::BitErrors { rate, .. } => self.probability(format_args!("{path}.rate"), *rate),
            plan::Loss::List { packets } => {
                if packets.first() == Some(&0) {
                    self.fail(format_args!("{path}.packets"), "packets are counted from 1");
                }
                if !packets.is_sorted_by(|a, b| a < b) {
                    self.fail(format_args!("{path}.packets"), "numbers ascend, and none occurs twice");
                }
            }
            &plan::Loss::GilbertElliott { to_bad, to_good, loss_good, loss_bad } => {
                for (key, p) in [
                    ("to_bad", to_bad),
                    ("to_good", to_good),
                    ("loss_good", loss_good),
                    ("loss_bad", loss_bad),
                ] {
                    self.probability(format_args!("{path}.{key}"), p);
                }
            }
            &plan::Loss::FourState { p13, p31, p32, p23, p14 } => {
                for (key, p) in [("p13", p13), ("p31", p31), ("p32", p32), ("p23", p23), ("p14", p14)] {
                    self.probability(format_args!("{path}.{key}"), p);
                }
                for (key, sum, of) in [("p13", p13 + p14, "p13 and p14"), ("p31", p31 + p32, "p31 and p32")] {
                    if sum > 1.0 {
                        self.fail(
                            format_args!("{path}.{key}"),
                            format_args!("{of} are steps from one state: together at most 100 %"),
                        );
                    }
                }
            }
            plan::Loss::Outages { outages, period_ns } => {
                let ends = outages.iter().flat_map(|&(from, to)| [from, to]);
                if outages.is_empty() || !ends.clone().is_sorted_by(|a, b| a < b) {
                    self.fail(
                        format_args!("{path}.outages"),
                        "are at least one, in order, each above zero long, and none touches the next",
                    );
                }
                let last = ends.max().unwrap_or(0);
                self.span(format_args!("{path}.outages"), last);
                if period_ns.is_some_and(|period| period < last || period == 0) {
                    self.fail(format_args!("{path}.period_ns"), "is not before the end of the last outage");
                }
            }
            plan::Loss::Trace { lost } => {
                if lost.is_empty() || !lost.bytes().all(|byte| matches!(byte, b'0' | b'1')) {
                    self.fail(format_args!("{path}.lost"), "is at least one of the digits 0 and 1");
                }
            }
        }
    }

    fn variation(&mut self, path: &str, direction: &Direction) {
        match &direction.delay_variation {
            None => {}
            Some(plan::DelayVariation::Normal { deviation_ns, correlation, .. }) => {
                self.span(format_args!("{path}.deviation_ns"), *deviation_ns);
                self.probability(format_args!("{path}.correlation"), *correlation);
            }
            Some(plan::DelayVariation::Pareto { shape, correlation, .. }) => {
                self.probability(format_args!("{path}.correlation"), *correlation);
                if !(*shape > 0.0 && shape.is_finite()) {
                    self.fail(format_args!("{path}.shape"), format_args!("{shape} is not above 0"));
                }
                if direction.delay_ns == 0 {
                    self.fail(format_args!("{path}.shape"), "the shortest delay is above zero");
                }
            }
            Some(plan::DelayVariation::Steps { steps, period_ns }) => {
                self.steps(path, steps, *period_ns);
                for (i, &(_, delay)) in steps.iter().enumerate() {
                    self.span(format_args!("{path}.steps[{i}]"), delay);
                }
                if direction.delay_ns != 0 {
                    self.fail(path, "a delay in steps stands in place of delay_ns, which is 0");
                }
            }
        }
    }

    fn steps(&mut self, path: &str, steps: &[(u64, u64)], period_ns: Option<u64>) {
        let message = match steps {
            [] => "are at least one",
            [first, ..] if first.0 != 0 => "start at zero",
            _ if !steps.is_sorted_by(|a, b| a.0 < b.0) => "ascend, and none comes at the time of another",
            _ => {
                let last = steps.last().map_or(0, |step| step.0);
                self.span(format_args!("{path}.steps"), last);
                if let Some(period) = period_ns {
                    self.span(format_args!("{path}.period_ns"), period);
                    if period <= last {
                        self.fail(format_args!("{path}.period_ns"), "is after the last step");
                    }
                }
                return;
            }
        };
        self.fail(format_args!("{path}.steps"), message);
    }
}

/// Whether a packet ever needs time for it.
pub(crate) const fn takes_time(direction: &Direction) -> bool {
    direction.delay_ns > 0
        || direction.rate_bps.is_some()
        || direction.capacity.is_some()
        || direction.delay_variation.is_some()
}

/// The shortest delay that a packet may have.
pub(crate) fn least_delay_ns(direction: &Direction) -> u64 {
    match &direction.delay_variation {
        None | Some(plan::DelayVariation::Pareto { .. }) => direction.delay_ns,
        Some(plan::DelayVariation::Normal { .. }) => 0,
        Some(plan::DelayVariation::Steps { steps, .. }) => steps.iter().map(|step| step.1).min().unwrap_or(0),
    }
}

const CHECKED: &str = "a plan was checked for its links";

fn prob(p: f64) -> Prob {
    Prob::new(p).expect(CHECKED)
}

fn steps<T: Copy>(steps: &[(u64, u64)], period_ns: Option<u64>, value: fn(u64) -> T) -> Steps<T> {
    let steps = steps.iter().map(|&(at, of)| (Span::from_nanos(at), value(of))).collect();
    Steps::new(steps, period_ns.map(Span::from_nanos)).expect(CHECKED)
}

/// What the network is told of a direction.
pub(crate) fn config(direction: &Direction) -> LinkConfig {
    LinkConfig {
        limit: Limit { packets: direction.queue_packets, bytes: direction.queue_bytes },
        queueing: queueing(&direction.queueing),
        capacity: direction
            .capacity
            .as_ref()
            .map_or_else(|| direction.rate_bps.and_then(Rate::from_bits_per_sec).into(), capacity),
        framing: match direction.framing {
            plan::Framing::Ip => element::Framing::Ip,
            plan::Framing::Ethernet => element::Framing::Ethernet,
        },
        loss: loss(&direction.loss),
        corruption: loss(&direction.corruption),
        duplicate: prob(direction.duplicate),
        reorder: direction.reorder.as_ref().map(|reorder| (prob(reorder.p), Span::from_nanos(reorder.by_ns))),
        delay: delay(direction),
        changing: false,
    }
}

fn queueing(planned: &Queueing) -> element::Queueing {
    let codel = |target_ns, interval_ns, ecn| element::CodelSettings {
        target: Span::from_nanos(target_ns),
        interval: Span::from_nanos(interval_ns),
        ecn,
    };
    match *planned {
        Queueing::DropTail => element::Queueing::DropTail,
        Queueing::Red { min_packets, max_packets, max_p, weight, gentle, mean_packet_bytes, ecn } => {
            element::Queueing::Red(element::RedSettings {
                min: min_packets,
                max: max_packets,
                max_p: prob(max_p),
                weight,
                gentle,
                mean_packet: mean_packet_bytes,
                ecn,
            })
        }
        Queueing::Codel { target_ns, interval_ns, ecn } => {
            element::Queueing::Codel(codel(target_ns, interval_ns, ecn))
        }
        Queueing::FqCodel { target_ns, interval_ns, queues, quantum_bytes, ecn } => {
            element::Queueing::FqCodel(element::FqCodelSettings {
                codel: codel(target_ns, interval_ns, ecn),
                queues,
                quantum: quantum_bytes,
            })
        }
        Queueing::Pie { target_ns, update_ns, max_burst_ns, alpha, beta, ecn } => {
            element::Queueing::Pie(element::PieSettings {
                target: Span::from_nanos(target_ns),
                update: Span::from_nanos(update_ns),
                max_burst: Span::from_nanos(max_burst_ns),
                alpha,
                beta,
                ecn,
            })
        }
    }
}

fn capacity(planned: &plan::Capacity) -> element::Capacity {
    match planned {
        plan::Capacity::Schedule { steps: planned, period_ns } => {
            element::Capacity::Schedule(steps(planned, *period_ns, |rate| rate))
        }
        plan::Capacity::Markov { states } => {
            let state = |planned: &plan::CapacityState| {
                let span = Span::from_nanos(planned.dwell_ns);
                State {
                    rate: planned.rate_bps,
                    dwell: if planned.exponential { Dwell::Exponential(span) } else { Dwell::Constant(span) },
                    next: planned.next.iter().map(|&p| prob(p)).collect(),
                }
            };
            element::Capacity::Markov(states.iter().map(state).collect())
        }
        plan::Capacity::Trace { opportunities_ms } => {
            element::Capacity::Trace(Opportunities::new(opportunities_ms).expect(CHECKED))
        }
    }
}

pub(crate) fn loss(planned: &plan::Loss) -> element::Loss {
    use element::Loss;
    match planned {
        plan::Loss::None => Loss::None,
        plan::Loss::Bernoulli { p } => Loss::bernoulli(prob(*p)),
        plan::Loss::BitErrors { rate, form: plan::BitErrorForm::Exact } => {
            Loss::bit_errors(*rate, element::BitErrorForm::Exact)
        }
        plan::Loss::BitErrors { rate, form: plan::BitErrorForm::Linear } => {
            Loss::bit_errors(*rate, element::BitErrorForm::Linear)
        }
        plan::Loss::List { packets } => Loss::list(packets.clone()),
        &plan::Loss::GilbertElliott { to_bad, to_good, loss_good, loss_bad } => Loss::GilbertElliott(
            GilbertElliott::new(prob(to_bad), prob(to_good), prob(loss_good), prob(loss_bad)),
        ),
        &plan::Loss::FourState { p13, p31, p32, p23, p14 } => Loss::FourState(
            FourState::new(prob(p13), prob(p31), prob(p32), prob(p23), prob(p14)).expect(CHECKED),
        ),
        plan::Loss::Outages { outages, period_ns } => {
            let mut steps: Vec<(Span, bool)> =
                outages.iter().flat_map(|&(from, to)| [(from, true), (to, false)]).map(at).collect();
            if outages[0].0 > 0 {
                steps.insert(0, (Span::ZERO, false));
            }
            // An outage that lasts until they start over ends where that begins.
            steps.pop_if(|last| Some(last.0.as_nanos()) == *period_ns);
            Loss::Outages(Steps::new(steps, period_ns.map(Span::from_nanos)).expect(CHECKED))
        }
        plan::Loss::Trace { lost } => Loss::trace(flags(lost)).expect(CHECKED),
    }
}

fn at<T>((ns, value): (u64, T)) -> (Span, T) {
    (Span::from_nanos(ns), value)
}

fn flags(digits: &str) -> Vec<bool> {
    digits.bytes().map(|digit| digit == b'1').collect()
}

fn delay(direction: &Direction) -> Delay {
    let base = Span::from_nanos(direction.delay_ns);
    match &direction.delay_variation {
        None => Delay::Constant(base),
        &Some(plan::DelayVariation::Normal { deviation_ns, correlation, overtaking }) => {
            let deviation = Span::from_nanos(deviation_ns);
            let distribution = Distribution::Normal { mean: base, deviation };
            Delay::Random(RandomDelay::new(distribution, prob(correlation), overtaking))
        }
        &Some(plan::DelayVariation::Pareto { shape, correlation, overtaking }) => {
            let distribution = Distribution::Pareto { least: base, shape };
            Delay::Random(RandomDelay::new(distribution, prob(correlation), overtaking))
        }
        Some(plan::DelayVariation::Steps { steps: planned, period_ns }) => {
            Delay::Steps(steps(planned, *period_ns, Span::from_nanos))
        }
    }
}
