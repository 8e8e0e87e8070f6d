//! One connection: RFC 9293's state machine.
//!
//! A driver calls in four ways, in this order after anything that happens:
//!
//! 1. input: [`Connection::handle_segment`], [`Connection::handle_timeout`], or the application's
//!    [`write`](Connection::write), [`read`](Connection::read), [`close`](Connection::close),
//!    [`abort`](Connection::abort);
//! 2. [`Connection::poll_transmit`] until it has nothing more to send;
//! 3. [`Connection::poll_timeout`], when to call `handle_timeout`;
//! 4. the getters ([`state`](Connection::state), [`readable`](Connection::readable), [`metrics`](Connection::metrics) …).

mod alive;
mod arrival;
mod ecn;
mod owned;
mod path_mtu;
mod timers;
mod transmit;

use crate::cc::{CongestionControl, CongestionFactory, CongestionMetrics};
use crate::config::Config;
use crate::receiver::Receiver;
use crate::recovery::LossRecovery;
pub use crate::recovery::Phase;
use crate::sender::Sender;
use crate::shared::Shared;
use alive::Alive;
use alloc::boxed::Box;
use alloc::sync::Arc;
pub use arrival::reset_for;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::tcp::{Seq, TcpHeader};

/// Connection states (RFC 9293 section 3.3.2); LISTEN belongs to whoever accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The RFC's names, explained there.
pub enum State {
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
    Closed,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Both ends closed, and all data was acknowledged.
    Closed,
    /// The peer refused it.
    Refused,
    /// The peer reset it.
    Reset,
    /// The application aborted it.
    Aborted,
    /// The peer did not answer (RFC 9293 section 3.8.3, R2).
    TimedOut,
}

/// A TCP endpoint.
#[derive(Debug)]
pub struct Connection {
    shared: Shared,
    snd: Sender,
    rcv: Receiver,
    recovery: LossRecovery,
    /// Where somebody wants to know whether the peer is still there.
    alive: Option<Box<Alive>>,
    /// When TIME-WAIT is over.
    time_wait: Option<Time>,
}

const _: () = assert!(size_of::<Connection>() <= 1168, "of idle flows there are many");

/// What happened so far; counts of segments but where said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Segments sent, of any kind.
    pub segments_sent: u64,
    /// Segments received, of any kind.
    pub segments_received: u64,
    /// Segments with data sent, repeated ones too.
    pub data_segments_sent: u64,
    /// Segments with octets that had been sent before (data, SYN or FIN).
    pub retransmissions: u64,
    /// Fast retransmits: losses seen by duplicate or selective acknowledgment.
    pub fast_retransmits: u32,
    /// Expiries of the retransmission timer.
    pub timeouts: u32,
    /// Zero-window probes.
    pub probes: u32,
    /// Tail loss probes.
    pub loss_probes: u32,
    /// Reductions of the window that were taken back.
    pub undone: u32,
    /// Segments received that the network had marked (RFC 3168).
    pub marked: u64,
    /// Duplicate acknowledgments received.
    pub duplicate_acks: u64,
    /// Octets of data that the peer has acknowledged.
    pub octets_acknowledged: u64,
    /// Octets of data received in order.
    pub octets_received: u64,
}

/// What can be watched over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metrics {
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow-start threshold, bytes; none while "arbitrarily high".
    pub ssthresh: Option<u64>,
    /// FlightSize: octets sent and not acknowledged (RFC 5681 section 2).
    pub flight: u64,
    /// RFC 6675's estimate of octets on their way.
    pub pipe: u64,
    /// The peer's window, bytes.
    pub snd_wnd: u64,
    /// Smoothed round-trip time.
    pub srtt: Option<Span>,
    /// Its variation.
    pub rttvar: Option<Span>,
    /// Current retransmission timeout, back-off included.
    pub rto: Span,
    /// Connection state.
    pub state: State,
    /// Phase of loss recovery.
    pub phase: Phase,
    /// Segments retransmitted so far.
    pub retransmissions: u64,
    /// The rate of pacing in bytes a second; none where nothing is paced.
    pub pacing_rate: Option<u64>,
}

impl Connection {
    /// Opens a connection actively: its SYN is ready to be sent. `iss` is the initial send sequence number.
    /// Connections of one stack share it.
    pub fn connect(config: impl Into<Arc<Config>>, iss: Seq) -> Self {
        let config = config.into();
        let congestion = config.congestion;
        Self::connect_with(config, iss, &congestion)
    }

    /// As [`Connection::connect`], with a congestion control that `congestion` makes in place of the one that the parameters name.
    pub fn connect_with(
        config: impl Into<Arc<Config>>,
        iss: Seq,
        congestion: &impl CongestionFactory,
    ) -> Self {
        let config = config.into();
        let cc = congestion.build(&config);
        Self::new(config, iss, State::SynSent, cc)
    }

    /// Answers a peer's SYN, for a socket in LISTEN. `iss` is the initial send sequence number.
    pub fn accept(config: impl Into<Arc<Config>>, iss: Seq, syn: &TcpHeader) -> Self {
        let config = config.into();
        let congestion = config.congestion;
        Self::accept_with(config, iss, syn, &congestion)
    }

    /// As [`Connection::accept`], with a congestion control that `congestion` makes in place of the one that the parameters name.
    pub fn accept_with(
        config: impl Into<Arc<Config>>,
        iss: Seq,
        syn: &TcpHeader,
        congestion: &impl CongestionFactory,
    ) -> Self {
        let config = config.into();
        let cc = congestion.build(&config);
        let mut connection = Self::new(config, iss, State::SynReceived, cc);
        connection.shared.counters.segments_received = 1;
        connection.take_syn(syn);
        connection.rcv.open_window(&connection.shared);
        connection
    }

    fn new(config: Arc<Config>, iss: Seq, state: State, cc: Box<dyn CongestionControl>) -> Self {
        Self {
            snd: Sender::new(&config, iss, cc),
            rcv: Receiver::new(&config),
            recovery: LossRecovery::new(config.dupack_threshold),
            alive: Alive::new(&config),
            time_wait: None,
            shared: Shared::new(config, state),
        }
    }

    /// Takes in as much of `data` as the send buffer has room for; how many octets that is. Nothing after
    /// [`Connection::close`] or the connection's end.
    pub fn write(&mut self, data: &Payload) -> u32 {
        if self.snd.buffer.is_closed() || self.shared.ended.is_some() {
            0
        } else {
            let room = self.snd.room(&self.shared, &self.recovery);
            if !data.is_empty() && room > 0 {
                self.note_application_limit();
            }
            self.snd.write(&self.shared, &self.recovery, room, data)
        }
    }

    /// Tells where the rate of delivery was the application's, not the network's: what it writes finds nothing that waits, and the window open
    /// (tcp_rate_check_app_limited(), which Linux asks at each write and at no other time). What an acknowledgment lets leave is gone by the time that
    /// the application is awake that it has woken.
    fn note_application_limit(&mut self) {
        let snd = &self.snd;
        if !snd.by_rate() || snd.scoreboard.next_lost(1).is_some() {
            return;
        }
        let leaves = snd.may_leave(&self.shared, &self.recovery);
        if snd.unsent() - leaves < snd.window.smss {
            self.snd.note_application_limit(self.recovery.pipe(&self.shared, &self.snd) + leaves);
        }
    }

    /// Octets that an application should write now: what [`Connection::write`] would take, none before the handshake is
    /// over, though data written then is queued (RFC 9293 section 3.10.2).
    pub fn writable(&self) -> u32 {
        if self.snd.buffer.is_closed() || self.shared.ended.is_some() || !self.shared.is_synchronised() {
            0
        } else {
            self.snd.room(&self.shared, &self.recovery)
        }
    }

    /// Whether something that was written, or the handshake, is not acknowledged yet.
    pub fn is_outstanding(&self) -> bool {
        !self.shared.is_synchronised() || !self.snd.buffer.is_empty()
    }

    /// Gives out at most `max` octets received in order; empty if there are none.
    pub fn read(&mut self, max: u32) -> Payload {
        self.rcv.read(&self.shared, max)
    }

    /// Octets that can be read.
    pub fn readable(&self) -> u64 {
        self.rcv.readable()
    }

    /// Whether the peer has closed and everything before that was read.
    pub fn is_at_end(&self) -> bool {
        self.rcv.is_at_end()
    }

    /// Closes this end's direction: a FIN follows what was written (RFC 9293 section 3.10.4).
    pub fn close(&mut self) {
        match self.shared.state {
            State::SynSent => self.end(Ended::Closed),
            _ => self.snd.buffer.close(),
        }
    }

    /// Whether this end has closed its direction.
    pub fn is_closing(&self) -> bool {
        self.snd.buffer.is_closed() || self.shared.ended.is_some()
    }

    /// Ends the connection at once, with a RST where the peer knows it (RFC 9293 section 3.10.5).
    pub fn abort(&mut self) {
        if self.shared.state == State::Closed {
            return;
        }
        let both_closed = matches!(self.shared.state, State::Closing | State::LastAck | State::TimeWait);
        if self.shared.state != State::SynSent && !both_closed {
            self.snd.reset = Some(Box::new(self.reset()));
        }
        self.end(Ended::Aborted);
    }

    /// Connection state.
    pub fn state(&self) -> State {
        self.shared.state
    }

    /// Whether the handshake is over.
    pub fn is_synchronised(&self) -> bool {
        self.shared.is_synchronised()
    }

    /// How it ended; none while it goes on. TIME-WAIT counts as ended: nothing can follow.
    pub fn ended(&self) -> Option<Ended> {
        self.shared.ended
    }

    /// What happened so far.
    pub fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    /// What can be watched over time.
    pub fn metrics(&self) -> Metrics {
        let CongestionMetrics { cwnd, ssthresh, .. } = self.congestion_metrics();
        Metrics {
            cwnd,
            ssthresh,
            flight: self.snd.flight(),
            pipe: self
                .snd
                .scoreboard
                .pipe(self.snd.una, self.snd.nxt)
                .saturating_sub(self.recovery.reno_sacked(&self.shared, &self.snd)),
            snd_wnd: self.snd.wnd,
            srtt: self.shared.rtt.srtt(),
            rttvar: self.shared.rtt.rttvar(),
            rto: self.shared.rtt.rto(),
            state: self.shared.state,
            phase: self.recovery.phase(),
            retransmissions: self.shared.counters.retransmissions,
            pacing_rate: self.snd.pacing_rate(&self.shared),
        }
    }

    /// What the congestion control shows of itself.
    pub fn congestion_metrics(&self) -> CongestionMetrics {
        self.snd.cc.metrics(&self.snd.window)
    }

    /// Octets that a full-sized segment carries: SMSS.
    pub fn segment_size(&self) -> u64 {
        self.snd.window.smss
    }

    /// Ends the connection; TIME-WAIT is entered elsewhere.
    fn end(&mut self, how: Ended) {
        self.shared.state = State::Closed;
        self.shared.ended.get_or_insert(how);
        self.stop_timers();
        self.rcv.stop();
        self.snd.syn_pending = false;
    }
}
