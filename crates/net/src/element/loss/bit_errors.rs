//! Each bit is wrong independently; a packet with a wrong bit is lost.

use super::{Chance, Loses, Model};
use crate::element::Draw;
use crate::random::Stream;
use core::fmt;
use serde::{Deserialize, Serialize};
use voxpath_units::check::Check;
use voxpath_units::{Prob, Time};

/// Settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BitErrors {
    /// Bit error rate.
    pub rate: f64,
    /// How the rate becomes a packet's probability.
    pub form: BitErrorForm,
}

/// From bit error rate to packet error rate, for packets of `L` bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BitErrorForm {
    /// `1 - (1 - BER)^(8 L)`: bits fail independently.
    Exact,
    /// `min(1, 8 L BER)`: the form of Sarkar et al. 2022, equation (3).
    Linear,
}

impl BitErrorForm {
    /// The probability that a packet of `len` bytes has a wrong bit.
    pub fn packet_error_rate(self, bit_error_rate: f64, len: u32) -> Prob {
        let bits = 8.0 * f64::from(len);
        let p = match self {
            // Through log1p and expm1: at BER 1e-17 the plain power would round to no loss at all.
            Self::Exact if bit_error_rate < 1.0 => -libm::expm1(bits * libm::log1p(-bit_error_rate)),
            Self::Exact => 1.0,
            Self::Linear => bits * bit_error_rate,
        };
        Prob::new(p.clamp(0.0, 1.0)).expect("clamped into 0..=1")
    }
}

/// The settings, and length and threshold of the packet before: most have one of very few lengths.
#[derive(Debug, Clone)]
pub struct Process {
    errors: BitErrors,
    memo: (u32, u128),
}

impl Model for BitErrors {
    type Process = Process;

    fn check(&self, check: &mut Check<'_>) {
        check.at("rate").probability(self.rate);
    }

    fn process(&self, _apart: &Stream) -> Process {
        Process { errors: self.clone(), memo: (0, 0) }
    }

    fn chance(&self, len: u32) -> Chance {
        Chance::Independent(self.form.packet_error_rate(self.rate, len).get())
    }

    fn sample(draw: &mut dyn Draw) -> Self {
        let form = if draw.bit() { BitErrorForm::Exact } else { BitErrorForm::Linear };
        Self { rate: draw.prob() / 10_000.0, form }
    }
}

impl Loses for Process {
    #[inline]
    fn loses(&mut self, _at: Time, len: u32, stream: &mut Stream) -> bool {
        if self.memo.0 != len {
            let BitErrors { rate, form } = self.errors;
            self.memo = (len, form.packet_error_rate(rate, len).threshold());
        }
        stream.below(self.memo.1)
    }
}

impl fmt::Display for BitErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bit errors, {}", self.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(p: Prob, expected: f64) -> bool {
        (p.get() - expected).abs() < 5e-4
    }

    #[test]
    fn the_publications_table_1_is_right_only_where_errors_are_rare() {
        // ../shared/facts/sarkar2022.md, C.1: 9.52 % and 11.3 % at 1e-5, 63.2 % and 69.9 % at 1e-4.
        assert!(close(BitErrorForm::Exact.packet_error_rate(1e-5, 1250), 0.0952));
        assert!(close(BitErrorForm::Exact.packet_error_rate(1e-5, 1500), 0.1131));
        assert!(close(BitErrorForm::Exact.packet_error_rate(1e-4, 1250), 0.6321));
        assert!(close(BitErrorForm::Exact.packet_error_rate(1e-4, 1500), 0.6988));
        assert!(close(BitErrorForm::Linear.packet_error_rate(1e-5, 1250), 0.1));
        assert_eq!(BitErrorForm::Linear.packet_error_rate(1e-3, 1250).get(), 1.0);
        assert_eq!(BitErrorForm::Exact.packet_error_rate(1.0, 1).get(), 1.0);
        assert_eq!(BitErrorForm::Exact.packet_error_rate(0.0, 1500).get(), 0.0);
    }
}
