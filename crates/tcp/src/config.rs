//! Every parameter of an endpoint, and the named sets of them.
//!
//! A [`Profile`] names a whole set: `rfc` is what the RFCs recommend, `linux` what Linux 6.x does as far as
//! this crate goes, `riverbed16` Table 2 of Sarkar et al. 2022. All spans are in nanoseconds when serialised.

use crate::cc::Congestion;
use serde::{Deserialize, Serialize};
use voxpath_units::Span;

/// Linux' unit of coarse time, at the distributions' HZ of 250.
pub(crate) const JIFFY: Span = Span::from_millis(4);

/// How long an application takes to wake up: what has arrived until then is read together, and acknowledged once. An estimate of a process that
/// waits in epoll on an idle processor, which no script measures.
pub(crate) const WAKING: Span = Span::from_micros(50);

/// The parameters of one endpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The largest segment this end sends and announces, in bytes of data (RFC 9293 section 3.7.1).
    pub mss: u16,
    /// Octets of sent or waiting data that the endpoint holds for the application.
    pub send_buffer: u32,
    /// Begin with the memory that ten segments take twice, and let it grow to `send_buffer` with the congestion window, as Linux does where no
    /// `SO_SNDBUF` was set (tcp_sndbuf_expand()). Else `send_buffer` octets are there from the start.
    pub send_autotuning: bool,
    /// Octets of received data that the endpoint holds; bounds the announced window.
    pub receive_buffer: u32,
    /// What the receive buffer is counted in.
    pub receive_accounting: ReceiveAccounting,
    /// Begin with 128 KiB of memory, and let it grow to `receive_buffer` with what the application takes in a round trip, as Linux does
    /// where no `SO_RCVBUF` was set (tcp_rcv_space_adjust()). For memory accounting only.
    pub receive_autotuning: bool,
    /// Offer window scaling (RFC 7323 section 2).
    pub window_scaling: bool,
    /// Offer timestamps (RFC 7323 section 3).
    pub timestamps: bool,
    /// Offer selective acknowledgment (RFC 2018).
    pub sack: bool,
    /// Hold back small segments (RFC 9293 section 3.7.4); off is `TCP_NODELAY`.
    pub nagle: bool,
    /// For how long.
    pub nagle_rule: NagleRule,
    /// Congestion control algorithm.
    pub congestion: Congestion,
    /// What repairs a loss where selective acknowledgment is off or refused.
    pub recovery: Recovery,
    /// Initial window in segments (RFC 5681 section 3.1, RFC 6928).
    pub initial_window: u32,
    /// Retransmissions of the SYN after which the initial window is still whole, and not one segment (RFC 5681 section 3.1).
    pub tolerated_syn_losses: u32,
    /// Initial slow-start threshold in bytes; none is "arbitrarily high" (RFC 5681 section 3.1).
    pub initial_ssthresh: Option<u32>,
    /// Duplicate acknowledgments that signal a loss (RFC 5681 section 3.2).
    pub dupack_threshold: u32,
    /// The most duplicates that a sender without SACK waits for, once it has seen packets overtake each other: Linux'
    /// `tcp_max_reordering`. At or below `dupack_threshold` it does not adapt.
    pub max_reordering: u32,
    /// See losses by time, where SACK is in use (RACK, RFC 8985 section 6); else by duplicates (RFC 6675).
    pub rack: bool,
    /// Probe for the loss of a tail before the timer expires (TLP, RFC 8985 section 7).
    pub loss_probe: bool,
    /// Reduce the window in proportion to what is delivered (PRR, RFC 6937); else at once (RFC 5681, 6582, 6675).
    pub prr: bool,
    /// Report duplicates (D-SACK, RFC 2883).
    pub dsack: bool,
    /// Take reductions back that turn out to have been spurious, by D-SACK (RFC 3708) or timestamps (RFC 3522).
    pub undo: bool,
    /// Test whether a timeout was spurious (F-RTO, RFC 5682).
    pub frto: bool,
    /// Send new data on the first two duplicate acknowledgments (RFC 3042).
    pub limited_transmit: bool,
    /// Segments that one acknowledgment may add to the window in slow start: L of RFC 3465 section 2.2,
    /// 1 in RFC 5681 equation (2). Linux counts all that were acknowledged.
    pub slow_start_limit: u32,
    /// What ends slow start besides a loss.
    pub slow_start_exit: SlowStartExit,
    /// Which CUBIC `cubic` is.
    pub cubic: CubicVariant,
    /// Take the window after a loss from cwnd, and at a timeout only once a window, as Linux does; else from FlightSize (RFC 5681
    /// equation (4)).
    pub ssthresh_from_cwnd: bool,
    /// Take a smaller window from an acknowledgment that neither acknowledges nor brings anything (RFC 9293 section 3.10.7.4); else one
    /// that grows or closes alone, as Linux does (tcp_may_update_window()).
    pub window_from_duplicates: bool,
    /// Count the congestion window in whole segments, of which a small one takes as much as a full one, let it grow with the
    /// acknowledgment that ends a recovery already, and repeat segments as they were sent, as Linux does; else in octets.
    pub whole_segments: bool,
    /// Hand segments to the device in bursts, as Linux does whatever the device can: one that may become larger waits, the last of a burst
    /// has PSH, so that a receiver that has read it acknowledges it, and pacing spaces bursts.
    pub segmentation_offload: bool,
    /// Space segments over the round trip in place of sending what the window allows at once.
    pub pacing: bool,
    /// Count acknowledged bytes in congestion avoidance, one segment a round trip; else add
    /// `SMSS^2 / cwnd` on each acknowledgment, less where they are delayed (RFC 5681 section 3.1).
    pub byte_counting: bool,
    /// Let the congestion window grow only while it is what limits the sender (RFC 7661 section 4.1), and with `idle_restart` fall by
    /// half for each timeout that passes in silence (RFC 2861 section 3.2), not to the initial one at once.
    pub cwnd_validation: bool,
    /// Fall back to the restart window after an idle retransmission timeout (RFC 5681 section 4.1).
    pub idle_restart: bool,
    /// When acknowledgments are delayed.
    pub delayed_ack: DelayedAck,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: Ecn,
    /// Probes of an idle connection (RFC 9293 section 3.8.4); none sends none.
    pub keepalive: Option<Keepalive>,
    /// How long transmitted data may stay unacknowledged before the connection is given up (RFC 5482); none leaves that to `retries`.
    #[serde(with = "optional_nanos")]
    pub user_timeout: Option<Span>,
    /// The retransmission timer.
    pub rto: RtoConfig,
    /// Shortest and longest interval of the persist timer (RFC 9293 section 3.8.6.1).
    pub persist: PersistConfig,
    /// Retransmissions of a SYN before the connection is given up (RFC 9293 section 3.8.3).
    pub syn_retries: u32,
    /// Consecutive timeouts of one segment before the connection is given up (RFC 9293 section 3.8.3, R2).
    pub retries: u32,
    /// Maximum segment lifetime; TIME-WAIT lasts twice as long (RFC 9293 section 3.4.2).
    #[serde(with = "nanos")]
    pub msl: Span,
}

/// What a small segment waits for where Nagle's algorithm is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NagleRule {
    /// Until all data is acknowledged (RFC 896, RFC 1122 section 4.2.3.4).
    Rfc896,
    /// Until the last small segment is acknowledged: full ones hold nothing back, so that the end of each message leaves with it
    /// (draft-minshall-nagle-01; Linux' tcp_minshall_check()).
    Minshall,
}

/// What a receive buffer is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReceiveAccounting {
    /// Octets of data.
    Octets,
    /// Memory, as Linux does: twice the buffer, of which a window takes a half until full segments have shown how much of it is data
    /// (`scaling_ratio`); then it grows by two segments with each that arrives (tcp_grow_window()). An unscaled window is of whole
    /// segments (__tcp_select_window()).
    Memory,
}

impl Config {
    /// What no endpoint can have: the key, and what is allowed.
    pub fn problems(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let rules = [
            ("mss", (64..=65_495).contains(&self.mss), "a segment carries 64 to 65495 bytes"),
            ("receive_buffer", self.receive_buffer > 0, "a receive buffer holds at least one byte"),
            (
                "receive_buffer",
                self.receive_buffer <= 1 << 30,
                "a window is at most 1 GiB (RFC 7323 section 2.3)",
            ),
            ("send_buffer", self.send_buffer > 0, "a send buffer holds at least one byte"),
            ("send_buffer", self.send_buffer <= 1 << 30, "a flight is at most 1 GiB (RFC 7323 section 2.3)"),
            ("initial_window", self.initial_window > 0, "an initial window is at least one segment"),
            ("dupack_threshold", self.dupack_threshold > 0, "at least one duplicate signals a loss"),
            ("slow_start_limit", self.slow_start_limit > 0, "slow start adds at least one segment"),
            (
                "delayed_ack.max_segments",
                self.delayed_ack.max_segments > 0,
                "at least one segment is acknowledged",
            ),
            ("max_reordering", self.max_reordering > 0, "at least one duplicate signals a loss"),
            (
                "keepalive",
                self.keepalive.as_ref().is_none_or(|alive| {
                    alive.idle.as_nanos() > 0 && alive.interval.as_nanos() > 0 && alive.probes > 0
                }),
                "a connection is idle for some time, and probed at least once",
            ),
            (
                "user_timeout",
                self.user_timeout.is_none_or(|timeout| timeout.as_nanos() > 0),
                "a timeout is above zero",
            ),
            ("rto.initial", self.rto.initial.as_nanos() > 0, "a timeout is above zero"),
            ("rto.min", self.rto.min.as_nanos() > 0, "a timeout is above zero"),
            ("rto.max", self.rto.max >= self.rto.min, "the longest timeout is not below the shortest"),
            ("persist.min", self.persist.min.as_nanos() > 0, "a probe interval is above zero"),
            (
                "persist.max",
                self.persist.max >= self.persist.min,
                "the longest interval is not below the shortest",
            ),
        ];
        rules.into_iter().filter(|(_, holds, _)| !holds).map(|(key, _, message)| (key, message))
    }
}

/// How a loss is repaired without selective acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Recovery {
    /// Fast retransmit, then slow start from one segment (Jacobson 1988 as in 4.3BSD-Tahoe).
    Tahoe,
    /// Fast recovery that ends with the first new acknowledgment (RFC 5681 section 3.2).
    Reno,
    /// Fast recovery through partial acknowledgments (RFC 6582).
    NewReno,
    /// NewReno as Linux has it: a duplicate counts as a segment that has left the network, the number of them that signals a loss adapts
    /// to reordering, and each partial acknowledgment restarts the timer.
    Linux,
}

/// What ends slow start before a loss does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SlowStartExit {
    /// Nothing: a loss, or `initial_ssthresh` (RFC 5681).
    Loss,
    /// HyStart as it is part of Linux' CUBIC: a train of acknowledgments as long as half a round trip, or a round-trip time that
    /// grows. For CUBIC only.
    Hystart,
    /// HyStart++ (RFC 9406).
    #[serde(rename = "hystart++")]
    HystartPlusPlus,
}

/// Where Linux' CUBIC and the RFC that describes it differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CubicVariant {
    /// RFC 9438.
    Rfc9438,
    /// `net/ipv4/tcp_cubic.c`: at least a segment for every twenty acknowledged until there was a loss, the smallest round-trip time
    /// in place of the smoothed one, Reno's part never faster than 0.53, everything forgotten at a timeout.
    Linux,
}

/// How far an end goes with explicit congestion notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ecn {
    /// Neither asks nor accepts.
    Off,
    /// Accepts if the peer asks.
    Accept,
    /// Asks, and accepts.
    Request,
}

/// Probes of an idle connection (RFC 9293 section 3.8.4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keepalive {
    /// Silence before the first probe.
    #[serde(with = "nanos")]
    pub idle: Span,
    /// Between probes.
    #[serde(with = "nanos")]
    pub interval: Span,
    /// Probes without an answer after which the connection is given up.
    pub probes: u32,
}

/// Delayed acknowledgment (RFC 5681 section 4.2, RFC 9293 section 3.8.6.3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelayedAck {
    /// The longest delay; zero acknowledges at once.
    #[serde(with = "nanos")]
    pub max_delay: Span,
    /// Full-sized segments after which an acknowledgment is sent at once; one acknowledges each.
    pub max_segments: u32,
    /// Follow the rhythm of the data, as Linux does: `max_delay` is then the shortest delay, 200 ms or a round trip the longest, and the end
    /// of a talk is acknowledged when it is read.
    pub adaptive: bool,
    /// Segments at the start, and after a pause or a duplicate, that are acknowledged at once where `adaptive` is on.
    pub quick: u32,
}

/// The retransmission timer of RFC 6298: `RTO = SRTT + max(variance_floor, 4 RTTVAR)`, clamped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RtoConfig {
    /// RTO before the first sample (rule 2.1).
    #[serde(with = "nanos")]
    pub initial: Span,
    /// Lower bound (rule 2.4).
    #[serde(with = "nanos")]
    pub min: Span,
    /// Upper bound, of backed-off values too (rule 2.5).
    #[serde(with = "nanos")]
    pub max: Span,
    /// `G` of rules 2.2 and 2.3. Linux puts its minimum here, so that its RTO is SRTT + 200 ms at least.
    #[serde(with = "nanos")]
    pub variance_floor: Span,
    /// The timer expires on whole multiples of this clock tick; zero is a continuous clock.
    #[serde(with = "nanos")]
    pub tick: Span,
    /// How the round-trip time is smoothed.
    pub estimator: Estimator,
    /// Timers stand on Linux' wheel, whose steps are coarser the further ahead they are: late by up to an eighth.
    pub wheel: bool,
}

/// How the round-trip time and its variation are smoothed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Estimator {
    /// RFC 6298 section 2.
    Rfc6298,
    /// tcp_rtt_estimator(): the variation is the largest of a round trip, falls by a quarter of the difference a round trip, and hardly grows
    /// where round trips become shorter.
    Linux,
}

/// The persist timer: probes of a closed window, spaced as retransmissions are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersistConfig {
    /// Shortest interval between probes.
    #[serde(with = "nanos")]
    pub min: Span,
    /// Longest interval between probes.
    #[serde(with = "nanos")]
    pub max: Span,
}

/// A named set of parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// The RFCs' recommendations.
    Rfc,
    /// Linux 6.x.
    Linux,
    /// The defaults of Riverbed Modeler 16.0.A.
    Riverbed16,
}

impl Profile {
    /// Every profile, by name.
    pub const ALL: [(&'static str, Self); 3] =
        [("rfc", Self::Rfc), ("linux", Self::Linux), ("riverbed16", Self::Riverbed16)];

    /// The parameters that the name stands for.
    pub fn config(self) -> Config {
        match self {
            Self::Rfc => rfc(),
            Self::Linux => linux(),
            Self::Riverbed16 => riverbed16(),
        }
    }
}

/// What the RFCs recommend; where they leave a choice, the one they call the default.
fn rfc() -> Config {
    Config {
        // Ethernet's 1500 bytes less the IPv4 and TCP headers (RFC 9293 section 3.7.1).
        mss: 1460,
        send_buffer: 4 << 20,
        receive_buffer: 4 << 20,
        receive_accounting: ReceiveAccounting::Octets,
        receive_autotuning: false,
        send_autotuning: false,
        // RFC 7323 and RFC 2018 are on the standards track and recommended by RFC 7414 section 3.
        window_scaling: true,
        timestamps: true,
        sack: true,
        // RFC 9293 section 3.7.4: SHOULD implement.
        nagle: true,
        nagle_rule: NagleRule::Rfc896,
        congestion: Congestion::Reno,
        recovery: Recovery::NewReno,
        // RFC 6928 section 2.
        initial_window: 10,
        // RFC 5681 section 3.1
        tolerated_syn_losses: 0,
        initial_ssthresh: None,
        dupack_threshold: 3,
        max_reordering: 3,
        // What follows RFC 6675, and is not part of it.
        rack: false,
        loss_probe: false,
        prr: false,
        dsack: false,
        undo: false,
        frto: false,
        limited_transmit: true,
        slow_start_limit: 1,
        // RFC 9406 is optional.
        slow_start_exit: SlowStartExit::Loss,
        cubic: CubicVariant::Rfc9438,
        ssthresh_from_cwnd: false,
        window_from_duplicates: true,
        whole_segments: false,
        segmentation_offload: false,
        pacing: false,
        byte_counting: true,
        cwnd_validation: false,
        idle_restart: true,
        // RFC 9293 section 3.8.6.3: less than 0.5 s, at least every second full-sized segment.
        delayed_ack: DelayedAck {
            max_delay: Span::from_millis(200),
            max_segments: 2,
            adaptive: false,
            quick: 0,
        },
        // RFC 3168 is on the standards track, and asks for nothing where the network does not mark.
        ecn: Ecn::Off,
        // RFC 9293 section 3.8.4: MUST default to off.
        keepalive: None,
        user_timeout: None,
        rto: RtoConfig {
            initial: Span::from_secs(1),
            min: Span::from_secs(1),
            max: Span::from_secs(60),
            variance_floor: Span::from_millis(1),
            tick: Span::ZERO,
            estimator: Estimator::Rfc6298,
            wheel: false,
        },
        // RFC 9293 section 3.8.6.1 wants the first probe after an RTO.
        persist: PersistConfig { min: Span::from_secs(1), max: Span::from_secs(60) },
        // RFC 9293 section 3.8.3: at least 3 minutes for a SYN, at least 100 s for data.
        syn_retries: 7,
        retries: 8,
        msl: Span::from_secs(120),
    }
}

/// Linux 6.x, as far as this crate goes; what is still missing stands in LIMITATIONS.md.
fn linux() -> Config {
    Config {
        // net.ipv4.tcp_wmem and tcp_rmem, maxima.
        send_buffer: 4 << 20,
        send_autotuning: true,
        receive_buffer: 32 << 20,
        receive_accounting: ReceiveAccounting::Memory,
        // net.ipv4.tcp_moderate_rcvbuf
        receive_autotuning: true,
        // tcp_nagle_check()
        nagle_rule: NagleRule::Minshall,
        congestion: Congestion::Cubic,
        // TCP_INIT_CWND
        initial_window: 10,
        // tcp_init_transfer(), and tests/scripts/syn-lost-window-linux.pkt
        tolerated_syn_losses: 1,
        // tcp_slow_start() adds all that was acknowledged; tcp_is_cwnd_limited() guards growth.
        slow_start_limit: u32::MAX,
        cwnd_validation: true,
        recovery: Recovery::Linux,
        // net.ipv4.tcp_max_reordering
        max_reordering: 300,
        // net.ipv4.tcp_recovery, tcp_early_retrans, tcp_dsack, tcp_frto; PRR and undo are not optional there.
        rack: true,
        loss_probe: true,
        prr: true,
        dsack: true,
        undo: true,
        frto: true,
        // The module parameter `hystart` of tcp_cubic is on.
        slow_start_exit: SlowStartExit::Hystart,
        cubic: CubicVariant::Linux,
        // cubictcp_recalc_ssthresh(), tcp_reno_ssthresh()
        ssthresh_from_cwnd: true,
        window_from_duplicates: false,
        whole_segments: true,
        segmentation_offload: true,
        // TCP_DELACK_MIN, TCP_MAX_QUICKACKS
        delayed_ack: DelayedAck {
            max_delay: Span::from_millis(40),
            max_segments: 2,
            adaptive: true,
            quick: 16,
        },
        // net.ipv4.tcp_ecn is 2.
        ecn: Ecn::Accept,
        rto: RtoConfig {
            // TCP_TIMEOUT_INIT, TCP_RTO_MIN, TCP_RTO_MAX
            initial: Span::from_secs(1),
            min: Span::from_millis(200),
            max: Span::from_secs(120),
            // tcp_rtt_estimator() keeps mdev_max at or above TCP_RTO_MIN.
            variance_floor: Span::from_millis(200),
            tick: JIFFY,
            estimator: Estimator::Linux,
            wheel: true,
        },
        persist: PersistConfig { min: Span::from_millis(200), max: Span::from_secs(120) },
        // net.ipv4.tcp_syn_retries and tcp_retries2
        syn_retries: 6,
        retries: 15,
        // TCP_TIMEWAIT_LEN is 60 s.
        msl: Span::from_secs(30),
        ..rfc()
    }
}

/// Table 2 of Sarkar et al. 2022, "Riverbed Default TCP Parameters": each value names its row.
fn riverbed16() -> Config {
    Config {
        // "Maximum Segment Size (bytes): Auto-assigned": 1460 on the model's Ethernet (section 4.1).
        mss: 1460,
        // Not in the table: nothing in the study is limited by it.
        send_buffer: 4 << 20,
        // "Receiver Buffer (bytes): 8760"; "Receive Buffer Adjustment: None".
        receive_buffer: 8760,
        receive_accounting: ReceiveAccounting::Octets,
        receive_autotuning: false,
        send_autotuning: false,
        // "Window Scaling: Disabled"
        window_scaling: false,
        // "Timestamp: Disabled"
        timestamps: false,
        // "Selective ACK (SACK): Disabled"
        sack: false,
        // "Nagle Algorithm: Disabled"
        nagle: false,
        nagle_rule: NagleRule::Rfc896,
        // "Version/Flavor: Unspecified", with "Fast Retransmit: Enabled" and "Fast Recovery: Reno".
        congestion: Congestion::Reno,
        recovery: Recovery::Reno,
        // "Slow-Start Initial Count (MSS): 2"
        initial_window: 2,
        // RFC 5681 section 3.1; no row.
        tolerated_syn_losses: 0,
        initial_ssthresh: None,
        // "Duplicate ACK Threshold: 3"
        dupack_threshold: 3,
        // RFC 3042, 3522, 3708, 5682, 6937 and 8985 have no rows.
        max_reordering: 3,
        rack: false,
        loss_probe: false,
        prr: false,
        dsack: false,
        undo: false,
        frto: false,
        limited_transmit: false,
        // The study's equation (17): SMSS^2 / cwnd, and figure 2's window of 135 000 bytes over a receive
        // window of 8760 shows growth that nothing validates.
        slow_start_limit: 1,
        slow_start_exit: SlowStartExit::Loss,
        cubic: CubicVariant::Rfc9438,
        ssthresh_from_cwnd: false,
        window_from_duplicates: true,
        whole_segments: false,
        segmentation_offload: false,
        pacing: false,
        byte_counting: false,
        cwnd_validation: false,
        idle_restart: true,
        // "Maximum ACK Delay (s): 0.200", "Maximum ACK Segments: 2"
        delayed_ack: DelayedAck {
            max_delay: Span::from_millis(200),
            max_segments: 2,
            adaptive: false,
            quick: 0,
        },
        // No rows.
        ecn: Ecn::Off,
        keepalive: None,
        user_timeout: None,
        rto: RtoConfig {
            // "Initial RTO (s): 3.0"
            initial: Span::from_secs(3),
            // "Minimum RTO (s): 1.0"
            min: Span::from_secs(1),
            // "Maximum RTO (s): 64"
            max: Span::from_secs(64),
            // "Timer Granularity (s): 0.5": both G of RFC 6298 and the tick on which the timer expires.
            // "RTT Gain 0.125", "Deviation Gain 0.25", "RTT Deviation Coefficient 4.0" are RFC 6298's own.
            variance_floor: Span::from_millis(500),
            tick: Span::from_millis(500),
            estimator: Estimator::Rfc6298,
            wheel: false,
        },
        // "Persistence Timeout (s): 1.0"; the maximum has no row and follows "Maximum RTO".
        persist: PersistConfig { min: Span::from_secs(1), max: Span::from_secs(64) },
        // "Retransmission Thresholds: Attempts-based", without the counts: enough never to give up here.
        syn_retries: 7,
        retries: 100,
        msl: Span::from_secs(120),
    }
}

/// [`nanos`] where there may be none.
mod optional_nanos {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use voxpath_units::Span;

    pub(super) fn serialize<S: Serializer>(span: &Option<Span>, serializer: S) -> Result<S::Ok, S::Error> {
        span.map(Span::as_nanos).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Span>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(Span::from_nanos))
    }
}

/// Spans as integer nanoseconds, the form they have in a plan.
pub mod nanos {
    use serde::{Deserialize, Deserializer, Serializer};
    use voxpath_units::Span;

    /// Serialises as an integer.
    pub fn serialize<S: Serializer>(span: &Span, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(span.as_nanos())
    }

    /// Deserialises an integer.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Span, D::Error> {
        u64::deserialize(deserializer).map(Span::from_nanos)
    }
}
