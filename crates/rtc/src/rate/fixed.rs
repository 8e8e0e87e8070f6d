//! No control: what is asked for at the start is sent to the end.

use super::{Allowance, Bounds, Every, Needs, RateControl, ReportKind, Settings, Value};
use alloc::boxed::Box;
use serde::{Deserialize, Serialize};
use voxpath_net::element::Draw;
use voxpath_units::{Span, Time};

/// The start rate, always.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fixed {}

impl Settings for Fixed {
    fn needs(&self) -> Needs {
        Needs::of(ReportKind::None, Every::Span(Span::from_secs(1)))
    }

    fn sender(&self, _now: Time, bounds: Bounds) -> Box<dyn RateControl> {
        Box::new(Constant { bps: bounds.start_bps })
    }

    fn sample(_draw: &mut dyn Draw) -> Self {
        Self {}
    }
}

/// The rate.
#[derive(Debug)]
struct Constant {
    bps: u64,
}

impl RateControl for Constant {
    fn on_route_change(&mut self, _now: Time) {}

    fn allowance(&self) -> Allowance {
        // Packets leave as the source makes them: a pacer at the mean rate would hold back the larger frames.
        Allowance { target_bps: self.bps, pacing_bps: u64::MAX, window_bytes: None }
    }

    fn metrics(&self, show: &mut dyn FnMut(&'static str, Value)) {
        show("target_bps", Value::Number(self.bps as f64));
    }
}
