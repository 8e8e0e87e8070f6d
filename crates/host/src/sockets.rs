//! The applications of `voxpath-apps` over the kernel's sockets: the second driver of the same machines.
//!
//! One thread drives all of them, edge-triggered: a machine is driven until the kernel takes and gives no more.

use crate::clock::Clock;
use crate::error::{Context, HostError};
use crate::live::{Alarm, wait};
use crate::marks::{self, Came};
use crate::mptcp_info::mptcp_info;
use crate::namespace::Namespace;
use crate::run::{Spent, spent};
use crate::tcp_info::{TcpInfo, tcp_info};
use bytes::Bytes;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::{Errno, ioctl_fionread};
use rustix::net::sockopt;
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, acceptfrom_with, bind,
    connect, ipproto, listen, recv, send, shutdown, socket_with,
};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use voxpath_apps::{DatagramMachine, Datagrams, Machine, Stream, StreamMachine};
use voxpath_sim::outside::Outside;
use voxpath_tcp::Ended;
use voxpath_tcp::config::{Config, Profile};
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::ip::Ecn;

/// Octets handed over at a time.
const PIECE: usize = 64 << 10;
/// Octets that are written at a time. A message is written whole, as its program would: the end of one write leaves as a small segment where
/// the window is open, and Nagle's algorithm then holds the end of the next.
const WRITE: usize = 256 << 10;
thread_local! {
    /// What is being written: as that of a program, it is in memory that is there already. New memory costs a page fault for each 4 KiB.
    static WRITTEN: RefCell<Vec<u8>> = RefCell::new(vec![1; WRITE + ROUNDING]);
}
/// What a pattern takes of memory for a moment beside its octets.
const ROUNDING: usize = 16;

/// Has the memory there that this thread writes from.
pub(crate) fn warm_up() {
    WRITTEN.with_borrow(|_| ());
}

/// How often one machine is driven before the others have their turn.
const TURNS: usize = 16;
/// How much of its schedule a sender of datagrams that is late catches up with at a time.
const SENDING: Span = Span::from_millis(1);
/// Above every index of an end.
const LISTENER: u64 = 1 << 40;
const ALARM: u64 = u64::MAX;
/// `TCP_CLOSE` of `TCP_INFO`.
const CLOSED: u8 = 7;
/// A value of a socket over time: when, flow, end, metric, value.
pub type Sample = (Time, u32, u8, &'static str, u64);

/// What became of the ends.
#[derive(Debug)]
pub struct Harvest {
    /// The ends.
    pub outside: Vec<Outside>,
    /// What was sampled of them.
    pub samples: Vec<Sample>,
    /// What their thread had of a processor.
    pub spent: Spent,
}

/// How the thread of the sockets and the others see each other.
#[derive(Debug, Default)]
pub struct Shared {
    /// The others have heard enough.
    pub stop: AtomicBool,
    /// Ends of flows that still have something to do.
    pub busy: AtomicUsize,
}

/// All ends of flows that run on real hosts.
#[derive(Debug)]
pub struct Sockets {
    clock: Clock,
    epoll: OwnedFd,
    ends: Vec<End>,
    listeners: Vec<Listener>,
    /// The server's end that a connection from the second address to the first one is for, or from anybody.
    answering: BTreeMap<(SocketAddr, Option<SocketAddr>), usize>,
    ready: VecDeque<usize>,
    alarm: Alarm,
    sampling: Option<Sampling>,
}

/// What takes connections for all flows that end at its address.
#[derive(Debug)]
struct Listener {
    local: SocketAddr,
    socket: OwnedFd,
    /// What it was told, and those that it takes have from it.
    told: Arc<Config>,
}

#[derive(Debug)]
struct Sampling {
    every: Span,
    next: Time,
    samples: Vec<Sample>,
}

#[derive(Debug)]
struct End {
    outside: Outside,
    socket: Option<OwnedFd>,
    phase: Phase,
    state: StreamState,
    is_queued: bool,
    /// What was last recorded, while it is watched.
    watched: Option<TcpInfo>,
    /// How the kernel marks its datagrams.
    mark: Ecn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Before the flow's start, or before the peer's SYN.
    Waiting,
    Connecting,
    Open,
    Done,
}

impl Sockets {
    /// Opens what has to be there before the run starts: listeners and datagram sockets.
    ///
    /// `hosts` are the namespaces by index of the host; `sample` records values of connections this often.
    ///
    /// # Errors
    /// The kernel refuses a socket or one of its options.
    pub fn new(
        hosts: &[Option<Namespace>],
        outside: Vec<Outside>,
        sample: Option<Span>,
    ) -> Result<Self, HostError> {
        let epoll = epoll::create(CreateFlags::CLOEXEC).context(|| "make an epoll instance".into())?;
        let alarm = Alarm::new()?;
        epoll::add(&epoll, alarm.descriptor(), EventData::new_u64(ALARM), EventFlags::IN)
            .context(|| "watch an eventfd".into())?;
        let mut sockets = Self {
            clock: Clock::start(),
            epoll,
            ends: Vec::new(),
            listeners: Vec::new(),
            answering: BTreeMap::new(),
            ready: VecDeque::new(),
            alarm,
            sampling: sample.map(|every| Sampling { every, next: Time::ZERO, samples: Vec::new() }),
        };
        let multipath: BTreeSet<SocketAddr> =
            outside.iter().filter(|outside| outside.is_multipath).map(|outside| outside.local).collect();
        for outside in outside {
            let index = sockets.ends.len();
            let host = hosts[outside.host as usize].as_ref().expect("an end outside is on a real host");
            let mut phase = Phase::Waiting;
            let socket = match (&outside.machine, outside.end) {
                // A client is bound now, so that nobody takes its port, and connects when its flow starts.
                (Machine::Stream(_), 0) => Some(stream_socket(host, &outside, outside.is_multipath)?),
                (Machine::Stream(_), _) => {
                    sockets.listen(host, &outside, multipath.contains(&outside.local))?;
                    sockets.answering.insert((outside.local, outside.remote), index);
                    None
                }
                (Machine::Datagrams(_), _) => {
                    phase = Phase::Open;
                    let socket = bound(host, SocketType::DGRAM, outside.local)?;
                    marks::tell(&socket, outside.local)?;
                    if let Some(remote) = outside.remote {
                        connect(&socket, &remote).context(|| format!("reach {remote}"))?;
                    }
                    Some(socket)
                }
            };
            if let Some(socket) = &socket {
                watch(&sockets.epoll, socket, index as u64)?;
            }
            let end = End {
                outside,
                socket,
                phase,
                state: StreamState::default(),
                is_queued: false,
                watched: None,
                mark: Ecn::NotEct,
            };
            sockets.ends.push(end);
        }
        Ok(sockets)
    }

    /// What wakes the thread, after [`Shared::stop`] was set.
    pub(crate) fn alarm(&self) -> Alarm {
        self.alarm.clone()
    }

    /// Ends that still have something to do.
    pub(crate) fn busy(&self) -> usize {
        self.ends.iter().filter(|end| end.is_busy()).count()
    }

    /// Listens for this flow and all others that end there. A socket of Multipath TCP takes connections of TCP too, but not the other way round.
    fn listen(&mut self, host: &Namespace, outside: &Outside, is_multipath: bool) -> Result<(), HostError> {
        if self.listeners.iter().any(|listener| listener.local == outside.local) {
            return Ok(());
        }
        let socket = stream_socket(host, outside, is_multipath)?;
        listen(&socket, 4096).context(|| format!("listen at {}", outside.local))?;
        watch(&self.epoll, &socket, LISTENER + self.listeners.len() as u64)?;
        let told = outside.tcp.clone().expect("TCP has parameters");
        self.listeners.push(Listener { local: outside.local, socket, told });
        Ok(())
    }

    /// Drives every end until [`Shared::stop`], by a clock that has just begun; what became of them, and what was sampled.
    ///
    /// # Errors
    /// The kernel does not let us wait.
    pub fn run(mut self, clock: Clock, shared: &Shared) -> Result<Harvest, HostError> {
        self.clock = clock;
        loop {
            let now = self.clock.now();
            self.start_what_is_due(now);
            self.sample(now);
            // Each once: those that go on moving must not keep the others, and the clock, from being heard.
            for _ in 0..self.ready.len() {
                let index = self.ready.pop_front().expect("nobody else takes from it");
                self.ends[index].is_queued = false;
                self.drive(index);
            }
            shared.busy.store(self.busy(), Ordering::Release);
            if shared.stop.load(Ordering::Acquire) {
                break;
            }
            let deadline = if self.ready.is_empty() { self.poll_timeout() } else { Some(now) };
            let Self { epoll, clock, alarm, .. } = &self;
            let mut events = Vec::new();
            wait(epoll, *clock, deadline, |data, flags| match data {
                ALARM => alarm.quiet(),
                data => events.push((data, flags)),
            })?;
            for (data, flags) in events {
                match data.checked_sub(LISTENER) {
                    Some(listener) => self.accept(listener as usize)?,
                    None => self.handle(data as usize, flags),
                }
            }
        }
        for index in 0..self.ends.len() {
            // What has arrived by now still counts.
            self.drive(index);
            self.ends[index].close_books();
        }
        let samples = self.sampling.map(|sampling| sampling.samples).unwrap_or_default();
        let outside = self.ends.into_iter().map(|end| end.outside).collect();
        Ok(Harvest { outside, samples, spent: spent() })
    }

    fn poll_timeout(&self) -> Option<Time> {
        let ends = self.ends.iter().filter_map(End::poll_timeout);
        let open = self.ends.iter().any(|end| end.phase == Phase::Open);
        ends.chain(self.sampling.as_ref().filter(|_| open).map(|sampling| sampling.next)).min()
    }

    fn start_what_is_due(&mut self, now: Time) {
        for index in 0..self.ends.len() {
            if self.ends[index].poll_timeout().is_some_and(|at| at <= now) {
                if self.ends[index].outside.stop.take_if(|at| *at <= now).is_some() {
                    self.ends[index].outside.machine.stop();
                }
                if self.ends[index].phase == Phase::Waiting {
                    self.ends[index].connect();
                }
                self.queue(index);
            }
        }
    }

    fn queue(&mut self, index: usize) {
        if !std::mem::replace(&mut self.ends[index].is_queued, true) {
            self.ready.push_back(index);
        }
    }

    fn accept(&mut self, listener: usize) -> Result<(), HostError> {
        let Listener { local, socket, told } = &self.listeners[listener];
        // A connection that was given up before it was accepted is none.
        while let Ok((accepted, peer)) = acceptfrom_with(socket, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)
        {
            let peer = peer.and_then(|peer| SocketAddr::try_from(peer).ok());
            let known = |peer| self.answering.get(&(*local, Some(peer)));
            let Some(&index) = peer.and_then(known).or_else(|| self.answering.get(&(*local, None))) else {
                continue; // Dropping it closes it: no flow of the plan.
            };
            if self.ends[index].phase != Phase::Waiting
                || watch(&self.epoll, &accepted, index as u64).is_err()
            {
                continue;
            }
            let end = &mut self.ends[index];
            // Before any data, of which it decides when it leaves.
            if let Some(asked) = end.outside.tcp.as_ref().filter(|&asked| asked != told) {
                set_tcp_options(&accepted, *local, asked)?;
            }
            end.socket = Some(accepted);
            end.phase = Phase::Open;
            end.outside.account.established_at = Some(self.clock.now());
            if !std::mem::replace(&mut end.is_queued, true) {
                self.ready.push_back(index);
            }
        }
        Ok(())
    }

    fn handle(&mut self, index: usize, flags: EventFlags) {
        let now = self.clock.now();
        self.ends[index].handle(now, flags);
        self.queue(index);
    }

    fn drive(&mut self, index: usize) {
        for _ in 0..TURNS {
            if !self.ends[index].drive(self.clock) {
                return;
            }
        }
        self.queue(index);
    }

    /// Records what has changed of open connections.
    fn sample(&mut self, now: Time) {
        let Some(sampling) = self.sampling.as_mut().filter(|sampling| sampling.next <= now) else { return };
        for end in &mut self.ends {
            if end.phase != Phase::Open {
                continue;
            }
            let Some(info) = end.socket.as_ref().and_then(tcp_info) else { continue };
            let (flow, number) = (end.outside.flow, end.outside.end);
            let changes = info.changes_since(end.watched.replace(info));
            sampling.samples.extend(changes.map(|(name, value)| (now, flow, number, name, value)));
        }
        sampling.next = now + sampling.every;
    }
}

impl End {
    /// Whether the run has to wait for it.
    fn is_busy(&self) -> bool {
        match &self.outside.machine {
            Machine::Stream(_) => self.phase != Phase::Done,
            Machine::Datagrams(application) => {
                self.phase != Phase::Done && application.poll_timeout().is_some()
            }
        }
    }

    /// When to drive it though nothing happens at its socket.
    fn poll_timeout(&self) -> Option<Time> {
        let stop = self.outside.stop.filter(|_| self.phase != Phase::Done);
        self.machine_timeout().into_iter().chain(stop).min()
    }

    fn machine_timeout(&self) -> Option<Time> {
        match (&self.outside.machine, self.phase) {
            (_, Phase::Done | Phase::Connecting) => None,
            (Machine::Stream(_), Phase::Waiting) => (self.outside.end == 0).then_some(self.outside.start),
            (Machine::Stream(application), Phase::Open) => application.poll_timeout(),
            (Machine::Datagrams(application), _) => application.poll_timeout(),
        }
    }

    fn connect(&mut self) {
        let socket = self.socket.as_ref().expect("a client is bound before its flow starts");
        let remote = self.outside.remote.expect("the end that opens knows whom it talks to");
        match connect(socket, &remote) {
            Ok(()) | Err(Errno::INPROGRESS) => self.phase = Phase::Connecting,
            Err(errno) => self.fail(errno),
        }
    }

    fn fail(&mut self, errno: Errno) {
        self.outside.account.ended = Some(match errno {
            Errno::CONNREFUSED => Ended::Refused,
            Errno::TIMEDOUT | Errno::HOSTUNREACH | Errno::NETUNREACH => Ended::TimedOut,
            _ => Ended::Reset,
        });
        self.finish();
    }

    fn finish(&mut self) {
        self.close_books();
        self.phase = Phase::Done;
        self.socket = None;
    }

    /// Takes over what the kernel counted.
    fn close_books(&mut self) {
        let account = &mut self.outside.account;
        let Some(socket) = &self.socket else { return };
        if self.outside.is_multipath {
            account.multipath = Some(mptcp_info(socket));
        }
        let Some(info) = tcp_info(socket) else { return };
        account.bytes_delivered = Some(info.delivered_bytes(self.outside.end == 0));
        account.srtt = info.srtt();
        account.min_rtt = info.min_rtt();
        account.cwnd_bytes = Some(info.cwnd_bytes());
        account.packets_sent = info.segments_out.into();
        account.data_segments_sent = info.data_segments_out.map(u64::from);
        account.retransmissions = Some(info.total_retransmissions.into());
        account.timeouts = info.total_timeouts.map(u64::from);
    }

    /// The socket has something to say.
    fn handle(&mut self, now: Time, flags: EventFlags) {
        let Some(socket) = &self.socket else { return };
        self.state.hear(flags);
        if flags.contains(EventFlags::ERR)
            && let Ok(Err(errno)) = sockopt::socket_error(socket)
            // A datagram that nobody took says so; the sender of datagrams does not care.
            && matches!(self.outside.machine, Machine::Stream(_))
        {
            self.fail(errno);
            return;
        }
        if self.phase == Phase::Connecting && flags.contains(EventFlags::OUT) {
            self.phase = Phase::Open;
            self.outside.account.established_at = Some(now);
        }
    }

    /// Lets the machine do what it can; whether octets moved.
    ///
    /// What it reads has arrived before the time that it is told: a thread that was stopped in between must not
    /// find what came meanwhile, and take it for something that came before.
    fn drive(&mut self, clock: Clock) -> bool {
        let Some(socket) = self.socket.as_ref().filter(|_| self.phase == Phase::Open) else { return false };
        match &mut self.outside.machine {
            Machine::Stream(application) => {
                let mut stream = Socket::new(socket, &mut self.state);
                application.drive(clock.now(), &mut stream);
                let (moved, failed) = (self.state.moved, self.state.failed);
                // Both directions are closed, and the kernel has nothing left to send or to wait for.
                let is_over =
                    application.record().finished && tcp_info(socket).is_none_or(|info| info.state == CLOSED);
                if let Some(errno) = failed {
                    self.fail(errno);
                } else if is_over {
                    self.outside.account.ended = Some(Ended::Closed);
                    self.finish();
                }
                moved
            }
            Machine::Datagrams(application) => {
                let is_ipv4 = self.outside.local.is_ipv4();
                let mut datagrams =
                    DatagramSocket { socket, is_ipv4, mark: &mut self.mark, inbox: None, sent: 0 };
                let mut buffer = vec![0; PIECE];
                loop {
                    match marks::receive(socket, &mut buffer) {
                        Ok(Came { len, from, ecn }) => {
                            if self.outside.remote.is_none() {
                                // Whoever comes first is answered.
                                self.outside.remote = from;
                                if let Some(remote) = self.outside.remote {
                                    let _ = connect(socket, &remote);
                                }
                            }
                            let data = Payload::bytes(Bytes::copy_from_slice(&buffer[..len]));
                            datagrams.inbox = Some((data, ecn));
                            application.drive(clock.now(), &mut datagrams);
                        }
                        Err(Errno::AGAIN) => break,
                        // It belongs to something sent earlier, and reading it has cleared it.
                        Err(_) => {}
                    }
                }
                let now = clock.now();
                if let Some(due) = application.poll_timeout().filter(|due| *due <= now) {
                    // Who asks for more than the machine can send is not to keep it for himself.
                    application.drive(now.min(due + SENDING), &mut datagrams);
                }
                self.outside.account.packets_sent += datagrams.sent;
                application.poll_timeout().is_some_and(|due| due <= now)
            }
        }
    }
}

/// What is known of a connection's socket.
#[derive(Debug, Default)]
pub(crate) struct StreamState {
    /// The kernel's buffer was full at the last write.
    blocked: bool,
    /// The peer has closed: nothing comes but what has come.
    hung_up: bool,
    /// The peer has closed, and all that it sent was read.
    at_end: bool,
    /// Octets that were there when it was looked at last, and were not read since.
    readable: u64,
    /// Octets moved since then.
    moved: bool,
    /// What went wrong.
    pub(crate) failed: Option<Errno>,
}

impl StreamState {
    /// Takes in what epoll says.
    pub(crate) fn hear(&mut self, flags: EventFlags) {
        if flags.contains(EventFlags::OUT) {
            self.blocked = false;
        }
        self.hung_up |= flags.contains(EventFlags::RDHUP);
    }
}

/// A connected socket as applications see it.
pub(crate) struct Socket<'a> {
    socket: &'a OwnedFd,
    state: &'a mut StreamState,
}

impl<'a> Socket<'a> {
    /// Looks what is there: what comes later is not read, since it is younger than the time that its reader is told.
    pub(crate) fn new(socket: &'a OwnedFd, state: &'a mut StreamState) -> Self {
        // It fails for no connected socket.
        state.readable = ioctl_fionread(socket).unwrap_or(0);
        state.moved = false;
        Self { socket, state }
    }
}

impl Stream for Socket<'_> {
    fn is_connected(&self) -> bool {
        true
    }

    fn writable(&self) -> u32 {
        if self.state.blocked || self.state.failed.is_some() { 0 } else { WRITE as u32 }
    }

    fn write(&mut self, data: &Payload) -> u32 {
        if data.is_empty() || self.writable() == 0 {
            return 0;
        }
        let sent = WRITTEN.with_borrow_mut(|bytes| {
            bytes.clear();
            data.slice(0, data.len().min(WRITE as u32)).write_to(bytes);
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            (bytes.len(), send(self.socket, bytes, flags))
        });
        match sent {
            (len, Ok(taken)) => {
                self.state.blocked = taken < len;
                self.state.moved = true;
                // No more than a piece.
                taken as u32
            }
            (_, Err(Errno::AGAIN)) => {
                self.state.blocked = true;
                0
            }
            (_, Err(errno)) => {
                self.state.failed = Some(errno);
                0
            }
        }
    }

    fn read(&mut self, max: u32) -> Payload {
        if self.state.at_end
            || self.state.failed.is_some()
            || (self.state.readable == 0 && !self.state.hung_up)
        {
            return Payload::Empty;
        }
        // Where the peer has closed, all that it sent is there, and its end too.
        let there = if self.state.hung_up { PIECE } else { PIECE.min(self.state.readable as usize) };
        let mut buffer = vec![0; there.min(max as usize)];
        match recv(self.socket, &mut buffer[..], RecvFlags::DONTWAIT) {
            Ok((_, 0)) => self.state.at_end = true,
            Ok((_, len)) => {
                self.state.moved = true;
                self.state.readable = self.state.readable.saturating_sub(len as u64);
                buffer.truncate(len);
                return Payload::bytes(buffer.into());
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => self.state.failed = Some(errno),
        }
        Payload::Empty
    }

    fn is_at_end(&self) -> bool {
        self.state.at_end
    }

    fn close(&mut self) {
        // A connection that is gone needs no closing.
        let _ = shutdown(self.socket, Shutdown::Write);
    }
}

/// A datagram socket as applications see it.
struct DatagramSocket<'a> {
    socket: &'a OwnedFd,
    is_ipv4: bool,
    /// How the kernel marks what is sent.
    mark: &'a mut Ecn,
    /// What has come, and its mark.
    inbox: Option<(Payload, Ecn)>,
    sent: u64,
}

impl Datagrams for DatagramSocket<'_> {
    fn receive_marked(&mut self) -> Option<(Payload, Ecn)> {
        self.inbox.take()
    }

    fn send_marked(&mut self, data: Payload, ecn: Ecn) {
        // A datagram socket takes any mark, so it has this one afterwards.
        if *self.mark != ecn && marks::set(self.socket, self.is_ipv4, ecn).is_ok() {
            *self.mark = ecn;
        }
        let mut bytes = Vec::new();
        data.write_to(&mut bytes);
        // Datagrams are not repeated: what the kernel does not take is lost, and the receiver misses it. An
        // error that an earlier datagram came back with is told instead of sending: once more.
        let sent = send(self.socket, &bytes, SendFlags::DONTWAIT)
            .or_else(|_| send(self.socket, &bytes, SendFlags::DONTWAIT));
        self.sent += u64::from(sent.is_ok());
    }
}

pub(crate) fn watch(epoll: &OwnedFd, socket: &OwnedFd, data: u64) -> Result<(), HostError> {
    let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
    epoll::add(epoll, socket, EventData::new_u64(data), flags).context(|| "watch a socket".into())
}

/// A socket of a host, bound to an address.
pub(crate) fn bound(host: &Namespace, kind: SocketType, local: SocketAddr) -> Result<OwnedFd, HostError> {
    bound_with(host, kind, None, local)
}

/// The same of a protocol; none is the usual one of its kind.
pub(crate) fn bound_with(
    host: &Namespace,
    kind: SocketType,
    protocol: Option<Protocol>,
    local: SocketAddr,
) -> Result<OwnedFd, HostError> {
    let family = if local.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    // A socket stays in the namespace that it was made in.
    let socket = host.inside(|| {
        socket_with(family, kind, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, protocol)
            .context(|| "make a socket".into())
    })?;
    sockopt::set_socket_reuseaddr(&socket, true).context(|| "share an address".into())?;
    bind(&socket, &local).context(|| format!("bind a socket to {local}"))?;
    Ok(socket)
}

/// A TCP socket with what the plan asks of its stack and the kernel sets by socket.
fn stream_socket(host: &Namespace, outside: &Outside, is_multipath: bool) -> Result<OwnedFd, HostError> {
    let protocol = is_multipath.then_some(ipproto::MPTCP);
    let socket = bound_with(host, SocketType::STREAM, protocol, outside.local)?;
    let asked = outside.tcp.as_ref().expect("TCP has parameters");
    set_tcp_options(&socket, outside.local, asked)?;
    Ok(socket)
}

/// Asks of a socket what `asked` says and a socket can be told.
pub(crate) fn set_tcp_options(socket: &OwnedFd, local: SocketAddr, asked: &Config) -> Result<(), HostError> {
    let usual = Profile::Linux.config();
    let option = |name: &'static str| move || format!("set {name} at {local}");
    let congestion = asked.congestion.name();
    sockopt::set_tcp_congestion(socket, congestion).context(option("TCP_CONGESTION"))?;
    sockopt::set_tcp_nodelay(socket, !asked.nagle).context(option("TCP_NODELAY"))?;
    if asked.receive_buffer != usual.receive_buffer {
        let size = asked.receive_buffer as usize;
        sockopt::set_socket_recv_buffer_size(socket, size).context(option("SO_RCVBUF"))?;
        // Above its limit the kernel takes the limit, and says nothing.
        let granted = sockopt::socket_recv_buffer_size(socket).context(option("SO_RCVBUF"))? / 2;
        if granted < size {
            let reason = format!("the kernel gives {granted} of {size} bytes; raise net.core.rmem_max");
            return Err(HostError::new(option("SO_RCVBUF")(), reason));
        }
    }
    if asked.send_buffer != usual.send_buffer {
        // The kernel doubles what it is asked for, to have room for its own accounts.
        let size = asked.send_buffer as usize / 2;
        sockopt::set_socket_send_buffer_size(socket, size).context(option("SO_SNDBUF"))?;
        let granted = sockopt::socket_send_buffer_size(socket).context(option("SO_SNDBUF"))? / 2;
        if granted < size {
            let reason = format!("the kernel gives {granted} of {size} bytes; raise net.core.wmem_max");
            return Err(HostError::new(option("SO_SNDBUF")(), reason));
        }
    }
    Ok(())
}
