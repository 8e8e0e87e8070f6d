//! A client of one resource of one server: one exchange at a time (NSTART of RFC 7252 section 4.7), beside an observation of it.
//!
//! [`Client::put`], [`Client::get`] and [`Client::observe`] hand something over, [`Client::receive`] and [`Client::advance`] tell what
//! happened. Afterwards [`Client::poll_transmit`] has what to send, [`Client::poll_content`] what came of the resource,
//! [`Client::poll_ended`] what is over, and [`Client::poll_timeout`] when to come back.

use crate::block::Block;
use crate::fetched::{Fetched, Took};
use crate::freshness::{Freshness, stale_at};
use crate::message::{Code, Kind, Message};
use crate::reliability::{Pending, Transmission};
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;

/// What a client does.
#[derive(Debug, Clone)]
pub struct ClientSettings {
    /// Whether requests are confirmable; those that observe always are.
    pub confirmable: bool,
    /// The resource: segments of Uri-Path.
    pub path: Vec<String>,
    /// Octets of a block; larger bodies are sent and fetched block by block.
    pub block: Block,
    /// Octets of the largest body that it takes.
    pub body: u32,
    /// How requests are sent again.
    pub transmission: Transmission,
    /// The first message identifier; tokens are counted from there, too.
    pub first_id: u16,
}

/// How an exchange or an observation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The server has the body, or the client has the representation, or has left.
    Done,
    /// Nothing was heard.
    TimedOut,
    /// The server refused it; or the client, a representation too large for it or one that does not keep to the rules.
    Refused(Code),
    /// Each time that it was fetched block by block it became another one meanwhile.
    Changed,
    /// The server told the representation, and tells no changes.
    NotObserved,
}

/// An exchange that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// As it was handed over.
    pub key: u32,
    /// How.
    pub outcome: Outcome,
}

/// A representation of the resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// Of the request or the observation, as it was handed over.
    pub key: u32,
    /// It.
    pub body: Payload,
}

/// What was sent and came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Datagrams sent, retransmissions too.
    pub sent: u64,
    /// Datagrams that came, whatever they were.
    pub received: u64,
    /// Octets of those sent.
    pub octets_sent: u64,
    /// Octets of those that came.
    pub octets_received: u64,
    /// Requests sent again.
    pub retransmissions: u64,
}

/// What a request is for, and how far it has come.
#[derive(Debug)]
enum Task {
    /// The body, and Block1 of what is sent of it.
    Put(Payload, Block),
    /// What is there, and how often it was another one meanwhile.
    Get(Fetched, u8),
    /// The blocks behind the first one of a notification.
    Rest(Fetched),
    Register,
    /// With the token of the registration.
    Deregister(Vec<u8>),
}

impl Task {
    /// The value of Observe in its requests.
    const fn observe(&self) -> Option<u32> {
        match self {
            Self::Register => Some(0),
            Self::Deregister(_) => Some(1),
            Self::Put(..) | Self::Get(..) | Self::Rest(_) => None,
        }
    }

    /// Whether it serves an observation, and ends with it.
    const fn observes(&self) -> bool {
        matches!(self, Self::Register | Self::Rest(_))
    }
}

#[derive(Debug)]
struct Exchange {
    key: u32,
    task: Task,
    token: Vec<u8>,
    /// The request, to be sent again.
    pending: Pending,
}

/// The observation of the resource (RFC 7641).
#[derive(Debug)]
struct Observation {
    key: u32,
    /// That of the registration; none before the first one was sent.
    token: Option<Vec<u8>>,
    newest: Option<Freshness>,
    /// When it registers, or registers again since what came last may be out of date; none while it does.
    registers_at: Option<Time>,
    /// The server does not observe: it ends with the representation that the server told.
    is_single: bool,
}

/// A client.
#[derive(Debug)]
pub struct Client {
    settings: ClientSettings,
    next_id: u16,
    waiting: VecDeque<(u32, Task)>,
    current: Option<Exchange>,
    observation: Option<Observation>,
    outgoing: VecDeque<Payload>,
    contents: VecDeque<Content>,
    ended: VecDeque<Ended>,
    counts: Counts,
}

impl Client {
    /// Has not sent anything yet.
    pub fn new(settings: ClientSettings) -> Self {
        Self {
            next_id: settings.first_id,
            settings,
            waiting: VecDeque::new(),
            current: None,
            observation: None,
            outgoing: VecDeque::new(),
            contents: VecDeque::new(),
            ended: VecDeque::new(),
            counts: Counts::default(),
        }
    }

    /// Puts a body, when what was handed over before is done. `below` draws a span below a limit.
    pub fn put(&mut self, now: Time, key: u32, body: Payload, below: &mut impl FnMut(Span) -> Span) {
        // Nothing more is sent of a body that is put non-confirmably: what comes next need not wait for its response.
        let is_sent = |it: &Exchange| matches!(it.task, Task::Put(_, Block { more: false, .. }));
        if !self.settings.confirmable
            && let Some(sent) = self.current.take_if(|it| is_sent(it))
        {
            self.end(sent.key, Outcome::TimedOut);
        }
        let first = Block { number: 0, ..self.settings.block };
        self.waiting.push_back((key, Task::Put(body, first)));
        self.begin(now, below);
    }

    /// Asks for the resource, when what was handed over before is done.
    pub fn get(&mut self, now: Time, key: u32, below: &mut impl FnMut(Span) -> Span) {
        self.waiting.push_back((key, Task::Get(Fetched::default(), 0)));
        self.begin(now, below);
    }

    /// Observes the resource, which it does not do yet, until it leaves or is refused.
    pub fn observe(&mut self, now: Time, key: u32, below: &mut impl FnMut(Span) -> Span) {
        debug_assert!(self.observation.is_none(), "a client observes its resource once");
        self.observation =
            Some(Observation { key, token: None, newest: None, registers_at: Some(now), is_single: false });
        self.advance(now, below);
    }

    /// Ends the observation, and says so to the server.
    pub fn leave(&mut self, now: Time, below: &mut impl FnMut(Span) -> Span) {
        let Some(Observation { key, token, .. }) = self.unobserve() else { return };
        match token {
            Some(token) => self.waiting.push_front((key, Task::Deregister(token))),
            None => self.end(key, Outcome::Done),
        }
        self.begin(now, below);
    }

    /// Forgets the observation, without a word to the server.
    pub fn forget(&mut self) {
        self.unobserve();
    }

    /// Takes in a datagram of the server.
    pub fn receive(&mut self, now: Time, datagram: &Payload, below: &mut impl FnMut(Span) -> Span) {
        self.counts.received += 1;
        self.counts.octets_received += u64::from(datagram.len());
        if let Some(message) = Message::parse(datagram) {
            self.hear(now, &message, below);
            self.begin(now, below);
        }
    }

    fn hear(&mut self, now: Time, message: &Message, below: &mut impl FnMut(Span) -> Span) {
        let answers = matches!(message.kind, Kind::Acknowledgement | Kind::Reset);
        if answers && self.current.as_ref().is_none_or(|it| it.pending.id != message.id) {
            return;
        }
        if message.code == Code::EMPTY {
            match (message.kind, &mut self.current) {
                (Kind::Acknowledgement, Some(current)) => current.pending.is_acknowledged = true,
                (Kind::Reset, _) => self.end_current(Outcome::Refused(Code::EMPTY)),
                (Kind::Confirmable, _) => self.answer(Kind::Reset, message.id),
                _ => {}
            }
            return;
        }
        let is_observed =
            self.observation.as_ref().is_some_and(|it| it.token.as_ref() == Some(&message.token));
        // Notifications of before have the token of a registration, so its response is what answers it.
        let is_response = self.current.as_ref().is_some_and(|it| {
            let is_sure = it.task.observe().is_none() || answers || it.pending.is_acknowledged;
            it.token == message.token && is_sure
        });
        if message.code.is_request() || !is_response && !is_observed {
            // A response whose request was given up is late, and known; a notification is of no use (RFC 7641 section 3.6).
            if message.kind == Kind::Confirmable || message.observe.is_some() && !answers {
                self.answer(Kind::Reset, message.id);
            }
            return;
        }
        if message.kind == Kind::Confirmable {
            self.answer(Kind::Acknowledgement, message.id);
        }
        match self.current.take_if(|_| is_response) {
            Some(Exchange { key, task, .. }) => self.respond(now, key, task, message, below),
            None => self.notified(now, message, below),
        }
    }

    /// Takes in the response to a request.
    fn respond(
        &mut self,
        now: Time,
        key: u32,
        mut task: Task,
        message: &Message,
        below: &mut impl FnMut(Span) -> Span,
    ) {
        let most = self.settings.body;
        match &mut task {
            Task::Put(_, block) => match message.code {
                Code::CONTINUE if block.more => {
                    // A server that wants smaller blocks says so; the number counts in the new size (section 2.3).
                    let smaller = block.at_most(message.block1.map_or(block.exponent, |told| told.exponent));
                    let next = (block.offset() + u64::from(block.size())) / u64::from(smaller.size());
                    *block = Block { number: next as u32, ..smaller };
                    self.request(now, key, task, below);
                }
                // A server that takes one block for the whole body has not understood Block1.
                code if code.class() == 2 && !block.more => self.end(key, Outcome::Done),
                code => self.end(key, Outcome::Refused(code)),
            },
            Task::Get(fetched, changed) => match fetched.take(message, most) {
                Took::More => self.request(now, key, task, below),
                Took::Whole(body) => {
                    self.contents.push_back(Content { key, body });
                    self.end(key, Outcome::Done);
                }
                Took::Changed if *changed < self.settings.transmission.max_retransmit => {
                    let again = Task::Get(Fetched::default(), *changed + 1);
                    self.request(now, key, again, below);
                }
                Took::Changed => self.end(key, Outcome::Changed),
                Took::Refused(code) => self.end(key, Outcome::Refused(code)),
            },
            Task::Rest(fetched) => match fetched.take(message, most) {
                Took::More => self.request(now, key, task, below),
                Took::Whole(body) => {
                    self.contents.push_back(Content { key, body });
                    self.end_single(Outcome::NotObserved);
                }
                // The notification of what it has become is under way, if there are any.
                Took::Changed => self.end_single(Outcome::Changed),
                Took::Refused(code) => self.end_observation(Outcome::Refused(code)),
            },
            Task::Register => self.notified(now, message, below),
            Task::Deregister(_) => self.end(key, Outcome::Done),
        }
    }

    /// Takes in a notification, or the response to a registration.
    fn notified(&mut self, now: Time, message: &Message, below: &mut impl FnMut(Span) -> Span) {
        let Some(observation) = &mut self.observation else { return };
        let key = observation.key;
        observation.is_single = message.observe.is_none();
        if let Some(sequence) = message.observe {
            observation.registers_at = Some(stale_at(now, message.max_age, below));
            let this = Freshness::new(sequence, now);
            if observation.newest.is_some_and(|newest| !this.is_newer_than(newest)) {
                return;
            }
            observation.newest = Some(this);
        }
        // What is fetched of an older one is of no use any more.
        self.drop_tasks(|task| matches!(task, Task::Rest(_)));
        let mut fetched = Fetched::default();
        match fetched.take(message, self.settings.body) {
            Took::More => self.waiting.push_front((key, Task::Rest(fetched))),
            Took::Whole(body) => {
                self.contents.push_back(Content { key, body });
                self.end_single(Outcome::NotObserved);
            }
            // It begins with the first block.
            Took::Changed => self.end_observation(Outcome::Refused(Code::REQUEST_ENTITY_INCOMPLETE)),
            Took::Refused(code) => self.end_observation(Outcome::Refused(code)),
        }
    }

    /// Ends the observation that the server has not begun.
    fn end_single(&mut self, outcome: Outcome) {
        if self.observation.as_ref().is_some_and(|observation| observation.is_single) {
            self.end_observation(outcome);
        }
    }

    /// Does what is due at `now`.
    pub fn advance(&mut self, now: Time, below: &mut impl FnMut(Span) -> Span) {
        let transmission = self.settings.transmission;
        if let Some(current) = self.current.as_mut().filter(|it| it.pending.due <= now) {
            if current.pending.again(transmission, now) {
                self.counts.retransmissions += 1;
                let request = current.pending.datagram.clone();
                self.put_out(request);
            } else if current.task.observes()
                && let Some(observation) = &mut self.observation
            {
                // Who observes tries again until the server refuses it: later, or at once if only blocks are missing.
                let is_registering = matches!(current.task, Task::Register);
                let at = if is_registering { stale_at(now, None, below) } else { now };
                observation.registers_at = Some(at);
                self.current = None;
            } else {
                self.end_current(Outcome::TimedOut);
            }
        }
        if let Some(observation) = &mut self.observation
            && observation.registers_at.take_if(|at| *at <= now).is_some()
        {
            self.waiting.push_front((observation.key, Task::Register));
        }
        self.begin(now, below);
    }

    /// When to call [`Client::advance`].
    pub fn poll_timeout(&self) -> Option<Time> {
        let request = self.current.as_ref().map(|it| it.pending.due);
        Time::earliest([request, self.observation.as_ref().and_then(|it| it.registers_at)])
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Payload> {
        self.outgoing.pop_front()
    }

    /// The next representation that has come, by a request or a notification.
    pub fn poll_content(&mut self) -> Option<Content> {
        self.contents.pop_front()
    }

    /// The next exchange or observation that has ended.
    pub fn poll_ended(&mut self) -> Option<Ended> {
        self.ended.pop_front()
    }

    /// Whether a request is under way, or waits.
    pub fn is_busy(&self) -> bool {
        self.current.is_some() || !self.waiting.is_empty()
    }

    /// What was sent and came.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    fn begin(&mut self, now: Time, below: &mut impl FnMut(Span) -> Span) {
        if self.current.is_none()
            && let Some((key, task)) = self.waiting.pop_front()
        {
            self.request(now, key, task, below);
        }
    }

    /// Sends a request: for the whole, or the next block.
    fn request(&mut self, now: Time, key: u32, mut task: Task, below: &mut impl FnMut(Span) -> Span) {
        let id = self.next_id();
        let own = self.settings.block;
        let observe = task.observe();
        let is_confirmable = self.settings.confirmable || observe.is_some();
        let kind = if is_confirmable { Kind::Confirmable } else { Kind::NonConfirmable };
        let mut request = Message::new(kind, Code::GET, id, id.to_be_bytes().to_vec());
        request.path.clone_from(&self.settings.path);
        request.observe = observe;
        // A client that wants blocks smaller than the largest says so (RFC 7959 section 2.3).
        let wanted = (own.exponent < Block::LARGEST).then_some(Block { number: 0, more: false, ..own });
        match &mut task {
            Task::Put(body, block) => {
                request.code = Code::PUT;
                (*block, request.payload) = block.cut(body);
                let is_whole = block.number == 0 && !block.more;
                request.block1 = (!is_whole).then_some(*block);
            }
            Task::Get(fetched, _) | Task::Rest(fetched) => request.block2 = fetched.next.or(wanted),
            Task::Register => {
                request.block2 = wanted;
                if let Some(observation) = &mut self.observation {
                    request.token = observation.token.get_or_insert(request.token).clone();
                }
            }
            Task::Deregister(token) => request.token.clone_from(token),
        }
        let datagram = request.emit();
        self.put_out(datagram.clone());
        let transmission = self.settings.transmission;
        let pending = Pending::new(transmission, is_confirmable, id, datagram, now, below);
        self.current = Some(Exchange { key, task, token: request.token, pending });
    }

    /// A message identifier, which is no token that is in use when it comes round again.
    fn next_id(&mut self) -> u16 {
        loop {
            let id = self.next_id;
            self.next_id = id.wrapping_add(1);
            let token = self.observation.as_ref().and_then(|it| it.token.as_deref());
            if token != Some(&id.to_be_bytes()) {
                return id;
            }
        }
    }

    fn answer(&mut self, kind: Kind, id: u16) {
        self.put_out(Message::new(kind, Code::EMPTY, id, Vec::new()).emit());
    }

    fn put_out(&mut self, datagram: Payload) {
        self.counts.sent += 1;
        self.counts.octets_sent += u64::from(datagram.len());
        self.outgoing.push_back(datagram);
    }

    fn end(&mut self, key: u32, outcome: Outcome) {
        self.ended.push_back(Ended { key, outcome });
    }

    /// The current request is over, and with it the observation that it serves.
    fn end_current(&mut self, outcome: Outcome) {
        match self.current.take() {
            Some(current) if current.task.observes() => self.end_observation(outcome),
            Some(current) => self.end(current.key, outcome),
            None => {}
        }
    }

    /// The observation is over, without a word to the server.
    fn end_observation(&mut self, outcome: Outcome) {
        if let Some(Observation { key, .. }) = self.unobserve() {
            self.end(key, outcome);
        }
    }

    /// Forgets the observation and what serves it.
    fn unobserve(&mut self) -> Option<Observation> {
        self.drop_tasks(Task::observes);
        self.observation.take()
    }

    fn drop_tasks(&mut self, which: impl Fn(&Task) -> bool) {
        self.waiting.retain(|(_, task)| !which(task));
        self.current.take_if(|it| which(&it.task));
    }
}
