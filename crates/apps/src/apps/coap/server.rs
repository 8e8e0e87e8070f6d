//! A server that takes bodies.

use super::account::ServerAccount;
use super::tables;
use crate::apps::mqtt::MessageId;
use crate::process::{
    Event, Process, ProcessContext, ProcessEntity, ProcessSettings, SocketId, Sockets, Work,
};
use crate::settings::Over;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::Any;
use core::net::IpAddr;
use serde::{Deserialize, Serialize};
use voxpath_coap::{Block, Server, ServerSettings};
use voxpath_units::Time;
use voxpath_units::check::Check;

/// Answers that are kept for duplicates, and bodies that are not whole, at most.
const KEPT: usize = 100_000;

/// A server that takes bodies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoapServer {
    /// Where it waits.
    pub port: u16,
    /// The largest body that it takes.
    pub body_bytes: u32,
    /// The largest block that it takes.
    pub block_bytes: u32,
}

impl ProcessSettings for CoapServer {
    type Machine = Taker;

    const TABLES: &'static [&'static dyn ProcessEntity] = &[&tables::ENDS];

    fn check(&self, _nodes: u32, check: &mut Check<'_>) {
        check.at("port").need(self.port > 0, "a port is above zero");
        let known = Block::exponent_of(self.block_bytes).is_some();
        check.at("block_bytes").need(known, "a block has 16, 32, 64, 128, 256, 512 or 1024 bytes");
    }

    fn ports(&self) -> impl Iterator<Item = (u16, Over)> {
        [(self.port, Over::Datagrams)].into_iter()
    }

    fn targets(&self) -> impl Iterator<Item = u32> {
        [].into_iter()
    }

    fn machine(&self, context: &ProcessContext, _address: impl Fn(u32) -> IpAddr) -> Self::Machine {
        let exponent = Block::exponent_of(self.block_bytes).expect("settings were checked");
        let server = Server::new(ServerSettings { body: self.body_bytes, exponent, kept: KEPT });
        let account = ServerAccount { server, got: Vec::new(), strange: 0, octets: 0, last_at: None };
        Taker { account: Box::new(account), port: self.port, node: context.node, socket: None }
    }
}

/// The process.
#[derive(Debug)]
pub struct Taker {
    account: Box<ServerAccount>,
    port: u16,
    node: u32,
    socket: Option<SocketId>,
}

impl Process for Taker {
    fn start(&mut self, sockets: &mut impl Sockets) {
        self.socket = Some(sockets.bind(Some(self.port), None));
    }

    fn stop(&mut self, _now: Time) {
        self.account.server.forget_all();
        self.socket = None;
    }

    fn drive(&mut self, now: Time, sockets: &mut impl Sockets) {
        let account = &mut *self.account;
        while let Some(event) = sockets.poll_event() {
            let Event::Ready(socket) = event else { continue };
            while let Some((from, datagram)) = sockets.receive_from(socket) {
                if let Some(answer) = account.server.receive(now, from, &datagram) {
                    sockets.send_to(socket, from, answer);
                }
            }
        }
        while let Some(received) = account.server.poll_received() {
            account.octets += u64::from(received.body.len());
            account.last_at = Some(now);
            match MessageId::of(&received.body) {
                Some(id) => account.got.push((id, now)),
                None => account.strange += 1,
            }
        }
    }

    fn work(&self) -> Option<Work> {
        let ServerAccount { got, strange, octets, last_at, .. } = &*self.account;
        Some(Work {
            transport: "coap",
            to: self.node,
            start: Time::ZERO,
            status: if got.is_empty() && *strange == 0 { "unfinished" } else { "completed" },
            first: got.first().map(|&(_, at)| at),
            completed: *last_at,
            octets: *octets,
            wrong: 0,
        })
    }

    fn account(&self) -> &dyn Any {
        &*self.account
    }
}
