//! Plans: text that is one or not, and plans in which anything was replaced by anything. The engine's check answers with
//! what is wrong, or the plan runs, as far as it is let, and its books balance.

use crate::common::random;
use crate::source::Source;
use proptest::prelude::Strategy;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value, json};
use voxpath_sim::plan::NodeKind;
use voxpath_sim::{Observe, Plan, Simulation, check};

/// Events that a run is let: enough for every kind of element and application to be met.
const EVENTS: u64 = 3_000;

/// Panics if something does not hold. What begins with a brace is a plan's text; else two bytes choose a plan, and the
/// rest is what is done to it.
pub fn run(bytes: &[u8]) {
    if bytes.first() == Some(&b'{') {
        if let Ok(plan) = serde_json::from_slice(bytes) {
            simulate(&plan);
        }
        return;
    }
    let mut source = Source::new(bytes);
    let mut value = serde_json::to_value(base(source.u16())).expect("a plan is JSON");
    while !source.is_empty() {
        edit(&mut value, &mut source);
    }
    if let Ok(plan) = serde_json::from_value(value) {
        simulate(&plan);
    }
}

/// One of 65,536 plans that can run, always the same.
pub fn base(number: u16) -> Plan {
    let mut seed = [0; 32];
    seed[..2].copy_from_slice(&number.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    random::plan().new_tree(&mut runner).expect("nothing is filtered").current()
}

fn simulate(plan: &Plan) {
    let problems = check(plan);
    for problem in &problems {
        assert!(!problem.message.is_empty(), "{problem:?}");
    }
    let hosts = plan.nodes.iter().filter(|node| node.kind == NodeKind::Host);
    let observe = Observe {
        rtc: plan.seed.is_multiple_of(5),
        capacity: plan.seed.is_multiple_of(7),
        tcp: plan.seed.is_multiple_of(2),
        packets: plan.seed.is_multiple_of(3),
        capture: hosts.take(1).map(|host| host.name.clone()).collect(),
        snap_bytes: Some(64),
    };
    match Simulation::new(plan.clone(), 0, &observe) {
        Err(refused) => assert_eq!(refused.get(..problems.len()), Some(&problems[..])),
        Ok(mut simulation) => {
            assert_eq!(problems, []);
            let mut before = simulation.advance(0).now;
            for _ in 0..3 {
                let progress = simulation.advance(EVENTS / 3);
                assert!(progress.now >= before, "time goes forward");
                before = progress.now;
            }
            let verdict = simulation.finish().verdict;
            // A limit of the plan that was reached is the one thing that may be said.
            let said = usize::from(verdict.limit.is_some());
            assert_eq!(verdict.problems.len(), said, "{:?}", verdict.problems);
        }
    }
}

/// Goes down from the top, and changes what it comes to.
fn edit(value: &mut Value, source: &mut Source<'_>) {
    let whole = value.clone();
    let place = descend(value, source);
    match place {
        Value::Object(map) => edit_object(map, source),
        Value::Array(list) => edit_array(list, source),
        leaf => *leaf = replacement(leaf, &whole, source),
    }
}

/// What lies at the end of a way down.
fn descend<'v>(value: &'v mut Value, source: &mut Source<'_>) -> &'v mut Value {
    let len = match value {
        Value::Object(map) => map.len(),
        Value::Array(list) => list.len(),
        _ => 0,
    };
    if len == 0 || source.once_in(8) {
        return value;
    }
    let index = source.below(len);
    let inner = match value {
        Value::Object(map) => map.values_mut().nth(index),
        Value::Array(list) => list.get_mut(index),
        _ => None,
    };
    descend(inner.expect("below its length"), source)
}

fn edit_object(map: &mut Map<String, Value>, source: &mut Source<'_>) {
    let Some(key) = map.keys().nth(source.below(map.len().max(1))).cloned() else { return };
    match source.below(3) {
        0 => drop(map.remove(&key)),
        1 => {
            let value = map.remove(&key).expect("it is there");
            map.insert(format!("{key}s"), value);
        }
        _ => drop(map.insert(key, Value::Null)),
    }
}

fn edit_array(list: &mut Vec<Value>, source: &mut Source<'_>) {
    if list.is_empty() {
        return;
    }
    let at = source.below(list.len());
    match source.below(3) {
        0 => drop(list.remove(at)),
        1 => list.push(list[at].clone()),
        _ => list.swap(0, at),
    }
}

/// A leaf in place of another.
fn replacement(leaf: &Value, whole: &Value, source: &mut Source<'_>) -> Value {
    /// 500,000 hours, what a plan's longest span is.
    const LONGEST_NS: u64 = 1_800_000_000_000_000_000;
    let number = leaf.as_u64().unwrap_or_default();
    match source.below(20) {
        0 => json!(number.wrapping_add(1)),
        1 => json!(number.wrapping_sub(1)),
        2 => json!(number.saturating_mul(source.u8().into())),
        3 => json!(number / 1000),
        4 => json!(source.pick(&[0, 1, 2, 255, 65_535, u64::from(u32::MAX)])),
        5 => json!(source.pick(&[LONGEST_NS, LONGEST_NS + 1, u64::MAX, 1 << 53, 1 << 62, u64::MAX - 1])),
        6 => json!(source.u16()),
        7 => json!(source.u64()),
        8 => json!(source.pick(&[0.0, 1.0, 0.5, 1e-300, 1e300, -1.0, f64::MIN_POSITIVE, 1.0 + f64::EPSILON])),
        9 => Value::Null,
        10 => json!(leaf.as_bool().is_none_or(|value| !value)),
        11 => json!(-1),
        12 => json!(""),
        13 => json!(source.pick(&[
            "none",
            "tcp",
            "udp",
            "host",
            "router",
            "::1",
            "10.0.0.1",
            "255.255.255.255"
        ])),
        14 => json!([leaf]),
        15 => json!({ "kind": leaf }),
        16 => json!("n".repeat(source.u16().into())),
        // What stands elsewhere.
        _ => descend(&mut whole.clone(), source).clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_base_can_run() {
        for number in (0..u16::MAX).step_by(331) {
            assert_eq!(check(&base(number)), [], "{number}");
        }
    }
}
