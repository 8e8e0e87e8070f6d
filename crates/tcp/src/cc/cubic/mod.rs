//! CUBIC: as RFC 9438 has it, and as Linux does.

mod linux;
mod rfc9438;

use super::{Ack, CongestionControl, CongestionMetrics, CwndEvent, Sample, Window};
use crate::config::{Config, CubicVariant};
use linux::Linux;
use rfc9438::Rfc9438;
use voxpath_units::Time;

/// The one that [`Config::cubic`] names.
#[derive(Debug)]
pub(super) enum Cubic {
    Rfc9438(Rfc9438),
    Linux(Linux),
}

impl Cubic {
    /// The algorithm before its first congestion event.
    pub(super) fn new(config: &Config) -> Self {
        match config.cubic {
            CubicVariant::Rfc9438 => Self::Rfc9438(Rfc9438::new(config)),
            CubicVariant::Linux => Self::Linux(Linux::new(config)),
        }
    }

    fn variant(&mut self) -> &mut dyn CongestionControl {
        match self {
            Self::Rfc9438(cubic) => cubic,
            Self::Linux(cubic) => cubic,
        }
    }
}

impl CongestionControl for Cubic {
    fn ssthresh(&mut self, now: Time, window: &Window, flight: u64) -> u64 {
        self.variant().ssthresh(now, window, flight)
    }

    fn cong_avoid(&mut self, ack: &Ack, window: &mut Window) {
        self.variant().cong_avoid(ack, window);
    }

    fn pkts_acked(&mut self, sample: &Sample, window: &mut Window) {
        self.variant().pkts_acked(sample, window);
    }

    fn metrics(&self, window: &Window) -> CongestionMetrics {
        let w_max = match self {
            Self::Rfc9438(cubic) => cubic.w_max(),
            Self::Linux(cubic) => cubic.w_max(),
        };
        let w_max = w_max.map(|segments| ("w_max_bytes", (segments * window.smss as f64) as u64));
        CongestionMetrics { own: [w_max, None], ..CongestionMetrics::of(window) }
    }

    fn cwnd_event(&mut self, now: Time, event: CwndEvent, window: &mut Window) {
        self.variant().cwnd_event(now, event, window);
    }
}
