//! What the kernel is told of a script's parameters.

use crate::error::HostError;
use voxpath_script::{Script, Stack};
use voxpath_tcp::Config;
use voxpath_tcp::config::Ecn;

/// Keys that are set at the socket.
const AT_THE_SOCKET: [&str; 8] = [
    "congestion",
    "nagle",
    "receive_buffer",
    "send_buffer",
    "user_timeout",
    "keepalive.idle",
    "keepalive.interval",
    "keepalive.probes",
];
/// Keys of the namespace or of its route, which [`sysctl`] and [`route`] set.
const OF_THE_HOST: [&str; 17] = [
    "sack",
    "timestamps",
    "window_scaling",
    "dsack",
    "ecn",
    "frto",
    "rack",
    "loss_probe",
    "dupack_threshold",
    "max_reordering",
    "idle_restart",
    "syn_retries",
    "retries",
    "mss",
    "initial_window",
    "delayed_ack.max_delay",
    "delayed_ack.adaptive",
];

/// Those of Multipath TCP, which [`multipath`] sets.
const OF_MULTIPATH: [&str; 2] = ["mptcp.checksum", "mptcp.paths.limit"];

/// Refuses what the kernel cannot be told.
pub(crate) fn check(script: &Script) -> Result<(), HostError> {
    for setting in &script.settings {
        let key = setting.key.as_str();
        let mut known = AT_THE_SOCKET.iter().chain(&OF_THE_HOST).chain(&OF_MULTIPATH).copied();
        if known.clone().all(|known| known != key) {
            let known = known.by_ref().collect::<Vec<_>>().join(", ");
            let reason = format!("line {}: it knows {known}", setting.line);
            return Err(HostError::new(format!("tell the kernel `{key}`"), reason));
        }
    }
    Ok(())
}

/// Keys below `/proc/sys/net`.
pub(crate) fn sysctl(config: &Config) -> Vec<(String, String)> {
    let flag = |on: bool| u32::from(on);
    let ecn = match config.ecn {
        Ecn::Off => 0,
        Ecn::Request => 1,
        Ecn::Accept => 2,
    };
    let keys = [
        // What one connection teaches the kernel the next must not know.
        ("tcp_no_metrics_save", 1),
        ("tcp_sack", flag(config.sack)),
        ("tcp_timestamps", flag(config.timestamps)),
        ("tcp_window_scaling", flag(config.window_scaling)),
        ("tcp_dsack", flag(config.dsack)),
        ("tcp_ecn", ecn),
        ("tcp_frto", if config.frto { 2 } else { 0 }),
        ("tcp_recovery", flag(config.rack)),
        ("tcp_early_retrans", if config.loss_probe { 3 } else { 0 }),
        ("tcp_reordering", config.dupack_threshold),
        ("tcp_max_reordering", config.max_reordering),
        ("tcp_slow_start_after_idle", flag(config.idle_restart)),
        ("tcp_syn_retries", config.syn_retries),
        ("tcp_synack_retries", config.syn_retries),
        ("tcp_retries2", config.retries),
    ];
    let tcp = keys.map(|(key, value)| (format!("ipv4/{key}"), value.to_string()));
    // Nothing but the script's packets is to leave.
    tcp.into_iter().chain([("ipv6/conf/all/disable_ipv6".to_owned(), "1".to_owned())]).collect()
}

/// What the kernel is told of Multipath TCP: keys below `/proc/sys/net`, and commands of iproute2.
#[derive(Debug, Default)]
pub(crate) struct OfMultipath {
    pub(crate) sysctl: Vec<(String, String)>,
    pub(crate) ip: String,
}

/// What a script asks of Multipath TCP.
pub(crate) fn multipath(script: &Script) -> Result<OfMultipath, HostError> {
    let config = script
        .multipath(Stack::Kernel)
        .map_err(|(line, reason)| HostError::new(format!("use line {line}"), reason))?;
    let Some(config) = config else { return Ok(OfMultipath::default()) };
    let limit = config.paths.limit;
    Ok(OfMultipath {
        sysctl: vec![("mptcp/checksum_enabled".to_owned(), u8::from(config.checksum).to_string())],
        ip: format!("mptcp limits set subflow {limit} add_addr_accepted {limit}\n"),
    })
}

/// What a route says of connections: the sizes of the segment and of the initial window, and that every segment is acknowledged at once.
pub(crate) fn route(config: &Config) -> String {
    let quick = if config.delayed_ack.max_delay.as_nanos() == 0 { " quickack 1" } else { "" };
    format!("advmss {} initcwnd {}{quick}", config.mss, config.initial_window)
}
