//! Processes on real hosts: the machines of `voxpath-apps` over any number of the kernel's sockets.
//!
//! One thread drives all of them, edge-triggered.

use crate::clock::Clock;
use crate::error::{Context, HostError};
use crate::live::{Alarm, wait};
use crate::namespace::Namespace;
use crate::sockets::{Socket, StreamState, bound, bound_with, set_tcp_options, watch};
use crate::tcp_info::tcp_info;
use crate::tls::Secrets;
use bytes::Bytes;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{
    RecvFlags, SendFlags, SocketFlags, SocketType, acceptfrom_with, connect, getsockname, ipproto, listen,
    recvfrom, sendto, sockopt,
};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use voxpath_apps::ProcessMachine;
use voxpath_apps::Stream;
use voxpath_apps::layers::Layer;
use voxpath_apps::layers::tls::Tls;
use voxpath_apps::process::{Event, ListenerId, Process, SocketId, Sockets};
use voxpath_sim::outside::{Held, OutsideProcess};
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;

const ALARM: u64 = u64::MAX;
/// When to look again whether what was written is acknowledged.
const LOOK_AGAIN: Span = Span::from_millis(20);
/// The largest datagram.
const LARGEST: usize = 65_535;

/// All processes that run on real hosts.
#[derive(Debug)]
pub(crate) struct Processes {
    clock: Clock,
    alarm: Alarm,
    running: Vec<Running>,
    /// Which of them do something of their own.
    works: Vec<bool>,
    table: Table,
}

/// The processes when all is over, and the connections that they had.
pub(crate) type Processed = (Vec<(OutsideProcess, ProcessMachine)>, Vec<Held>);

#[derive(Debug)]
struct Running {
    machine: ProcessMachine,
    outside: OutsideProcess,
    host: Namespace,
    events: VecDeque<Event>,
    secrets: Secrets,
    /// Whether it runs, and how many of its turns have been.
    runs: bool,
    turned: usize,
}

impl Running {
    /// When it is killed, or runs again.
    fn next_turn(&self) -> Option<(Time, bool)> {
        self.outside.turns.get(self.turned).copied()
    }

    /// When to look at it though nothing happened at its sockets.
    fn poll_timeout(&self) -> Option<Time> {
        let due = self.machine.poll_timeout().filter(|_| self.runs);
        due.into_iter().chain(self.next_turn().map(|(at, _)| at)).min()
    }

    /// Whether a run has to wait for it: one that is to run again is waited for.
    fn is_busy(&self) -> bool {
        if self.runs { self.machine.is_busy() } else { self.next_turn().is_some() }
    }
}

/// The sockets of all processes, by their numbers.
#[derive(Debug)]
struct Table {
    epoll: OwnedFd,
    places: Vec<Option<Place>>,
    free: Vec<u32>,
    held: Vec<Held>,
}

#[derive(Debug)]
struct Place {
    process: usize,
    socket: OwnedFd,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Listener,
    Connection { stands: bool, state: StreamState },
    Datagrams,
}

impl Processes {
    /// Starts the processes: what they open has to be there before the run starts.
    ///
    /// # Errors
    /// The kernel refuses an epoll instance, or a descriptor.
    pub(crate) fn new(
        hosts: &[Option<Namespace>],
        outside: Vec<(OutsideProcess, ProcessMachine)>,
    ) -> Result<Self, HostError> {
        let epoll = epoll::create(CreateFlags::CLOEXEC).context(|| "make an epoll instance".into())?;
        let alarm = Alarm::new()?;
        epoll::add(&epoll, alarm.descriptor(), EventData::new_u64(ALARM), EventFlags::IN)
            .context(|| "watch an eventfd".into())?;
        let table = Table { epoll, places: Vec::new(), free: Vec::new(), held: Vec::new() };
        let works = outside.iter().map(|(_, machine)| machine.work().is_some()).collect();
        let mut processes = Self { clock: Clock::start(), alarm, running: Vec::new(), works, table };
        for (outside, machine) in outside {
            let host = hosts[outside.host as usize].as_ref().expect("a process outside is on a real host");
            let host = host.try_clone()?;
            processes.running.push(Running {
                machine,
                outside,
                host,
                events: VecDeque::new(),
                secrets: Secrets::default(),
                runs: true,
                turned: 0,
            });
        }
        for process in 0..processes.running.len() {
            processes.with(process, |machine, sockets| machine.start(sockets))?;
        }
        Ok(processes)
    }

    pub(crate) fn alarm(&self) -> Alarm {
        self.alarm.clone()
    }

    /// Drives every process until `stop`, by a clock that has just begun, and gives them back; `busy` says whether a run has to wait for one.
    ///
    /// # Errors
    /// The kernel does not let us wait, or refuses a socket.
    pub(crate) fn run(
        mut self,
        clock: Clock,
        stop: &AtomicBool,
        busy: &AtomicBool,
    ) -> Result<Processed, HostError> {
        self.clock = clock;
        while !stop.load(Ordering::Acquire) {
            let works = self.running.iter().any(Running::is_busy);
            // Whatever they wrote is waited for; the kernel does not tell when it is acknowledged.
            let awaits = !works && self.table.is_outstanding(&self.works);
            busy.store(works || awaits, Ordering::Release);
            let look = awaits.then(|| self.clock.now() + LOOK_AGAIN);
            let due = self.running.iter().filter_map(Running::poll_timeout);
            let deadline = due.chain(look).min();
            let mut events = Vec::new();
            let Self { table, clock, alarm, .. } = &self;
            wait(&table.epoll, *clock, deadline, |data, flags| match data {
                ALARM => alarm.quiet(),
                data => events.push((data as u32, flags)),
            })?;
            let now = self.clock.now();
            let mut woken: Vec<usize> = (0..self.running.len())
                .filter(|&it| self.running[it].poll_timeout().is_some_and(|at| at <= now))
                .collect();
            for (place, flags) in events {
                woken.extend(self.hear(place, flags));
            }
            woken.sort_unstable();
            woken.dedup();
            for process in woken {
                self.turn(process, now)?;
                if self.running[process].runs {
                    self.with(process, |machine, sockets| machine.drive(now, sockets))?;
                }
            }
        }
        let processes = self.running.into_iter().map(|running| (running.outside, running.machine));
        Ok((processes.collect(), self.table.held))
    }

    /// Has a process be killed, or run again, as far as that is due.
    fn turn(&mut self, process: usize, now: Time) -> Result<(), HostError> {
        while let Some((_, runs)) = self.running[process].next_turn().filter(|(at, _)| *at <= now) {
            let running = &mut self.running[process];
            running.turned += 1;
            running.runs = runs;
            if runs {
                self.with(process, |machine, sockets| machine.start(sockets))?;
            } else {
                running.machine.stop(now);
                running.events.clear();
                self.table.abandon(process);
            }
        }
        Ok(())
    }

    /// What epoll says of a socket; the process that has to hear of it.
    fn hear(&mut self, number: u32, flags: EventFlags) -> Option<usize> {
        let place = self.table.places.get_mut(number as usize)?.as_mut()?;
        let process = place.process;
        match &mut place.kind {
            Kind::Listener => {
                while let Ok((accepted, peer)) = acceptfrom_with(
                    &self.table.place(number)?.socket,
                    SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
                ) {
                    let index = self.running[process].outside.index;
                    let remote = peer.and_then(|peer| SocketAddr::try_from(peer).ok());
                    if let (Some(local), Some(remote)) = (local_of(&accepted), remote) {
                        self.table.held.push(Held {
                            process: index,
                            ends: [local, remote],
                            has_opened: false,
                        });
                    }
                    let kind = Kind::Connection { stands: true, state: StreamState::default() };
                    // One that the kernel does not let us watch is closed again.
                    let Ok(socket) = self.table.add(Place { process, socket: accepted, kind }) else {
                        continue;
                    };
                    let listener = ListenerId(number);
                    self.running[process].events.push_back(Event::Accepted { listener, socket });
                }
                return Some(process);
            }
            Kind::Connection { stands, state } => {
                state.hear(flags);
                if flags.contains(EventFlags::ERR)
                    && let Ok(Err(errno)) = sockopt::socket_error(&place.socket)
                {
                    state.failed = Some(errno);
                }
                *stands |= flags.contains(EventFlags::OUT) && state.failed.is_none();
            }
            Kind::Datagrams => {}
        }
        self.running[process].events.push_back(Event::Ready(SocketId(number)));
        Some(process)
    }

    fn with(
        &mut self,
        process: usize,
        act: impl FnOnce(&mut ProcessMachine, &mut HostSockets<'_>),
    ) -> Result<(), HostError> {
        let Self { running, table, .. } = self;
        let Running { machine, outside, host, events, secrets, .. } = &mut running[process];
        let mut sockets = HostSockets { process, outside, host, events, secrets, table, failed: None };
        act(machine, &mut sockets);
        sockets.failed.map_or(Ok(()), Err)
    }
}

impl Table {
    fn place(&self, number: u32) -> Option<&Place> {
        self.places.get(number as usize)?.as_ref()
    }

    /// Whether a connection of such a process has segments that are not acknowledged.
    fn is_outstanding(&self, works: &[bool]) -> bool {
        self.places.iter().flatten().any(|Place { process, socket, kind }| {
            let is_open = matches!(kind, Kind::Connection { stands: true, state } if state.failed.is_none());
            is_open && works[*process] && tcp_info(socket).is_some_and(|info| info.unacked > 0)
        })
    }

    /// Closes whatever a process has; connections are reset.
    fn abandon(&mut self, process: usize) {
        for (number, place) in (0..).zip(&mut self.places) {
            let Some(Place { socket, kind, .. }) = place.take_if(|place| place.process == process) else {
                continue;
            };
            if matches!(kind, Kind::Connection { .. }) {
                // One that does not take the option closes, which ends it as well.
                let _ = sockopt::set_socket_linger(&socket, Some(Duration::ZERO));
            }
            self.free.push(number);
        }
    }

    fn add(&mut self, place: Place) -> Result<SocketId, HostError> {
        let number = self.free.pop().unwrap_or(self.places.len() as u32);
        watch(&self.epoll, &place.socket, number.into())?;
        match self.places.get_mut(number as usize) {
            Some(free) => *free = Some(place),
            None => self.places.push(Some(place)),
        }
        Ok(SocketId(number))
    }
}

/// A socket's own address.
fn local_of(socket: &OwnedFd) -> Option<SocketAddr> {
    SocketAddr::try_from(getsockname(socket).ok()?).ok()
}

/// The sockets of a process on a real host.
struct HostSockets<'a> {
    process: usize,
    outside: &'a OutsideProcess,
    host: &'a Namespace,
    events: &'a mut VecDeque<Event>,
    secrets: &'a mut Secrets,
    table: &'a mut Table,
    /// What the kernel has refused.
    failed: Option<HostError>,
}

impl HostSockets<'_> {
    /// Opens a socket of this process, or notes why the kernel does not.
    fn open(&mut self, open: impl FnOnce(&Self) -> Result<(OwnedFd, Kind), HostError>) -> SocketId {
        let opened = open(self)
            .and_then(|(socket, kind)| self.table.add(Place { process: self.process, socket, kind }));
        opened.unwrap_or_else(|error| {
            self.failed.get_or_insert(error);
            // A run that failed ends; what is asked of this socket until then is answered by none.
            SocketId(u32::MAX)
        })
    }

    fn any(is_ipv4: bool, port: u16) -> SocketAddr {
        let ip = if is_ipv4 { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
        SocketAddr::new(ip, port)
    }

    fn stream_socket(&self, local: SocketAddr, is_listener: bool) -> Result<OwnedFd, HostError> {
        let protocol = self.outside.is_multipath.then_some(ipproto::MPTCP);
        let socket = bound_with(self.host, SocketType::STREAM, protocol, local)?;
        set_tcp_options(&socket, local, &self.outside.tcp[usize::from(is_listener)])?;
        Ok(socket)
    }
}

impl Sockets for HostSockets<'_> {
    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn listen(&mut self, port: u16) -> ListenerId {
        let SocketId(number) = self.open(|this| {
            let socket = this.stream_socket(Self::any(this.outside.is_ipv4, port), true)?;
            listen(&socket, 4096).context(|| format!("listen at port {port}"))?;
            Ok((socket, Kind::Listener))
        });
        ListenerId(number)
    }

    fn connect(&mut self, to: SocketAddr, _on_behalf_of: Option<SocketId>) -> SocketId {
        let opened = self.open(|this| {
            let socket = this.stream_socket(Self::any(to.is_ipv4(), 0), false)?;
            let mut state = StreamState::default();
            match connect(&socket, &to) {
                Ok(()) | Err(Errno::INPROGRESS) => {}
                Err(errno) => state.failed = Some(errno),
            }
            Ok((socket, Kind::Connection { stands: false, state }))
        });
        if let Some(Place { socket, .. }) = self.table.places.get(opened.0 as usize).and_then(Option::as_ref)
            && let Some(local) = local_of(socket)
        {
            let process = self.outside.index;
            self.table.held.push(Held { process, ends: [local, to], has_opened: true });
        }
        opened
    }

    fn stream(&mut self, socket: SocketId) -> impl Stream {
        match self.table.places.get_mut(socket.0 as usize) {
            Some(Some(Place { socket, kind: Kind::Connection { stands, state }, .. })) => {
                let stands = *stands && state.failed.is_none();
                HostStream { stands, socket: Some(Socket::new(socket, state)) }
            }
            _ => HostStream { stands: false, socket: None },
        }
    }

    fn has_ended(&self, socket: SocketId) -> bool {
        match self.table.place(socket.0).map(|place| &place.kind) {
            Some(Kind::Connection { state, .. }) => state.failed.is_some(),
            _ => true,
        }
    }

    fn bind(&mut self, port: Option<u16>, _on_behalf_of: Option<SocketId>) -> SocketId {
        self.open(|this| {
            let local = Self::any(this.outside.is_ipv4, port.unwrap_or(0));
            Ok((bound(this.host, SocketType::DGRAM, local)?, Kind::Datagrams))
        })
    }

    fn send_to(&mut self, socket: SocketId, to: SocketAddr, data: Payload) {
        let Some(place) = self.table.place(socket.0) else { return };
        let mut bytes = Vec::new();
        data.write_to(&mut bytes);
        // What the kernel does not take is lost; an error that an earlier datagram came back with is told instead of
        // sending: once more.
        let _ = sendto(&place.socket, &bytes, SendFlags::DONTWAIT, &to)
            .or_else(|_| sendto(&place.socket, &bytes, SendFlags::DONTWAIT, &to));
    }

    fn receive_from(&mut self, socket: SocketId) -> Option<(SocketAddr, Payload)> {
        let place = self.table.place(socket.0)?;
        let mut buffer = vec![0; LARGEST];
        loop {
            match recvfrom(&place.socket, &mut buffer[..], RecvFlags::DONTWAIT) {
                Ok((_, len, Some(from))) => {
                    let data = Payload::bytes(Bytes::copy_from_slice(&buffer[..len]));
                    return Some((SocketAddr::try_from(from).ok()?, data));
                }
                Ok((_, _, None)) | Err(Errno::AGAIN) => return None,
                // It belongs to something sent earlier, and reading it has cleared it.
                Err(_) => {}
            }
        }
    }

    fn secure(&mut self, tls: &Tls, is_client: bool) -> Box<dyn Layer> {
        self.secrets.end(tls, is_client)
    }

    fn release(&mut self, socket: SocketId) {
        // Closing it lets the kernel finish what was closed, and reset what has unread octets.
        if let Some(place) = self.table.places.get_mut(socket.0 as usize)
            && place.take().is_some()
        {
            self.table.free.push(socket.0);
            let gone = |event: &Event| *event == Event::Ready(socket);
            self.events.retain(|event| !gone(event));
        }
    }
}

/// A connection as a process sees it, whether it stands yet or not.
struct HostStream<'a> {
    stands: bool,
    socket: Option<Socket<'a>>,
}

impl Stream for HostStream<'_> {
    fn is_connected(&self) -> bool {
        self.stands
    }

    fn writable(&self) -> u32 {
        self.socket.as_ref().filter(|_| self.stands).map_or(0, Stream::writable)
    }

    fn write(&mut self, data: &Payload) -> u32 {
        self.socket.as_mut().filter(|_| self.stands).map_or(0, |socket| socket.write(data))
    }

    fn read(&mut self, max: u32) -> Payload {
        self.socket.as_mut().filter(|_| self.stands).map_or(Payload::Empty, |socket| socket.read(max))
    }

    fn is_at_end(&self) -> bool {
        self.socket.as_ref().is_some_and(Stream::is_at_end)
    }

    fn close(&mut self) {
        if let Some(socket) = &mut self.socket {
            socket.close();
        }
    }
}
