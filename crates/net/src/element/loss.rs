//! Loss on the wire, after the serialiser: a lost packet has used the link.

use crate::random::Stream;
use alloc::vec::Vec;
use voxpath_units::Prob;

/// From bit error rate to packet error rate, for packets of `L` bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// Decides which packets are lost. What it draws, it draws from the stream it is handed.
#[derive(Debug, Clone, Default)]
pub enum Loss {
    /// None.
    #[default]
    None,
    /// Each independently, with a probability held as [`Prob::threshold`].
    Bernoulli(u128),
    /// By bit errors, independent from bit to bit.
    BitErrors {
        /// Probability that one bit is wrong.
        rate: f64,
        /// How that becomes a packet's probability.
        form: BitErrorForm,
        /// Length and threshold of the packet before: most have one of very few lengths.
        memo: (u32, u128),
    },
    /// Exactly these, counted from 1; kept descending, so that the next one is the last.
    List {
        /// Numbers still to come, descending.
        remaining: Vec<u64>,
        /// Packets seen so far.
        seen: u64,
    },
}

impl Loss {
    /// Independent loss with probability `p`.
    pub fn bernoulli(p: Prob) -> Self {
        Self::Bernoulli(p.threshold())
    }

    /// Loss by bit errors of this rate.
    pub fn bit_errors(rate: f64, form: BitErrorForm) -> Self {
        Self::BitErrors { rate, form, memo: (0, 0) }
    }

    /// Loss of the packets with these numbers, counted from 1 as they arrive here.
    pub fn list(mut packets: Vec<u64>) -> Self {
        packets.sort_unstable_by(|a, b| b.cmp(a));
        packets.dedup();
        Self::List { remaining: packets, seen: 0 }
    }

    /// Whether the next packet, `len` bytes long, is lost.
    pub fn loses(&mut self, len: u32, stream: &mut Stream) -> bool {
        match self {
            Self::None => false,
            Self::Bernoulli(threshold) => stream.below(*threshold),
            Self::BitErrors { rate, form, memo } => {
                if memo.0 != len {
                    *memo = (len, form.packet_error_rate(*rate, len).threshold());
                }
                stream.below(memo.1)
            }
            Self::List { remaining, seen } => {
                *seen += 1;
                remaining.pop_if(|next| next == seen).is_some()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Seed;

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

    #[test]
    fn a_list_loses_exactly_its_packets() {
        let mut loss = Loss::list([2, 5, 5, 3].to_vec());
        let mut stream = Seed::new(0, 0).stream("unused");
        let lost: Vec<u64> = (1..=10).filter(|_| loss.loses(1500, &mut stream)).collect();
        assert_eq!(lost, [2, 3, 5]);
    }
}
