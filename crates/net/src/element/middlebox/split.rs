//! Cuts segments, as segmentation offload behind a proxy does.

use super::segment::{MOST_DATA, Segment, kind};
use super::{Model, Passed, Surroundings, Way, Works};
use crate::element::Draw;
use crate::packet::Packet;
use serde::{Deserialize, Serialize};
use voxpath_units::Time;
use voxpath_units::check::Check;
use voxpath_wire::tcp::TcpFlags;

/// Settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// Octets of data in a piece, at most.
    pub size_bytes: u32,
    /// Which pieces have the options that plain TCP does not know.
    pub options: OptionsOn,
}

/// Which pieces have the segment's options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OptionsOn {
    /// Each, as of segmentation offload.
    Each,
    /// The first one alone.
    First,
}

impl Model for Split {
    type Process = Self;

    fn check(&self, check: &mut Check<'_>) {
        let holds = (1..=MOST_DATA).contains(&self.size_bytes);
        check.at("size_bytes").need(holds, format_args!("is 1 to {MOST_DATA} bytes"));
    }

    fn process(&self, _around: &Surroundings) -> Self {
        self.clone()
    }

    fn sample(draw: &mut dyn Draw) -> Self {
        let options = if draw.bit() { OptionsOn::Each } else { OptionsOn::First };
        Self { size_bytes: 100 + draw.below(1_000) as u32, options }
    }
}

impl Works for Split {
    fn handle(&mut self, _now: Time, _way: Way, packet: Packet, passed: &mut Passed<'_>) {
        let whole = TcpFlags::SYN | TcpFlags::RST | TcpFlags::URG;
        let is_whole = packet.tcp().is_none_or(|header| header.flags.intersects(whole));
        if is_whole || packet.payload.len() <= self.size_bytes {
            return passed.pass(packet);
        }
        let strips = |found: u8| self.options == OptionsOn::First && !kind::PLAIN.contains(&found);
        passed.pass_pieces(Segment::open(packet).split(self.size_bytes, strips));
    }
}
