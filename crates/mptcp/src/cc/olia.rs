//! Opportunistic linked increases (Khalili et al., CoNEXT 2012; `net/mptcp/mptcp_olia.c` of Linux v0.9x).

use super::{Law, Path};

/// Moves the window from paths that have the most of it to those that would carry more.
#[derive(Debug)]
pub(super) struct Olia;

impl Olia {
    /// What decides which paths are best: octets between losses over the squared round-trip time, as in the kernel (the Internet draft has
    /// the square of the octets over the round-trip time).
    fn quality(path: &Path) -> f64 {
        path.between_losses / (path.rtt * path.rtt)
    }

    /// alpha_r: from the paths with the largest window to the best that have less.
    fn alpha(own: &Path, all: &[Path]) -> f64 {
        let largest = all.iter().map(|path| path.cwnd).fold(0.0, f64::max);
        let best = all.iter().map(Self::quality).fold(0.0, f64::max);
        let is_largest = |path: &Path| path.cwnd >= largest;
        let is_collected = |path: &Path| Self::quality(path) >= best && !is_largest(path);
        let collected = all.iter().filter(|path| is_collected(path)).count();
        if collected == 0 {
            return 0.0;
        }
        let paths = all.len() as f64;
        if is_collected(own) {
            1.0 / (paths * collected as f64)
        } else if is_largest(own) {
            -1.0 / (paths * all.iter().filter(|path| is_largest(path)).count() as f64)
        } else {
            0.0
        }
    }
}

impl Law for Olia {
    fn increase(&self, own: &Path, all: &[Path], acked: f64) -> f64 {
        let rates: f64 = all.iter().map(Path::rate).sum();
        let coupled = own.cwnd / (own.rtt * own.rtt) / (rates * rates);
        acked * (coupled + Self::alpha(own, all) / own.cwnd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::path;

    #[test]
    fn alone_it_is_reno() {
        let own = path(0, 20.0, 0.1);
        assert!((Olia.increase(&own, &[own], 20.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_best_path_takes_window_from_the_largest() {
        let good = Path { between_losses: 1e6, ..path(0, 5.0, 0.1) };
        let large = Path { between_losses: 1e5, ..path(1, 20.0, 0.1) };
        let all = [good, large];
        // |R| = 2, one path collected, one largest: alpha is a half, and minus a half.
        let coupled = |own: &Path| own.cwnd / 0.01 / (250.0 * 250.0);
        assert!((Olia.increase(&good, &all, 1.0) - (coupled(&good) + 0.5 / 5.0)).abs() < 1e-12);
        assert!((Olia.increase(&large, &all, 1.0) - (coupled(&large) - 0.5 / 20.0)).abs() < 1e-12);
    }

    #[test]
    fn where_the_best_is_the_largest_nothing_is_moved() {
        let good = Path { between_losses: 1e6, ..path(0, 20.0, 0.1) };
        let other = Path { between_losses: 1e5, ..path(1, 5.0, 0.1) };
        assert_eq!([Olia::alpha(&good, &[good, other]), Olia::alpha(&other, &[good, other])], [0.0, 0.0]);
    }
}
