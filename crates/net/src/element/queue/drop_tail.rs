//! First in, first out; what finds no room is refused.

use super::waiting::Fifo;
use super::{Arrival, Limit, Settings};
use crate::element::Draw;
use crate::random::Stream;
use serde::{Deserialize, Serialize};
use voxpath_units::check::Check;

/// Settings: there are none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DropTail {}

impl Settings for DropTail {
    type Queue = Fifo;

    const PLAIN: bool = true;

    fn check(&self, _check: &mut Check<'_>) {}

    fn queue(&self, limit: Limit, _stream: Stream) -> Fifo {
        Fifo::new(limit, None)
    }

    fn arrival(&self, _stream: Stream) -> Option<Arrival> {
        Some(Arrival::Room)
    }

    fn sample(_draw: &mut dyn Draw) -> Self {
        Self {}
    }
}
