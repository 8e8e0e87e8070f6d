//! What the kernel says of the TCP connections that programs on a host have: `TCP_INFO` of sockets that are not ours,
//! by sock_diag(7).

use crate::clock::Clock;
use crate::error::HostError;
use crate::namespace::Namespace;
use crate::sock_diag::{LISTEN, Listed, ended, list, listen_for_ended, open};
use crate::tcp_info::TcpInfo;
use rustix::fd::OwnedFd;
use rustix::net::AddressFamily;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use voxpath_sim::{Connection, ConnectionEnd};
use voxpath_units::{Span, Time};

const FAMILIES: [AddressFamily; 2] = [AddressFamily::INET, AddressFamily::INET6];
/// How often what the kernel tells of ended sockets is read where nothing else is asked for.
const EMPTIED_EVERY: Span = Span::from_millis(50);
/// How long it is waited at the end for what the kernel still has to tell.
const PATIENCE: Span = Span::from_millis(500);

/// A value of a connection, which has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionSample {
    /// When it was seen.
    pub at: Time,
    /// Index of the host whose socket it is.
    pub host: u32,
    /// The socket's own address.
    pub local: SocketAddr,
    /// Its peer's.
    pub remote: SocketAddr,
    /// Whether somebody listens at the socket's own port, so that the peer has opened the connection.
    pub accepted: bool,
    /// As in the time series of flows.
    pub metric: &'static str,
    /// What it is from now on.
    pub value: u64,
}

/// What the kernel says at last of the sockets of a connection; none of an end that has or had none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionReport {
    /// As the network saw it.
    pub seen: Connection,
    /// The client's, then the server's.
    pub ends: [Option<ConnectionEnd>; 2],
}

/// A host whose sockets are looked at.
#[derive(Debug)]
struct Looked {
    /// Its index.
    host: u32,
    /// Asks for its sockets.
    all: OwnedFd,
    /// Is told of those that end.
    ended: OwnedFd,
}

/// Looks at the connections of hosts, again and again.
#[derive(Debug)]
pub(crate) struct Connections {
    hosts: Vec<Looked>,
    /// Those of flows, which are sampled by whoever drives them.
    flows: BTreeSet<(SocketAddr, SocketAddr)>,
    /// What was last recorded, by host and addresses.
    known: BTreeMap<(u32, SocketAddr, SocketAddr), TcpInfo>,
    samples: Vec<ConnectionSample>,
    /// The last that is known of a socket, by its own address and its peer's.
    last: BTreeMap<(SocketAddr, SocketAddr), TcpInfo>,
}

impl Connections {
    /// Of the hosts whose namespaces are given by index, but for connections between the addresses of `flows`.
    ///
    /// # Errors
    /// The kernel does not list sockets.
    pub(crate) fn new(
        hosts: &[Option<Namespace>],
        flows: BTreeSet<(SocketAddr, SocketAddr)>,
    ) -> Result<Self, HostError> {
        let mut looked = Vec::new();
        for (host, namespace) in (0..).zip(hosts) {
            if let Some(namespace) = namespace {
                let (all, ended) = namespace.inside(|| Ok((open()?, listen_for_ended()?)))?;
                looked.push(Looked { host, all, ended });
            }
        }
        Ok(Self::of(looked, flows))
    }

    const fn of(hosts: Vec<Looked>, flows: BTreeSet<(SocketAddr, SocketAddr)>) -> Self {
        Self { hosts, flows, known: BTreeMap::new(), samples: Vec::new(), last: BTreeMap::new() }
    }

    /// Looks at what has changed and has ended, again and again until `stop`; over time if `sampled` says how often.
    ///
    /// # Errors
    /// The kernel does not list sockets any more.
    pub(crate) fn watch(
        mut self,
        clock: Clock,
        sampled: Option<Span>,
        stop: &AtomicBool,
    ) -> Result<Self, HostError> {
        let every = Duration::from_nanos(sampled.unwrap_or(EMPTIED_EVERY).as_nanos());
        while !stop.load(Ordering::Acquire) {
            if sampled.is_some() {
                self.look(clock)?;
            }
            self.note_ended()?;
            // Whoever stops it unparks it.
            thread::park_timeout(every);
        }
        if sampled.is_some() {
            self.look(clock)?;
        }
        Ok(self)
    }

    /// The samples, and what the kernel says at last of connections that the network saw.
    ///
    /// # Errors
    /// The kernel does not list sockets any more.
    pub(crate) fn finish(
        mut self,
        clock: Clock,
        seen: &[Connection],
    ) -> Result<(Vec<ConnectionSample>, Vec<ConnectionReport>), HostError> {
        for Looked { all, .. } in &self.hosts {
            let mut listed = Vec::new();
            for family in FAMILIES {
                list(all, family, &mut listed)?;
            }
            self.last.extend(listed.iter().filter_map(Listed::numbers));
        }
        // Of the others the kernel tells a little after their end.
        let deadline = clock.now() + PATIENCE;
        let has_socket = |seen: &Connection| {
            let ends = [(seen.client, seen.server), (seen.server, seen.client)];
            ends.into_iter().take(1 + usize::from(seen.is_answered))
        };
        self.note_ended()?;
        while seen.iter().flat_map(has_socket).any(|ends| !self.last.contains_key(&ends))
            && clock.now() < deadline
        {
            thread::sleep(Duration::from_millis(2));
            self.note_ended()?;
        }
        let end = |local, remote, opened| self.last.get(&(local, remote)).map(|info| end_of(*info, opened));
        let report = |&seen: &Connection| ConnectionReport {
            seen,
            ends: [end(seen.client, seen.server, true), end(seen.server, seen.client, false)],
        };
        let reports = seen.iter().map(report).collect();
        Ok((self.samples, reports))
    }

    fn note_ended(&mut self) -> Result<(), HostError> {
        for host in &self.hosts {
            let mut listed = Vec::new();
            ended(&host.ended, &mut listed)?;
            self.last.extend(listed.iter().filter_map(Listed::numbers));
        }
        Ok(())
    }

    fn look(&mut self, clock: Clock) -> Result<(), HostError> {
        let Self { hosts, flows, known, samples, .. } = self;
        for &Looked { host, ref all, .. } in &*hosts {
            let now = clock.now();
            let mut listed = Vec::new();
            for family in FAMILIES {
                list(all, family, &mut listed)?;
            }
            let listening: BTreeSet<u16> =
                listed.iter().filter(|found| found.state == LISTEN).map(|found| found.local.port()).collect();
            for &Listed { state, local, remote, info } in &listed {
                let Some(info) = info.filter(|_| state != LISTEN && !flows.contains(&(local, remote))) else {
                    continue;
                };
                let before = known.insert((host, local, remote), info);
                let accepted = listening.contains(&local.port());
                samples.extend(info.changes_since(before).map(|(metric, value)| ConnectionSample {
                    at: now,
                    host,
                    local,
                    remote,
                    accepted,
                    metric,
                    value,
                }));
            }
        }
        Ok(())
    }
}

impl Listed {
    fn numbers(&self) -> Option<((SocketAddr, SocketAddr), TcpInfo)> {
        self.info.map(|info| ((self.local, self.remote), info))
    }
}

/// What the kernel says of an end; `is_client` says that it sent the first SYN.
fn end_of(info: TcpInfo, is_client: bool) -> ConnectionEnd {
    ConnectionEnd {
        bytes_delivered: Some(info.delivered_bytes(is_client)),
        data_segments_sent: info.data_segments_out.map(u64::from),
        retransmissions: Some(info.total_retransmissions.into()),
        timeouts: info.total_timeouts.map(u64::from),
        srtt: info.srtt(),
        min_rtt: info.min_rtt(),
        cwnd_bytes: Some(info.cwnd_bytes()),
        ..ConnectionEnd::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sock_diag::tests::pair;
    use std::io::{Read, Write};

    fn of<'a>(samples: &'a [ConnectionSample], metric: &str) -> Vec<&'a ConnectionSample> {
        samples.iter().filter(|sample| sample.metric == metric).collect()
    }

    #[test]
    fn changes_of_connections_are_recorded_at_both_ends_and_those_of_flows_are_not() {
        let (_listener, mut client, mut server) = pair("127.0.0.1:0");
        let (_other, flow, _flows_server) = pair("127.0.0.1:0");
        let [local, remote] = [client.local_addr(), client.peer_addr()].map(|end| end.expect("connected"));
        let flow_end = flow.local_addr().expect("connected");
        let socket = open().expect("sock_diag");
        let flows = [(flow_end, flow.peer_addr().expect("connected"))].into();
        let host = Looked { host: 3, all: socket, ended: listen_for_ended().expect("sock_diag") };
        let mut watched = Connections::of(vec![host], flows);
        let clock = Clock::start();
        watched.look(clock).expect("listed");
        let mine = |sample: &&ConnectionSample| sample.local == local || sample.local == remote;
        let first: Vec<_> = watched.samples.iter().filter(mine).cloned().collect();
        let ends: BTreeSet<_> =
            of(&first, "cwnd_bytes").iter().map(|s| (s.host, s.local, s.accepted)).collect();
        assert_eq!(ends, [(3, local, false), (3, remote, true)].into());
        assert!(watched.samples.iter().all(|sample| sample.local != flow_end));

        watched.samples.clear();
        watched.look(clock).expect("listed");
        assert_eq!(watched.samples.iter().filter(mine).count(), 0, "nothing has changed");

        let window = |samples: &[ConnectionSample]| {
            of(samples, "cwnd_bytes").iter().filter(|s| s.local == local).map(|s| s.value).max()
        };
        let before = window(&first).expect("seen");
        // More than the initial window, taken and acknowledged: the congestion window grows once the reader keeps up.
        let sent = vec![1; 4 << 20];
        let grows = (0..100).any(|_| {
            thread::scope(|scope| {
                scope.spawn(|| client.write_all(&sent).expect("open"));
                server.read_exact(&mut vec![0; sent.len()]).expect("sent");
            });
            watched.look(clock).expect("listed");
            window(&watched.samples) > Some(before)
        });
        assert!(grows, "{:?}", watched.samples);
    }

    #[test]
    fn at_the_end_the_numbers_of_sockets_that_have_ended_and_of_those_that_are_open_are_known() {
        let host = Looked {
            host: 0,
            all: open().expect("sock_diag"),
            ended: listen_for_ended().expect("sock_diag"),
        };
        let watched = Connections::of(vec![host], BTreeSet::new());
        let (_listener, mut client, mut server) = pair("127.0.0.1:0");
        let ends = [client.local_addr(), client.peer_addr()].map(|end| end.expect("connected"));
        client.write_all(&[1; 5000]).expect("open");
        server.read_exact(&mut [0; 5000]).expect("sent");
        server.write_all(&[2; 7]).expect("open");
        client.read_exact(&mut [0; 7]).expect("sent");
        drop(client);
        // The end of the other one's data: everything of both is acknowledged.
        assert_eq!(server.read(&mut [0; 1]).expect("closed"), 0);

        let seen = Connection {
            client: ends[0],
            server: ends[1],
            opened: Time::ZERO,
            is_answered: true,
            last_sent: Time::ZERO,
            sent: Default::default(),
            real: [true, true],
            subflow: None,
        };
        // Nobody answers: no socket is waited for.
        let refused = Connection { client: ends[1], is_answered: false, ..seen };
        let (samples, reports) = watched.finish(Clock::start(), &[seen, refused]).expect("listed");
        assert_eq!(samples, []);
        let [client, server] = reports[0].ends.map(|end| end.expect("it was a socket"));
        assert_eq!((client.bytes_delivered, server.bytes_delivered), (Some(5000), Some(7)));
        assert_eq!((client.retransmissions, client.timeouts), (Some(0), Some(0)));
        assert!(client.min_rtt <= client.srtt && client.srtt.is_some(), "{client:?}");
        assert_eq!(server.data_segments_sent, Some(1));
        assert_eq!(reports[1].ends[0], None);
    }
}
