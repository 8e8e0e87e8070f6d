//! Delays by Pareto's distribution of the first kind: longer than d with probability (least / d)^shape.

use super::correlated::Correlated;
use super::{Delays, Settings};
use crate::element::Draw;
use crate::random::Stream;
use serde::{Deserialize, Serialize};
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

/// Settings; the delay that they vary is the shortest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pareto {
    /// The tail's exponent: the mean exists above 1, the variance above 2.
    pub shape: f64,
    /// Of the normal values that it is made from.
    pub correlation: f64,
    /// Whether packets may overtake each other; else one waits for that before it.
    pub overtaking: bool,
}

#[derive(Debug)]
pub(crate) struct Process {
    least: Span,
    shape: f64,
    values: Correlated,
    overtaking: bool,
}

impl Settings for Pareto {
    type Process = Process;

    fn check(&self, delay_ns: u64, check: &mut Check<'_>) {
        check.at("correlation").probability(self.correlation);
        let shape = self.shape;
        let mut place = check.at("shape");
        place.need(shape > 0.0 && shape.is_finite(), format_args!("{shape} is not above 0"));
        place.need(delay_ns > 0, "the shortest delay is above zero");
    }

    fn least_ns(&self, delay_ns: u64) -> u64 {
        delay_ns
    }

    fn process(&self, delay_ns: u64) -> Process {
        Process {
            least: Span::from_nanos(delay_ns),
            shape: self.shape,
            values: Correlated::new(self.correlation),
            overtaking: self.overtaking,
        }
    }

    fn sample(draw: &mut dyn Draw) -> (u64, Self) {
        let delay_ns = 1 + draw.span() / 3;
        let shape = draw.pick(&[3.0, 1.5, 2.5, 10.0]);
        (delay_ns, Self { shape, correlation: draw.unit(), overtaking: draw.bit() })
    }
}

impl Delays for Process {
    fn of(&mut self, _at: Time, stream: &mut Stream) -> Span {
        let value = self.values.draw(stream);
        let longer = 0.5 * libm::erfc(value * core::f64::consts::FRAC_1_SQRT_2);
        Span::from_secs_f64(self.least.as_secs_f64() * libm::pow(longer, -1.0 / self.shape))
    }

    fn about(&self, _at: Time) -> Span {
        if self.shape > 1.0 {
            Span::from_secs_f64(self.least.as_secs_f64() * self.shape / (self.shape - 1.0))
        } else {
            self.least
        }
    }

    fn lets_overtake(&self) -> bool {
        self.overtaking
    }
}
