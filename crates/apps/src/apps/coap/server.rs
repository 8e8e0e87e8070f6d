//! A server: resources that it reads by itself at a rate, and those that are put.

use super::account::ServerAccount;
use super::options::{LEAST_REAL, MOST_BYTES, TransmissionOptions, check_block, check_path, segments};
use super::tables;
use crate::apps::mqtt::MessageId;
use crate::process::{
    Event, Process, ProcessContext, ProcessEntity, ProcessSettings, SocketId, Sockets, Work,
};
use crate::settings::Over;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;
use core::net::IpAddr;
use serde::{Deserialize, Serialize};
use voxpath_coap::{Block, Server, ServerSettings};
use voxpath_net::random::Stream;
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

/// Of each of what a server keeps, at most.
const KEPT: usize = 100_000;
/// Readings of a resource, at most.
const MOST_READINGS: u32 = 1 << 27;
/// Max-Age of a response that does not say it (RFC 7252 section 5.10.5).
const MAX_AGE: Span = Span::from_secs(60);

/// A server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoapServer {
    /// Where it waits.
    pub port: u16,
    /// The largest body that it takes.
    pub body_bytes: u32,
    /// The largest block that it takes and sends.
    pub block_bytes: u32,
    /// What it has by itself.
    pub resources: Vec<Resource>,
    /// Whether notifications are confirmable.
    pub confirmable: bool,
    /// How they are sent again.
    pub transmission: TransmissionOptions,
}

/// A resource that is read at a rate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resource {
    /// Segments of Uri-Path with `/` between.
    pub path: String,
    /// Octets of each representation.
    pub bytes: u32,
    /// When the first one is there.
    pub start_ns: u64,
    /// From one to the next.
    pub interval_ns: u64,
    /// How many; until the run ends without it.
    pub readings: Option<u32>,
}

impl Resource {
    fn check(&self, check: &mut Check<'_>) {
        check_path(&self.path, &mut check.at("path"));
        let most = format_args!("a body has at most {MOST_BYTES} bytes");
        check.at("bytes").need(self.bytes <= MOST_BYTES, most);
        check.at("start_ns").span(self.start_ns);
        check.at("interval_ns").span(self.interval_ns);
        check.at("interval_ns").need(self.interval_ns > 0, "above zero");
        let range = format_args!("1 to {MOST_READINGS} readings");
        check.at("readings").need(self.readings.is_none_or(|it| (1..=MOST_READINGS).contains(&it)), range);
    }

    /// When a reading is there, if there is one of this number.
    fn at(&self, number: u32) -> Option<Time> {
        let is_one = number < self.readings.unwrap_or(MOST_READINGS);
        let since = Span::from_nanos(self.interval_ns).saturating_mul(number.into());
        is_one.then(|| Time::from_nanos(self.start_ns.saturating_add(since.as_nanos())))
    }

    /// Seconds for which a reading is fresh: until the next one, where that is not what is taken for granted.
    fn max_age(&self) -> Option<u32> {
        let seconds = self.interval_ns.div_ceil(1_000_000_000);
        (Span::from_nanos(self.interval_ns) > MAX_AGE).then(|| u32::try_from(seconds).unwrap_or(u32::MAX))
    }
}

impl ProcessSettings for CoapServer {
    type Machine = Running;

    const TABLES: &'static [&'static dyn ProcessEntity] = &[&tables::ENDS];

    fn check(&self, _nodes: u32, check: &mut Check<'_>) {
        check.at("port").need(self.port > 0, "a port is above zero");
        check_block(self.block_bytes, &mut check.at("block_bytes"));
        self.transmission.check(&mut check.at("transmission"));
        let mut resources = check.at("resources");
        let few = format_args!("at most {KEPT} resources");
        resources.need(self.resources.len() <= KEPT, few);
        for (i, resource) in self.resources.iter().enumerate() {
            resource.check(&mut resources.at(i));
            let is_new =
                self.resources[..i].iter().all(|other| segments(&other.path) != segments(&resource.path));
            resources.at(i).at("path").need(is_new, "another resource has this path");
        }
    }

    fn check_real(&self, check: &mut Check<'_>) {
        let message = format_args!(
            "representations of real hosts have at least {LEAST_REAL} bytes, which tell which they are"
        );
        let mut resources = check.at("resources");
        for (i, resource) in self.resources.iter().enumerate() {
            resources.at(i).at("bytes").need(resource.bytes >= LEAST_REAL, message);
        }
    }

    fn ports(&self) -> impl Iterator<Item = (u16, Over)> {
        [(self.port, Over::Datagrams)].into_iter()
    }

    fn targets(&self) -> impl Iterator<Item = u32> {
        [].into_iter()
    }

    fn machine(&self, context: &ProcessContext, _address: impl Fn(u32) -> IpAddr) -> Self::Machine {
        let exponent = Block::exponent_of(self.block_bytes).expect("settings were checked");
        let mut draws = context.seed.stream(&format!("process {} coap", context.index));
        let server = Server::new(ServerSettings {
            body: self.body_bytes,
            exponent,
            kept: KEPT,
            confirmable: self.confirmable,
            transmission: self.transmission.settings(),
            first_id: draws.bits() as u16,
        });
        let (got, made) = (Vec::new(), Vec::new());
        let account = ServerAccount { server, got, made, strange: 0, octets: 0, last_at: None };
        let read = |resource: &Resource| Read {
            path: segments(&resource.path),
            next: 0,
            resource: resource.clone(),
        };
        Running {
            account: Box::new(account),
            draws,
            resources: self.resources.iter().map(read).collect(),
            port: self.port,
            process: context.index,
            node: context.node,
            socket: None,
            was_stopped: false,
        }
    }
}

/// A resource that is read.
#[derive(Debug)]
struct Read {
    resource: Resource,
    path: Vec<String>,
    /// Number of the next reading.
    next: u32,
}

impl Read {
    fn next_at(&self) -> Option<Time> {
        self.resource.at(self.next)
    }
}

/// The process.
#[derive(Debug)]
pub struct Running {
    account: Box<ServerAccount>,
    draws: Stream,
    resources: Vec<Read>,
    port: u16,
    process: u16,
    node: u32,
    socket: Option<SocketId>,
    was_stopped: bool,
}

impl Running {
    /// Reads what is due. What was due while the process did not run, nobody has read.
    fn read(&mut self, now: Time) {
        let Self { account, draws, resources, process, was_stopped, .. } = self;
        let is_missed = core::mem::take(was_stopped);
        let below = &mut |limit| draws.span_below(limit);
        for (client, read) in (0..).zip(resources) {
            while let Some(at) = read.next_at().filter(|at| *at <= now) {
                let number = read.next;
                read.next += 1;
                if is_missed {
                    continue;
                }
                let id = MessageId { process: *process, client, number };
                account.made.push((id, at));
                let body = id.body(read.resource.bytes);
                account.server.update(now, &read.path, body, read.resource.max_age(), below);
            }
        }
    }
}

impl Process for Running {
    fn start(&mut self, sockets: &mut impl Sockets) {
        self.socket = Some(sockets.bind(Some(self.port), None));
    }

    fn stop(&mut self, _now: Time) {
        self.account.server.forget_all();
        self.socket = None;
        self.was_stopped = true;
    }

    fn drive(&mut self, now: Time, sockets: &mut impl Sockets) {
        self.read(now);
        let Self { account, draws, .. } = self;
        let below = &mut |limit| draws.span_below(limit);
        while let Some(event) = sockets.poll_event() {
            let Event::Ready(socket) = event else { continue };
            while let Some((from, datagram)) = sockets.receive_from(socket) {
                account.server.receive(now, from, &datagram, below);
            }
        }
        account.server.advance(now, below);
        if let Some(socket) = self.socket {
            while let Some((to, datagram)) = account.server.poll_transmit() {
                sockets.send_to(socket, to, datagram);
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

    fn poll_timeout(&self) -> Option<Time> {
        let next = self.resources.iter().filter_map(Read::next_at).min();
        Time::earliest([next, self.account.server.poll_timeout()])
    }

    /// The run waits for readings that are counted, and until observers have the last ones.
    fn is_busy(&self) -> bool {
        let is_left = |it: &Read| it.resource.readings.is_some() && it.next_at().is_some();
        self.resources.iter().any(is_left) || self.account.server.is_busy()
    }

    fn work(&self) -> Option<Work> {
        let ServerAccount { got, made, strange, octets, last_at, .. } = &*self.account;
        let is_idle = got.is_empty() && made.is_empty() && *strange == 0;
        let first = [got, made].into_iter().filter_map(|list| list.first()).map(|&(_, at)| at).min();
        let last = made.last().map(|&(_, at)| at);
        Some(Work {
            transport: "coap",
            to: self.node,
            start: Time::ZERO,
            status: if is_idle { "unfinished" } else { "completed" },
            first,
            completed: [*last_at, last].into_iter().flatten().max(),
            octets: *octets,
            wrong: 0,
        })
    }

    fn account(&self) -> &dyn Any {
        &*self.account
    }
}
