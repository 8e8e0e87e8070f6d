//! The traffic of iperf-siri, with which Tran et al. 2018 measure voice requests.
//!
//! A request is a number of bursts of small packets, each packet a write of its own. The server answers the last packet of each burst but the
//! last in part, and that of the last burst with the answer. A new request begins a fixed time after the last packet of the one before,
//! whether it was answered or not: a network that hangs is met as often as one that does not.
//!
//! Both ends know the sizes, which a random stream gives, and count octets. The published tool looks at what each read has instead, by
//! which answers get lost or doubled. Its two rules are settings, and what comes of them is counted ([`Flaws`]).

use crate::entity::{Entity, EntityOf};
use crate::machine::{Machine, StreamMachine};
use crate::record::{Account, REQUESTS, Record, Request, Verifier};
use crate::settings::{FlowContext, Over, Settings, at_least_one, transfer};
use crate::socket::Stream;
use alloc::boxed::Box;
use serde::{Deserialize, Serialize};
use voxpath_net::Stream as Draws;
use voxpath_net::element::Draw;
use voxpath_net::table::{Meaning, Of, TableOf};
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;

/// `from` speaks in bursts of packets, `to` answers; in the end `to` closes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IperfSiri {
    /// Bursts of each request.
    pub bursts: u32,
    /// Packets of each burst.
    pub packets: u32,
    /// The smallest packet.
    pub smallest_bytes: u32,
    /// The largest; all sizes between are equally likely.
    pub largest_bytes: u32,
    /// Time from one packet of a burst to the next.
    pub spacing_ns: u64,
    /// Time from the last packet of a burst to the next burst.
    pub interval_ns: u64,
    /// Bytes of the answer to each burst but the last; zero for none.
    pub intermediate_bytes: u32,
    /// Bytes of the answer to the last burst.
    pub answer_bytes: u32,
    /// How many requests.
    pub requests: u32,
    /// Time from the last packet of a request to the next request.
    pub wait_ns: u64,
    /// `to` answers each read that has a part of a last packet, as the published server does.
    pub answer_each_read: bool,
    /// `from` takes for the answer what comes in one read, as the published client does.
    pub answer_in_one_read: bool,
}

impl Settings for IperfSiri {
    const TRANSPORTS: &'static [Over] = &[Over::Stream];
    const RECEIVER: usize = 0;
    const TABLES: &'static [&'static dyn Entity] = &[&REQUESTS, &FLAWS];

    fn check(&self, check: &mut Check<'_>) {
        for (key, ns) in
            [("spacing_ns", self.spacing_ns), ("interval_ns", self.interval_ns), ("wait_ns", self.wait_ns)]
        {
            check.at(key).span(ns);
        }
        let (packets, requests) = (u64::from(self.packets), u64::from(self.requests));
        let bursts = u64::from(self.bursts) * requests;
        transfer(&mut check.at("largest_bytes"), self.largest_bytes.into(), bursts.saturating_mul(packets));
        transfer(&mut check.at("intermediate_bytes"), self.intermediate_bytes.into(), bursts);
        transfer(&mut check.at("answer_bytes"), self.answer_bytes.into(), requests);
        check
            .at("largest_bytes")
            .need(self.largest_bytes >= self.smallest_bytes, "no less than smallest_bytes");
        at_least_one(
            check,
            [
                ("bursts", self.bursts.into()),
                ("packets", packets),
                ("smallest_bytes", self.smallest_bytes.into()),
                ("spacing_ns", self.spacing_ns),
                ("interval_ns", self.interval_ns),
                ("wait_ns", self.wait_ns),
                ("answer_bytes", self.answer_bytes.into()),
                ("requests", requests),
            ],
        );
    }

    fn is_paced(&self) -> bool {
        true
    }

    fn ends(&self, flow: &FlowContext<'_>, _over: Over) -> [Machine; 2] {
        let [there, back] = flow.patterns();
        // Both ends draw the same sizes.
        let packets = || Packets::new(self, flow.draws("packets"));
        [
            Box::new(Client::new(self.clone(), packets(), there, back)).into(),
            Box::new(Server::new(self.clone(), packets(), there, back)).into(),
        ]
    }

    fn sample(draw: &mut dyn Draw, _may_be_endless: bool) -> Self {
        let smallest_bytes = 1 + draw.below(500) as u32;
        Self {
            bursts: 1 + draw.below(5) as u32,
            packets: 1 + draw.below(5) as u32,
            smallest_bytes,
            largest_bytes: smallest_bytes + draw.below(2_000) as u32,
            spacing_ns: 1 + draw.span() / 100,
            interval_ns: 1_000_000 + draw.span(),
            intermediate_bytes: draw.below(300) as u32,
            answer_bytes: 1 + draw.below(3_000) as u32,
            requests: 1 + draw.below(3) as u32,
            wait_ns: 1_000_000 + 3 * draw.span(),
            // With the published rules it is chance whether a request counts as answered.
            answer_each_read: false,
            answer_in_one_read: false,
        }
    }
}

/// The most that the published server takes with one read.
const READ: u32 = 5000;
/// By how much a read may be shorter than the answer, so that the published client takes it for the answer: it asks for more than 700 of 750.
const SHORTER: u64 = 50;

/// What came of the published tool's rules: what it did where they are switched on, what it would have done where they are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flaws {
    /// Answers, and answers in part, that were sent once more, as a last packet came in several reads.
    pub doubled: u64,
    /// Answers in part that were not sent, as the read had a later burst's last packet too.
    pub swallowed: u64,
    /// Answers that came in reads too short to be taken for one.
    pub missed: u64,
    /// Answers in part that came together, and were taken for the answer.
    pub mistaken: u64,
}

impl Account for Flaws {}

/// The table of what came of the published tool's rules.
pub(crate) static FLAWS: EntityOf<(u32, Flaws)> = EntityOf {
    is_of: |told| told.saw::<Record>(),
    table: TableOf {
        name: "flaws",
        about: "One row per flow of `iperf_siri`: what the published tool's rules do to it, or would do where they are not switched on.",
        columns: &[
            ("flow", Meaning::name("scenario", "Name of the flow."), Of::Name(0, |row| row.0)),
            (
                "answers_doubled",
                Meaning::count(
                    "server application",
                    "Answers, whole or in part, that are sent once more because the last packet of a burst came in several reads.",
                ),
                Of::U64(|row| row.1.doubled),
            ),
            (
                "answers_swallowed",
                Meaning::count(
                    "server application",
                    "Answers in part that are not sent because one read had the last packets of several bursts.",
                ),
                Of::U64(|row| row.1.swallowed),
            ),
            (
                "answers_missed",
                Meaning::count(
                    "client application",
                    "Answers that the client does not notice because no read of them is large enough.",
                ),
                Of::U64(|row| row.1.missed),
            ),
            (
                "answers_mistaken",
                Meaning::count(
                    "client application",
                    "Answers in part that came in one read and are taken for the answer; of servers that answer each burst once.",
                ),
                Of::U64(|row| row.1.mistaken),
            ),
        ],
    },
    rows: |told, rows| {
        let ends = told.seen::<Record>().filter(|[client, _]| client.account::<Flaws>().is_some());
        let of = |record: &Record| record.account::<Flaws>().copied().unwrap_or_default();
        rows.extend(ends.map(|[client, server]| {
            let (client, server) = (of(client), of(server));
            (told.flow, Flaws { missed: client.missed, mistaken: client.mistaken, ..server })
        }));
    },
};

/// The packets of a flow, one after the other.
#[derive(Debug)]
struct Packets {
    draws: Draws,
    smallest: u32,
    sizes: u32,
}

impl Packets {
    fn new(siri: &IperfSiri, draws: Draws) -> Self {
        let sizes = siri.largest_bytes.saturating_sub(siri.smallest_bytes) + 1;
        Self { draws, smallest: siri.smallest_bytes, sizes }
    }

    /// Octets of the next one.
    fn next(&mut self) -> u32 {
        self.smallest + ((u128::from(self.draws.bits()) * u128::from(self.sizes)) >> 64) as u32
    }
}

/// The end that speaks.
#[derive(Debug)]
pub struct Client {
    siri: IperfSiri,
    packets: Packets,
    stream: u32,
    /// Packets that were due so far, of all requests, and their octets; the socket may not have taken them yet.
    due: u64,
    octets_due: u64,
    written: u64,
    /// Up to where the stream goes, of each request whose last packet the socket has not taken.
    unsent: alloc::collections::VecDeque<u64>,
    /// When the next packet is due; none before the connection stands and in the end.
    next_at: Option<Time>,
    /// The request that is answered next, and octets that came for it.
    answering: usize,
    /// Octets that came since the last packet of the latest request was sent.
    since_sent: u64,
    /// Whether a read was as large as an answer, since then.
    noticed: bool,
    is_leaving: bool,
    verifier: Verifier,
    record: Record,
}

impl Client {
    fn new(siri: IperfSiri, packets: Packets, stream: u32, answer: u32) -> Self {
        let mut record = Record::default();
        record.account_mut::<Flaws>();
        Self {
            siri,
            packets,
            stream,
            due: 0,
            octets_due: 0,
            written: 0,
            unsent: alloc::collections::VecDeque::new(),
            next_at: None,
            answering: 0,
            since_sent: 0,
            noticed: false,
            is_leaving: false,
            verifier: Verifier::new(answer),
            record,
        }
    }

    /// Octets of all that answers a request.
    fn answers(&self) -> u64 {
        let partials = u64::from(self.siri.bursts) - 1;
        partials * u64::from(self.siri.intermediate_bytes) + u64::from(self.siri.answer_bytes)
    }

    fn read(&mut self, now: Time, socket: &mut impl Stream) {
        let read = self.record.read(now, socket, &mut self.verifier);
        if read == 0 || self.record.requests.is_empty() {
            return;
        }
        self.since_sent += read;
        self.notice(read);
        if self.siri.answer_in_one_read || self.siri.answer_each_read {
            self.guess(now, read);
        } else {
            self.count(now, read);
        }
        let (asked, all) = (self.record.requests.len() as u32, self.siri.requests);
        if asked == all && self.record.requests.last().is_some_and(|last| last.completed_at.is_some()) {
            self.record.completed_at.get_or_insert(now);
        }
    }

    /// What the published client makes of a read.
    fn notice(&mut self, read: u64) {
        let latest = self.record.requests.last().expect("there is one");
        if latest.last_sent_at.is_none() || self.noticed {
            return;
        }
        if read + SHORTER > u64::from(self.siri.answer_bytes) {
            self.noticed = true;
            // Of a server that answers a burst more than once, or not at all, nobody knows.
            let is_whole = self.record.octets >= self.record.requests.len() as u64 * self.answers();
            if !is_whole && !self.siri.answer_each_read {
                self.flaws().mistaken += 1;
            }
        }
    }

    fn flaws(&mut self) -> &mut Flaws {
        self.record.account_mut()
    }

    /// Answers belong to requests by their octets.
    fn count(&mut self, now: Time, mut read: u64) {
        let all = self.answers();
        while read > 0 {
            let Some(request) = self.record.requests.get_mut(self.answering) else { return };
            request.first_at.get_or_insert(now);
            let taken = read.min(all - request.octets);
            request.octets += taken;
            read -= taken;
            if request.octets == all {
                request.completed_at = Some(now);
                self.answering += 1;
            }
        }
    }

    /// Nobody knows how often a server that looks at reads has answered: what comes after the last packet is the answer once it is as large.
    fn guess(&mut self, now: Time, read: u64) {
        let (since_sent, noticed) = (self.since_sent, self.noticed);
        let (in_one, answer) = (self.siri.answer_in_one_read, u64::from(self.siri.answer_bytes));
        let request = self.record.requests.last_mut().expect("there is one");
        request.first_at.get_or_insert(now);
        request.octets += read;
        let whole = if in_one { noticed } else { since_sent >= answer };
        if whole && request.last_sent_at.is_some() && request.completed_at.is_none() {
            request.completed_at = Some(now);
        }
    }

    /// Writes the packets that are due, each by itself.
    fn speak(&mut self, now: Time, socket: &mut impl Stream) {
        let siri = &self.siri;
        let (burst, request) = (u64::from(siri.packets), u64::from(siri.packets) * u64::from(siri.bursts));
        let [spacing, interval, wait] =
            [siri.spacing_ns, siri.interval_ns, siri.wait_ns].map(Span::from_nanos);
        let all = request * u64::from(siri.requests);
        while let Some(at) = self.next_at.filter(|&at| at <= now) {
            if self.due.is_multiple_of(request) {
                self.begin(now);
            }
            self.due += 1;
            self.octets_due += u64::from(self.packets.next());
            let pause = if self.due.is_multiple_of(request) {
                self.unsent.push_back(self.octets_due);
                wait
            } else if self.due.is_multiple_of(burst) {
                interval
            } else {
                spacing
            };
            self.next_at = (self.due < all).then(|| at + pause);
            self.write(now, socket);
        }
        self.write(now, socket);
    }

    fn begin(&mut self, now: Time) {
        if self.record.requests.last().is_some_and(|last| last.last_sent_at.is_some()) {
            self.judge();
        }
        self.record.begin(Request::new(now));
    }

    /// The published client gives up on a request as the next one begins.
    fn judge(&mut self) {
        if !self.noticed && self.since_sent >= u64::from(self.siri.answer_bytes) {
            self.flaws().missed += 1;
        }
    }

    fn write(&mut self, now: Time, socket: &mut impl Stream) {
        let len = (self.octets_due - self.written).min(u64::from(socket.writable()));
        if len > 0 {
            self.written += u64::from(socket.write(&Payload::pattern(self.stream, self.written, len as u32)));
        }
        while self.unsent.front().is_some_and(|&end| end <= self.written) {
            self.unsent.pop_front();
            // Requests whose last packet waits are the last ones.
            let place = self.record.requests.len() - 1 - self.unsent.len();
            self.record.requests[place].last_sent_at = Some(now);
            (self.since_sent, self.noticed) = (0, false);
        }
    }
}

impl StreamMachine for Client {
    fn drive(&mut self, now: Time, socket: &mut impl Stream) {
        if !socket.is_connected() || self.record.finished {
            return;
        }
        self.read(now, socket);
        if self.is_leaving {
            self.next_at = None;
            socket.close();
        } else {
            if self.record.requests.is_empty() {
                self.next_at = Some(now);
            }
            self.speak(now, socket);
        }
        if socket.is_at_end() {
            self.judge();
            self.record.finished = true;
            self.next_at = None;
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
    siri: IperfSiri,
    packets: Packets,
    verifier: Verifier,
    stream: u32,
    /// The burst whose last packet comes next, of all requests: its number, and where this packet begins and ends.
    burst: u64,
    last: core::ops::Range<u64>,
    /// The published server has answered a part of that packet.
    is_answered: bool,
    /// Octets that are due so far, of all answers, and those that the socket has taken.
    due: u64,
    written: u64,
    record: Record,
}

impl Server {
    fn new(siri: IperfSiri, packets: Packets, stream: u32, answer: u32) -> Self {
        let mut record = Record::default();
        record.account_mut::<Flaws>();
        let mut server = Self {
            siri,
            packets,
            verifier: Verifier::new(stream),
            stream: answer,
            burst: 0,
            last: 0..0,
            is_answered: false,
            due: 0,
            written: 0,
            record,
        };
        server.expect_burst();
        server
    }

    /// The next burst is awaited.
    fn expect_burst(&mut self) {
        let before = (1..self.siri.packets).map(|_| u64::from(self.packets.next())).sum::<u64>();
        let start = self.last.end + before;
        self.last = start..start + u64::from(self.packets.next());
        self.is_answered = false;
    }

    const fn bursts(&self) -> u64 {
        self.siri.bursts as u64 * self.siri.requests as u64
    }

    /// Takes in what one read of the published server has; whether there was something.
    fn read(&mut self, now: Time, socket: &mut impl Stream) -> bool {
        let data = socket.read(READ);
        if data.is_empty() {
            return false;
        }
        self.record.first_at.get_or_insert(now);
        self.record.wrong_octets += self.verifier.take(&data);
        self.record.octets = self.verifier.octets();
        let (mut answers, mut partials) = (0_u64, 0_u64);
        let mut again = false;
        while self.burst < self.bursts() && self.record.octets > self.last.start {
            let closes = (self.burst + 1).is_multiple_of(self.siri.bursts.into());
            again |= self.is_answered;
            *(if closes { &mut answers } else { &mut partials }) += 1;
            if self.record.octets < self.last.end {
                self.is_answered = true;
                break;
            }
            if !self.siri.answer_each_read {
                self.due += self.octets_of(closes);
            }
            self.burst += 1;
            self.expect_burst();
        }
        if self.siri.answer_each_read && answers + partials > 0 {
            self.due += self.octets_of(answers > 0);
        }
        let has_partials = self.siri.intermediate_bytes > 0;
        let is_partial = answers == 0;
        let swallowed = (answers + if has_partials { partials } else { 0 }).saturating_sub(1);
        let flaws: &mut Flaws = self.record.account_mut();
        flaws.swallowed += swallowed;
        flaws.doubled += u64::from(again && (!is_partial || has_partials));
        true
    }

    const fn octets_of(&self, closes: bool) -> u64 {
        (if closes { self.siri.answer_bytes } else { self.siri.intermediate_bytes }) as u64
    }

    fn write(&mut self, socket: &mut impl Stream) {
        let len = (self.due - self.written).min(u64::from(socket.writable()));
        if len > 0 {
            self.written += u64::from(socket.write(&Payload::pattern(self.stream, self.written, len as u32)));
        }
    }
}

impl StreamMachine for Server {
    fn drive(&mut self, now: Time, socket: &mut impl Stream) {
        while self.read(now, socket) {}
        if self.record.finished {
            return;
        }
        self.write(socket);
        let all_answered = self.burst == self.bursts() && self.written == self.due;
        if all_answered || socket.is_at_end() {
            self.record.finished = true;
            self.record.completed_at = all_answered.then_some(now);
            socket.close();
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    fn record(&self) -> &Record {
        &self.record
    }
}
