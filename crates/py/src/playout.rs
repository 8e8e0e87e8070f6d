//! The jitter buffer of calls, for frames that came by whatever transport.

use crate::error::value_error;
use pyo3::prelude::*;
use voxpath_rtc::receive::{Buffer, Playout};
use voxpath_units::check::{Check, LONGEST_NS};
use voxpath_units::{Span, Time};

/// When frames are due, in the order in which they were complete: of each its media time, from the first frame on, and
/// when it was complete, in nanoseconds. `buffer` is JSON as in a plan.
#[pyfunction]
#[pyo3(signature = (buffer, frames, /))]
pub(crate) fn playout(buffer: &str, frames: Vec<(u64, u64)>) -> PyResult<Vec<u64>> {
    let buffer: Buffer = serde_json::from_str(buffer).map_err(value_error)?;
    if let Some(problem) = Check::found(|check| buffer.check(check)).first() {
        return Err(value_error(problem));
    }
    if frames.iter().any(|&(media, complete)| media.max(complete) > LONGEST_NS) {
        return Err(value_error(format_args!("a time is at most {LONGEST_NS} ns")));
    }
    if let Some(pair) = frames.windows(2).find(|pair| pair[0].1 > pair[1].1) {
        let message = format_args!("a frame complete at {} ns follows one at {} ns", pair[1].1, pair[0].1);
        return Err(value_error(message));
    }
    let mut playout = Playout::new(buffer);
    let due = |(media, at)| playout.due(Time::from_nanos(at), Span::from_nanos(media)).as_nanos();
    Ok(frames.into_iter().map(due).collect())
}
