//! What carries the endpoint's octets in virtual time: a connection of TCP, or one of Multipath TCP with its subflows.

use crate::peer::{CONNECTS, HOST, LISTENS, PEER};
use std::net::SocketAddr;
use std::sync::Arc;
use voxpath_mptcp::{self as mptcp, Key, LocalAddress, Setup, joins, reset_for};
use voxpath_tcp::{self as tcp, Ended};
use voxpath_units::Time;
use voxpath_wire::Payload;
use voxpath_wire::tcp::{Seq, TcpHeader};

/// The endpoint's key, and the random number of each of its joins.
const KEY: Key = Key(0x6f75_7273_6f75_7273);
const NONCE: u32 = 0x6f6e_6365;
/// The first port of subflows that the endpoint opens.
const OPENS: u16 = 50_000;

/// What is needed to make one.
#[derive(Debug, Clone)]
pub(crate) struct Parameters {
    pub(crate) tcp: tcp::Config,
    pub(crate) multipath: Option<mptcp::Config>,
}

#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(Box<tcp::Connection>),
    Multipath {
        connection: Box<mptcp::Connection>,
        /// Its subflows in the order in which they began; none for one that was refused.
        subflows: Vec<Option<mptcp::SubflowId>>,
    },
}

impl Stream {
    /// Opens a connection, or answers a SYN with one.
    pub(crate) fn new(parameters: &Parameters, iss: Seq, syn: Option<&TcpHeader>) -> Self {
        let Parameters { tcp, multipath } = parameters;
        let Some(config) = multipath else {
            return Self::Tcp(Box::new(match syn {
                None => tcp::Connection::connect(tcp.clone(), iss),
                Some(syn) => tcp::Connection::accept(tcp.clone(), iss, syn),
            }));
        };
        let ports = if syn.is_some() { [LISTENS, CONNECTS] } else { [CONNECTS, LISTENS] };
        let setup = Setup {
            config: Arc::new(config.clone()),
            tcp: Arc::new(tcp.clone()),
            ends: [SocketAddr::from((HOST, ports[0])), SocketAddr::from((PEER, ports[1]))],
            addresses: &[LocalAddress { ip: HOST.into(), backup: false, is_up: true }],
            key: KEY,
            iss,
        };
        let connection = match syn {
            None => mptcp::Connection::connect(&setup),
            Some(syn) => mptcp::Connection::accept(&setup, syn),
        };
        Self::Multipath { connection: Box::new(connection), subflows: vec![Some(0)] }
    }

    /// The connection of TCP, or the first subflow's.
    pub(crate) fn first(&self) -> &tcp::Connection {
        match self {
            Self::Tcp(tcp) => tcp,
            Self::Multipath { connection, .. } => connection.subflows()[0].tcp(),
        }
    }

    pub(crate) fn write(&mut self, data: &Payload) -> u32 {
        match self {
            Self::Tcp(tcp) => tcp.write(data),
            Self::Multipath { connection, .. } => connection.write(data),
        }
    }

    pub(crate) fn read(&mut self, max: u32) -> Payload {
        match self {
            Self::Tcp(tcp) => tcp.read(max),
            Self::Multipath { connection, .. } => connection.read(max),
        }
    }

    pub(crate) fn close(&mut self) {
        match self {
            Self::Tcp(tcp) => tcp.close(),
            Self::Multipath { connection, .. } => connection.close(),
        }
    }

    pub(crate) fn abort(&mut self) {
        match self {
            Self::Tcp(tcp) => tcp.abort(),
            Self::Multipath { connection, .. } => connection.abort(),
        }
    }

    pub(crate) fn readable(&self) -> u64 {
        match self {
            Self::Tcp(tcp) => tcp.readable(),
            Self::Multipath { connection, .. } => connection.readable(),
        }
    }

    pub(crate) fn is_writable(&self) -> bool {
        match self {
            Self::Tcp(tcp) => tcp.writable() > 0,
            Self::Multipath { connection, .. } => connection.writable() > 0,
        }
    }

    pub(crate) fn is_at_end(&self) -> bool {
        match self {
            Self::Tcp(tcp) => tcp.is_at_end(),
            Self::Multipath { connection, .. } => connection.is_at_end(),
        }
    }

    pub(crate) fn ended(&self) -> Option<Ended> {
        match self {
            Self::Tcp(tcp) => tcp.ended(),
            Self::Multipath { connection, .. } => connection.ended(),
        }
    }

    pub(crate) fn is_fallback(&self) -> bool {
        match self {
            Self::Tcp(_) => true,
            Self::Multipath { connection, .. } => connection.is_fallback(),
        }
    }

    /// Subflows that stand.
    pub(crate) fn standing(&self) -> u64 {
        match self {
            Self::Tcp(tcp) => u64::from(tcp.ended().is_none()),
            Self::Multipath { connection, .. } => {
                let stands =
                    |one: &&mptcp::Subflow| one.tcp().is_synchronised() && one.tcp().ended().is_none();
                connection.subflows().iter().filter(stands).count() as u64
            }
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        match self {
            Self::Tcp(tcp) => tcp.poll_timeout(),
            Self::Multipath { connection, .. } => connection.poll_timeout(),
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Time) {
        match self {
            Self::Tcp(tcp) => tcp.handle_timeout(now),
            Self::Multipath { connection, .. } => connection.handle_timeout(now),
        }
    }

    pub(crate) fn handle_too_big(&mut self, largest: u32, seq: Seq) {
        match self {
            Self::Tcp(tcp) => tcp.handle_too_big(largest, seq),
            Self::Multipath { connection, .. } => connection.handle_too_big(0, largest, seq),
        };
    }

    /// Takes a segment of a subflow in; what the host answers if it is for none.
    pub(crate) fn handle_segment(
        &mut self,
        now: Time,
        subflow: usize,
        header: &TcpHeader,
        payload: &Payload,
        marked: bool,
    ) -> Option<TcpHeader> {
        match self {
            Self::Tcp(tcp) => {
                if marked {
                    tcp.congestion_experienced();
                }
                tcp.handle_segment(now, header, payload);
                return None;
            }
            Self::Multipath { connection, subflows } => {
                if subflow == subflows.len() {
                    let id = joins(header).and_then(|_| {
                        let ends = [(HOST, LISTENS), (PEER, CONNECTS + subflow as u16)].map(SocketAddr::from);
                        let iss = Seq(header.seq.0.wrapping_mul(7));
                        connection.join(ends, header, iss, NONCE.wrapping_add(subflow as u32))
                    });
                    subflows.push(id);
                    return if id.is_none() { reset_for(header, payload) } else { None };
                }
                let Some(id) = subflows[subflow] else { return reset_for(header, payload) };
                if marked {
                    connection.congestion_experienced(id);
                }
                connection.handle_segment(now, id, header, payload);
            }
        }
        None
    }

    /// The next segment that leaves: by which subflow, and whether it may be marked.
    pub(crate) fn poll_transmit(&mut self, now: Time) -> Option<(usize, TcpHeader, Payload, bool)> {
        match self {
            Self::Tcp(tcp) => {
                let (header, payload) = tcp.poll_transmit(now)?;
                Some((0, header, payload, tcp.is_ecn_capable()))
            }
            Self::Multipath { connection, subflows } => {
                while let Some(opening) = connection.poll_open() {
                    let place = subflows.len() as u16;
                    let (iss, nonce) =
                        (Seq(u32::from(place).wrapping_mul(0x1234_5678)), NONCE + u32::from(place));
                    subflows.push(Some(connection.open(&opening, OPENS + place, iss, nonce)));
                }
                let (id, header, payload) = connection.poll_transmit(now)?;
                let subflow = subflows.iter().position(|known| *known == Some(id));
                let subflow = subflow.expect("every subflow was opened or accepted here");
                Some((subflow, header, payload, connection.is_ecn_capable(id)))
            }
        }
    }
}
