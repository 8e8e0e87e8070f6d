//! A server: resources that are put or that it has by itself, told to whoever asks, and their changes to whoever observes.
//!
//! [`Server::receive`], [`Server::update`] and [`Server::advance`] tell it what happened. Afterwards [`Server::poll_transmit`] has what to
//! send, [`Server::poll_received`] what was put, and [`Server::poll_timeout`] when to come back.

use crate::EXCHANGE_LIFETIME;
use crate::block::{Assembly, Block};
use crate::client::Counts;
use crate::message::{Code, Kind, Message};
use crate::observers::{Expired, Observers, Token};
use crate::reliability::{Pending, Transmission};
use crate::uint::emit_uint;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;

/// What a server does, and holds at most.
#[derive(Debug, Clone, Copy)]
pub struct ServerSettings {
    /// Octets of a body.
    pub body: u32,
    /// The largest block that it takes and sends: SZX.
    pub exponent: u8,
    /// Of each: bodies that are not whole yet, answers that are kept for duplicates, resources, observations.
    pub kept: usize,
    /// Whether notifications are confirmable.
    pub confirmable: bool,
    /// How they are sent again.
    pub transmission: Transmission,
    /// The first message identifier of its own.
    pub first_id: u16,
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
struct Resource {
    body: Payload,
    /// Of this representation among all of the server's.
    version: u32,
    max_age: Option<u32>,
}

/// A message: its sender and its identifier.
type Key = (SocketAddr, u16);

/// A server.
#[derive(Debug)]
pub struct Server {
    settings: ServerSettings,
    next_id: u16,
    /// Answers, by the message that they answer: a duplicate gets it again, and has no other effect (section 4.5).
    answered: BTreeMap<Key, Payload>,
    by_age: VecDeque<(Time, Key)>,
    /// Bodies that are put, and when they were begun.
    assemblies: BTreeMap<(SocketAddr, Vec<String>), (Time, Assembly)>,
    resources: BTreeMap<Vec<String>, Resource>,
    versions: u32,
    observers: Observers,
    /// Of the last notification.
    sequence: u64,
    outgoing: VecDeque<(SocketAddr, Payload)>,
    received: VecDeque<Received>,
    duplicates: u64,
    notifications: u64,
    counts: Counts,
}

impl Server {
    /// Has heard of nobody, and has no resource.
    pub fn new(settings: ServerSettings) -> Self {
        Self {
            next_id: settings.first_id,
            settings,
            answered: BTreeMap::new(),
            by_age: VecDeque::new(),
            assemblies: BTreeMap::new(),
            resources: BTreeMap::new(),
            versions: 0,
            observers: Observers::default(),
            sequence: 0,
            outgoing: VecDeque::new(),
            received: VecDeque::new(),
            duplicates: 0,
            notifications: 0,
            counts: Counts::default(),
        }
    }

    /// Has heard of nobody any more, and has no resource; what was counted stays.
    pub fn forget_all(&mut self) {
        // Versions are what ETags are made of: a client may have a part of an earlier representation.
        let Self { duplicates, notifications, counts, next_id, versions, .. } = *self;
        *self = Self { duplicates, notifications, counts, next_id, versions, ..Self::new(self.settings) };
    }

    /// Takes in a datagram. `below` draws a span below a limit.
    pub fn receive(
        &mut self,
        now: Time,
        from: SocketAddr,
        datagram: &Payload,
        below: &mut impl FnMut(Span) -> Span,
    ) {
        self.counts.received += 1;
        self.counts.octets_received += u64::from(datagram.len());
        let Some(message) = Message::parse(datagram) else { return };
        match message.kind {
            Kind::Acknowledgement | Kind::Reset => {
                let is_reset = message.kind == Kind::Reset;
                self.observers.answered(now, from, message.id, is_reset);
                self.catch_up(now, from, below);
            }
            Kind::Confirmable | Kind::NonConfirmable => self.asked(now, from, &message, below),
        }
    }

    /// A resource of its own has a new representation, which is fresh for `max_age` seconds (60 without it).
    pub fn update(
        &mut self,
        now: Time,
        path: &[String],
        body: Payload,
        max_age: Option<u32>,
        below: &mut impl FnMut(Span) -> Span,
    ) {
        self.versions = self.versions.wrapping_add(1);
        self.resources.insert(path.to_vec(), Resource { body, version: self.versions, max_age });
        for to in self.observers.changed(path) {
            self.catch_up(now, to, below);
        }
    }

    /// Does what is due at `now`.
    pub fn advance(&mut self, now: Time, below: &mut impl FnMut(Span) -> Span) {
        while let Some(expired) = self.observers.expire(now, self.settings.transmission) {
            match expired {
                Expired::Newer(to, token, before) => {
                    self.counts.retransmissions += 1;
                    self.tell(now, to, token, Some(before), below);
                }
                Expired::Send(to, datagram) => {
                    self.counts.retransmissions += 1;
                    self.put_out(to, datagram);
                }
                Expired::GivenUp(to) => self.catch_up(now, to, below),
            }
        }
    }

    /// When to call [`Server::advance`].
    pub fn poll_timeout(&self) -> Option<Time> {
        self.observers.poll_timeout()
    }

    /// The next datagram to send, and to whom.
    pub fn poll_transmit(&mut self) -> Option<(SocketAddr, Payload)> {
        self.outgoing.pop_front()
    }

    /// The next body that is there.
    pub fn poll_received(&mut self) -> Option<Received> {
        self.received.pop_front()
    }

    /// Whether a notification waits for its acknowledgment.
    pub fn is_busy(&self) -> bool {
        self.observers.is_waiting()
    }

    /// Answers, bodies that are not whole, resources and observations that it keeps: at most `kept` of each.
    pub fn kept(&self) -> usize {
        self.answered.len() + self.assemblies.len() + self.resources.len() + self.observers.len()
    }

    /// Observations that it knows of.
    pub fn observations(&self) -> usize {
        self.observers.len()
    }

    /// Messages that came again.
    pub const fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Notifications that it sent, those not counted that were sent again as they were.
    pub const fn notifications(&self) -> u64 {
        self.notifications
    }

    /// What was sent and came.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    fn asked(
        &mut self,
        now: Time,
        from: SocketAddr,
        request: &Message,
        below: &mut impl FnMut(Span) -> Span,
    ) {
        let is_confirmable = request.kind == Kind::Confirmable;
        if !request.code.is_request() {
            // A ping, or a response to nothing (sections 4.2 and 4.3).
            if is_confirmable {
                self.put_out(from, Message::new(Kind::Reset, Code::EMPTY, request.id, Vec::new()).emit());
            }
            return;
        }
        self.forget(now);
        let key = (from, request.id);
        if let Some(known) = self.answered.get(&key) {
            let known = known.clone();
            self.duplicates += 1;
            return self.put_out(from, known);
        }
        if request.has_bad_option && !is_confirmable {
            return;
        }
        let mut response = match request.code {
            _ if request.has_bad_option => response(request, Code::BAD_OPTION),
            Code::PUT | Code::POST => self.take(now, from, request),
            Code::GET => self.show(now, from, request),
            _ => response(request, Code::METHOD_NOT_ALLOWED),
        };
        if !is_confirmable {
            (response.kind, response.id) = (Kind::NonConfirmable, self.next_id());
        }
        let datagram = response.emit();
        self.answered.insert(key, datagram.clone());
        self.by_age.push_back((now, key));
        self.put_out(from, datagram);
        // Whoever observes hears of what was put.
        if request.code == Code::PUT && response.code == Code::CHANGED {
            for to in self.observers.changed(&request.path) {
                self.catch_up(now, to, below);
            }
        }
    }

    fn forget(&mut self, now: Time) {
        while let Some(&(at, key)) = self.by_age.front()
            && (now.since(at) >= EXCHANGE_LIFETIME || self.by_age.len() >= self.settings.kept)
        {
            self.by_age.pop_front();
            self.answered.remove(&key);
        }
    }

    /// Takes a body or a block of one.
    fn take(&mut self, now: Time, from: SocketAddr, request: &Message) -> Message {
        let Some(block) = request.block1 else {
            let is_too_large = request.payload.len() > self.settings.body;
            let code = if is_too_large {
                Code::REQUEST_ENTITY_TOO_LARGE
            } else {
                self.hand_over(from, request, request.payload.clone())
            };
            return response(request, code);
        };
        let code = self.take_block(now, from, request, block);
        let block1 = Some(block.at_most(self.settings.exponent));
        Message { block1, ..response(request, code) }
    }

    fn take_block(&mut self, now: Time, from: SocketAddr, request: &Message, block: Block) -> Code {
        let key = (from, request.path.clone());
        if block.number == 0 {
            if !self.assemblies.contains_key(&key) {
                self.make_room();
            }
            self.assemblies.insert(key.clone(), (now, Assembly::default()));
        }
        let found = self.assemblies.get_mut(&key).filter(|(_, it)| it.takes(block, &request.payload));
        let Some((_, assembly)) = found else {
            self.assemblies.remove(&key);
            return Code::REQUEST_ENTITY_INCOMPLETE;
        };
        if u64::from(assembly.octets()) + u64::from(request.payload.len()) > u64::from(self.settings.body) {
            self.assemblies.remove(&key);
            return Code::REQUEST_ENTITY_TOO_LARGE;
        }
        assembly.push(&request.payload);
        if block.more {
            return Code::CONTINUE;
        }
        let whole = self.assemblies.remove(&key).map_or(Payload::Empty, |(_, it)| it.whole());
        self.hand_over(from, request, whole)
    }

    /// Lets the oldest body go that is not whole, where there are too many.
    fn make_room(&mut self) {
        if self.assemblies.len() >= self.settings.kept {
            let oldest = self.assemblies.iter().min_by_key(|(_, (since, _))| *since);
            oldest.map(|(key, _)| key.clone()).and_then(|key| self.assemblies.remove(&key));
        }
    }

    /// A body is whole. What is put is the resource from now on; what is posted is only taken.
    fn hand_over(&mut self, from: SocketAddr, request: &Message, body: Payload) -> Code {
        let path = &request.path;
        if request.code == Code::PUT {
            if !self.resources.contains_key(path) && self.resources.len() >= self.settings.kept {
                return Code::SERVICE_UNAVAILABLE;
            }
            self.versions = self.versions.wrapping_add(1);
            let resource = Resource { body: body.clone(), version: self.versions, max_age: None };
            self.resources.insert(path.clone(), resource);
        }
        self.received.push_back(Received { from, path: path.clone(), body });
        Code::CHANGED
    }

    /// Tells a resource or a block of it, and notes who wants to observe it, or does not any more (RFC 7641 section 4.1).
    fn show(&mut self, now: Time, from: SocketAddr, request: &Message) -> Message {
        let wanted = request.block2.unwrap_or(Block { number: 0, more: false, exponent: Block::LARGEST });
        let wanted = wanted.at_most(self.settings.exponent);
        let Some(resource) = self.resources.get(&request.path) else {
            return response(request, Code::NOT_FOUND);
        };
        if wanted.number > 0 && wanted.offset() >= u64::from(resource.body.len()) {
            return response(request, Code::BAD_REQUEST);
        }
        let mut shown = resource.show(response(request, Code::CONTENT), wanted);
        let (token, path) = (&request.token, &request.path);
        match request.observe {
            Some(0) if wanted.number == 0 => {
                let is_known = self.observers.get(from, token).is_some();
                if is_known || self.observers.len() < self.settings.kept {
                    self.observers.add(now, from, token.clone(), path.clone(), wanted.exponent);
                    shown.observe = Some(self.next_sequence(now));
                }
            }
            Some(1) => self.observers.remove(from, token),
            _ => {}
        }
        shown
    }

    /// Notifies an observer of all that has changed, as far as that may be on its way at a time.
    fn catch_up(&mut self, now: Time, to: SocketAddr, below: &mut impl FnMut(Span) -> Span) {
        while let Some(token) = self.observers.next(to) {
            self.tell(now, to, token, None, below);
        }
    }

    /// Notifies an observer of the present state, in place of a notification that was not acknowledged.
    fn tell(
        &mut self,
        now: Time,
        to: SocketAddr,
        token: Token,
        before: Option<Pending>,
        below: &mut impl FnMut(Span) -> Span,
    ) {
        let entry = self.observers.get(to, &token);
        let Some((entry, resource)) = entry.and_then(|it| Some((it, self.resources.get(&it.path)?))) else {
            return self.observers.remove(to, &token);
        };
        let first = Block { number: 0, more: false, exponent: entry.exponent };
        let is_confirmable = self.settings.confirmable || before.is_some() || entry.has_to_confirm(now);
        let kind = if is_confirmable { Kind::Confirmable } else { Kind::NonConfirmable };
        let mut message = resource.show(Message::new(kind, Code::CONTENT, 0, token.clone()), first);
        let id = self.next_id();
        (message.id, message.observe) = (id, Some(self.next_sequence(now)));
        let datagram = message.emit();
        self.notifications += 1;
        self.put_out(to, datagram.clone());
        let pending = match before {
            Some(mut pending) => {
                pending.replace(id, datagram);
                Some(pending)
            }
            None => is_confirmable
                .then(|| Pending::new(self.settings.transmission, true, id, datagram, now, below)),
        };
        self.observers.told(to, token, id, pending);
    }

    fn next_id(&mut self) -> u16 {
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        id
    }

    /// The place of a notification in their order: it follows the clock, so that it goes on where a server has forgotten all (RFC 7641
    /// section 4.4).
    fn next_sequence(&mut self, now: Time) -> u32 {
        self.sequence = (self.sequence + 1).max(now.as_nanos() / 1_000_000);
        (self.sequence & 0xff_ffff) as u32
    }

    fn put_out(&mut self, to: SocketAddr, datagram: Payload) {
        self.counts.sent += 1;
        self.counts.octets_sent += u64::from(datagram.len());
        self.outgoing.push_back((to, datagram));
    }
}

impl Resource {
    /// A message with a block of it, or with all.
    fn show(&self, message: Message, wanted: Block) -> Message {
        let (block, payload) = wanted.cut(&self.body);
        let is_whole = block.number == 0 && !block.more;
        let block2 = (!is_whole).then_some(block);
        let etag = block2.map(|_| emit_uint(self.version.max(1)));
        Message { block2, etag, max_age: self.max_age, payload, ..message }
    }
}

/// The answer to a confirmable request, without content.
fn response(request: &Message, code: Code) -> Message {
    Message::new(Kind::Acknowledgement, code, request.id, request.token.clone())
}
