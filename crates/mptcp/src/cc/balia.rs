//! Balanced linked adaptation (Peng et al., IEEE/ACM Transactions on Networking 24(1), 2016; `net/mptcp/mptcp_balia.c` of Linux v0.9x).

use super::{Law, Path};

/// Between friendliness and responsiveness.
#[derive(Debug)]
pub(super) struct Balia;

impl Balia {
    /// alpha_r = max_k x_k / x_r.
    fn alpha(own: &Path, all: &[Path]) -> f64 {
        all.iter().map(Path::rate).fold(0.0, f64::max) / own.rate()
    }
}

impl Law for Balia {
    fn increase(&self, own: &Path, all: &[Path], acked: f64) -> f64 {
        let rates: f64 = all.iter().map(Path::rate).sum();
        let alpha = Self::alpha(own, all);
        acked * own.rate() / own.rtt / (rates * rates) * (1.0 + alpha) / 2.0 * (4.0 + alpha) / 5.0
    }

    fn left_by_loss(&self, own: &Path, all: &[Path]) -> f64 {
        1.0 - Self::alpha(own, all).min(1.5) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::path;

    #[test]
    fn alone_it_is_reno() {
        let own = path(0, 20.0, 0.1);
        assert!((Balia.increase(&own, &[own], 20.0) - 1.0).abs() < 1e-12);
        assert!((Balia.left_by_loss(&own, &[own]) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_slower_path_loses_more_of_its_window() {
        let paths = [path(0, 20.0, 0.1), path(1, 10.0, 0.1), path(2, 19.0, 0.1)];
        assert_eq!(Balia.left_by_loss(&paths[1], &paths), 0.25);
        assert!((Balia.left_by_loss(&paths[2], &paths) - (1.0 - 20.0 / 19.0 / 2.0)).abs() < 1e-12);
    }
}
