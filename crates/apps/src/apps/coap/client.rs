//! A client that puts bodies or asks for a resource, at a rate, one exchange after the other.

use super::account::Asked;
use super::options::{Asking, ClientOptions, LEAST_REAL, MOST_BYTES};
use super::tables;
use crate::apps::mqtt::MessageId;
use crate::process::{Process, ProcessContext, ProcessEntity, ProcessSettings, Sockets, Work};
use core::any::Any;
use core::net::IpAddr;
use serde::{Deserialize, Serialize};
use voxpath_coap::{Block, Outcome};
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

const MOST_MESSAGES: u32 = 1 << 27;

/// What a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "snake_case", deny_unknown_fields)]
pub enum Asks {
    /// That the server takes a body.
    Put {
        /// Its octets.
        bytes: u32,
    },
    /// What the resource is.
    Get {},
}

/// A client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoapClient {
    /// What it is.
    pub client: ClientOptions,
    /// What it asks for.
    pub asks: Asks,
    /// From one message to the next; zero is as soon as the one before is done.
    pub interval_ns: u64,
    /// How many.
    pub messages: u32,
}

impl ProcessSettings for CoapClient {
    type Machine = Requester;

    const TABLES: &'static [&'static dyn ProcessEntity] =
        &[&tables::EXCHANGES, &tables::READINGS, &tables::ENDS];

    fn check(&self, nodes: u32, check: &mut Check<'_>) {
        self.client.check(nodes, &mut check.at("client"));
        if let Asks::Put { bytes } = self.asks {
            let most = format_args!("a body has at most {MOST_BYTES} bytes");
            check.at("asks").at("bytes").need(bytes <= MOST_BYTES, most);
            let blocks = u64::from(bytes) <= u64::from(self.client.block_bytes) * u64::from(Block::MOST);
            check.at("asks").at("bytes").need(blocks, "a body has at most 2^20 blocks");
        }
        check.at("interval_ns").span(self.interval_ns);
        let range = format_args!("1 to {} messages", MOST_MESSAGES - 1);
        check.at("messages").need((1..MOST_MESSAGES).contains(&self.messages), range);
    }

    fn check_real(&self, check: &mut Check<'_>) {
        let message = format_args!(
            "messages of real hosts have at least {LEAST_REAL} bytes, which tell which they are"
        );
        let is_known = !matches!(self.asks, Asks::Put { bytes } if bytes < LEAST_REAL);
        check.at("asks").at("bytes").need(is_known, message);
    }

    fn targets(&self) -> impl Iterator<Item = u32> {
        [self.client.server.node].into_iter()
    }

    fn machine(&self, context: &ProcessContext, address: impl Fn(u32) -> IpAddr) -> Self::Machine {
        let asking = self.client.ask(context, address);
        Requester { settings: self.clone(), asking, next_at: Some(self.client.start()) }
    }
}

/// The process.
#[derive(Debug)]
pub struct Requester {
    settings: CoapClient,
    asking: Asking,
    next_at: Option<Time>,
}

impl Requester {
    fn ask_due(&mut self, now: Time) {
        let Self { settings, asking: Asking { account, draws, .. }, next_at } = self;
        let below = &mut |limit| draws.span_below(limit);
        while let Some(due_at) = next_at.take_if(|due| *due <= now) {
            let number = account.asked.len() as u32;
            let octets = match settings.asks {
                Asks::Put { bytes } => {
                    let id = MessageId { process: account.process, client: 0, number };
                    account.client.put(now, number, id.body(bytes), below);
                    bytes
                }
                Asks::Get {} => {
                    account.client.get(now, number, below);
                    0
                }
            };
            let is_put = matches!(settings.asks, Asks::Put { .. });
            account.asked.push(Asked { due_at, is_put, octets, ended: None });
            if settings.interval_ns > 0 && number + 1 < settings.messages {
                *next_at = Some(due_at + Span::from_nanos(settings.interval_ns));
            }
        }
    }
}

impl Process for Requester {
    fn start(&mut self, sockets: &mut impl Sockets) {
        self.asking.start(sockets);
    }

    fn stop(&mut self, _now: Time) {
        self.asking.stop();
    }

    fn drive(&mut self, now: Time, sockets: &mut impl Sockets) {
        self.asking.take(now, sockets);
        loop {
            self.ask_due(now);
            let Self { settings, asking: Asking { account, .. }, next_at } = self;
            account.note(now);
            let before = account.done;
            while let Some(ended) = account.client.poll_ended() {
                account.asked[ended.key as usize].ended = Some((now, ended.outcome));
                account.done += 1;
            }
            let follows = settings.interval_ns == 0 && (account.asked.len() as u32) < settings.messages;
            if account.done == before {
                break;
            }
            if follows && next_at.is_none() {
                *next_at = Some(now);
            }
        }
        self.asking.send(sockets);
    }

    fn poll_timeout(&self) -> Option<Time> {
        Time::earliest([self.next_at, self.asking.account.client.poll_timeout()])
    }

    fn is_busy(&self) -> bool {
        self.asking.account.done < self.settings.messages
    }

    fn work(&self) -> Option<Work> {
        let Self { settings, asking: Asking { account, .. }, .. } = self;
        let asked = &account.asked;
        let done = || {
            let done = |it: &Asked| it.ended.filter(|(_, how)| *how == Outcome::Done).map(|(at, _)| at);
            asked.iter().filter_map(move |it| Some((done(it)?, it.octets)))
        };
        let is_whole = !self.is_busy();
        Some(Work {
            transport: "coap",
            to: settings.client.server.node,
            start: settings.client.start(),
            status: if is_whole { "completed" } else { "unfinished" },
            first: done().map(|(at, _)| at).min(),
            completed: asked.iter().filter_map(|it| it.ended).map(|(at, _)| at).max().filter(|_| is_whole),
            octets: done().map(|(_, octets)| u64::from(octets)).sum(),
            wrong: 0,
        })
    }

    fn account(&self) -> &dyn Any {
        &*self.asking.account
    }
}
