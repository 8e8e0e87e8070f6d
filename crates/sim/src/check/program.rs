//! Programs that real hosts run.

use super::Checker;
use crate::plan::NodeKind;
use alloc::string::String;

impl Checker<'_> {
    pub(super) fn programs(&mut self) {
        for (i, program) in self.plan.programs.iter().enumerate() {
            match self.plan.nodes.get(program.node as usize) {
                None => self.fail(format_args!("programs[{i}].node"), "there is no such node"),
                Some(node) if node.kind == NodeKind::Router => {
                    self.fail(format_args!("programs[{i}].node"), "is a router: routers run nothing")
                }
                Some(node) if node.simulated => {
                    let path = format_args!("programs[{i}].node");
                    self.fail(
                        path,
                        format_args!("the host {:?} is simulated: it runs no programs", node.name),
                    )
                }
                Some(_) => {}
            }
            if program.command.first().is_none_or(String::is_empty) {
                self.fail(format_args!("programs[{i}].command"), "names no program");
            }
            if program.listens == Some(0) {
                self.fail(format_args!("programs[{i}].listens"), "no program listens at port 0");
            }
        }
    }
}
