//! Congestion control of several subflows together (RFC 6356): how one window grows by what the others are.
//!
//! A coupled control is a file that implements [`Law`], and an entry here. Slow start and all that a window has for itself are as in Reno
//! (RFC 5681), as in the kernel's modules.

mod balia;
mod lia;
mod olia;

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use serde::{Deserialize, Serialize};
use voxpath_tcp::Config;
use voxpath_tcp::cc::{
    Ack, Congestion, CongestionControl, CongestionFactory, CongestionMetrics, CwndEvent, Sample, Window,
};
use voxpath_units::Time;

couplings! {
    /// The linked increases algorithm (RFC 6356).
    "lia" => Lia, lia::Lia,
    /// The opportunistic linked increases algorithm (Khalili et al., CoNEXT 2012).
    "olia" => Olia, olia::Olia,
    /// Balanced linked adaptation (Peng et al., IEEE/ACM Transactions on Networking 2016).
    "balia" => Balia, balia::Balia,
}

/// The couplings by the names that scenarios know them by.
macro_rules! couplings {
    ($($(#[$doc:meta])* $name:literal => $variant:ident, $module:ident::$law:ident,)*) => {
        /// How the congestion windows of the subflows depend on each other.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Coupling {
            /// Not at all: each subflow has TCP's own control.
            #[serde(rename = "uncoupled")]
            Uncoupled,
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl Coupling {
            /// Every coupling, by name.
            pub const ALL: &[(&str, Self)] =
                &[("uncoupled", Self::Uncoupled), $(($name, Self::$variant),)*];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self {
                    Self::Uncoupled => "uncoupled",
                    $(Self::$variant => $name,)*
                }
            }

            /// Its law; none where nothing is coupled.
            fn law(self) -> Option<&'static dyn Law> {
                match self {
                    Self::Uncoupled => None,
                    $(Self::$variant => Some(&$module::$law),)*
                }
            }
        }
    };
}
use couplings;

/// A subflow as the others see it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Path {
    /// Which one.
    pub(crate) slot: usize,
    /// Congestion window, segments.
    pub(crate) cwnd: f64,
    /// Round-trip time, seconds.
    pub(crate) rtt: f64,
    /// Octets acknowledged since the last loss, or between the last two, whichever is more.
    pub(crate) between_losses: f64,
}

impl Path {
    /// Segments a second.
    pub(crate) fn rate(&self) -> f64 {
        self.cwnd / self.rtt
    }
}

/// How a window grows in congestion avoidance, and what a loss leaves of it.
pub(crate) trait Law: core::fmt::Debug + Sync {
    /// Segments by which the window of `own` grows when `acked` of its segments are acknowledged; `all` are the subflows that have measured a
    /// round trip, `own` among them.
    fn increase(&self, own: &Path, all: &[Path], acked: f64) -> f64;

    /// The share of the window that a loss leaves.
    fn left_by_loss(&self, own: &Path, all: &[Path]) -> f64 {
        let _ = (own, all);
        0.5
    }
}

/// Subflows that are told apart; after so many they share places.
const SLOTS: usize = 64;

/// What one subflow tells the others.
#[derive(Debug, Default)]
struct Slot {
    /// Octets; zero where there is no subflow.
    cwnd: AtomicU64,
    smss: AtomicU64,
    /// Nanoseconds; zero before there is one.
    srtt: AtomicU64,
    /// Octets acknowledged since the last loss, and between the last two.
    since_loss: AtomicU64,
    before_loss: AtomicU64,
}

/// What subflows share: a connection and all that belongs to it are driven by one thread, so no order has to be kept.
#[derive(Debug)]
pub(crate) struct Group([Slot; SLOTS]);

const ORDER: Ordering = Ordering::Relaxed;

impl Group {
    fn paths(&self, into: &mut Vec<Path>) {
        into.clear();
        for (slot, of) in self.0.iter().enumerate() {
            let (cwnd, smss, srtt) = (of.cwnd.load(ORDER), of.smss.load(ORDER), of.srtt.load(ORDER));
            if cwnd > 0 && srtt > 0 {
                into.push(Path {
                    slot,
                    cwnd: cwnd as f64 / smss.max(1) as f64,
                    rtt: srtt as f64 / 1e9,
                    between_losses: of.since_loss.load(ORDER).max(of.before_loss.load(ORDER)) as f64,
                });
            }
        }
    }
}

/// The controls of a connection's subflows.
#[derive(Debug)]
pub(crate) struct Couplings {
    coupled: Option<(&'static dyn Law, Arc<Group>)>,
    next: usize,
}

impl Couplings {
    pub(crate) fn new(coupling: Coupling) -> Self {
        let group = || Arc::new(Group(core::array::from_fn(|_| Slot::default())));
        Self { coupled: coupling.law().map(|law| (law, group())), next: 0 }
    }

    /// Makes the control of the next subflow; `own` is what it has where it is not coupled.
    pub(crate) fn of_next(&mut self, own: Congestion) -> Factory {
        let slot = self.next % SLOTS;
        self.next += 1;
        match &self.coupled {
            None => Factory::Own(own),
            Some((law, group)) => Factory::Coupled { law: *law, group: group.clone(), slot },
        }
    }

    /// A subflow has ended: it counts no more.
    pub(crate) fn leave(&self, subflow: usize) {
        if let Some((_, group)) = &self.coupled {
            group.0[subflow % SLOTS].cwnd.store(0, ORDER);
        }
    }
}

/// Makes the control of a subflow.
pub(crate) enum Factory {
    /// TCP's.
    Own(Congestion),
    /// One that knows of the others.
    Coupled { law: &'static dyn Law, group: Arc<Group>, slot: usize },
}

impl CongestionFactory for Factory {
    fn build(&self, config: &Config) -> Box<dyn CongestionControl> {
        match self {
            Self::Own(own) => own.build(config),
            Self::Coupled { law, group, slot } => Box::new(Coupled {
                law: *law,
                group: group.clone(),
                slot: *slot,
                own: Congestion::Reno.build(config),
                growth: 0.0,
                paths: Vec::new(),
            }),
        }
    }
}

/// The control of a subflow that knows of the others.
#[derive(Debug)]
struct Coupled {
    law: &'static dyn Law,
    group: Arc<Group>,
    slot: usize,
    /// Reno: slow start.
    own: Box<dyn CongestionControl>,
    /// Octets by which the window has grown less than the law says: fractions of an octet.
    growth: f64,
    /// Scratch.
    paths: Vec<Path>,
}

impl Coupled {
    fn publish(&self, window: &Window) {
        let slot = &self.group.0[self.slot];
        // A path in slow start after a loss counts with its threshold, as the kernel's modules have it.
        slot.cwnd.store(window.cwnd, ORDER);
        slot.smss.store(window.smss, ORDER);
    }

    fn own_path(&mut self) -> Option<Path> {
        self.group.paths(&mut self.paths);
        self.paths.iter().find(|path| path.slot == self.slot).copied()
    }
}

impl CongestionControl for Coupled {
    fn ssthresh(&mut self, now: Time, window: &Window, flight: u64) -> u64 {
        self.publish(window);
        let slot = &self.group.0[self.slot];
        slot.before_loss.store(slot.since_loss.swap(0, ORDER), ORDER);
        self.growth = 0.0;
        let halved = self.own.ssthresh(now, window, flight);
        match self.own_path() {
            Some(own) => {
                let left = flight as f64 * self.law.left_by_loss(&own, &self.paths);
                (left as u64).max(2 * window.smss)
            }
            None => halved,
        }
    }

    fn cong_avoid(&mut self, ack: &Ack, window: &mut Window) {
        let slot = &self.group.0[self.slot];
        slot.since_loss.fetch_add(ack.acked, ORDER);
        if let Some(srtt) = ack.srtt {
            slot.srtt.store(srtt.as_nanos(), ORDER);
        }
        if window.in_slow_start() {
            self.own.cong_avoid(ack, window);
            return self.publish(window);
        }
        self.publish(window);
        let Some(own) = self.own_path() else { return self.own.cong_avoid(ack, window) };
        let smss = window.smss as f64;
        let grown = self.law.increase(&own, &self.paths, ack.acked as f64 / smss) * smss;
        self.growth += grown;
        let whole = libm::trunc(self.growth);
        self.growth -= whole;
        let least = window.smss;
        window.cwnd = window.cwnd.saturating_add_signed(whole as i64).max(least);
        self.publish(window);
    }

    fn pkts_acked(&mut self, sample: &Sample, window: &mut Window) {
        self.own.pkts_acked(sample, window);
        self.publish(window);
    }

    fn cwnd_event(&mut self, now: Time, event: CwndEvent, window: &mut Window) {
        self.own.cwnd_event(now, event, window);
    }

    fn metrics(&self, window: &Window) -> CongestionMetrics {
        CongestionMetrics::of(window)
    }
}

#[cfg(test)]
pub(crate) fn path(slot: usize, cwnd: f64, rtt: f64) -> Path {
    Path { slot, cwnd, rtt, between_losses: 0.0 }
}
