//! A subflow: a TCP connection, and what Multipath TCP keeps beside it.

use crate::keys::Joining;
use crate::mappings::Mappings;
use crate::polled::Polled;
use alloc::collections::{BTreeMap, VecDeque};
use core::net::SocketAddr;
use voxpath_tcp as tcp;
use voxpath_units::Time;
use voxpath_wire::tcp::mptcp::{Dss, MptcpOption};

/// A subflow of a connection.
#[derive(Debug)]
pub struct Subflow {
    /// Its own end.
    pub local: SocketAddr,
    /// The other one.
    pub remote: SocketAddr,
    pub(crate) tcp: Polled,
    pub(crate) handshake: Handshake,
    /// How this end calls `local`, and the other end `remote`.
    pub(crate) local_id: u8,
    pub(crate) remote_id: u8,
    /// This end asked that it be a backup.
    pub(crate) asked_backup: bool,
    /// The other end asked for that: what counts for what this end sends (RFC 8684 section 3.3.8).
    pub(crate) is_backup: bool,
    /// The mappings of what came.
    pub(crate) mappings: Mappings,
    /// Checksums of mappings that were not read, by their first octet: length, place in the data sequence, checksum.
    pub(crate) checksums: BTreeMap<u64, Checked>,
    /// Checksums of what was written, by its first octet.
    pub(crate) own_checksums: BTreeMap<u64, u16>,
    /// Mappings that came before the other end's key.
    pub(crate) early: VecDeque<(u64, Dss)>,
    /// Options that are to be sent once.
    pub(crate) outbox: VecDeque<MptcpOption>,
    /// The next data begins an infinite mapping (RFC 8684 section 3.7).
    pub(crate) is_infinite: bool,
    /// It is TCP, and what comes is acknowledged at the data level all the same.
    pub(crate) acknowledges: bool,
    /// Timeouts of TCP that were acted upon.
    pub(crate) timeouts: u32,
    /// Up to here, by its own octets, it was told elsewhere what it carries.
    pub(crate) reinjected: u64,
    /// What it carries was given to others when it ended.
    pub(crate) is_reaped: bool,
    /// When a segment of it was taken in last.
    pub(crate) last_heard: Option<Time>,
    /// Whether it makes progress, where that decides who carries data.
    pub(crate) staleness: Staleness,
    /// Nothing was heard of it since a timeout.
    pub(crate) silent: bool,
    /// The oracle has found it bad once.
    pub(crate) was_bad: bool,
    /// The oracle has seen that its retransmission timeout is long.
    pub(crate) has_long_timeout: bool,
    /// When data or a data ACK that was new to the connection came last.
    pub(crate) last_news: Option<Time>,
    /// When its window was halved last for holding up the others.
    pub(crate) penalised: Option<Time>,
    /// What blocked the window was sent by it, up to here.
    pub(crate) helped: u64,
    /// Why it is reset (MP_TCPRST).
    pub(crate) reset: Option<MptcpOption>,
    /// It may be opened again when it has failed: neither end has said that it shall not be.
    pub(crate) may_return: bool,
    /// The last segment that came by it had no option of Multipath TCP.
    pub(crate) is_plain: bool,
    /// Segments in a row that came without an option of Multipath TCP.
    pub(crate) plain: u32,
    /// Octets of data that came by it and were new to the connection.
    pub(crate) new_octets: u64,
}

/// What the timer of the data level has seen of a subflow with data (`mptcp_pm_subflow_chk_stale()` in net/mptcp/pm.c).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Staleness {
    /// Expiries in a row at which nothing had come by it (`stale_count`).
    pub(crate) expiries: u32,
    /// When something had come by it last, at the first of these (`stale_rcv_tstamp`).
    pub(crate) heard: Option<Time>,
    /// It is given nothing until something comes by it.
    pub(crate) is_stale: bool,
}

/// A mapping whose checksum has to be compared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Checked {
    pub(crate) len: u32,
    pub(crate) data: u64,
    pub(crate) checksum: u16,
    /// The mapping's number as the checksum covers it.
    pub(crate) dsn: u64,
    pub(crate) ssn: u32,
    /// As the wire had it: a DATA_FIN counts.
    pub(crate) wire_len: u16,
}

/// How far the handshake of a subflow is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handshake {
    /// MP_CAPABLE of this end left, or is to leave; as the server, the third segment has not come.
    Capable,
    /// As the client: the keys are known here, and it is not known that the other end knows.
    CapableAnswered,
    /// MP_JOIN of this end left or is to leave.
    Join { ours: Joining },
    /// As who opened it: the HMACs are right, and the fourth segment has not come. When the third is sent again.
    JoinAnswered { hmac: [u8; 20], again: Option<Time> },
    /// As who accepted it: the third segment has not come; what it has to show.
    JoinExpected { hmac: [u8; 20], short: u64, nonce: u32 },
    /// Over.
    Done,
}

impl Subflow {
    pub(crate) fn new(
        [local, remote]: [SocketAddr; 2],
        [local_id, remote_id]: [u8; 2],
        tcp: tcp::Connection,
        handshake: Handshake,
    ) -> Self {
        Self {
            local,
            remote,
            tcp: Polled::new(tcp),
            handshake,
            local_id,
            remote_id,
            asked_backup: false,
            is_backup: false,
            mappings: Mappings::default(),
            checksums: BTreeMap::new(),
            own_checksums: BTreeMap::new(),
            early: VecDeque::new(),
            outbox: VecDeque::new(),
            is_infinite: false,
            acknowledges: false,
            timeouts: 0,
            reinjected: 1,
            is_reaped: false,
            last_heard: None,
            staleness: Staleness::default(),
            silent: false,
            was_bad: false,
            has_long_timeout: false,
            last_news: None,
            penalised: None,
            helped: 0,
            reset: None,
            may_return: true,
            is_plain: false,
            plain: 0,
            new_octets: 0,
        }
    }

    /// The TCP connection that it is.
    pub fn tcp(&self) -> &tcp::Connection {
        &self.tcp
    }

    /// Whether it is to be used only if no other is there.
    pub fn is_backup(&self) -> bool {
        self.is_backup || self.asked_backup
    }

    /// Octets of data that came by it before they came by another.
    pub fn new_octets(&self) -> u64 {
        self.new_octets
    }

    /// Whether nothing can be carried by it any more.
    pub(crate) fn is_over(&self) -> bool {
        self.tcp.ended().is_some()
    }

    /// Whether data may be written to it.
    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.handshake, Handshake::Done | Handshake::CapableAnswered)
            && self.tcp.is_synchronised()
            && !self.tcp.is_closing()
            && !self.is_over()
    }
}
