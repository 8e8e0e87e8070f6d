//! One direction of a link: what keeps it from being built, and how it is built.

use crate::plan::{self, Direction, Queueing};
use voxpath_net::LinkConfig;
use voxpath_net::element::{
    self, Delay, Distribution, Dwell, Limit, Opportunities, RandomDelay, State, Steps,
};
use voxpath_units::check::Check;
use voxpath_units::{Prob, Rate, Span};

/// The shortest mean of a state: a chain of shorter ones would keep a run from getting on.
const SHORTEST_DWELL_NS: u64 = 1_000;
/// By how much the probabilities of a state's successors may miss one.
const ROUNDING: f64 = 1e-9;

/// Everything that keeps a direction from being built.
pub(crate) fn check(direction: &Direction, check: &mut Check<'_>) {
    capacity_problems(direction, check);
    direction.queueing.check(&mut check.at("queueing"));
    direction.loss.check(&mut check.at("loss"));
    direction.corruption.check(&mut check.at("corruption"));
    check.at("duplicate").probability(direction.duplicate);
    if let Some(reorder) = &direction.reorder {
        let mut place = check.at("reorder");
        place.at("p").probability(reorder.p);
        place.at("by_ns").span(reorder.by_ns);
    }
    check.at("delay_ns").span(direction.delay_ns);
    variation_problems(direction, &mut check.at("delay_variation"));
}

fn capacity_problems(direction: &Direction, check: &mut Check<'_>) {
    if let Some(rate) = direction.rate_bps {
        check.at("rate_bps").rate(rate);
    }
    let Some(capacity) = &direction.capacity else {
        if direction.rate_bps.is_none() {
            no_queue(direction, check);
        }
        return;
    };
    let mut check = check.at("capacity");
    if direction.rate_bps.is_some() {
        check.fail("a link has a constant rate or a capacity that varies, not both");
    }
    match capacity {
        plan::Capacity::Schedule { steps, period_ns } => {
            steps_problems(steps, *period_ns, &mut check);
            let mut place = check.at("steps");
            for (i, &(_, rate)) in steps.iter().enumerate() {
                place.at(i).rate_or_none(rate);
            }
            if steps.iter().all(|&(_, rate)| rate == 0) {
                place.fail("nothing ever passes: one rate is above zero");
            }
        }
        plan::Capacity::Markov { states } => chain_problems(states, &mut check),
        plan::Capacity::Trace { opportunities_ms } => {
            if Opportunities::new(opportunities_ms).is_none() {
                check
                    .at("opportunities_ms")
                    .fail("a trace is a list of milliseconds that do not descend, the last above zero");
            }
            if direction.framing != plan::Framing::Ip {
                check.fail("a trace counts its own bytes: leave out the framing");
            }
        }
    }
}

fn no_queue(direction: &Direction, check: &mut Check<'_>) {
    let bounds = [
        ("queue_packets", direction.queue_packets.is_some()),
        ("queue_bytes", direction.queue_bytes.is_some()),
        ("queueing", direction.queueing != Queueing::default()),
    ];
    for (key, given) in bounds {
        check.at(key).need(!given, "a queue never fills without a rate: give a rate, or no queue");
    }
}

fn chain_problems(states: &[plan::CapacityState], check: &mut Check<'_>) {
    let mut check = check.at("states");
    if states.iter().all(|state| state.rate_bps == 0) {
        check.fail("nothing ever passes: one state has a rate above zero");
    }
    for (i, state) in states.iter().enumerate() {
        let mut place = check.at(i);
        place.at("rate_bps").rate_or_none(state.rate_bps);
        place.at("dwell_ns").span(state.dwell_ns);
        place.at("dwell_ns").need(state.dwell_ns >= SHORTEST_DWELL_NS, "a state lasts 1 us at least");
        let sum: f64 = state.next.iter().sum();
        let probable = state.next.iter().all(|&p| Prob::new(p).is_some());
        if state.next.len() != states.len() || !probable || (sum - 1.0).abs() > ROUNDING {
            let count = states.len();
            place
                .at("next")
                .fail(format_args!("are {count} probabilities that sum up to 100 %, one for each state"));
        }
    }
}

fn variation_problems(direction: &Direction, check: &mut Check<'_>) {
    match &direction.delay_variation {
        None => {}
        Some(plan::DelayVariation::Normal { deviation_ns, correlation, .. }) => {
            check.at("deviation_ns").span(*deviation_ns);
            check.at("correlation").probability(*correlation);
        }
        Some(plan::DelayVariation::Pareto { shape, correlation, .. }) => {
            check.at("correlation").probability(*correlation);
            if !(*shape > 0.0 && shape.is_finite()) {
                check.at("shape").fail(format_args!("{shape} is not above 0"));
            }
            check.at("shape").need(direction.delay_ns > 0, "the shortest delay is above zero");
        }
        Some(plan::DelayVariation::Steps { steps, period_ns }) => {
            steps_problems(steps, *period_ns, check);
            for (i, &(_, delay)) in steps.iter().enumerate() {
                check.at("steps").at(i).span(delay);
            }
            check.need(direction.delay_ns == 0, "a delay in steps stands in place of delay_ns, which is 0");
        }
    }
}

fn steps_problems(steps: &[(u64, u64)], period_ns: Option<u64>, check: &mut Check<'_>) {
    let message = match steps {
        [] => "are at least one",
        [first, ..] if first.0 != 0 => "start at zero",
        _ if !steps.is_sorted_by(|a, b| a.0 < b.0) => "ascend, and none comes at the time of another",
        _ => {
            let last = steps.last().map_or(0, |step| step.0);
            check.at("steps").span(last);
            if let Some(period) = period_ns {
                let mut place = check.at("period_ns");
                place.span(period);
                place.need(period > last, "is after the last step");
            }
            return;
        }
    };
    check.at("steps").fail(message);
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
        queueing: direction.queueing.clone(),
        capacity: direction
            .capacity
            .as_ref()
            .map_or_else(|| direction.rate_bps.and_then(Rate::from_bits_per_sec).into(), capacity),
        framing: match direction.framing {
            plan::Framing::Ip => element::Framing::Ip,
            plan::Framing::Ethernet => element::Framing::Ethernet,
        },
        loss: direction.loss.clone(),
        corruption: direction.corruption.clone(),
        duplicate: prob(direction.duplicate),
        reorder: direction.reorder.as_ref().map(|reorder| (prob(reorder.p), Span::from_nanos(reorder.by_ns))),
        delay: delay(direction),
        changing: false,
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
