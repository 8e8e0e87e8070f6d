//! Transport-wide feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01 section 3.1).
//!
//! The draft's words on the vector chunk of one bit are inverted; everybody takes 1 for "received".

use super::Body;
use crate::error::WireError;
use alloc::vec::Vec;

/// When packets came, by transport-wide sequence number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransportFeedback {
    /// Who reports.
    pub sender: u32,
    /// A source of whom the packets are; for show, as they may be of several.
    pub media: u32,
    /// Sequence number of the first packet.
    pub base: u16,
    /// The first delta counts from here: a multiple of 64 ms, 24 bits with a sign.
    pub reference: i32,
    /// Number of the feedback, to see which one is missing.
    pub number: u8,
    /// Of each packet from `base` on, how long after the one that came before it, in 250 µs; none did not come.
    pub deltas: Vec<Option<i16>>,
}

impl TransportFeedback {
    /// Nanoseconds of a delta's unit.
    pub const DELTA_NS: u64 = 250_000;
    /// Nanoseconds of the reference time's unit.
    pub const REFERENCE_NS: u64 = 64_000_000;

    pub(super) fn parse(body: &mut Body<'_>) -> Result<Self, WireError> {
        let (sender, media, base, count) = (body.u32()?, body.u32()?, body.u16()?, body.u16()?);
        let word = body.u32()?;
        let mut symbols: Vec<u8> = Vec::with_capacity(count.into());
        let left = |symbols: &Vec<u8>| usize::from(count) - symbols.len();
        while symbols.len() < count.into() {
            let chunk = body.u16()?;
            match chunk >> 14 {
                0b10 => {
                    symbols.extend((0..14).rev().map(|bit| (chunk >> bit & 1) as u8).take(left(&symbols)))
                }
                0b11 => symbols
                    .extend((0..7).rev().map(|pair| (chunk >> (2 * pair) & 3) as u8).take(left(&symbols))),
                _ => {
                    let run = usize::from(chunk & 0x1fff);
                    if run == 0 {
                        return Err(body.bad(chunk.into()));
                    }
                    let run = run.min(left(&symbols));
                    symbols.resize(symbols.len() + run, (chunk >> 13 & 3) as u8);
                }
            }
        }
        let deltas = symbols.into_iter().map(|symbol| match symbol {
            0 => Ok(None),
            1 => Ok(Some(i16::from(body.u8()?))),
            2 => Ok(Some(body.u16()? as i16)),
            reserved => Err(body.bad(reserved.into())),
        });
        let deltas = deltas.collect::<Result<_, _>>()?;
        Ok(Self { sender, media, base, reference: word as i32 >> 8, number: word as u8, deltas })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        let count = u16::try_from(self.deltas.len()).expect("at most 65535 packets");
        for word in [self.sender, self.media] {
            out.extend_from_slice(&word.to_be_bytes());
        }
        out.extend_from_slice(&self.base.to_be_bytes());
        out.extend_from_slice(&count.to_be_bytes());
        out.extend_from_slice(&((self.reference as u32) << 8 | u32::from(self.number)).to_be_bytes());
        let symbol = |delta: &Option<i16>| match delta {
            None => 0_u16,
            Some(0..=255) => 1,
            Some(_) => 2,
        };
        let mut left = &self.deltas[..];
        while let Some(first) = left.first().map(symbol) {
            let run = left.iter().take(0x1fff).take_while(|delta| symbol(delta) == first).count();
            let vector = |most: usize| left.iter().map(symbol).chain(core::iter::repeat(0)).take(most);
            let ones = left.iter().take(14).take_while(|delta| symbol(delta) < 2).count();
            // A run says more than a vector from 15 packets on, or where it says all that is left.
            let (chunk, taken) = if run > 14 || run == left.len() || (ones < 14 && run > 7) {
                (first << 13 | run as u16, run)
            } else if ones == 14 || ones == left.len() {
                (vector(14).fold(0b10, |bits, symbol| bits << 1 | symbol), 14)
            } else {
                (vector(7).fold(0b11, |bits, symbol| bits << 2 | symbol), 7)
            };
            out.extend_from_slice(&chunk.to_be_bytes());
            left = &left[taken.min(left.len())..];
        }
        for delta in self.deltas.iter().flatten() {
            match u8::try_from(*delta) {
                Ok(small) => out.push(small),
                Err(_) => out.extend_from_slice(&delta.to_be_bytes()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtcp::RtcpPacket;
    use alloc::vec;

    fn feedback(deltas: Vec<Option<i16>>) -> RtcpPacket {
        RtcpPacket::TransportFeedback(TransportFeedback {
            sender: 1,
            media: 2,
            base: 0xfff0,
            reference: -3,
            number: 7,
            deltas,
        })
    }

    #[test]
    fn the_octets_are_those_of_the_draft() {
        let mut bytes = Vec::new();
        feedback(vec![Some(4), None, Some(-1), Some(256)]).emit(&mut bytes);
        let expected = [
            0x8f, 205, 0, 6, 0, 0, 0, 1, 0, 0, 0, 2, 0xff, 0xf0, 0, 4, 0xff, 0xff, 0xfd, 7, 0xd2, 0x80, 4,
            0xff, 0xff, 1, 0, 0,
        ];
        assert_eq!(bytes, expected);
    }

    #[test]
    fn every_mixture_of_runs_and_vectors_comes_back() {
        let kinds = [None, Some(0), Some(255), Some(256), Some(-1), Some(i16::MIN)];
        for run in [1, 2, 6, 7, 8, 13, 14, 15, 100, 9_000] {
            for (a, b) in [(0, 1), (1, 3), (3, 0), (4, 5)] {
                let mut deltas = vec![kinds[a]; run];
                deltas.extend(vec![kinds[b]; run]);
                deltas.extend((0..run.min(30)).map(|i| kinds[i % kinds.len()]));
                let mut bytes = Vec::new();
                let packet = feedback(deltas);
                packet.emit(&mut bytes);
                assert_eq!(RtcpPacket::parse(&bytes), Ok((packet, bytes.len())));
            }
        }
    }

    #[test]
    fn ten_packets_in_a_row_cost_one_chunk() {
        let mut bytes = Vec::new();
        feedback(vec![Some(1); 10]).emit(&mut bytes);
        assert_eq!(bytes.len(), 20 + 2 + 10);
    }
}
