//! Linked increases (RFC 6356).

use super::{Law, Path};

/// Takes no more than TCP would on the best path, and no more than TCP on each.
#[derive(Debug)]
pub(super) struct Lia;

impl Law for Lia {
    /// Equations (1) and (2) of section 3, of windows in segments.
    fn increase(&self, own: &Path, all: &[Path], acked: f64) -> f64 {
        let total: f64 = all.iter().map(|path| path.cwnd).sum();
        let best = all.iter().map(|path| path.cwnd / (path.rtt * path.rtt)).fold(0.0, f64::max);
        let rates: f64 = all.iter().map(Path::rate).sum();
        let alpha = total * best / (rates * rates);
        (alpha * acked / total).min(acked / own.cwnd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::path;

    #[test]
    fn alone_it_is_reno() {
        let own = path(0, 20.0, 0.1);
        assert!((Lia.increase(&own, &[own], 20.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn two_alike_grow_together_as_one_does_at_twice_their_window() {
        let paths = [path(0, 10.0, 0.1), path(1, 10.0, 0.1)];
        // alpha = 20 * 1000 / 200^2 = 0.5: each grows by a quarter of a segment in its round trip.
        assert!((Lia.increase(&paths[0], &paths, 10.0) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn on_no_path_it_grows_faster_than_reno() {
        let paths = [path(0, 100.0, 0.01), path(1, 2.0, 0.5)];
        assert!(Lia.increase(&paths[0], &paths, 1.0) <= 1.0 / 100.0);
        assert!(Lia.increase(&paths[1], &paths, 1.0) <= 1.0 / 2.0);
    }
}
