//! A client that puts bodies at a rate, one exchange after the other.

use super::account::{ClientAccount, Put};
use super::tables;
use crate::apps::mqtt::MessageId;
use crate::process::{
    Event, Peer, Process, ProcessContext, ProcessEntity, ProcessSettings, SocketId, Sockets, Work,
};
use crate::settings::Over;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::any::Any;
use core::net::{IpAddr, SocketAddr};
use serde::{Deserialize, Serialize};
use voxpath_coap::{Block, Client, ClientSettings, Outcome};
use voxpath_net::random::Stream;
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

/// Bodies are not larger than numbers of blocks of 16 octets allow.
const MOST_BYTES: u32 = 16 * Block::MOST;
/// A body has to be this long for its octets to tell which message it is.
const LEAST_REAL: u32 = 8;
const MOST_MESSAGES: u32 = 1 << 27;

/// A client that puts bodies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoapClient {
    /// Where the server waits.
    pub server: Peer,
    /// Where bodies are put: segments of Uri-Path with `/` between.
    pub path: String,
    /// Octets of each body.
    pub bytes: u32,
    /// When the first one is due.
    pub start_ns: u64,
    /// From one to the next; zero is as soon as the one before is done.
    pub interval_ns: u64,
    /// How many.
    pub messages: u32,
    /// Whether requests are confirmable.
    pub confirmable: bool,
    /// Octets of a block.
    pub block_bytes: u32,
    /// `ACK_TIMEOUT`.
    pub ack_timeout_ns: u64,
    /// `MAX_RETRANSMIT`.
    pub max_retransmit: u8,
}

impl ProcessSettings for CoapClient {
    type Machine = Putter;

    const TABLES: &'static [&'static dyn ProcessEntity] = &[&tables::EXCHANGES, &tables::ENDS];

    fn check(&self, nodes: u32, check: &mut Check<'_>) {
        check.at("server").need(self.server.node < nodes && self.server.port > 0, "a port of a node");
        let segments = self.path.split('/').all(|segment| segment.len() <= 255);
        check.at("path").need(segments, "segments of a path have at most 255 bytes");
        let most = format_args!("a body has at most {MOST_BYTES} bytes");
        check.at("bytes").need(self.bytes <= MOST_BYTES, most);
        let blocks = u64::from(self.bytes) <= u64::from(self.block_bytes) * u64::from(Block::MOST);
        check.at("bytes").need(blocks, "a body has at most 2^20 blocks");
        let known = Block::exponent_of(self.block_bytes).is_some();
        check.at("block_bytes").need(known, "a block has 16, 32, 64, 128, 256, 512 or 1024 bytes");
        for (key, span) in [("start_ns", self.start_ns), ("interval_ns", self.interval_ns)] {
            check.at(key).span(span);
        }
        check.at("ack_timeout_ns").need(self.ack_timeout_ns > 0, "above zero");
        check.at("max_retransmit").need(self.max_retransmit <= 20, "at most 20");
        // It is doubled as often, and half of it may come on top.
        let longest = self.ack_timeout_ns.saturating_mul(2 << self.max_retransmit.min(20));
        check.at("ack_timeout_ns").span(longest);
        let range = format_args!("1 to {} messages", MOST_MESSAGES - 1);
        check.at("messages").need((1..MOST_MESSAGES).contains(&self.messages), range);
    }

    fn check_real(&self, check: &mut Check<'_>) {
        let message = format_args!(
            "messages of real hosts have at least {LEAST_REAL} bytes, which tell which they are"
        );
        check.at("bytes").need(self.bytes >= LEAST_REAL, message);
    }

    fn ports(&self) -> impl Iterator<Item = (u16, Over)> {
        [].into_iter()
    }

    fn targets(&self) -> impl Iterator<Item = u32> {
        [self.server.node].into_iter()
    }

    fn machine(&self, context: &ProcessContext, address: impl Fn(u32) -> IpAddr) -> Self::Machine {
        let mut draws = context.seed.stream(&format!("process {} coap", context.index));
        let exponent = Block::exponent_of(self.block_bytes).expect("settings were checked");
        let client = Client::new(ClientSettings {
            confirmable: self.confirmable,
            path: self
                .path
                .split('/')
                .filter(|segment| !segment.is_empty())
                .map(ToString::to_string)
                .collect(),
            block: Block { number: 0, more: false, exponent },
            ack_timeout: Span::from_nanos(self.ack_timeout_ns),
            max_retransmit: self.max_retransmit,
            first_id: draws.bits() as u16,
        });
        let account =
            ClientAccount { bytes: self.bytes, process: context.index, client, put: Vec::new(), done: 0 };
        let target = SocketAddr::new(address(self.server.node), self.server.port);
        let next_at = Some(Time::from_nanos(self.start_ns));
        Putter { settings: self.clone(), account: Box::new(account), draws, target, socket: None, next_at }
    }
}

/// The process.
#[derive(Debug)]
pub struct Putter {
    settings: CoapClient,
    account: Box<ClientAccount>,
    draws: Stream,
    target: SocketAddr,
    socket: Option<SocketId>,
    next_at: Option<Time>,
}

impl Putter {
    fn put_due(&mut self, now: Time) {
        let Self { settings, account, draws, next_at, .. } = self;
        while let Some(due) = next_at.take_if(|due| *due <= now) {
            let number = account.put.len() as u32;
            account.put.push(Put { due_at: due, ended: None });
            let id = MessageId { process: account.process, client: 0, number };
            let body = id.body(settings.bytes);
            account.client.submit(now, number, body, &mut |limit| draws.span_below(limit));
            if settings.interval_ns > 0 && number + 1 < settings.messages {
                *next_at = Some(due + Span::from_nanos(settings.interval_ns));
            }
        }
    }
}

impl Process for Putter {
    fn start(&mut self, sockets: &mut impl Sockets) {
        self.socket = Some(sockets.bind(None, None));
    }

    fn stop(&mut self, _now: Time) {
        self.socket = None;
    }

    fn drive(&mut self, now: Time, sockets: &mut impl Sockets) {
        while let Some(event) = sockets.poll_event() {
            if let Event::Ready(socket) = event {
                while let Some((_, datagram)) = sockets.receive_from(socket) {
                    let Self { account, draws, .. } = self;
                    account.client.receive(now, &datagram, &mut |limit| draws.span_below(limit));
                }
            }
        }
        let Self { account, draws, .. } = self;
        account.client.advance(now, &mut |limit| draws.span_below(limit));
        loop {
            self.put_due(now);
            let Self { settings, account, next_at, .. } = self;
            let before = account.done;
            while let Some(ended) = account.client.poll_ended() {
                account.put[ended.key as usize].ended = Some((now, ended.outcome));
                account.done += 1;
            }
            let follows = settings.interval_ns == 0 && (account.put.len() as u32) < settings.messages;
            if account.done == before {
                break;
            }
            if follows && next_at.is_none() {
                *next_at = Some(now);
            }
        }
        let Some(socket) = self.socket else { return };
        while let Some(datagram) = self.account.client.poll_transmit() {
            sockets.send_to(socket, self.target, datagram);
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        let due = self.account.client.poll_timeout();
        [self.next_at, due].into_iter().flatten().min()
    }

    fn is_busy(&self) -> bool {
        self.account.done < self.settings.messages
    }

    fn work(&self) -> Option<Work> {
        let Self { settings, account, .. } = self;
        let put = &account.put;
        let done = || put.iter().filter_map(|it| it.ended.filter(|(_, how)| *how == Outcome::Done));
        let is_whole = !self.is_busy();
        let all = done().count() as u64;
        Some(Work {
            transport: "coap",
            to: settings.server.node,
            start: Time::from_nanos(settings.start_ns),
            status: if is_whole { "completed" } else { "unfinished" },
            first: done().map(|(at, _)| at).min(),
            completed: put.iter().filter_map(|it| it.ended).map(|(at, _)| at).max().filter(|_| is_whole),
            octets: all * u64::from(settings.bytes),
            wrong: 0,
        })
    }

    fn account(&self) -> &dyn Any {
        &*self.account
    }
}
