//! Real hosts for tests. They need the privilege to make network namespaces, as root has it.
#![allow(dead_code, missing_docs, unreachable_pub)] // Each test binary uses its part.

#[path = "../../../sim/tests/common/mod.rs"]
mod plans;

pub use plans::*;
use std::thread;
use std::time::Duration;
use voxpath_host::{Device, Kind, Namespace, Outcome, Run};
use voxpath_sim::plan::Plan;
use voxpath_sim::{Observe, RealTime};
use voxpath_tcp::{Config, Profile};

/// A real host with its device.
pub type Host = (Namespace, Device);

/// The stack of a real host.
pub fn linux() -> Config {
    Profile::Linux.config()
}

/// The host of an index: a namespace with its device up, in which the kernel's TCP is what `config` asks for.
pub fn host(plan: &Plan, index: usize, kind: Kind, config: &Config) -> Host {
    let namespace = Namespace::new().expect("root");
    let device = Device::new(&namespace, "net0", Some(kind)).expect("/dev/net/tun");
    let address = plan.nodes[index].addresses[0];
    let keys = [
        ("ipv6/conf/all/disable_ipv6", true),
        ("ipv4/tcp_no_metrics_save", true),
        ("ipv4/tcp_window_scaling", config.window_scaling),
        ("ipv4/tcp_timestamps", config.timestamps),
        ("ipv4/tcp_sack", config.sack),
        ("ipv4/tcp_dsack", config.sack),
    ];
    let keys: Vec<_> = keys.iter().map(|&(key, on)| (key.to_owned(), u8::from(on).to_string())).collect();
    namespace.sysctl(&keys).expect("keys of the kernel");
    namespace
        .ip(&format!(
            "link set lo up\naddr add {address}/32 dev net0\nlink set net0 mtu 1500 txqueuelen 10000 up\n\
             route add default dev net0\n"
        ))
        .expect("iproute2");
    (namespace, device)
}

/// Says of each host whether it is real.
pub fn with_real(plan: &Plan, real: [bool; 2]) -> Plan {
    let mut plan = plan.clone();
    for (node, real) in plan.nodes.iter_mut().zip(real) {
        node.simulated = !real;
    }
    plan
}

/// How often it is looked whether a run is done, every 10 ms: ten minutes, for a busy machine.
const PATIENCE: u32 = 60_000;

/// Runs a plan on these hosts until it is done; the run has to be valid, late or not.
pub fn run_on(plan: &Plan, hosts: Vec<Option<Host>>, observe: &Observe) -> Outcome {
    let world = RealTime::new(plan.clone(), 0, observe).expect("a plan that can run");
    let run = Run::start(world, hosts, false).expect("sockets");
    let mut patience = PATIENCE;
    while !run.is_done() && patience > 0 {
        thread::sleep(Duration::from_millis(10));
        patience -= 1;
    }
    let outcome = run.finish().expect("no thread failed");
    assert!(patience > 0, "the run is not done: {:?}", table(&outcome.report, "flows"));
    let verdict = &outcome.report.verdict;
    assert!(verdict.valid, "{:?}", verdict.problems);
    outcome
}
