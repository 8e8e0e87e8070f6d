//! Loss on the wire, after the serialiser: a lost packet has used the link. The same models say which packets are damaged
//! on a wire that corrupts them.

use super::capacity::Steps;
use crate::random::Stream;
use alloc::vec::Vec;
use voxpath_units::{Prob, Time};

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
    /// In bursts: by the state of a chain of two states, a step a packet.
    GilbertElliott(GilbertElliott),
    /// In bursts and one by one: by the state of a chain of four states, a step a packet.
    FourState(FourState),
    /// All packets that leave the serialiser while the step that holds is true.
    Outages(Steps<bool>),
    /// As it was recorded, packet by packet, over and over.
    Trace {
        /// Whether each was lost; not empty.
        lost: Vec<bool>,
        /// The next.
        next: usize,
    },
}

/// Gilbert's and Elliott's chain (Gilbert 1960, Elliott 1963): a packet has the probability of the state that it finds, and
/// then the chain takes a step, as in Linux's netem. It starts in the good state.
#[derive(Debug, Clone, Copy)]
pub struct GilbertElliott {
    to_bad: u128,
    to_good: u128,
    loss: [u128; 2],
    bad: bool,
}

impl GilbertElliott {
    /// `to_bad` (p) and `to_good` (r) are the probabilities of a step, `loss_good` (1 - k) and `loss_bad` (1 - h) those of
    /// a loss.
    pub fn new(to_bad: Prob, to_good: Prob, loss_good: Prob, loss_bad: Prob) -> Self {
        let [to_bad, to_good, loss_good, loss_bad] =
            [to_bad, to_good, loss_good, loss_bad].map(Prob::threshold);
        Self { to_bad, to_good, loss: [loss_good, loss_bad], bad: false }
    }

    fn loses(&mut self, stream: &mut Stream) -> bool {
        let lost = stream.below(self.loss[usize::from(self.bad)]);
        self.bad ^= stream.below(if self.bad { self.to_good } else { self.to_bad });
        lost
    }
}

/// The chain of four states of Salsano, Ludovici and Ordine's "General and Intuitive" loss model (2009), as in Linux's netem:
/// 1 received in a gap, 2 received in a burst, 3 lost in a burst, 4 lost in a gap. It starts in the first; the chain
/// takes a step, and its new state says what becomes of the packet.
#[derive(Debug, Clone, Copy)]
pub struct FourState {
    p13: f64,
    p31: f64,
    p32: f64,
    p23: f64,
    p14: f64,
    state: u8,
}

impl FourState {
    /// The probabilities of steps; none if p13 + p14 or p31 + p32 is above one. State 4 is left for the first at once.
    pub fn new(p13: Prob, p31: Prob, p32: Prob, p23: Prob, p14: Prob) -> Option<Self> {
        let [p13, p31, p32, p23, p14] = [p13, p31, p32, p23, p14].map(Prob::get);
        (p13 + p14 <= 1.0 && p31 + p32 <= 1.0).then_some(Self { p13, p31, p32, p23, p14, state: 1 })
    }

    fn loses(&mut self, stream: &mut Stream) -> bool {
        let draw = stream.unit();
        self.state = match self.state {
            1 if draw < self.p14 => 4,
            1 if draw < self.p14 + self.p13 => 3,
            2 if draw < self.p23 => 3,
            3 if draw < self.p32 => 2,
            3 if draw < self.p32 + self.p31 => 1,
            4 => 1,
            same => same,
        };
        self.state >= 3
    }
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

    /// Loss as it was recorded, over and over; none if nothing was.
    pub fn trace(lost: Vec<bool>) -> Option<Self> {
        (!lost.is_empty()).then_some(Self::Trace { lost, next: 0 })
    }

    /// Whether the next packet is lost, which is `len` bytes long and leaves the serialiser at `at`.
    #[inline]
    pub fn loses(&mut self, at: Time, len: u32, stream: &mut Stream) -> bool {
        // Most wires lose nothing.
        !matches!(self, Self::None) && self.decides(at, len, stream)
    }

    fn decides(&mut self, at: Time, len: u32, stream: &mut Stream) -> bool {
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
            Self::GilbertElliott(chain) => chain.loses(stream),
            Self::FourState(chain) => chain.loses(stream),
            Self::Outages(steps) => steps.at(at).0,
            Self::Trace { lost, next } => {
                let is_lost = lost[*next];
                *next = (*next + 1) % lost.len();
                is_lost
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
        let lost: Vec<u64> = (1..=10).filter(|_| loss.loses(Time::ZERO, 1500, &mut stream)).collect();
        assert_eq!(lost, [2, 3, 5]);
    }
}
