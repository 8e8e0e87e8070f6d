//! The way that each flow's packets take, for whoever has to know it without running anything.

use crate::check::check;
use crate::plan::{NodeKind, Plan};
use crate::ways::{Ways, opened};
use alloc::vec::Vec;
use voxpath_net::routing::DirectionId;
use voxpath_units::Span;
use voxpath_units::check::Problem;

/// The shortest way between two hosts, by the delays of its links; none where no two hosts reach each other.
///
/// # Errors
/// As [`paths`].
pub fn shortest_delay(plan: &Plan) -> Result<Option<Span>, Vec<Problem>> {
    let problems = check(plan);
    if !problems.is_empty() {
        return Err(problems);
    }
    let Ways { graph, routes, .. } = Ways::of(plan);
    let delay = |step: DirectionId| {
        let link = &plan.links[step.link() as usize];
        if step.index().is_multiple_of(2) { &link.ab } else { &link.ba }.least_delay_ns()
    };
    let hosts = || (0..).zip(&plan.nodes).filter(|(_, node)| node.kind == NodeKind::Host).map(|(i, _)| i);
    let pairs = hosts().flat_map(|from| hosts().filter(move |&to| to != from).map(move |to| (from, to)));
    let ways = pairs.filter_map(|(from, to)| routes.path(&graph, from, to, None).ok());
    Ok(ways.map(|way| Span::from_nanos(way.into_iter().map(delay).sum())).min())
}

/// The directions of links that a flow's packets take, from the end that opens to the one that it talks to, and back.
pub type Paths = [Vec<DirectionId>; 2];

/// The paths of every flow of `plan`.
///
/// # Errors
/// Everything that [`check`] finds; a flow without a route is among it.
pub fn paths(plan: &Plan) -> Result<Vec<Paths>, Vec<Problem>> {
    let problems = check(plan);
    if !problems.is_empty() {
        return Err(problems);
    }
    let ways = Ways::of(plan);
    let between = |from, to| ways.path(from, to).expect("a plan was checked for its routes");
    let both = |flow| {
        let [from, to] = opened(plan, flow).expect("a plan was checked for its addresses");
        [between(from, to), between(to, from)]
    };
    Ok(plan.flows.iter().map(both).collect())
}
