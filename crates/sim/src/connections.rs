//! TCP connections that programs on real hosts have over the network, as it sees them pass.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::SocketAddr;
use voxpath_units::Time;
use voxpath_wire::tcp::TcpFlags;

/// A connection of none of the plan's flows. Ends that talk again, after a connection has ended, count as the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// Who sent the first SYN.
    pub client: SocketAddr,
    /// To whom.
    pub server: SocketAddr,
    /// When that was.
    pub opened: Time,
    /// Whether the server sent a SYN too, so that it has or had a socket of its own.
    pub is_answered: bool,
    /// When either end sent its last packet.
    pub last_sent: Time,
}

/// Connections, by their ends.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    /// Two entries for each: one for each direction.
    by_ends: BTreeMap<(SocketAddr, SocketAddr), usize>,
    seen: Vec<Connection>,
}

impl Connections {
    /// Notes a segment that a host sends. What does not begin with a SYN is no connection.
    pub(crate) fn note(&mut self, now: Time, from: SocketAddr, to: SocketAddr, flags: TcpFlags) {
        let Some(&index) = self.by_ends.get(&(from, to)) else {
            if flags.contains(TcpFlags::SYN) && !flags.contains(TcpFlags::ACK) {
                self.by_ends.extend([((from, to), self.seen.len()), ((to, from), self.seen.len())]);
                self.seen.push(Connection {
                    client: from,
                    server: to,
                    opened: now,
                    is_answered: false,
                    last_sent: now,
                });
            }
            return;
        };
        let connection = &mut self.seen[index];
        connection.last_sent = now;
        connection.is_answered |= from == connection.server && flags.contains(TcpFlags::SYN);
    }

    /// All of them, in the order in which they were opened.
    pub(crate) fn all(&self) -> &[Connection] {
        &self.seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: SocketAddr =
        SocketAddr::new(core::net::IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 1)), 40_000);
    const SERVER: SocketAddr =
        SocketAddr::new(core::net::IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 2)), 80);

    const fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn a_connection_is_from_its_first_syn_to_the_last_packet_of_either_end() {
        let mut connections = Connections::default();
        connections.note(ms(1), CLIENT, SERVER, TcpFlags::SYN);
        // Lost, and sent again.
        connections.note(ms(1001), CLIENT, SERVER, TcpFlags::SYN);
        assert!(!connections.all()[0].is_answered);
        connections.note(ms(1011), SERVER, CLIENT, TcpFlags::SYN | TcpFlags::ACK);
        connections.note(ms(1021), CLIENT, SERVER, TcpFlags::ACK);
        connections.note(ms(1500), SERVER, CLIENT, TcpFlags::FIN | TcpFlags::ACK);
        let seen = Connection {
            client: CLIENT,
            server: SERVER,
            opened: ms(1),
            is_answered: true,
            last_sent: ms(1500),
        };
        assert_eq!(connections.all(), [seen]);
    }

    #[test]
    fn who_refuses_has_no_socket_and_what_begins_without_a_syn_is_no_connection() {
        let mut connections = Connections::default();
        connections.note(ms(1), SERVER, CLIENT, TcpFlags::ACK);
        connections.note(ms(2), SERVER, CLIENT, TcpFlags::SYN | TcpFlags::ACK);
        assert_eq!(connections.all(), []);
        connections.note(ms(3), CLIENT, SERVER, TcpFlags::SYN);
        connections.note(ms(4), SERVER, CLIENT, TcpFlags::RST | TcpFlags::ACK);
        assert_eq!((connections.all().len(), connections.all()[0].is_answered), (1, false));
    }
}
