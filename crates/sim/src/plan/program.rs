//! Programs that real hosts run.

use super::NodeKind;
use crate::check::Checker;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use voxpath_tcp::Config as TcpConfig;

/// A program that a real host runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Index of the host.
    pub node: u32,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The TCP port at which it serves: the run starts when it listens, and the program is ended with the run.
    /// Without one the run lasts until the program ends by itself.
    pub listens: Option<u16>,
    /// When it starts; zero where it serves.
    pub start_ns: u64,
    /// Whether its end ends the run, whatever is still going on.
    pub ends: bool,
    /// The stack that its sockets are to have.
    pub tcp: TcpConfig,
}

impl Checker<'_> {
    pub(crate) fn programs(&mut self) {
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
