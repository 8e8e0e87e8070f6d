//! CUBIC as Linux has it (tcp_cubic.c), in whole segments and jiffies. What they round away counts where windows are small and round trips
//! short: the window follows Reno's estimate a segment or two behind, since the pace of its growth is looked at eight times in a quarter of a
//! second.

use super::super::hystart::SlowStart;
use super::super::{Ack, CongestionControl, CwndEvent, Sample, Window};
use crate::config::{Config, JIFFY};
use voxpath_units::{Span, Time};

/// `HZ`
const HZ: u32 = (1_000_000_000 / JIFFY.as_nanos()) as u32;
/// `beta`, of 1024
const BETA: u64 = 717;
/// `cube_rtt_scale`: C, in segments a second cubed, times 2^10
const SCALE: u64 = 410;
/// `beta_scale`: segments acknowledged for one that Reno's window would grow by, in eighths of that window
const FRIENDLY: u64 = 8 * (1024 + BETA) / 3 / (1024 - BETA);
/// `BICTCP_HZ`: the curve counts time in parts of 2^-10 s.
const TIME_SHIFT: u32 = 10;
/// Until there was a loss, a segment for so many acknowledged at least.
const FIRST_CLIMB: u32 = 20;
/// Never faster than a segment for so many.
const FASTEST: u32 = 2;
/// On the curve's plateau, a segment for so many windows.
const PLATEAU: u32 = 100;

/// `struct bictcp`
#[derive(Debug)]
pub(in crate::cc) struct Linux {
    slow_start: SlowStart,
    /// Segments to be acknowledged for one more.
    cnt: u32,
    /// Segments acknowledged towards that (`snd_cwnd_cnt`).
    counted: u32,
    /// Octets acknowledged that are no whole segment yet.
    partial: u32,
    /// The window before the last loss, in segments; zero before the first one, and after a timeout.
    last_max_cwnd: u32,
    /// For which window the pace was looked at last, and in which jiffy.
    looked: Option<(u32, u32)>,
    /// The smallest round-trip time.
    delay_min: Option<Span>,
    epoch: Option<Epoch>,
}

/// The time since a loss.
#[derive(Debug)]
struct Epoch {
    /// The jiffy of its start.
    start: u32,
    /// The plateau, in segments.
    origin: u32,
    /// When the curve comes to it, in parts of 2^-10 s.
    k: u32,
    /// Segments acknowledged that Reno's window has not grown for yet.
    acknowledged: u32,
    /// Reno's window.
    tcp_cwnd: u32,
}

impl Linux {
    /// W_max (`last_max_cwnd`), segments; none before the first loss, and after a timeout.
    pub(super) fn w_max(&self) -> Option<f64> {
        (self.last_max_cwnd > 0).then(|| f64::from(self.last_max_cwnd))
    }

    /// The algorithm before its first congestion event.
    pub(super) fn new(config: &Config) -> Self {
        Self {
            slow_start: SlowStart::new(config, true),
            cnt: 0,
            counted: 0,
            partial: 0,
            last_max_cwnd: 0,
            looked: None,
            delay_min: None,
            epoch: None,
        }
    }

    /// bictcp_update()
    fn update(&mut self, now: Time, cwnd: u32, acked: u32) {
        let now = jiffy(now);
        if let Some(epoch) = &mut self.epoch {
            epoch.acknowledged += acked;
        }
        if self.looked.is_some_and(|(window, at)| window == cwnd && now.wrapping_sub(at) <= HZ / 32) {
            return;
        }
        let looked_now = self.looked.is_some_and(|(_, at)| at == now);
        if self.epoch.is_none() || !looked_now {
            self.looked = Some((cwnd, now));
            let last_max = self.last_max_cwnd;
            let epoch = self.epoch.get_or_insert_with(|| Epoch::new(now, cwnd, acked, last_max));
            let target = epoch.curve(now, self.delay_min.unwrap_or(Span::ZERO));
            self.cnt = if target > cwnd { cwnd / (target - cwnd) } else { PLATEAU.saturating_mul(cwnd) };
            if last_max == 0 {
                self.cnt = self.cnt.min(FIRST_CLIMB);
            }
        }
        if let Some(epoch) = &mut self.epoch {
            let ahead = epoch.reno(cwnd).saturating_sub(cwnd);
            self.cnt = cwnd.checked_div(ahead).map_or(self.cnt, |most| self.cnt.min(most));
        }
        self.cnt = self.cnt.max(FASTEST);
    }

    /// Segments that the window grows by (tcp_cong_avoid_ai()).
    fn grow(&mut self, acked: u32) -> u32 {
        let mut grown = 0;
        if self.counted >= self.cnt {
            (self.counted, grown) = (0, 1);
        }
        self.counted += acked;
        grown += self.counted / self.cnt;
        self.counted %= self.cnt;
        grown
    }
}

impl CongestionControl for Linux {
    fn ssthresh(&mut self, _now: Time, window: &Window, flight: u64) -> u64 {
        let cwnd = segments(window);
        self.epoch = None;
        self.counted = 0;
        // Fast convergence: below the last plateau, give way.
        let gives_way = cwnd < self.last_max_cwnd;
        self.last_max_cwnd = if gives_way { (u64::from(cwnd) * (1024 + BETA) / 2048) as u32 } else { cwnd };
        (flight / window.smss * BETA / 1024).max(2) * window.smss
    }

    fn cong_avoid(&mut self, ack: &Ack, window: &mut Window) {
        let Some(acked) = self.slow_start.grow(window, ack.acked) else { return };
        let octets = u64::from(self.partial) + acked;
        self.partial = (octets % window.smss) as u32;
        let acked = (octets / window.smss) as u32;
        if acked > 0 {
            self.update(ack.now, segments(window), acked);
            window.cwnd += u64::from(self.grow(acked)) * window.smss;
        }
    }

    fn pkts_acked(&mut self, sample: &Sample, window: &mut Window) {
        // What a repair has delayed is no measure of the path, for slow start neither (cubictcp_acked()).
        let repaired =
            self.epoch.as_ref().is_some_and(|epoch| jiffy(sample.now).wrapping_sub(epoch.start) < HZ);
        if !repaired {
            self.delay_min = self.delay_min.into_iter().chain(sample.rtt).min();
            self.slow_start.pkts_acked(sample, window);
        }
    }

    fn cwnd_event(&mut self, now: Time, event: CwndEvent, _window: &mut Window) {
        match event {
            // bictcp_reset()
            CwndEvent::Loss { .. } => {
                self.slow_start.on_loss();
                (self.cnt, self.counted, self.last_max_cwnd) = (0, 0, 0);
                (self.looked, self.delay_min, self.epoch) = (None, None, None);
            }
            // Time spent idle does not count as growth.
            CwndEvent::TxStart { idle, .. } => {
                if let Some(epoch) = &mut self.epoch {
                    let (age, idle) = (jiffy(now).wrapping_sub(epoch.start), jiffies(idle) as u32);
                    epoch.start = epoch.start.wrapping_add(idle.min(age));
                }
            }
        }
    }
}

impl Epoch {
    fn new(start: u32, cwnd: u32, acknowledged: u32, last_max: u32) -> Self {
        // cubic_root(), which is an approximation of its own.
        let missing = u128::from(last_max.saturating_sub(cwnd));
        let k = libm::cbrt(((missing << (10 + 3 * TIME_SHIFT)) / u128::from(SCALE)) as f64) as u32;
        Self { start, origin: last_max.max(cwnd), k, acknowledged, tcp_cwnd: cwnd }
    }

    /// The window that the curve has a round trip from now, in segments.
    fn curve(&self, now: u32, delay: Span) -> u32 {
        let ahead = delay.as_nanos().div_ceil(JIFFY.as_nanos());
        let t = ((u64::from(now.wrapping_sub(self.start)) + ahead) << TIME_SHIFT) / u64::from(HZ);
        let offset = u128::from(t.abs_diff(u64::from(self.k)));
        let away = (u128::from(SCALE) * offset * offset * offset) >> (10 + 3 * TIME_SHIFT);
        let away = u32::try_from(away).unwrap_or(u32::MAX);
        if t < u64::from(self.k) {
            self.origin.saturating_sub(away)
        } else {
            self.origin.saturating_add(away)
        }
    }

    /// Reno's window, as far as it has come by what was acknowledged.
    fn reno(&mut self, cwnd: u32) -> u32 {
        let each = (u64::from(cwnd) * FRIENDLY / 8).max(1) as u32;
        // The last part is kept until more is acknowledged.
        let grown = self.acknowledged.saturating_sub(1) / each;
        self.acknowledged -= grown * each;
        self.tcp_cwnd += grown;
        self.tcp_cwnd
    }
}

/// The window.
fn segments(window: &Window) -> u32 {
    (window.cwnd / window.smss) as u32
}

/// The jiffy of this time, as the kernel's: over again after 198 days.
fn jiffy(time: Time) -> u32 {
    jiffies(time - Time::ZERO) as u32
}

fn jiffies(span: Span) -> u64 {
    span.as_nanos() / JIFFY.as_nanos()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Profile;

    const SMSS: u64 = 1000;

    /// Acknowledges what the window holds, segment by segment over a round trip.
    fn round(cubic: &mut Linux, window: &mut Window, start: Time, rtt: Span) {
        let segments = window.cwnd / SMSS;
        for i in 0..segments {
            let now = start + rtt * i / segments;
            cubic.cong_avoid(&Ack { now, acked: SMSS, srtt: Some(rtt) }, window);
        }
    }

    fn lost(cubic: &mut Linux, segments: u64) -> Window {
        let mut window = Window { cwnd: segments * SMSS, ssthresh: u64::MAX, smss: SMSS };
        window.ssthresh = cubic.ssthresh(Time::ZERO, &window, window.cwnd);
        window.cwnd = window.ssthresh;
        window
    }

    #[test]
    fn it_climbs_by_a_twentieth_a_round_trip_until_there_was_a_loss() {
        // "if (ca->last_max_cwnd == 0 && ca->cnt > 20)"
        let mut cubic = Linux::new(&Profile::Linux.config());
        let mut window = Window { cwnd: 100 * SMSS, ssthresh: 100 * SMSS, smss: SMSS };
        let mut a_round = |cubic: &mut Linux| {
            let before = window.cwnd;
            round(cubic, &mut window, Time::ZERO, Span::ZERO);
            (window.cwnd - before) / SMSS
        };
        assert_eq!(a_round(&mut cubic), 5);
        let before = Window { cwnd: 200 * SMSS, ssthresh: 100 * SMSS, smss: SMSS };
        cubic.ssthresh(Time::ZERO, &before, before.cwnd);
        assert!(a_round(&mut cubic) <= 1, "at the start of the climb to a plateau");
        cubic.cwnd_event(Time::ZERO, CwndEvent::Loss { total_lost: 0 }, &mut before.clone());
        assert_eq!(a_round(&mut cubic), 5, "a timeout forgets it");
    }

    #[test]
    fn the_window_follows_the_curve_above_a_hundred_segments() {
        let mut cubic = Linux::new(&Profile::Linux.config());
        let mut window = lost(&mut cubic, 1000);
        let rtt = Span::from_millis(100);
        for i in 0..100 {
            round(&mut cubic, &mut window, Time::ZERO + rtt * i, rtt);
            let t = 0.1 * (i + 1) as f64 - libm::cbrt(1000.0 * (1.0 - BETA as f64 / 1024.0) / 0.4);
            let curve = 0.4 * t * t * t + 1000.0;
            let cwnd = (window.cwnd / SMSS) as f64;
            assert!((cwnd / curve - 1.0).abs() < 0.02, "round {i}: {cwnd} against {curve}");
        }
    }

    #[test]
    fn a_small_window_stays_behind_reno_s() {
        // Equation (4) has 0.53 segments a round trip; the pace is set by whole segments that Reno is ahead by.
        let mut cubic = Linux::new(&Profile::Linux.config());
        let mut window = lost(&mut cubic, 20);
        let rtt = Span::from_millis(10);
        let start = window.cwnd / SMSS;
        for i in 0..20 {
            round(&mut cubic, &mut window, Time::ZERO + rtt * i, rtt);
        }
        let reno = start as f64 + 20.0 * 3.0 * 0.3 / 1.7;
        let behind = reno - (window.cwnd / SMSS) as f64;
        assert!((1.0..4.0).contains(&behind), "{behind} segments");
    }
}
