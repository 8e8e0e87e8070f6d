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

mod acks;
mod alive;
mod arrival;
mod burst;
mod dupacks;
mod ecn;
mod frto;
mod pacing;
mod path_mtu;
mod probe;
mod prr;
mod recovery;
mod room;
mod timers;
mod transmit;
mod undo;
mod validation;

use crate::cc::{self, CongestionControl, Window};
use crate::config::Config;
use crate::rack::Rack;
use crate::rate::RateSampler;
use crate::reassembly::Reassembly;
use crate::rtt::RttEstimator;
use crate::scoreboard::Scoreboard;
use crate::send_buffer::SendBuffer;
use crate::sent::SentSegments;
use acks::AckPolicy;
use alive::Alive;
use alloc::boxed::Box;
use alloc::sync::Arc;
use burst::Burst;
use core::ops::Range;
use dupacks::DuplicateAcks;
use ecn::EcnState;
use pacing::Pacer;
use probe::LossProbe;
pub use recovery::Phase;
use recovery::RecoveryState;
use room::Space;
use timers::Timers;
use undo::Undo;
use validation::Usage;
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

/// The default of RFC 9293 section 3.7.1 where the peer announces no maximum segment size.
const DEFAULT_MSS: u16 = 536;

/// The largest shift count (RFC 7323 section 2.3).
const MAX_WINDOW_SHIFT: u8 = 14;

/// The largest window without scaling.
const MAX_UNSCALED_WINDOW: u32 = 65_535;

/// A TCP endpoint.
#[derive(Debug)]
pub struct Connection {
    config: Arc<Config>,
    state: State,
    ended: Option<Ended>,
    /// Options that both ends offered.
    options: Negotiated,
    snd: Send,
    rcv: Receive,
    timers: Timers,
    rtt: RttEstimator,
    cc: Box<dyn CongestionControl>,
    /// The rate of delivery, where the congestion control steers the window by it.
    rate: Option<Box<RateSampler>>,
    /// Spaces segments in time, where that is asked for.
    pacer: Option<Box<Pacer>>,
    burst: Burst,
    usage: Usage,
    window: Window,
    /// What the smallest link of the path leaves to a segment's options and data, as far as routers have told.
    path_mss: u32,
    scoreboard: Scoreboard,
    recovery: RecoveryState,
    dupacks: DuplicateAcks,
    rack: Rack,
    probe: LossProbe,
    /// The last reduction of the window, once there was one.
    undo: Option<Box<Undo>>,
    ecn: EcnState,
    alive: Alive,
    sent: SentSegments,
    counters: Counters,
}

/// The send sequence variables (RFC 9293 section 3.3.1), as offsets from the SYN.
#[derive(Debug)]
struct Send {
    /// Initial send sequence number.
    iss: Seq,
    /// SND.UNA, the first octet not acknowledged.
    una: u64,
    /// SND.NXT, the first octet never sent.
    nxt: u64,
    /// SND.WND, octets from `una` on that the peer accepts.
    wnd: u64,
    /// The largest window that the peer ever offered (RFC 9293 section 3.8.6.2.1).
    max_wnd: u64,
    /// SND.WL1 and SND.WL2: the segment that set the window.
    wl1: u64,
    wl2: u64,
    buffer: SendBuffer,
    /// The application closed: a FIN follows the buffer's last octet.
    fin: bool,
    /// Where the last small segment ended, for Minshall's form of Nagle's algorithm (Linux' snd_sml).
    small_end: u64,
    /// When the last segment with data was sent, for the idle restart.
    last_data: Option<Time>,
    /// The SYN has to be sent (again).
    syn_pending: bool,
    /// A reset that has to be sent.
    reset: Option<Box<TcpHeader>>,
    /// The persist timer expired: send what the window would not let through.
    probe_pending: bool,
}

/// The receive sequence variables, as offsets from the peer's SYN.
#[derive(Debug)]
struct Receive {
    /// Initial receive sequence number; none before the peer's SYN.
    irs: Option<Seq>,
    buffer: Reassembly,
    /// The right edge of the window announced last.
    advertised: u64,
    /// Offset of the peer's FIN, once it is known.
    fin: Option<u64>,
    /// RCV.NXT includes the FIN.
    fin_taken: bool,
    /// An acknowledgment has to be sent now.
    ack_now: bool,
    /// It leaves before any data: Linux completes the handshake with a segment of its own (tcp_rcv_synsent_state_process()).
    ack_alone: bool,
    /// Another one follows it.
    ack_again: bool,
    /// The window that it announces, where the application has read since.
    window_unread: Option<u32>,
    /// Octets in order since the last acknowledgment.
    unacked: u64,
    /// The largest segment seen: what "full-sized" means here.
    full_size: u32,
    /// TS.Recent (RFC 7323 section 4.3).
    ts_recent: u32,
    /// When it was taken.
    ts_recent_at: Time,
    /// Last.ACK.sent (RFC 7323 section 4.3).
    last_ack_sent: u64,
    challenges: arrival::Challenges,
    /// When to acknowledge.
    policy: AckPolicy,
    /// Octets that came twice, for the next acknowledgment to report.
    duplicate: Option<Range<u64>>,
    space: Space,
}

/// What both SYNs agreed on.
#[derive(Debug, Clone, Copy)]
struct Negotiated {
    timestamps: bool,
    sack: bool,
    window_scaling: bool,
    /// Snd.Wind.Shift: how far to shift windows that arrive.
    snd_shift: u8,
    /// Rcv.Wind.Shift: how far windows that leave are shifted.
    rcv_shift: u8,
    /// The peer's maximum segment size, bytes.
    peer_mss: u16,
}

impl Negotiated {
    /// Octets of options in each segment, SACK blocks aside.
    const fn len(&self) -> u32 {
        if self.timestamps { 12 } else { 0 }
    }
}

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
        Self::new(config.into(), iss, State::SynSent)
    }

    /// Answers a peer's SYN, for a socket in LISTEN. `iss` is the initial send sequence number.
    pub fn accept(config: impl Into<Arc<Config>>, iss: Seq, syn: &TcpHeader) -> Self {
        let mut connection = Self::new(config.into(), iss, State::SynReceived);
        connection.counters.segments_received = 1;
        connection.take_syn(syn);
        let window = room::first_window(&connection.config, connection.options.len());
        connection.rcv.buffer = Reassembly::new(window, 1);
        connection
    }

    /// Whether the congestion control steers the window by the rate of delivery.
    const fn by_rate(&self) -> bool {
        self.rate.is_some()
    }

    fn new(config: Arc<Config>, iss: Seq, state: State) -> Self {
        let cc = cc::new(&config);
        let by_rate = cc.has_cong_control();
        let smss = u64::from(config.mss);
        Self {
            state,
            ended: None,
            options: Negotiated {
                timestamps: config.timestamps,
                sack: config.sack,
                window_scaling: config.window_scaling,
                snd_shift: 0,
                rcv_shift: if config.window_scaling { window_shift(config.receive_buffer) } else { 0 },
                peer_mss: DEFAULT_MSS,
            },
            snd: Send {
                iss,
                una: 0,
                nxt: 0,
                wnd: 0,
                max_wnd: 0,
                wl1: 0,
                wl2: 0,
                buffer: SendBuffer::new(config.send_buffer, 1),
                fin: false,
                small_end: 0,
                last_data: None,
                syn_pending: true,
                reset: None,
                probe_pending: false,
            },
            rcv: Receive {
                irs: None,
                buffer: Reassembly::new(room::first_window(&config, 0), 1),
                advertised: 1,
                fin: None,
                fin_taken: false,
                ack_now: false,
                ack_alone: false,
                ack_again: false,
                window_unread: None,
                unacked: 0,
                full_size: 0,
                ts_recent: 0,
                ts_recent_at: Time::ZERO,
                last_ack_sent: 0,
                challenges: arrival::Challenges::default(),
                policy: AckPolicy::default(),
                duplicate: None,
                space: Space::new(&config),
            },
            timers: Timers::default(),
            rtt: RttEstimator::new(config.clone()),
            cc,
            rate: by_rate.then(Box::default),
            pacer: (by_rate || config.pacing).then(Box::default),
            burst: Burst::default(),
            usage: Usage::default(),
            window: Window {
                cwnd: smss * u64::from(config.initial_window),
                ssthresh: config.initial_ssthresh.map_or(u64::MAX, u64::from),
                smss,
            },
            path_mss: u32::MAX,
            scoreboard: Scoreboard::default(),
            recovery: RecoveryState::default(),
            dupacks: DuplicateAcks::new(config.dupack_threshold),
            rack: Rack::default(),
            probe: LossProbe::default(),
            undo: None,
            ecn: EcnState::default(),
            alive: Alive::default(),
            sent: SentSegments::default(),
            counters: Counters::default(),
            config,
        }
    }

    /// Takes in as much of `data` as the send buffer has room for; how many octets that is. Nothing after
    /// [`Connection::close`] or the connection's end.
    pub fn write(&mut self, data: &Payload) -> u32 {
        if self.snd.fin || self.ended.is_some() { 0 } else { self.snd.buffer.write(data) }
    }

    /// Octets that an application should write now: what [`Connection::write`] would take, none before the handshake is
    /// over, though data written then is queued (RFC 9293 section 3.10.2).
    pub fn writable(&self) -> u32 {
        if self.snd.fin || self.ended.is_some() || !self.is_synchronised() {
            0
        } else {
            self.snd.buffer.room()
        }
    }

    /// Gives out at most `max` octets received in order; empty if there are none.
    pub fn read(&mut self, max: u32) -> Payload {
        let data = self.rcv.buffer.read(max);
        if !data.is_empty() {
            self.announce_room();
            self.acknowledge_reading();
        }
        data
    }

    /// Octets that can be read.
    pub fn readable(&self) -> u64 {
        self.rcv.buffer.readable()
    }

    /// Whether the peer has closed and everything before that was read.
    pub fn is_at_end(&self) -> bool {
        self.rcv.fin_taken && self.rcv.buffer.readable() == 0
    }

    /// Closes this end's direction: a FIN follows what was written (RFC 9293 section 3.10.4).
    pub fn close(&mut self) {
        match self.state {
            State::SynSent => self.end(Ended::Closed),
            _ => self.snd.fin = true,
        }
    }

    /// Whether this end has closed its direction.
    pub fn is_closing(&self) -> bool {
        self.snd.fin || self.ended.is_some()
    }

    /// Ends the connection at once, with a RST where the peer knows it (RFC 9293 section 3.10.5).
    pub fn abort(&mut self) {
        if self.state == State::Closed {
            return;
        }
        let both_closed = matches!(self.state, State::Closing | State::LastAck | State::TimeWait);
        if self.state != State::SynSent && !both_closed {
            self.snd.reset = Some(Box::new(self.reset()));
        }
        self.end(Ended::Aborted);
    }

    /// Connection state.
    pub fn state(&self) -> State {
        self.state
    }

    /// Whether the handshake is over.
    pub fn is_synchronised(&self) -> bool {
        !matches!(self.state, State::SynSent | State::SynReceived)
    }

    /// How it ended; none while it goes on. TIME-WAIT counts as ended: nothing can follow.
    pub fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// What happened so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What can be watched over time.
    pub fn metrics(&self) -> Metrics {
        Metrics {
            cwnd: self.window.cwnd,
            ssthresh: (self.window.ssthresh < u64::MAX).then_some(self.window.ssthresh),
            flight: self.flight(),
            pipe: self.scoreboard.pipe(self.snd.una, self.snd.nxt).saturating_sub(self.departed()),
            snd_wnd: self.snd.wnd,
            srtt: self.rtt.srtt(),
            rttvar: self.rtt.rttvar(),
            rto: self.rtt.rto(),
            state: self.state,
            phase: self.recovery.phase(),
            retransmissions: self.counters.retransmissions,
            pacing_rate: self.pacing_rate(),
        }
    }

    /// Octets that a full-sized segment carries: SMSS.
    pub fn segment_size(&self) -> u64 {
        self.window.smss
    }

    /// FlightSize.
    fn flight(&self) -> u64 {
        self.snd.nxt - self.snd.una
    }

    /// The offset after everything that is to be sent, the FIN included.
    fn snd_end(&self) -> u64 {
        self.snd.buffer.end() + u64::from(self.snd.fin)
    }

    fn seq(&self, offset: u64) -> Seq {
        // Sequence numbers are offsets modulo 2^32.
        self.snd.iss.wrapping_add(offset as u32)
    }

    /// RCV.NXT.
    fn rcv_nxt(&self) -> u64 {
        self.rcv.buffer.next() + u64::from(self.rcv.fin_taken)
    }

    /// Ends the connection; TIME-WAIT is entered elsewhere.
    fn end(&mut self, how: Ended) {
        self.state = State::Closed;
        self.ended.get_or_insert(how);
        self.timers = Timers::default();
        self.rcv.ack_now = false;
        self.snd.syn_pending = false;
    }
}

/// The shift count with which a buffer's whole size can be announced (RFC 7323 section 2.3).
fn window_shift(buffer: u32) -> u8 {
    (0..MAX_WINDOW_SHIFT).find(|&shift| buffer >> shift <= MAX_UNSCALED_WINDOW).unwrap_or(MAX_WINDOW_SHIFT)
}
