//! A user of the web, by 3GPP's model as ns-3 has it (`three-gpp-http-variables.cc`): pages of a main object and
//! embedded ones, each asked for over the same connection once the one before it is there.
//!
//! The client asks for the main object, needs some time to parse it, asks for the embedded objects one after the other,
//! and reads the page before it asks for the next. How large objects are both ends draw from one stream, so that a
//! request is no more than its octets; how long the user takes the client draws from another.

use crate::apps::bulk::write_pattern;
use crate::entity::Entity;
use crate::machine::{Machine, StreamMachine};
use crate::record::{PAGES, Page, REQUESTS, Record, Request, Verifier};
use crate::sample::{Count, Law, LogNormal};
use crate::settings::{FlowContext, Over, Settings, at_least_one, sample_count, transfer};
use crate::socket::Stream;
use alloc::boxed::Box;
use serde::{Deserialize, Serialize};
use voxpath_net::Stream as Draws;
use voxpath_net::element::Draw;
use voxpath_units::Time;
use voxpath_units::check::Check;

/// Less would be drawn again and again.
const LEAST_SHARE: f64 = 0.01;

/// `from` loads pages of `to`: a main object, then embedded ones, one after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Web {
    /// Bytes of each request.
    pub request_bytes: u64,
    /// Sizes of main objects.
    pub main: ObjectSize,
    /// Sizes of embedded objects.
    pub embedded: ObjectSize,
    /// How many embedded objects a page has.
    pub objects: Count,
    /// Mean of the exponential time from a main object to the first request for an embedded one.
    pub parsing_ns: u64,
    /// Mean of the exponential time from a page's end to the next page.
    pub reading_ns: u64,
    /// How many pages; none loads pages until the run ends.
    pub pages: Option<u32>,
}

/// A lognormal size, drawn again until it lies inside of its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectSize {
    /// Mean before it is cut.
    pub mean_bytes: u64,
    /// Standard deviation before it is cut.
    pub deviation_bytes: u64,
    /// The least that it is.
    pub least_bytes: u64,
    /// It is below.
    pub most_bytes: u64,
}

impl ObjectSize {
    fn law(&self) -> LogNormal {
        LogNormal::new(self.mean_bytes, self.deviation_bytes, self.least_bytes, self.most_bytes)
    }

    fn check(&self, check: &mut Check<'_>) {
        transfer(&mut check.at("most_bytes"), self.most_bytes, 1);
        transfer(&mut check.at("deviation_bytes"), self.deviation_bytes, 1);
        if self.mean_bytes == 0 || self.least_bytes >= self.most_bytes {
            check.fail("has a mean above zero, and least is below most");
        } else if self.law().share() < LEAST_SHARE {
            check.fail("less than 1 % of what is drawn lies between least and most");
        }
    }
}

impl Web {
    fn model(&self) -> Model {
        Model {
            request: self.request_bytes,
            main: self.main.law(),
            embedded: self.embedded.law(),
            objects: self.objects,
            parsing: Law::Exponential { mean_ns: self.parsing_ns },
            reading: Law::Exponential { mean_ns: self.reading_ns },
            pages: self.pages,
        }
    }
}

impl Settings for Web {
    const TRANSPORTS: &'static [Over] = &[Over::Stream];
    const RECEIVER: usize = 0;
    const TABLES: &'static [&'static dyn Entity] = &[&REQUESTS, &PAGES];

    fn check(&self, check: &mut Check<'_>) {
        let pages = self.pages.unwrap_or(1).into();
        transfer(&mut check.at("request_bytes"), self.request_bytes, pages);
        at_least_one(check, [("request_bytes", self.request_bytes), ("pages", pages)]);
        check.at("parsing_ns").span(self.parsing_ns);
        check.at("reading_ns").span(self.reading_ns);
        self.main.check(&mut check.at("main"));
        self.embedded.check(&mut check.at("embedded"));
        let objects = self.objects;
        let bounds = 0.0 < objects.shape
            && 0.0 < objects.scale
            && objects.scale < objects.bound
            && objects.bound <= 1e6;
        if !bounds {
            check
                .at("objects")
                .fail("shape and scale are above zero, and bound is above the scale, at most a million");
        } else if objects.share() < LEAST_SHARE {
            check.at("objects").fail("less than 1 % of what is drawn lies below bound");
        }
    }

    fn is_endless(&self) -> bool {
        self.pages.is_none()
    }

    fn is_paced(&self) -> bool {
        self.reading_ns > 0
    }

    fn ends(&self, flow: &FlowContext<'_>, _over: Over) -> [Machine; 2] {
        let ([there, back], model) = (flow.patterns(), self.model());
        // Both ends draw the sizes of the same objects.
        let objects = || flow.draws("objects");
        let client = Client::new(model, there, back, objects(), flow.draws("user"));
        [Box::new(client).into(), Box::new(Server::new(model, there, back, objects())).into()]
    }

    fn sample(draw: &mut dyn Draw, may_be_endless: bool) -> Self {
        let size = |mean_bytes, deviation_bytes| ObjectSize {
            mean_bytes,
            deviation_bytes,
            least_bytes: 50,
            most_bytes: 2_000_000,
        };
        Self {
            request_bytes: 1 + draw.below(1_000),
            main: size(10_710, 25_032),
            embedded: size(7_758, 20_000),
            objects: Count { shape: 1.1, scale: 2.0, bound: 10.0 },
            parsing_ns: draw.span(),
            // Without a pause it never lets time pass.
            reading_ns: 1_000_000 + 10 * draw.span(),
            pages: sample_count(draw, 3, may_be_endless).map(|pages| pages as u32),
        }
    }
}

/// What both ends have to know.
#[derive(Debug, Clone, Copy)]
pub struct Model {
    /// Octets of each request; at least one.
    pub request: u64,
    /// Size of main objects.
    pub main: LogNormal,
    /// Size of embedded objects.
    pub embedded: LogNormal,
    /// How many embedded objects a page has.
    pub objects: Count,
    /// From the main object to the first request for an embedded one.
    pub parsing: Law,
    /// From the end of a page to the request for the next.
    pub reading: Law,
    /// How many pages; none never ends.
    pub pages: Option<u32>,
}

/// An object of a page.
#[derive(Debug, Clone, Copy)]
struct Object {
    size: u64,
    is_main: bool,
    /// The page is whole with it.
    is_last: bool,
}

/// All objects of all pages, in order.
#[derive(Debug)]
struct Objects {
    model: Model,
    draws: Draws,
    /// Embedded objects that are still to come.
    left: u32,
    is_in_page: bool,
}

impl Objects {
    const fn new(model: Model, draws: Draws) -> Self {
        Self { model, draws, left: 0, is_in_page: false }
    }

    fn next(&mut self) -> Object {
        let is_main = !self.is_in_page;
        let law = if is_main { self.model.main } else { self.model.embedded };
        // An object of no octets would not be noticed.
        let size = law.draw(&mut self.draws).max(1);
        self.left = if is_main { self.model.objects.draw(&mut self.draws) } else { self.left - 1 };
        self.is_in_page = self.left > 0;
        Object { size, is_main, is_last: self.left == 0 }
    }
}

/// The end that asks.
#[derive(Debug)]
pub struct Client {
    objects: Objects,
    user: Draws,
    stream: u32,
    /// Octets of requests that were due so far.
    due: u64,
    written: u64,
    /// When the next request is due; none before the connection stands, and while an object is awaited.
    next_at: Option<Time>,
    awaited: Option<Object>,
    page_began: Time,
    /// The last page is there, or the user has gone.
    is_leaving: bool,
    verifier: Verifier,
    record: Record,
}

impl Client {
    /// Asks with pattern `stream` and expects pattern `answer`. Sizes are drawn from `objects`, as the other end draws
    /// them, and times from `user`.
    pub fn new(model: Model, stream: u32, answer: u32, objects: Draws, user: Draws) -> Self {
        Self {
            objects: Objects::new(model, objects),
            user,
            stream,
            due: 0,
            written: 0,
            next_at: None,
            awaited: None,
            page_began: Time::ZERO,
            is_leaving: false,
            verifier: Verifier::new(answer),
            record: Record::default(),
        }
    }

    fn ask(&mut self, now: Time) {
        let object = self.objects.next();
        if object.is_main {
            self.page_began = now;
        }
        let page = self.record.pages().len() as u32;
        self.record.begin(Request { page: Some(page), ..Request::new(now) });
        self.awaited = Some(object);
        self.due += self.objects.model.request;
    }

    fn read(&mut self, now: Time, socket: &mut impl Stream) {
        let read = self.record.read(now, socket, &mut self.verifier);
        let Some(object) = self.awaited.filter(|_| read > 0) else { return };
        let request = self.record.requests.last_mut().expect("what is awaited was asked for");
        request.first_at.get_or_insert(now);
        request.octets += read;
        if request.octets < object.size {
            return;
        }
        request.completed_at = Some(now);
        self.awaited = None;
        let Model { parsing, reading, pages, .. } = &self.objects.model;
        if !object.is_last {
            let wait = object.is_main.then(|| parsing.draw(&mut self.user));
            self.next_at = Some(wait.map_or(now, |wait| now + wait));
            return;
        }
        self.record.details().pages.push(Page { sent_at: self.page_began, completed_at: now });
        if *pages == Some(self.record.pages().len() as u32) {
            self.record.completed_at = Some(now);
            self.is_leaving = true;
        } else {
            self.next_at = Some(now + reading.draw(&mut self.user));
        }
    }
}

impl StreamMachine for Client {
    fn drive(&mut self, now: Time, socket: &mut impl Stream) {
        if !socket.is_connected() || self.record.finished {
            return;
        }
        self.read(now, socket);
        if self.record.requests.is_empty() {
            self.next_at = Some(now);
        }
        if !self.is_leaving && self.next_at.take_if(|at| *at <= now).is_some() {
            self.ask(now);
        }
        write_pattern(socket, self.stream, &mut self.written, Some(self.due));
        if let Some(request) = self.record.requests.last_mut().filter(|_| self.written == self.due) {
            request.last_sent_at.get_or_insert(now);
        }
        if self.is_leaving {
            self.next_at = None;
            socket.close();
            self.record.finished = socket.is_at_end();
        } else if socket.is_at_end() {
            // The server never closes first unless something is wrong.
            self.stop();
            self.record.finished = true;
            socket.close();
        }
    }

    fn stop(&mut self) {
        self.is_leaving = true;
        self.next_at = None;
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.next_at
    }

    fn record(&self) -> &Record {
        &self.record
    }
}

/// The end that answers.
#[derive(Debug)]
pub struct Server {
    objects: Objects,
    verifier: Verifier,
    stream: u32,
    asked: u64,
    /// Octets of all objects that were asked for.
    due: u64,
    written: u64,
    record: Record,
}

impl Server {
    /// Expects pattern `stream` and answers with pattern `answer`; sizes are drawn from `objects`.
    pub fn new(model: Model, stream: u32, answer: u32, objects: Draws) -> Self {
        Self {
            objects: Objects::new(model, objects),
            verifier: Verifier::new(stream),
            stream: answer,
            asked: 0,
            due: 0,
            written: 0,
            record: Record::default(),
        }
    }
}

impl StreamMachine for Server {
    fn drive(&mut self, now: Time, socket: &mut impl Stream) {
        self.record.read(now, socket, &mut self.verifier);
        if self.record.finished {
            return;
        }
        let asked = self.record.octets / self.objects.model.request;
        for _ in self.asked..asked {
            self.due += self.objects.next().size;
        }
        self.asked = asked;
        write_pattern(socket, self.stream, &mut self.written, Some(self.due));
        if socket.is_at_end() {
            self.record.finished = true;
            self.record.completed_at = (self.written == self.due).then_some(now);
            socket.close();
        }
    }

    fn record(&self) -> &Record {
        &self.record
    }
}
