//! A script over the kernel's TCP or Multipath TCP: a namespace with one device, at whose other end the script speaks for the peer.
//!
//! The kernel's clock is the wall's, so its times hold within the script's tolerance. How late we were ourselves is measured; a run
//! that failed while we were late says nothing, and is made again.

use crate::clock::Clock;
use crate::device::{Device, Kind};
use crate::error::{Context, HostError};
use crate::kernel_settings as settings;
use crate::live::wait;
use crate::mptcp_info::{mptcp_info, subflows};
use crate::namespace::Namespace;
use crate::run::{LOOP_PRIORITY, hurry, spent};
use crate::sockets::set_tcp_options;
use crate::tcp_info::tcp_info;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::{Errno, ioctl_fionread};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, acceptfrom_with, bind, connect,
    ipproto, listen, recv, send, shutdown, socket_with, sockopt,
};
use std::net::SocketAddr;
use std::time::Duration;
use voxpath_script::{
    CONNECTS, Call, Endpoint, Failure, HOST, LISTENS, OURS, Observed, PEER, Peer, Phase, Script, Sent, Stack,
    State, THEIRS, Transport as Speaks,
};
use voxpath_tcp::{Config, Ended};
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::icmp::IcmpHeader;
use voxpath_wire::ip::{Ecn, IpHeader, Protocol};
use voxpath_wire::packet::{Parsed, Transport, emit_icmp, emit_tcp, parse_packet};
use voxpath_wire::tcp::{Seq, TcpHeader};

const DEVICE: &str = "net0";
/// The IP and TCP headers, which the device's size counts beside the data.
const HEADERS: u32 = 40;
/// The number of the peer's SYN.
const IRS: Seq = Seq(u32::MAX - 2000);
/// `TCP_INFINITE_SSTHRESH`: no loss yet.
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;
/// Runs that were late are made again so often.
const ATTEMPTS: u32 = 5;

/// A run that held.
#[derive(Debug, Clone)]
pub struct KernelRun {
    /// What left and what arrived.
    pub ladder: Vec<String>,
    /// The latest that we were ourselves.
    pub late: Span,
    /// Runs that it took, for having been late.
    pub attempts: u32,
}

/// Runs a script over the kernel.
///
/// # Errors
/// The machine refuses; inside, the first event that does not hold.
pub fn run_on_kernel(script: &Script) -> Result<Result<KernelRun, Failure>, HostError> {
    settings::check(script)?;
    let config = script
        .config(Stack::Kernel)
        .map_err(|(line, reason)| HostError::new(format!("use line {line}"), reason))?;
    let mut attempts = 1;
    loop {
        let (ran, late) = attempt(script, &config)?;
        match ran {
            Ok(ladder) => return Ok(Ok(KernelRun { ladder, late, attempts })),
            Err(_) if late > script.tolerance / 2 && attempts < ATTEMPTS => attempts += 1,
            Err(mut failure) => {
                if late > script.tolerance / 2 {
                    failure.reason += &format!(" (but we were {late} late, in {attempts} runs)");
                }
                return Ok(Err(failure));
            }
        }
    }
}

type Attempt = (Result<Vec<String>, Failure>, Span);

fn attempt(script: &Script, config: &Config) -> Result<Attempt, HostError> {
    let namespace = Namespace::new()?;
    let device = Device::new(&namespace, DEVICE, Some(Kind::Tun))?;
    let of_multipath = settings::multipath(script)?;
    namespace.sysctl(&settings::sysctl(config))?;
    namespace.sysctl(&of_multipath.sysctl)?;
    namespace.ip(&format!(
        "link set lo up\naddr add {HOST}/32 dev {DEVICE}\n\
         link set {DEVICE} mtu {} txqueuelen 10000 up\nroute add default dev {DEVICE} {}\n{}",
        u32::from(config.mss) + HEADERS,
        settings::route(config),
        of_multipath.ip,
    ))?;
    namespace.inside(|| {
        hurry(LOOP_PRIORITY);
        let waited_before = spent().waited;
        let mut kernel = Kernel::new(device, config.clone(), script)?;
        let ran = voxpath_script::run(script, Stack::Kernel, &mut kernel, Peer::new(IRS, None));
        let waited = spent().waited - waited_before;
        Ok((ran, kernel.late.max(waited)))
    })
}

struct Kernel {
    clock: Clock,
    device: Device,
    epoll: OwnedFd,
    buffer: Vec<u8>,
    config: Config,
    tolerance: Span,
    speaks: Speaks,
    listener: Option<OwnedFd>,
    socket: Option<OwnedFd>,
    /// The host's end and the peer's of each subflow, in the order in which they began.
    subflows: Vec<[SocketAddr; 2]>,
    written: u64,
    read: u64,
    /// There was a connection: who listens is not meant any more.
    accepted: bool,
    /// Given up by the application.
    aborted: bool,
    late: Span,
}

impl Kernel {
    fn new(device: Device, config: Config, script: &Script) -> Result<Self, HostError> {
        let epoll = epoll::create(CreateFlags::CLOEXEC).context(|| "make an epoll instance".into())?;
        epoll::add(&epoll, &device, EventData::new_u64(0), EventFlags::IN)
            .context(|| "watch a device".into())?;
        Ok(Self {
            clock: Clock::start(),
            device,
            epoll,
            buffer: vec![0; 1 << 16],
            config,
            tolerance: script.tolerance,
            speaks: script.transport,
            listener: None,
            socket: None,
            subflows: vec![ends(LISTENS, CONNECTS)],
            written: 0,
            read: 0,
            accepted: false,
            aborted: false,
            late: Span::ZERO,
        })
    }

    /// A socket as the parameters ask for it, bound to the host's address.
    fn bound(&self, port: u16) -> Result<OwnedFd, HostError> {
        let place = SocketAddr::from((HOST, port));
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let protocol = (self.speaks == Speaks::Mptcp).then_some(ipproto::MPTCP);
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, protocol)
            .context(|| "make a socket".into())?;
        bind(&socket, &place).context(|| format!("bind to {place}"))?;
        set_tcp_options(&socket, place, &self.config)?;
        let option = |name: &'static str| move || format!("set {name} at {place}");
        if let Some(timeout) = self.config.user_timeout {
            let millis = u32::try_from(timeout.as_nanos() / 1_000_000).unwrap_or(u32::MAX);
            sockopt::set_tcp_user_timeout(&socket, millis).context(option("TCP_USER_TIMEOUT"))?;
        }
        if let Some(keepalive) = &self.config.keepalive {
            let span = |span: Span| Duration::from_nanos(span.as_nanos());
            sockopt::set_socket_keepalive(&socket, true).context(option("SO_KEEPALIVE"))?;
            sockopt::set_tcp_keepidle(&socket, span(keepalive.idle)).context(option("TCP_KEEPIDLE"))?;
            sockopt::set_tcp_keepintvl(&socket, span(keepalive.interval)).context(option("TCP_KEEPINTVL"))?;
            sockopt::set_tcp_keepcnt(&socket, keepalive.probes).context(option("TCP_KEEPCNT"))?;
        }
        Ok(socket)
    }

    /// The connection's socket, accepted now if it was not before.
    fn socket(&mut self) -> Result<&OwnedFd, String> {
        if !self.accepted
            && let Some(listener) = &self.listener
        {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let (socket, _) = acceptfrom_with(listener, flags)
                .map_err(|error| format!("the connection cannot be accepted: {error}"))?;
            (self.socket, self.accepted) = (Some(socket), true);
        }
        self.socket.as_ref().ok_or_else(|| "the application has no socket".into())
    }

    /// Writes so many octets, of which so many have to be taken.
    fn write(&mut self, len: u32, expected: u32) -> Result<(), String> {
        let mut octets = Vec::new();
        Payload::pattern(OURS, self.written, len).write_to(&mut octets);
        let taken = send(self.socket()?, &octets, SendFlags::NOSIGNAL).map_err(|error| error.to_string())?;
        self.written += taken as u64;
        if taken == expected as usize {
            Ok(())
        } else {
            Err(format!("the socket takes {taken} octets of {len}"))
        }
    }

    fn read(&mut self, len: u32) -> Result<(), String> {
        let mut octets = vec![0; len as usize];
        let (read, _) =
            recv(self.socket()?, &mut *octets, RecvFlags::empty()).map_err(|error| error.to_string())?;
        let mut expected = Vec::new();
        Payload::pattern(THEIRS, self.read, len).write_to(&mut expected);
        self.read += read as u64;
        if read < octets.len() {
            return Err(format!("{} of {len} octets are not there", octets.len() - read));
        }
        if octets == expected { Ok(()) } else { Err("what was read is not what the peer sent".into()) }
    }

    /// The state of the connection, or of who listens if there is none, in the kernel's table; closed if it is in neither.
    fn state(&self) -> Result<State, String> {
        let path = "/proc/thread-self/net/tcp";
        let table = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        let listens = self.listener.is_some() && !self.accepted;
        Ok(state(&table, self.subflows[0]).or(listens.then_some(State::Listen)).unwrap_or(State::Closed))
    }

    fn deliver(&self, packet: &[u8]) -> Result<(), String> {
        if self.device.send(packet) { Ok(()) } else { Err("the device did not take a packet".into()) }
    }

    /// The next segment that the kernel has sent already.
    fn receive(&mut self) -> Result<Option<Sent>, String> {
        loop {
            let received = self.device.receive(&mut self.buffer).map_err(|error| error.to_string())?;
            let Some(len) = received else { return Ok(None) };
            let packet = &self.buffer[..len];
            let at = self.clock.now();
            if let Ok(Parsed { ip, transport: Transport::Tcp(header), payload, .. }) = parse_packet(packet) {
                let payload = Payload::bytes(packet[payload].to_vec().into());
                let ends =
                    [SocketAddr::new(ip.src, header.src_port), SocketAddr::new(ip.dst, header.dst_port)];
                let known = self.subflows.iter().position(|known| *known == ends);
                let subflow = known.unwrap_or_else(|| {
                    self.subflows.push(ends);
                    self.subflows.len() - 1
                });
                return Ok(Some(Sent { subflow, at, header, payload, ecn_capable: ip.ecn != Ecn::NotEct }));
            }
        }
    }
}

impl Endpoint for Kernel {
    fn tolerance(&self) -> Span {
        self.tolerance
    }

    fn now(&self) -> Time {
        self.clock.now()
    }

    fn sent(&mut self, until: Time) -> Result<Option<Sent>, String> {
        loop {
            if let Some(sent) = self.receive()? {
                return Ok(Some(sent));
            }
            let now = self.clock.now();
            if now >= until {
                self.late = self.late.max(now - until);
                return Ok(None);
            }
            wait(&self.epoll, self.clock, Some(until), |_, _| ()).map_err(|error| error.to_string())?;
        }
    }

    fn arrive(
        &mut self,
        subflow: usize,
        header: &TcpHeader,
        payload: &Payload,
        marked: bool,
    ) -> Result<(), String> {
        if subflow == self.subflows.len() {
            self.subflows.push(ends(LISTENS, CONNECTS + subflow as u16));
        }
        let [host, peer] = self.subflows[subflow];
        let mut packet = Vec::new();
        let ecn = if marked { Ecn::Ce } else { Ecn::NotEct };
        let ip = IpHeader { ecn, ..IpHeader::new(peer.ip(), host.ip(), Protocol::Tcp) };
        let ports = TcpHeader { src_port: peer.port(), dst_port: host.port(), ..*header };
        emit_tcp(&ip, &ports, payload, &mut packet);
        self.deliver(&packet)
    }

    fn too_big(&mut self, mtu: u16, segment: &TcpHeader) -> Result<(), String> {
        let [host, peer] = self.subflows[0];
        let mut quoted = Vec::new();
        let ip = IpHeader::new(host.ip(), peer.ip(), Protocol::Tcp);
        let ports = TcpHeader { src_port: host.port(), dst_port: peer.port(), ..*segment };
        emit_tcp(&ip, &ports, &Payload::Empty, &mut quoted);
        let mut packet = Vec::new();
        let icmp = IcmpHeader::TooBig { mtu: u32::from(mtu) };
        let ip = IpHeader::new(peer.ip(), host.ip(), Protocol::Icmp);
        emit_icmp(&ip, &icmp, &Payload::bytes(quoted.into()), &mut packet);
        self.deliver(&packet)
    }

    fn call(&mut self, call: Call) -> Result<(), String> {
        let told = |error: HostError| error.to_string();
        match call {
            Call::Listen => {
                let socket = self.bound(LISTENS).map_err(told)?;
                listen(&socket, 1).map_err(|error| error.to_string())?;
                self.listener = Some(socket);
            }
            Call::Connect => {
                self.subflows[0] = ends(CONNECTS, LISTENS);
                let socket = self.bound(CONNECTS).map_err(told)?;
                match connect(&socket, &SocketAddr::from((PEER, LISTENS))) {
                    Ok(()) | Err(Errno::INPROGRESS) => self.socket = Some(socket),
                    Err(error) => return Err(error.to_string()),
                }
            }
            Call::Write(len) => self.write(len, len)?,
            Call::Fill(len) => self.write(len.saturating_mul(2), len)?,
            Call::Read(len) => self.read(len)?,
            Call::Shutdown => shutdown(self.socket()?, Shutdown::Write).map_err(|error| error.to_string())?,
            Call::Close => {
                self.socket()?;
                self.socket = None;
            }
            Call::Abort => {
                sockopt::set_socket_linger(self.socket()?, Some(Duration::ZERO))
                    .map_err(|error| error.to_string())?;
                self.socket = None;
                self.aborted = true;
            }
        }
        Ok(())
    }

    fn observe(&mut self) -> Result<Observed, String> {
        // Who has closed, or was never accepted, has no socket that could be asked: only the table tells.
        let _ = self.socket();
        let state = self.state()?;
        let aborted = self.aborted.then_some(Ended::Aborted);
        let socket = self.socket.as_ref();
        let info = socket.and_then(tcp_info).unwrap_or_default();
        let failed = socket.and_then(|socket| sockopt::socket_error(socket).ok()?.err());
        let ended = match failed {
            Some(Errno::CONNREFUSED) => Some(Ended::Refused),
            Some(Errno::TIMEDOUT) => Some(Ended::TimedOut),
            Some(_) => Some(Ended::Reset),
            None if matches!(state, State::Closed | State::TimeWait) => Some(Ended::Closed),
            None => None,
        };
        let readable = socket.and_then(|socket| ioctl_fionread(socket).ok()).unwrap_or(0);
        let writable = socket.is_some_and(is_writable);
        let at_end = readable == 0
            && socket.is_some_and(|socket| recv(socket, &mut [0_u8; 1], RecvFlags::PEEK) == Ok((0, 0)));
        let multipath = socket.filter(|_| self.speaks == Speaks::Mptcp);
        let standing =
            multipath.map_or(Some(0), subflows).ok_or("the kernel does not tell how many subflows stand")?;
        let micros = |us: u32| Span::from_micros(u64::from(us));
        let segment = u64::from(info.mss.max(1));
        Ok(Observed {
            state,
            segment,
            cwnd: u64::from(info.cwnd) * segment,
            ssthresh: (info.ssthresh < INFINITE_SSTHRESH).then_some(u64::from(info.ssthresh) * segment),
            rto: micros(info.rto_us),
            srtt: (info.rtt_us > 0).then(|| micros(info.rtt_us)),
            phase: match info.ca_state {
                2 => Phase::Reduction,
                3 => Phase::Recovery,
                4 => Phase::Loss,
                _ => Phase::Open,
            },
            readable,
            writable,
            at_end,
            ended: aborted.or(ended),
            retransmissions: u64::from(info.total_retransmissions),
            counts_segments: true,
            fallback: multipath.is_none_or(|socket| mptcp_info(socket).is_fallback),
            subflows: standing.into(),
        })
    }

    fn stamp_base(&self, first: u32, at: Time) -> u32 {
        // As ours counts: milliseconds, from 1.
        first.wrapping_sub((at.as_nanos() / 1_000_000) as u32 + 1)
    }
}

/// Whether an application that waits for room in the send buffer is woken now.
fn is_writable(socket: &OwnedFd) -> bool {
    let mut polled = [PollFd::new(socket, PollFlags::OUT)];
    poll(&mut polled, Some(&Timespec::default())).is_ok() && polled[0].revents().contains(PollFlags::OUT)
}

/// The host's end and the peer's, with these ports.
fn ends(host: u16, peer: u16) -> [SocketAddr; 2] {
    [SocketAddr::from((HOST, host)), SocketAddr::from((PEER, peer))]
}

/// The state of the connection between two ends in the kernel's table.
fn state(table: &str, [local, remote]: [SocketAddr; 2]) -> Option<State> {
    let port = |place: &str| u16::from_str_radix(place.rsplit_once(':')?.1, 16).ok();
    let mut rows = table.lines().filter_map(|line| {
        let mut columns = line.split_whitespace().skip(1);
        let ends = (port(columns.next()?)?, port(columns.next()?)?);
        Some((ends, u8::from_str_radix(columns.next()?, 16).ok()?))
    });
    Some(match rows.find(|(ends, _)| *ends == (local.port(), remote.port()))?.1 {
        1 => State::Established,
        2 => State::SynSent,
        // A connection that nobody has accepted yet is no socket of its own, but `NEW_SYN_RECV`.
        3 | 12 => State::SynReceived,
        4 => State::FinWait1,
        5 => State::FinWait2,
        6 => State::TimeWait,
        8 => State::CloseWait,
        9 => State::LastAck,
        11 => State::Closing,
        _ => State::Closed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_from_the_kernels_table() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n\
               0: 010200C0:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n\
               1: 010200C0:1F90 020200C0:9C40 08 00000000:00000000 00:00000000 00000000     0\n";
        assert_eq!(state(table, ends(8080, 40_000)), Some(State::CloseWait));
        assert_eq!(state(table, ends(40_000, 8080)), None);
    }
}
