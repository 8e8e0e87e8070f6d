//! A server that takes bodies, whole or block by block.

use crate::EXCHANGE_LIFETIME;
use crate::block::Block;
use crate::client::Counts;
use crate::message::{Code, Kind, Message};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;
use voxpath_units::Time;
use voxpath_wire::Payload;

/// What a server holds at most.
#[derive(Debug, Clone, Copy)]
pub struct ServerSettings {
    /// Octets of a body.
    pub body: u32,
    /// The largest block that it takes: SZX.
    pub exponent: u8,
    /// Bodies that are not whole yet, and answers that are kept for duplicates.
    pub kept: usize,
}

/// A body that is there whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// Who sent it.
    pub from: SocketAddr,
    /// Where it was put.
    pub path: Vec<String>,
    /// The body.
    pub body: Payload,
}

#[derive(Debug)]
struct Assembly {
    parts: Vec<Payload>,
    octets: u32,
    since: Time,
}

/// A message: its sender and its identifier.
type Key = (SocketAddr, u16);

/// A server.
#[derive(Debug)]
pub struct Server {
    settings: ServerSettings,
    /// Answers, by the message that they answer: a duplicate gets it again, and has no other effect (section 4.5).
    answered: BTreeMap<Key, Payload>,
    by_age: VecDeque<(Time, Key)>,
    assemblies: BTreeMap<(SocketAddr, Vec<String>), Assembly>,
    received: VecDeque<Received>,
    duplicates: u64,
    counts: Counts,
}

impl Server {
    /// Has heard of nobody.
    pub fn new(settings: ServerSettings) -> Self {
        Self {
            settings,
            answered: BTreeMap::new(),
            by_age: VecDeque::new(),
            assemblies: BTreeMap::new(),
            received: VecDeque::new(),
            duplicates: 0,
            counts: Counts::default(),
        }
    }

    /// Has heard of nobody any more; what was counted stays.
    pub fn forget_all(&mut self) {
        let (duplicates, counts) = (self.duplicates, self.counts);
        *self = Self { duplicates, counts, ..Self::new(self.settings) };
    }

    /// Takes in a datagram; the answer to it, if there is one.
    pub fn receive(&mut self, now: Time, from: SocketAddr, datagram: &Payload) -> Option<Payload> {
        self.counts.received += 1;
        self.counts.octets_received += u64::from(datagram.len());
        let answer = self.answer(now, from, datagram)?;
        self.counts.sent += 1;
        self.counts.octets_sent += u64::from(answer.len());
        Some(answer)
    }

    /// The next body that is there.
    pub fn poll_received(&mut self) -> Option<Received> {
        self.received.pop_front()
    }

    /// Answers, and bodies that are not whole, that it keeps: at most `kept` of each.
    pub fn kept(&self) -> usize {
        self.answered.len() + self.assemblies.len()
    }

    /// Messages that came again.
    pub const fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// What was sent and came.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    fn answer(&mut self, now: Time, from: SocketAddr, datagram: &Payload) -> Option<Payload> {
        let message = Message::parse(datagram)?;
        let is_confirmable = match message.kind {
            Kind::Confirmable => true,
            Kind::NonConfirmable => false,
            Kind::Acknowledgement | Kind::Reset => return None,
        };
        if !message.code.is_request() {
            // A ping, or a response to nothing (sections 4.2 and 4.3).
            let reset = || Message::new(Kind::Reset, Code::EMPTY, message.id, Vec::new()).emit();
            return is_confirmable.then(reset);
        }
        self.forget(now);
        let key = (from, message.id);
        if let Some(known) = self.answered.get(&key) {
            self.duplicates += 1;
            return Some(known.clone());
        }
        if message.has_bad_option && !is_confirmable {
            return None;
        }
        let (code, block) = self.take(now, from, &message);
        let kind = if is_confirmable { Kind::Acknowledgement } else { Kind::NonConfirmable };
        let mut response = Message::new(kind, code, message.id, message.token);
        response.block = block;
        let response = response.emit();
        self.answered.insert(key, response.clone());
        self.by_age.push_back((now, key));
        Some(response)
    }

    fn forget(&mut self, now: Time) {
        while let Some(&(at, key)) = self.by_age.front()
            && (now.since(at) >= EXCHANGE_LIFETIME || self.by_age.len() >= self.settings.kept)
        {
            self.by_age.pop_front();
            self.answered.remove(&key);
        }
    }

    /// What a request is answered, and the block that this is about.
    fn take(&mut self, now: Time, from: SocketAddr, message: &Message) -> (Code, Option<Block>) {
        if message.has_bad_option {
            return (Code::BAD_OPTION, None);
        }
        if !matches!(message.code, Code::PUT | Code::POST) {
            return (Code::METHOD_NOT_ALLOWED, None);
        }
        let Some(block) = message.block else {
            if message.payload.len() > self.settings.body {
                return (Code::REQUEST_ENTITY_TOO_LARGE, None);
            }
            self.hand_over(from, message.path.clone(), message.payload.clone());
            return (Code::CHANGED, None);
        };
        let exponent = block.exponent.min(self.settings.exponent);
        let told = Block { exponent, ..block };
        let key = (from, message.path.clone());
        if block.number == 0 {
            self.make_room();
            self.assemblies.insert(key.clone(), Assembly { parts: Vec::new(), octets: 0, since: now });
        }
        // The next one in order, and full unless it is the last (section 2.4).
        let is_full = message.payload.len() == block.size();
        let Some(assembly) = self.assemblies.get_mut(&key).filter(|it| {
            u64::from(it.octets) == block.offset()
                && (is_full || !block.more && message.payload.len() < block.size())
        }) else {
            self.assemblies.remove(&key);
            return (Code::REQUEST_ENTITY_INCOMPLETE, Some(told));
        };
        if u64::from(assembly.octets) + u64::from(message.payload.len()) > u64::from(self.settings.body) {
            self.assemblies.remove(&key);
            return (Code::REQUEST_ENTITY_TOO_LARGE, Some(told));
        }
        assembly.octets += message.payload.len();
        if !assembly.parts.last_mut().is_some_and(|last| last.try_extend(&message.payload)) {
            assembly.parts.push(message.payload.clone());
        }
        if block.more {
            return (Code::CONTINUE, Some(told));
        }
        let whole = self.assemblies.remove(&key).map_or_else(Vec::new, |it| it.parts);
        self.hand_over(from, message.path.clone(), Payload::rope(whole));
        (Code::CHANGED, Some(told))
    }

    /// Lets the oldest body go that is not whole, where there are too many.
    fn make_room(&mut self) {
        if self.assemblies.len() >= self.settings.kept {
            let oldest = self.assemblies.iter().min_by_key(|(_, it)| it.since).map(|(key, _)| key.clone());
            oldest.and_then(|key| self.assemblies.remove(&key));
        }
    }

    fn hand_over(&mut self, from: SocketAddr, path: Vec<String>, body: Payload) {
        self.received.push_back(Received { from, path, body });
    }
}
