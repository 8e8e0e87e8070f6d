//! The variant of GCC that Hoang (2017) simulates. Each of its deviations from draft-ietf-rmcat-gcc-02 is a switch.
//!
//! The thesis calls the control receiver-side, and has both controllers at the sender. Numbers in brackets are those of the list of
//! misprints and deviations in the study's page.

use super::gcc::{Gcc, Sender, Variant};
use super::{Bounds, Every, Needs, RateControl, ReportKind, Settings};
use alloc::boxed::Box;
use serde::{Deserialize, Serialize};
use voxpath_net::element::Draw;
use voxpath_units::{Span, Time};

/// Reports come this often (Table 7: RTCP interval).
const SLOW: Span = Span::from_secs(3);

/// What it does otherwise than the draft. As the thesis's tables and text have it where nothing is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Hoang2017 {
    /// The gains of the threshold are swapped, K_u = 0.00018 and K_d = 0.01: so in the text, not in Table 6 (1).
    pub swapped_gains: bool,
    /// A decrease leaves 0.95 of the incoming rate, not 0.85: Table 6 (3).
    pub beta_095: bool,
    /// The filter has two states, as the chain of equations for d(i) (5); the program has one.
    pub two_state_filter: bool,
    /// 1000 bit/s are added where the loss-based estimate grows (6).
    pub loss_plus_1000: bool,
    /// The incoming rate is multiplied with the number of packets, as the equation for R(i) is printed (7).
    pub rate_times_count: bool,
    /// Reports come every 3 s (8).
    pub slow_reports: bool,
    /// A lost packet has the delay variation of the one before (9).
    pub lost_repeats_delay: bool,
    /// The filter is a Kalman filter of fixed noise, not the draft's, which learns it (9).
    pub fixed_noise_filter: bool,
    /// Each packet is a group; packets are not merged before the filter.
    pub packet_groups: bool,
    /// m(i) is compared with the threshold as it is.
    pub literal_threshold: bool,
}

impl Default for Hoang2017 {
    fn default() -> Self {
        Self {
            swapped_gains: false,
            beta_095: true,
            two_state_filter: false,
            loss_plus_1000: true,
            rate_times_count: false,
            slow_reports: true,
            lost_repeats_delay: true,
            fixed_noise_filter: true,
            packet_groups: true,
            literal_threshold: true,
        }
    }
}

impl Hoang2017 {
    fn gcc(&self) -> Gcc {
        let draft = Gcc::default();
        let (k_up, k_down) =
            if self.swapped_gains { (draft.k_down, draft.k_up) } else { (draft.k_up, draft.k_down) };
        let beta = if self.beta_095 { 0.95 } else { draft.beta };
        let literal_threshold = self.literal_threshold;
        let feedback_interval_ns =
            if self.slow_reports { SLOW.as_nanos() } else { draft.feedback_interval_ns };
        Gcc { k_up, k_down, beta, literal_threshold, feedback_interval_ns, ..draft }
    }
}

impl Settings for Hoang2017 {
    fn needs(&self) -> Needs {
        let every = Every::Span(Span::from_nanos(self.gcc().feedback_interval_ns));
        Needs::of(ReportKind::TransportWide, every)
    }

    fn sender(&self, now: Time, bounds: Bounds) -> Box<dyn RateControl> {
        let variant = Variant {
            loss_extra_bps: if self.loss_plus_1000 { 1000.0 } else { 0.0 },
            loss_of_few: true,
            two_states: self.two_state_filter,
            fixed_noise: self.fixed_noise_filter,
            per_packet: self.packet_groups,
            rate_times_count: self.rate_times_count,
            lost_repeats: self.lost_repeats_delay,
        };
        Box::new(Sender::new(now, bounds, self.gcc(), variant))
    }

    fn sample(draw: &mut dyn Draw) -> Self {
        Self {
            swapped_gains: draw.bit(),
            beta_095: draw.bit(),
            two_state_filter: draw.bit(),
            loss_plus_1000: draw.bit(),
            rate_times_count: draw.bit(),
            slow_reports: draw.bit(),
            lost_repeats_delay: draw.bit(),
            fixed_noise_filter: draw.bit(),
            packet_groups: draw.bit(),
            literal_threshold: draw.bit(),
        }
    }
}
