//! What the kernel says of the TCP connections that programs on a host have: `TCP_INFO` of sockets that are not ours,
//! by sock_diag(7).

use crate::clock::Clock;
use crate::error::HostError;
use crate::namespace::Namespace;
use crate::sock_diag::{LISTEN, Listed, list, open};
use crate::tcp_info::TcpInfo;
use rustix::fd::OwnedFd;
use rustix::net::AddressFamily;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use voxpath_units::{Span, Time};

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

/// Looks at the connections of hosts, again and again.
#[derive(Debug)]
pub(crate) struct Connections {
    hosts: Vec<(u32, OwnedFd)>,
    /// Those of flows, which are sampled by whoever drives them.
    flows: BTreeSet<(SocketAddr, SocketAddr)>,
    /// What was last recorded, by host and addresses.
    known: BTreeMap<(u32, SocketAddr, SocketAddr), TcpInfo>,
    samples: Vec<ConnectionSample>,
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
        let mut opened = Vec::new();
        for (host, namespace) in (0..).zip(hosts) {
            if let Some(namespace) = namespace {
                opened.push((host, namespace.inside(open)?));
            }
        }
        Ok(Self { hosts: opened, flows, known: BTreeMap::new(), samples: Vec::new() })
    }

    /// Records every `every` what has changed, until `stop`; all of it.
    ///
    /// # Errors
    /// The kernel does not list sockets any more.
    pub(crate) fn watch(
        mut self,
        clock: Clock,
        every: Span,
        stop: &AtomicBool,
    ) -> Result<Vec<ConnectionSample>, HostError> {
        while !stop.load(Ordering::Acquire) {
            self.look(clock)?;
            thread::sleep(Duration::from_nanos(every.as_nanos()));
        }
        self.look(clock)?;
        Ok(self.samples)
    }

    fn look(&mut self, clock: Clock) -> Result<(), HostError> {
        let Self { hosts, flows, known, samples } = self;
        for &(host, ref socket) in &*hosts {
            let now = clock.now();
            let mut listed = Vec::new();
            for family in [AddressFamily::INET, AddressFamily::INET6] {
                list(socket, family, &mut listed)?;
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
        let mut watched =
            Connections { hosts: vec![(3, socket)], flows, known: BTreeMap::new(), samples: Vec::new() };
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

        // More than the initial window, taken and acknowledged: the congestion window grows.
        let sent = vec![1; 4 << 20];
        thread::scope(|scope| {
            scope.spawn(|| client.write_all(&sent).expect("open"));
            server.read_exact(&mut vec![0; sent.len()]).expect("sent");
        });
        watched.look(clock).expect("listed");
        let grown: Vec<_> = watched.samples.iter().filter(mine).cloned().collect();
        let before = of(&first, "cwnd_bytes").iter().find(|s| s.local == local).expect("seen").value;
        let after = of(&grown, "cwnd_bytes").iter().find(|s| s.local == local).expect("it grew").value;
        assert!(after > before, "{after} after {before}");
    }
}
