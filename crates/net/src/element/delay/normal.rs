//! Normal delays; what is below zero counts as none.

use super::correlated::Correlated;
use super::{Delays, Settings};
use crate::element::Draw;
use crate::random::Stream;
use serde::{Deserialize, Serialize};
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

/// Settings; the delay that they vary is the mean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Normal {
    /// Standard deviation.
    pub deviation_ns: u64,
    /// From one packet to the next.
    pub correlation: f64,
    /// Whether packets may overtake each other; else one waits for that before it.
    pub overtaking: bool,
}

#[derive(Debug)]
pub(crate) struct Process {
    mean: Span,
    deviation: Span,
    values: Correlated,
    overtaking: bool,
}

impl Settings for Normal {
    type Process = Process;

    fn check(&self, _delay_ns: u64, check: &mut Check<'_>) {
        check.at("deviation_ns").span(self.deviation_ns);
        check.at("correlation").probability(self.correlation);
    }

    fn least_ns(&self, _delay_ns: u64) -> u64 {
        0
    }

    fn process(&self, delay_ns: u64) -> Process {
        Process {
            mean: Span::from_nanos(delay_ns),
            deviation: Span::from_nanos(self.deviation_ns),
            values: Correlated::new(self.correlation),
            overtaking: self.overtaking,
        }
    }

    fn sample(draw: &mut dyn Draw) -> (u64, Self) {
        let delay_ns = draw.span() / 3;
        let deviation_ns = draw.span() / 10;
        (delay_ns, Self { deviation_ns, correlation: draw.unit(), overtaking: draw.bit() })
    }
}

impl Delays for Process {
    fn of(&mut self, _at: Time, stream: &mut Stream) -> Span {
        let value = self.values.draw(stream);
        Span::from_secs_f64(self.mean.as_secs_f64() + self.deviation.as_secs_f64() * value)
    }

    fn about(&self, _at: Time) -> Span {
        self.mean
    }

    fn lets_overtake(&self) -> bool {
        self.overtaking
    }
}
