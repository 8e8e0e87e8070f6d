//! What a plan says of an application, and what everybody else has to know of it.

use crate::entity::Entity;
use crate::machine::Machine;
use alloc::format;
use voxpath_net::element::Draw;
use voxpath_net::{Seed, Stream as Draws};
use voxpath_units::Time;
use voxpath_units::check::Check;

/// What an application goes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// A byte stream.
    Stream,
    /// Datagrams.
    Datagrams,
}

/// The settings of an application: as the plan has them, without its kind.
pub trait Settings: Sized {
    /// What it may go over, its usual way first.
    const TRANSPORTS: &'static [Over];
    /// Whose reading the flow's result is: 0 the end that opens, 1 the end that answers.
    const RECEIVER: usize;
    /// The tables that its flows have rows in, beside those that every flow has.
    const TABLES: &'static [&'static dyn Entity] = &[];

    /// What keeps them from being used; keys are relative to the settings.
    fn check(&self, check: &mut Check<'_>);

    /// What keeps them from being used where an end is a real host.
    fn check_real(&self, _over: Over, _check: &mut Check<'_>) {}

    /// Whether only the end of the run, or being stopped, ends it.
    fn is_endless(&self) -> bool {
        false
    }

    /// Whether a clock of its own holds it back, so that it cannot send without end in no time.
    fn is_paced(&self) -> bool {
        false
    }

    /// The machines of the end that opens and of the end that answers, for one of [`Settings::TRANSPORTS`].
    fn ends(&self, flow: &FlowContext<'_>, over: Over) -> [Machine; 2];

    /// Settings with which nothing is wrong, for property tests; endless ones only if they may be.
    fn sample(draw: &mut dyn Draw, may_be_endless: bool) -> Self;
}

/// How many of something are sent, up to `most`; none if there need be no end.
pub(crate) fn sample_count(draw: &mut dyn Draw, most: u64, may_be_endless: bool) -> Option<u64> {
    let count = 1 + draw.below(most);
    (!may_be_endless || draw.bit()).then_some(count)
}

/// The most that an application transfers; what `voxpath_units` takes for a size.
const MOST_BYTES: u64 = 1_000_000_000_000_000;

/// What is transferred `times` times is no more than an application can transfer.
pub(crate) fn transfer(check: &mut Check<'_>, bytes: u64, times: u64) {
    let all = bytes.checked_mul(times);
    check.need(all.is_some_and(|all| all <= MOST_BYTES), "a flow transfers at most 1000 TB");
}

/// None of these values is zero.
pub(crate) fn at_least_one<const N: usize>(check: &mut Check<'_>, values: [(&'static str, u64); N]) {
    for (key, value) in values {
        check.at(key).need(value > 0, "at least 1");
    }
}

/// The flow that an application belongs to.
#[derive(Debug, Clone, Copy)]
pub struct FlowContext<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its number, from 0.
    pub index: u32,
    /// When it starts.
    pub start: Time,
    /// The root of the run's random streams.
    pub seed: Seed,
}

impl FlowContext<'_> {
    /// The patterns of what the end that opens sends, and of what the end that answers sends.
    pub const fn patterns(&self) -> [u32; 2] {
        [self.index * 2, self.index * 2 + 1]
    }

    /// The random stream of a part of the application.
    pub fn draws(&self, part: &str) -> Draws {
        self.seed.stream(&format!("flow {} {part}", self.name))
    }
}
