//! Running a script over an endpoint.

use crate::multipath::{Level, Multipath};
use crate::peer::Peer;
use crate::script::{Action, Amount, Call, Check, Event, Phase, Script, Stack, State, When};
use std::fmt;
use voxpath_tcp::Ended;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::tcp::TcpHeader;

/// A segment that has left.
#[derive(Debug, Clone)]
pub struct Sent {
    /// By which subflow, from 0 on.
    pub subflow: usize,
    /// When.
    pub at: Time,
    /// Its header.
    pub header: TcpHeader,
    /// Its data.
    pub payload: Payload,
    /// Whether its packet says that it may be marked.
    pub ecn_capable: bool,
}

/// What an endpoint says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observed {
    /// State.
    pub state: State,
    /// Octets of a full-sized segment.
    pub segment: u64,
    /// Congestion window, octets.
    pub cwnd: u64,
    /// Slow-start threshold, octets; none while arbitrarily high.
    pub ssthresh: Option<u64>,
    /// Retransmission timeout.
    pub rto: Span,
    /// Smoothed round-trip time.
    pub srtt: Option<Span>,
    /// Phase of loss recovery.
    pub phase: Phase,
    /// Octets that can be read.
    pub readable: u64,
    /// An application that waits for room in the send buffer is woken.
    pub writable: bool,
    /// The peer has closed and all was read.
    pub at_end: bool,
    /// How it ended.
    pub ended: Option<Ended>,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Windows are counted in segments.
    pub counts_segments: bool,
    /// Multipath TCP goes on as TCP, or there never was any.
    pub fallback: bool,
    /// Subflows that stand.
    pub subflows: u64,
}

/// What a script runs on.
pub trait Endpoint {
    /// How far times may be off: not at all in virtual time.
    fn tolerance(&self) -> Span;

    /// The time.
    fn now(&self) -> Time;

    /// The next segment that leaves until then, waiting if need be.
    ///
    /// # Errors
    /// The machine fails.
    fn sent(&mut self, until: Time) -> Result<Option<Sent>, String>;

    /// A segment of a subflow arrives, marked by the network or not.
    ///
    /// # Errors
    /// The machine fails.
    fn arrive(
        &mut self,
        subflow: usize,
        header: &TcpHeader,
        payload: &Payload,
        marked: bool,
    ) -> Result<(), String>;

    /// A router tells that a segment was too big.
    ///
    /// # Errors
    /// The machine fails.
    fn too_big(&mut self, mtu: u16, segment: &TcpHeader) -> Result<(), String>;

    /// The application calls.
    ///
    /// # Errors
    /// The call does not succeed.
    fn call(&mut self, call: Call) -> Result<(), String>;

    /// What it says of itself.
    ///
    /// # Errors
    /// There is nothing that could say anything.
    fn observe(&mut self) -> Result<Observed, String>;

    /// Says what is known of the endpoint's first timestamp, which may count from anywhere.
    fn stamp_base(&self, first: u32, at: Time) -> u32;
}

/// A script that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Where it stands in the script.
    pub line: usize,
    /// When it was.
    pub at: Time,
    /// What does not hold.
    pub reason: String,
    /// What left until then, and what arrived, as a ladder.
    pub ladder: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, at {}: {}", self.line, self.at, self.reason)
    }
}

impl std::error::Error for Failure {}

/// Runs a script's events for a stack over an endpoint, from the first to the last; the ladder that came of it.
///
/// # Errors
/// The first event that does not hold.
pub fn run(
    script: &Script,
    stack: Stack,
    endpoint: &mut impl Endpoint,
    peer: Peer,
) -> Result<Vec<String>, Failure> {
    let mut runner =
        Runner { endpoint, peers: vec![peer], level: Level::default(), last: Time::ZERO, ladder: Vec::new() };
    for event in &script.events {
        if !event.only.is_empty() && !event.only.contains(&stack) {
            continue;
        }
        runner.happen(event).map_err(|reason| Failure {
            line: event.line,
            at: runner.endpoint.now(),
            reason,
            ladder: runner.ladder.clone(),
        })?;
    }
    Ok(runner.ladder)
}

struct Runner<'a, E> {
    endpoint: &'a mut E,
    /// The peer as each subflow knows it.
    peers: Vec<Peer>,
    level: Level,
    /// When the event before happened.
    last: Time,
    ladder: Vec<String>,
}

impl<E: Endpoint> Runner<'_, E> {
    fn happen(&mut self, event: &Event) -> Result<(), String> {
        let due = match event.when {
            When::At(at) => at,
            When::After(span) => self.last + span,
        };
        if let Action::Leave(expected) = &event.action {
            let tolerance = self.endpoint.tolerance();
            let Some(sent) = self.endpoint.sent(due + tolerance)? else {
                return Err("nothing was sent".into());
            };
            let (line, options) = self.hear(&sent);
            if sent.at.since(due) > tolerance || due.since(sent.at) > tolerance {
                return Err(format!("sent at {}, expected at {due}: {line}", sent.at));
            }
            // A timestamp counts whole milliseconds.
            let slack = u32::try_from(tolerance.as_nanos().div_ceil(1_000_000)).unwrap_or(u32::MAX);
            if sent.subflow != expected.subflow {
                return Err(format!(
                    "by subflow {}, expected {}: {line}",
                    sent.subflow + 1,
                    expected.subflow + 1
                ));
            }
            options
                .and_then(|options| {
                    let segment = (&sent.header, &sent.payload);
                    self.peers[sent.subflow].compare(expected, segment, &options, slack)
                })
                .map_err(|reason| format!("{reason}: {line}"))?;
            if let Some(capable) = expected.ecn.filter(|&capable| capable != sent.ecn_capable) {
                return Err(format!("it may {}be marked: {line}", if capable { "not " } else { "" }));
            }
            self.last = sent.at;
            return Ok(());
        }
        if due < self.last && self.endpoint.tolerance() == Span::ZERO {
            return Err(format!("the event before was at {}", self.last));
        }
        if let Some(sent) = self.endpoint.sent(due)? {
            let (line, _) = self.hear(&sent);
            return Err(format!("not expected at {}: {line}", sent.at));
        }
        self.last = self.endpoint.now().max(due);
        self.act(&event.action)
    }

    fn act(&mut self, action: &Action) -> Result<(), String> {
        let now = self.endpoint.now();
        match action {
            Action::Leave(_) | Action::Quiet => {}
            Action::Arrive(segment) => {
                let subflow = segment.subflow;
                self.reach(subflow)?;
                let peer = &mut self.peers[subflow];
                let (header, payload) = peer.arrives(now, segment, &mut self.level)?;
                let options = segment.options.multipath.as_deref().unwrap_or_default();
                let line = peer.describe_arrival(&header, &payload, options);
                self.ladder.push(format!("{:.6} < {}{line}", now.as_secs_f64(), mark(subflow)));
                self.endpoint.arrive(subflow, &header, &payload, segment.ecn == Some(true))?;
            }
            &Action::TooBig { mtu, seq } => {
                self.ladder.push(format!("{:.6} < too-big mtu {mtu} seq {seq}", now.as_secs_f64()));
                let seq = self.peers[0].iss.unwrap_or_default().wrapping_add(seq);
                self.endpoint.too_big(mtu, &TcpHeader { seq, ..TcpHeader::default() })?;
            }
            &Action::Call(call) => {
                self.ladder.push(format!("{:.6} {call:?}", now.as_secs_f64()));
                self.endpoint.call(call)?;
            }
            Action::Check(checks) => {
                let observed = self.endpoint.observe()?;
                let tolerance = self.endpoint.tolerance();
                checks.iter().try_for_each(|check| observed.holds(check, tolerance))?;
            }
        }
        Ok(())
    }

    /// Has a peer for a subflow, which is the next one at most.
    fn reach(&mut self, subflow: usize) -> Result<(), String> {
        let known = self.peers.len();
        if subflow == known {
            self.peers.push(self.peers[0].further(subflow));
        }
        if subflow <= known {
            Ok(())
        } else {
            Err(format!("subflow {} comes before [{}]", subflow + 1, known + 1))
        }
    }

    /// Takes note of a segment that left; how a script would write it, and its options of Multipath TCP.
    fn hear(&mut self, sent: &Sent) -> (String, Result<Vec<Multipath>, String>) {
        let subflow = sent.subflow;
        if let Err(reason) = self.reach(subflow) {
            return (reason.clone(), Err(reason));
        }
        let peer = &mut self.peers[subflow];
        peer.hear(&sent.header, &mut self.level);
        if let Some(stamps) = sent.header.options.timestamps.filter(|_| !peer.knows_stamps()) {
            peer.count_stamps_from(self.endpoint.stamp_base(stamps.value, sent.at));
        }
        let options = peer.options(&sent.header, &sent.payload, &self.level);
        let line = peer.describe(&sent.header, &sent.payload, options.as_deref().unwrap_or_default());
        let line = format!("{}{line}", mark(subflow));
        self.ladder.push(format!("{:.6} > {line}", sent.at.as_secs_f64()));
        (line, options)
    }
}

/// How a script names a subflow: not at all if it is the first.
fn mark(subflow: usize) -> String {
    if subflow == 0 { String::new() } else { format!("[{}] ", subflow + 1) }
}

impl Observed {
    fn holds(&self, check: &Check, tolerance: Span) -> Result<(), String> {
        let near = |expected: Span, found: Span| expected.abs_diff(found) <= tolerance;
        let (held, found) = match *check {
            Check::State(state) => (self.state == state, format!("{:?}", self.state)),
            Check::Cwnd(amount) => (self.is(amount, self.cwnd), self.amount(self.cwnd)),
            Check::Ssthresh(None) => (
                self.ssthresh.is_none(),
                self.ssthresh.map_or_else(|| "none".into(), |found| self.amount(found)),
            ),
            Check::Ssthresh(Some(amount)) => match self.ssthresh {
                Some(found) => (self.is(amount, found), self.amount(found)),
                None => (false, "none".into()),
            },
            Check::Rto(rto) => (near(rto, self.rto), self.rto.to_string()),
            Check::Srtt(srtt) => {
                (self.srtt.is_some_and(|found| near(srtt, found)), format!("{:?}", self.srtt))
            }
            Check::Phase(phase) => (self.phase == phase, format!("{:?}", self.phase)),
            Check::Readable(octets) => (self.readable == octets, self.readable.to_string()),
            Check::Writable(writable) => (self.writable == writable, self.writable.to_string()),
            Check::AtEnd(end) => (self.at_end == end, self.at_end.to_string()),
            Check::Ended(ended) => (self.ended == ended, format!("{:?}", self.ended)),
            Check::Retransmissions(count) => {
                (self.retransmissions == count, self.retransmissions.to_string())
            }
            Check::Fallback(fallback) => (self.fallback == fallback, self.fallback.to_string()),
            Check::Subflows(count) => (self.subflows == count, self.subflows.to_string()),
        };
        if held { Ok(()) } else { Err(format!("{check:?} does not hold: it is {found}")) }
    }

    const fn is(&self, amount: Amount, octets: u64) -> bool {
        match amount {
            Amount::Segments(segments) => octets == segments * self.segment,
            Amount::Octets(expected) if self.counts_segments => {
                octets / self.segment == expected / self.segment
            }
            Amount::Octets(expected) => octets == expected,
        }
    }

    fn amount(&self, octets: u64) -> String {
        format!("{octets} octets, {:.3} segments", octets as f64 / self.segment as f64)
    }
}
