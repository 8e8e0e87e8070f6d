//! The way that each flow's packets take, for whoever has to know it without running anything.

use crate::check::{Problem, check, routes};
use crate::plan::Plan;
use alloc::vec::Vec;
use voxpath_net::routing::DirectionId;

/// The directions of links that a flow's packets take, from the end that opens to the other one, and back.
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
    let (graph, routes) = routes(plan);
    let between = |from, to| routes.path(&graph, from, to).expect("a plan was checked for its routes");
    Ok(plan.flows.iter().map(|flow| [between(flow.from, flow.to), between(flow.to, flow.from)]).collect())
}
