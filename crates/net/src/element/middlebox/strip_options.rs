//! Takes options off, as firewalls and proxies do with options that they do not know.

use super::segment::{Segment, kind};
use super::{Model, Passed, Surroundings, Way, Works};
use crate::element::Draw;
use crate::packet::Packet;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use voxpath_units::Time;
use voxpath_units::check::Check;
use voxpath_wire::tcp::TcpFlags;

/// Settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StripOptions {
    /// Their kinds.
    pub options: Vec<u8>,
    /// From which segments.
    pub segments: Segments,
}

/// Which segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Segments {
    /// Those with SYN.
    Syn,
    /// Those without.
    Rest,
    /// All.
    All,
}

impl Segments {
    fn has(self, flags: TcpFlags) -> bool {
        match self {
            Self::All => true,
            Self::Syn => flags.contains(TcpFlags::SYN),
            Self::Rest => !flags.contains(TcpFlags::SYN),
        }
    }
}

impl Model for StripOptions {
    type Process = Self;

    fn check(&self, check: &mut Check<'_>) {
        check.at("options").need(!self.options.is_empty(), "names no option");
        for (i, &kind) in self.options.iter().enumerate() {
            let is_option = kind != kind::END && kind != kind::NO_OPERATION;
            check.at("options").at(i).need(is_option, format_args!("{kind} is padding, and no option"));
        }
    }

    fn process(&self, _around: &Surroundings) -> Self {
        self.clone()
    }

    fn sample(draw: &mut dyn Draw) -> Self {
        let options = match draw.below(4) {
            0 => alloc::vec![2 + draw.below(253) as u8],
            1 => alloc::vec![kind::SACK, kind::TIMESTAMPS],
            _ => alloc::vec![30],
        };
        Self { options, segments: draw.pick(&[Segments::Syn, Segments::Rest, Segments::All]) }
    }
}

impl Works for StripOptions {
    fn handle(&mut self, _now: Time, _way: Way, packet: Packet, passed: &mut Passed<'_>) {
        let takes = packet.tcp().is_some_and(|header| self.segments.has(header.flags));
        if !takes {
            return passed.pass(packet);
        }
        let mut segment = Segment::open(packet);
        if segment.strip(|kind| self.options.contains(&kind)) {
            passed.pass_changed(segment.close());
        } else {
            passed.pass(segment.close());
        }
    }
}
