//! Normal values that are correlated from packet to packet.

use crate::random::Stream;

/// A stationary sequence of standard normal values with a correlation from one to the next (autoregressive of order 1).
///
/// A delay turns them into values of its distribution by quantiles; so the distribution is kept whatever the correlation, unlike in
/// netem. Between normal delays the correlation is as said, between others it is that of the underlying values.
#[derive(Debug)]
pub(super) struct Correlated {
    correlation: f64,
    /// The value of the packet before.
    last: Option<f64>,
}

impl Correlated {
    pub(super) const fn new(correlation: f64) -> Self {
        Self { correlation, last: None }
    }

    pub(super) fn draw(&mut self, stream: &mut Stream) -> f64 {
        let rho = self.correlation;
        let fresh = stream.normal();
        let value = self.last.map_or(fresh, |last| rho * last + libm::sqrt(1.0 - rho * rho) * fresh);
        self.last = Some(value);
        value
    }
}
