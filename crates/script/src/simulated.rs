//! The endpoint in virtual time: our TCP or Multipath TCP, whose every time is exact.

use crate::peer::{OURS, Peer, THEIRS};
use crate::run::{Endpoint, Failure, Observed, Sent, run};
use crate::script::{Call, Script, Stack, State};
use crate::stream::{Parameters, Stream};
use std::collections::VecDeque;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::tcp::{Seq, TcpFlags, TcpHeader};

/// The numbers of both SYNs, near the point of wrapping so that every script crosses it.
const ISS: Seq = Seq(u32::MAX - 3000);
const IRS: Seq = Seq(u32::MAX - 2000);
/// More than this at one time is no transmission.
const MOST_AT_ONCE: usize = 100_000;
/// Expiries between two segments that a script may wait for.
const MOST_TIMEOUTS: u32 = 100_000;
/// The IPv4 header, which a link's size counts.
const IP_HEADER: u32 = 20;

/// Our endpoint in virtual time.
#[derive(Debug)]
pub(crate) struct Simulated {
    parameters: Parameters,
    now: Time,
    listening: bool,
    stream: Option<Stream>,
    sent: VecDeque<Sent>,
    written: u64,
    read: u64,
}

/// Runs a script in virtual time; the ladder that came of it.
///
/// # Errors
/// The first event that does not hold, or a parameter that does not exist.
pub fn run_simulated(script: &Script, stack: Stack) -> Result<Vec<String>, Failure> {
    let parameters =
        |stack| Ok(Parameters { tcp: script.config(stack)?, multipath: script.multipath(stack)? });
    let parameters = parameters(stack).map_err(|(line, reason)| Failure {
        line,
        at: Time::ZERO,
        reason,
        ladder: Vec::new(),
    })?;
    run(script, stack, &mut Simulated::new(parameters), Peer::new(IRS, Some(ISS)))
}

impl Simulated {
    /// An endpoint with these parameters, at time zero.
    const fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            now: Time::ZERO,
            listening: false,
            stream: None,
            sent: VecDeque::new(),
            written: 0,
            read: 0,
        }
    }

    /// Writes so many octets, of which so many have to be taken.
    fn write(&mut self, len: u32, expected: u32) -> Result<(), String> {
        let data = Payload::pattern(OURS, self.written, len);
        let taken = self.connection()?.write(&data);
        self.written += u64::from(taken);
        if taken == expected { Ok(()) } else { Err(format!("the socket takes {taken} octets of {len}")) }
    }

    fn connection(&mut self) -> Result<&mut Stream, String> {
        self.stream.as_mut().ok_or_else(|| "there is no connection yet".into())
    }

    /// Polls until there is nothing more to send, as every driver does.
    fn drain(&mut self) -> Result<(), String> {
        let Some(stream) = &mut self.stream else { return Ok(()) };
        for _ in 0..MOST_AT_ONCE {
            let Some((subflow, header, payload, ecn_capable)) = stream.poll_transmit(self.now) else {
                return match stream.poll_timeout() {
                    Some(due) if due <= self.now => Err("a timer makes no progress".into()),
                    _ => Ok(()),
                };
            };
            self.sent.push_back(Sent { subflow, at: self.now, header, payload, ecn_capable });
        }
        Err("endless transmission".into())
    }
}

impl Endpoint for Simulated {
    fn tolerance(&self) -> Span {
        Span::ZERO
    }

    fn now(&self) -> Time {
        self.now
    }

    fn sent(&mut self, until: Time) -> Result<Option<Sent>, String> {
        for _ in 0..MOST_TIMEOUTS {
            if let Some(sent) = self.sent.pop_front() {
                return Ok(Some(sent));
            }
            let due = self.stream.as_ref().and_then(Stream::poll_timeout).filter(|due| *due <= until);
            let Some(due) = due else {
                self.now = self.now.max(until);
                return Ok(None);
            };
            self.now = self.now.max(due);
            self.connection()?.handle_timeout(due);
            self.drain()?;
        }
        Err(format!("timers expired {MOST_TIMEOUTS} times, and nothing was sent"))
    }

    fn arrive(
        &mut self,
        subflow: usize,
        header: &TcpHeader,
        payload: &Payload,
        marked: bool,
    ) -> Result<(), String> {
        match &mut self.stream {
            Some(stream) => {
                if let Some(header) = stream.handle_segment(self.now, subflow, header, payload, marked) {
                    let (at, payload) = (self.now, Payload::Empty);
                    self.sent.push_back(Sent { subflow, at, header, payload, ecn_capable: false });
                }
            }
            None if subflow > 0 => return Err("there is no connection that a subflow could join".into()),
            None if self.listening && header.flags.contains(TcpFlags::SYN) => {
                self.stream = Some(Stream::new(&self.parameters, ISS, Some(header)));
            }
            None => return Err("nobody listens, or not for what is no SYN".into()),
        }
        self.drain()
    }

    fn too_big(&mut self, mtu: u16, segment: &TcpHeader) -> Result<(), String> {
        let largest = u32::from(mtu).saturating_sub(IP_HEADER);
        self.connection()?.handle_too_big(largest, segment.seq);
        self.drain()
    }

    fn call(&mut self, call: Call) -> Result<(), String> {
        match call {
            Call::Listen => self.listening = true,
            Call::Connect => self.stream = Some(Stream::new(&self.parameters, ISS, None)),
            Call::Write(len) => self.write(len, len)?,
            Call::Fill(len) => self.write(len.saturating_mul(2), len)?,
            Call::Read(len) => {
                let end = self.read + u64::from(len);
                while self.read < end {
                    let (at, left) = (self.read, end - self.read);
                    let part = self.connection()?.read(u32::try_from(left).unwrap_or(u32::MAX));
                    if part.is_empty() {
                        return Err(format!("{left} of {len} octets are not there"));
                    }
                    if part != Payload::pattern(THEIRS, at, part.len()) {
                        return Err("what was read is not what the peer sent".into());
                    }
                    self.read += u64::from(part.len());
                }
            }
            Call::Shutdown | Call::Close => self.connection()?.close(),
            Call::Abort => self.connection()?.abort(),
        }
        self.drain()
    }

    fn observe(&mut self) -> Result<Observed, String> {
        if self.listening && self.stream.is_none() {
            return Err("it listens, and there is nothing to say of a connection".into());
        }
        let stream = self.connection()?;
        let tcp = stream.first();
        let metrics = tcp.metrics();
        Ok(Observed {
            state: State::from(metrics.state),
            segment: tcp.segment_size(),
            cwnd: metrics.cwnd,
            ssthresh: metrics.ssthresh,
            rto: metrics.rto,
            srtt: metrics.srtt,
            phase: metrics.phase,
            readable: stream.readable(),
            writable: stream.is_writable(),
            at_end: stream.is_at_end(),
            ended: stream.ended(),
            retransmissions: metrics.retransmissions,
            counts_segments: false,
            fallback: stream.is_fallback(),
            subflows: stream.standing(),
        })
    }

    fn stamp_base(&self, _: u32, _: Time) -> u32 {
        0
    }
}
