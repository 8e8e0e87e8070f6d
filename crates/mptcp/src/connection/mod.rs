//! A connection: one byte stream over several subflows.
//!
//! A driver calls in five ways, in this order after anything that happens:
//!
//! 1. input: [`Connection::handle_segment`] for a subflow, [`Connection::handle_timeout`], or the application's
//!    [`write`](Connection::write), [`read`](Connection::read), [`close`](Connection::close), [`abort`](Connection::abort);
//! 2. [`Connection::poll_open`] until no subflow is to be opened, each with [`Connection::open`];
//! 3. [`Connection::poll_transmit`] until it has nothing more to send;
//! 4. [`Connection::poll_timeout`], when to call `handle_timeout`;
//! 5. the getters.
//!
//! A SYN that joins is given to the connection that has its [`token`](Connection::token), with [`Connection::join`].
//!
//! | file | idea |
//! | --- | --- |
//! | `arrival.rs` | what segments and their options lead to |
//! | `fallback.rs` | where Multipath TCP ends and TCP goes on (RFC 8684 section 3.7) |
//! | `schedule.rs` | which subflow gets what; what is sent again |
//! | `stale.rs` | subflows that make no progress, as Linux has it |
//! | `transmit.rs` | the options of what leaves |
//! | `ending.rs` | subflows that end, and the end of it all |

mod arrival;
mod ending;
mod fallback;
mod schedule;
mod stale;
mod transmit;

use crate::cc::Couplings;
use crate::config::Config;
use crate::keys::{Joining, Key};
use crate::oracle::Oracle;
use crate::path_manager::{LocalAddress, Opening, PathManager};
use crate::receiver::DataReceiver;
use crate::scheduler::{Candidate, Scheduler};
use crate::sender::DataSender;
use crate::sequence::DataSequence;
use crate::subflow::{Handshake, Subflow};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use voxpath_tcp as tcp;
use voxpath_tcp::Ended;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::tcp::mptcp::{Join, MptcpOption};
use voxpath_wire::tcp::{Seq, TcpHeader};

/// A subflow by its place, in the order in which they were opened; it keeps it when it has ended.
pub type SubflowId = usize;

/// What is needed to make one end.
#[derive(Debug, Clone)]
pub struct Setup<'a> {
    /// Parameters.
    pub config: Arc<Config>,
    /// Parameters of each subflow. Its buffers are also those of the connection.
    pub tcp: Arc<tcp::Config>,
    /// Addresses and ports of the first subflow: its own end and the other one.
    pub ends: [SocketAddr; 2],
    /// All addresses of this end.
    pub addresses: &'a [LocalAddress],
    /// The key, which nobody can guess; its token must be that of no other connection of the host.
    pub key: Key,
    /// The initial send sequence number of the first subflow.
    pub iss: Seq,
}

/// What a connection speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// The handshake goes on.
    Opening,
    /// Multipath TCP.
    Multipath,
    /// TCP, on this subflow.
    Fallback(SubflowId),
}

/// One end of a connection of Multipath TCP.
#[derive(Debug)]
pub struct Connection {
    config: Arc<Config>,
    tcp_config: Arc<tcp::Config>,
    mode: Mode,
    /// It opened the connection.
    is_client: bool,
    /// Checksums are in use: one of the ends asked for them.
    checksum: bool,
    key: Key,
    their_key: Option<Key>,
    subflows: Vec<Subflow>,
    snd: DataSender,
    rcv: DataReceiver,
    paths: PathManager,
    oracle: Oracle,
    scheduler: Box<dyn Scheduler>,
    couplings: Couplings,
    /// When what is not acknowledged is sent again on any subflow, and how often that was in vain.
    retransmit: Option<Time>,
    /// How long that timer runs, where subflows keep their data until they are stale (`timer_ival`).
    interval: Span,
    expiries: u32,
    /// When the connection ends for want of subflows.
    abandoned: Option<Time>,
    ended: Option<Ended>,
    /// Something was done between inputs that everything may depend on.
    touched: bool,
    /// The application has written, so there may be something to give to subflows.
    wrote: bool,
    /// The windows that subflows are to announce, and the room that they are to keep for options, may be others.
    has_other_owners: bool,
    /// The DATA_FIN of the other end was taken.
    fin_taken: bool,
    counters: Counters,
    /// Subflows before this one have nothing more to send, as far as nothing has happened since they were asked.
    polled: SubflowId,
    /// Scratch: who can carry something.
    candidates: Vec<Candidate>,
}

/// What happened so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Octets of data given to a second subflow, for whatever reason.
    pub octets_reinjected: u64,
    /// Octets of data that came again, on whichever subflow.
    pub octets_duplicate: u64,
    /// Windows that were halved for holding up the others.
    pub penalties: u32,
    /// Subflows of the other end that were refused: wrong HMAC, or too many.
    pub joins_refused: u32,
    /// Expiries of the timer of the data level.
    pub timeouts: u32,
    /// Mappings whose checksum was wrong.
    pub bad_checksums: u32,
}

impl Connection {
    /// Opens a connection actively: the SYN of its first subflow is ready to be sent.
    pub fn connect(setup: &Setup<'_>) -> Self {
        let mut connection = Self::new(setup, true);
        let tcp = connection.new_tcp(setup.iss, None);
        connection.subflows.push(Subflow::new(setup.ends, [0, 0], tcp, Handshake::Capable));
        connection
    }

    /// Answers a peer's SYN, for a socket in LISTEN. One without MP_CAPABLE is answered by TCP.
    pub fn accept(setup: &Setup<'_>, syn: &TcpHeader) -> Self {
        let mut connection = Self::new(setup, false);
        let offer = arrival::capable(&syn.options).filter(|capable| {
            capable.form == voxpath_wire::tcp::mptcp::CapableForm::Syn
                && arrival::is_understood(capable.flags)
        });
        let tcp = connection.new_tcp(setup.iss, Some(syn));
        connection.subflows.push(Subflow::new(setup.ends, [0, 0], tcp, Handshake::Capable));
        match offer {
            Some(capable) => connection.heed(capable.flags),
            None => connection.fall_back(0),
        }
        connection.snd.edge = 1 + u64::from(syn.window);
        connection.settle_owners();
        connection
    }

    fn new(setup: &Setup<'_>, is_client: bool) -> Self {
        let Setup { config, tcp, key, addresses, .. } = setup;
        Self {
            mode: Mode::Opening,
            is_client,
            checksum: config.checksum,
            key: *key,
            their_key: None,
            subflows: Vec::new(),
            snd: DataSender::new(DataSequence::new(key.initial_number()), tcp.send_buffer),
            rcv: DataReceiver::new(tcp),
            paths: PathManager::new(config.paths.clone(), addresses),
            oracle: Oracle::default(),
            scheduler: config.scheduler.build(),
            couplings: Couplings::new(config.coupling),
            retransmit: None,
            interval: schedule::MIN_TIMEOUT,
            expiries: 0,
            abandoned: None,
            ended: None,
            touched: true,
            wrote: false,
            has_other_owners: false,
            fin_taken: false,
            counters: Counters::default(),
            polled: 0,
            candidates: Vec::new(),
            config: config.clone(),
            tcp_config: tcp.clone(),
        }
    }

    /// The TCP connection of the next subflow.
    fn new_tcp(&mut self, iss: Seq, syn: Option<&TcpHeader>) -> tcp::Connection {
        let congestion = self.couplings.of_next(self.tcp_config.congestion);
        let tcp = match syn {
            None => tcp::Connection::connect_with(self.tcp_config.clone(), iss, &congestion),
            Some(syn) => tcp::Connection::accept_with(self.tcp_config.clone(), iss, syn, &congestion),
        };
        let window = self.rcv.window(|| tcp.receiving());
        tcp.owned_by(tcp::Owner { window, ack_options: self.ack_len(), data_options: self.data_len() })
    }

    /// A subflow that should be opened; none if there is none. It counts as opened: give it to [`Connection::open`].
    pub fn poll_open(&mut self) -> Option<Opening> {
        let may = !self.paths.has_none() && self.manages_paths();
        may.then(|| self.paths.next(&self.subflows)).flatten()
    }

    /// Whether further subflows have any use.
    fn manages_paths(&self) -> bool {
        self.mode == Mode::Multipath
            && self.ended.is_none()
            && !(self.snd.is_finished() && self.rcv.queue.is_finished())
            && self.subflows.iter().any(|subflow| subflow.handshake == Handshake::Done)
    }

    /// Tells the path manager of time, and of what has moved.
    fn manage_paths(&mut self, now: Time) {
        if self.paths.is_settled() || !self.manages_paths() {
            return;
        }
        if !self.subflows.iter().any(|subflow| subflow.is_ready() && !subflow.silent) {
            self.paths.note_failure();
        }
        if self.paths.has_oracle() && self.oracle.consult(now, self.snd.is_outstanding(), &mut self.subflows)
        {
            self.paths.note_doubt();
        }
        let moved = self.snd.una + self.rcv.queue.data_ack();
        self.paths.tick(now, moved, self.snd.is_outstanding());
    }

    /// Asks for a further subflow between two addresses, whatever the path management does by itself: [`Connection::poll_open`] gives it out as soon as
    /// `limit` allows. Whether it may be: not if `local` is no address of this end or is gone, if it is of another family than `remote`, if the other end takes
    /// no further ones there (C of MP_CAPABLE, RFC 8684 section 3.1), and where the connection is not one of Multipath TCP.
    ///
    /// [`Connection::subflows`], [`Connection::close_subflow`] and [`Connection::set_backup`] are the other calls of an application that knows of subflows.
    pub fn ask_for_subflow(&mut self, local: IpAddr, remote: SocketAddr) -> bool {
        let may = self.mode == Mode::Multipath && self.ended.is_none();
        may && self.paths.ask(local, remote, self.subflows[0].remote)
    }

    /// Opens a subflow from a port of `opening.local`: its SYN is ready to be sent.
    pub fn open(&mut self, opening: &Opening, port: u16, iss: Seq, nonce: u32) -> SubflowId {
        let ends = [SocketAddr::new(opening.local, port), opening.remote];
        let handshake = Handshake::Join { ours: Joining { key: self.key, nonce } };
        let tcp = self.new_tcp(iss, None);
        let ids = [opening.local_id, opening.remote_id];
        let mut subflow = Subflow::new(ends, ids, tcp, handshake);
        subflow.asked_backup = opening.backup;
        self.subflows.push(subflow);
        self.settle_owners();
        self.subflows.len() - 1
    }

    /// Answers a SYN with an MP_JOIN that has this connection's token; none if it is refused.
    pub fn join(
        &mut self,
        ends: [SocketAddr; 2],
        syn: &TcpHeader,
        iss: Seq,
        nonce: u32,
    ) -> Option<SubflowId> {
        let Some(Join::Syn { backup, address_id, token, nonce: theirs }) = join_of(syn) else { return None };
        let their_key = self.their_key?;
        let live = self.subflows.iter().skip(1).filter(|subflow| !subflow.is_over()).count();
        let may = token == self.token() && self.mode == Mode::Multipath && self.ended.is_none();
        if !may || live >= self.paths.limit() {
            self.counters.joins_refused += 1;
            return None;
        }
        let ours = Joining { key: self.key, nonce };
        let theirs = Joining { key: their_key, nonce: theirs };
        let expected = Handshake::JoinExpected {
            hmac: theirs.hmac(ours).long(),
            short: ours.hmac(theirs).short(),
            nonce,
        };
        let tcp = self.new_tcp(iss, Some(syn));
        let local_id = self.paths.id_of(ends[0].ip(), self.subflows[0].local.ip());
        let mut subflow = Subflow::new(ends, [local_id, address_id], tcp, expected);
        subflow.is_backup = backup;
        subflow.asked_backup = self.paths.is_backup(ends[0].ip());
        self.subflows.push(subflow);
        self.settle_owners();
        Some(self.subflows.len() - 1)
    }

    /// How the other end's MP_JOINs call this connection.
    pub fn token(&self) -> u32 {
        self.key.token()
    }

    /// Takes in as much of `data` as the send buffer has room for; how many octets that is. Nothing after
    /// [`Connection::close`] or the connection's end.
    pub fn write(&mut self, data: &Payload) -> u32 {
        if self.is_closing() {
            return 0;
        }
        let from = self.snd.buffer.end();
        let taken = self.snd.buffer.write_into(self.room(), data);
        if self.scheduler.waits_until_stale() {
            self.snd.pieces.write(from, taken, self.snd.nxt < from);
        }
        self.wrote |= taken > 0;
        taken
    }

    /// Octets that an application should write now; none before the handshake is over.
    pub fn writable(&self) -> u32 {
        if self.is_closing() || !self.is_connected() { 0 } else { self.room() }
    }

    /// Octets that the send buffer still takes: of memory, where the scheduler says what there is of it and nobody has fixed that; of TCP's, once the
    /// connection is that.
    fn room(&self) -> u32 {
        if let Mode::Fallback(id) = self.mode {
            let given = u64::from(self.subflows[id].tcp.writable());
            let waiting = self.snd.buffer.end() - self.snd.nxt;
            return self.snd.buffer.room().min(given.saturating_sub(waiting) as u32);
        }
        let counts = self.tcp_config.send_autotuning && self.mode == Mode::Multipath;
        match self.scheduler.memory().filter(|_| counts) {
            Some(memory) => self.snd.room_of(memory),
            None => self.snd.buffer.room(),
        }
    }

    /// Gives out at most `max` octets received in order; empty if there are none.
    pub fn read(&mut self, max: u32) -> Payload {
        if let Mode::Fallback(id) = self.mode
            && self.rcv.queue.readable() == 0
        {
            self.collect_plain(id, max);
        }
        let data = self.rcv.queue.read(max);
        self.has_other_owners |= !data.is_empty();
        data
    }

    /// Octets that can be read.
    pub fn readable(&self) -> u64 {
        self.rcv.queue.readable() + self.plain()
    }

    /// Whether the peer has closed and everything before that was read.
    pub fn is_at_end(&self) -> bool {
        self.rcv.queue.is_finished() && self.readable() == 0
    }

    /// Closes this end's direction: a DATA_FIN follows what was written (RFC 8684 section 3.3.3).
    pub fn close(&mut self) {
        self.touched = true;
        if self.is_connected() {
            self.snd.buffer.close();
        } else if self.ended.is_none() {
            self.ended = Some(Ended::Closed);
            for subflow in &mut self.subflows {
                subflow.tcp.close();
            }
        }
    }

    /// Whether this end has closed its direction.
    pub fn is_closing(&self) -> bool {
        self.snd.buffer.is_closed() || self.ended.is_some()
    }

    /// Whether the handshake of the first subflow succeeded, and the connection has not failed since.
    pub fn is_connected(&self) -> bool {
        let failed = self.ended.is_some_and(|how| how != Ended::Closed);
        !failed
            && self
                .subflows
                .first()
                .is_some_and(|first| first.tcp.is_synchronised() && first.tcp.ended() != Some(Ended::Refused))
            && (self.mode != Mode::Opening || !self.is_client || self.their_key.is_some())
    }

    /// How it ended; none while it goes on.
    pub fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// Its subflows in the order in which they were opened, those that have ended too.
    pub fn subflows(&self) -> &[Subflow] {
        &self.subflows
    }

    /// Whether it is TCP: the other end, or something on the way, does not know Multipath TCP (RFC 8684 section 3.7).
    pub fn is_fallback(&self) -> bool {
        matches!(self.mode, Mode::Fallback(_))
    }

    /// What happened so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Octets of data that the other end has acknowledged at the data level.
    pub fn octets_acknowledged(&self) -> u64 {
        self.snd.una.min(self.snd.buffer.end()) - 1
    }

    /// Octets of data that have come in order.
    pub fn octets_received(&self) -> u64 {
        self.rcv.queue.data_ack() + self.plain() - 1 - u64::from(self.rcv.queue.is_finished())
    }

    /// Whether this end waits for the other: for its handshake, or until it has what was written.
    pub fn is_outstanding(&self) -> bool {
        !self.is_connected() || self.snd.una < self.snd.buffer.end() || self.snd.is_outstanding()
    }

    /// Takes a segment of a subflow in.
    pub fn handle_segment(&mut self, now: Time, id: SubflowId, header: &TcpHeader, payload: &Payload) {
        self.subflows[id].tcp.handle_segment(now, header, payload);
        let opening = self.mode == Mode::Opening;
        self.take(now, id);
        if opening && self.mode == Mode::Multipath {
            self.rcv.begin(now);
        }
        self.settle(now);
    }

    /// The network has marked the segment of this subflow that comes next (ECN, RFC 3168).
    pub fn congestion_experienced(&mut self, id: SubflowId) {
        self.subflows[id].tcp.congestion_experienced();
    }

    /// Whether the network may mark the segment of this subflow that was given out last.
    pub fn is_ecn_capable(&self, id: SubflowId) -> bool {
        self.subflows[id].tcp.is_ecn_capable()
    }

    /// A link takes no more than `largest` bytes of a segment of this subflow; whether there is something to do.
    pub fn handle_too_big(&mut self, id: SubflowId, largest: u32, seq: Seq) -> bool {
        self.polled = 0;
        self.subflows[id].tcp.handle_too_big(largest, seq)
    }

    /// When [`Connection::handle_timeout`] is to be called; none if no timer runs.
    pub fn poll_timeout(&self) -> Option<Time> {
        let announces = self.paths.poll_announcement().filter(|_| self.announces().is_some());
        let managed = match self.paths.is_settled() {
            true => None,
            false => Time::earliest([self.paths.poll_timeout(), self.oracle.next]),
        };
        let managed = managed.filter(|_| self.manages_paths());
        let mut first = Time::earliest([self.retransmit, self.abandoned, announces, managed]);
        for subflow in &self.subflows {
            let again = match subflow.handshake {
                Handshake::JoinAnswered { again, .. } if !subflow.is_over() => again,
                _ => None,
            };
            first = Time::earliest([first, subflow.tcp.poll_timeout(), again]);
        }
        first
    }

    /// Does what is due at `now`; nothing if nothing is.
    pub fn handle_timeout(&mut self, now: Time) {
        // Drivers call this whenever something happens, mostly for nothing.
        if self.poll_timeout().is_none_or(|due| now < due) {
            return;
        }
        for subflow in &mut self.subflows {
            subflow.tcp.handle_timeout(now);
            if let Handshake::JoinAnswered { again: again @ Some(_), .. } = &mut subflow.handshake
                && again.is_some_and(|due| due <= now)
            {
                *again = Some(now + subflow.tcp.rto());
                subflow.tcp.acknowledge_now();
            }
        }
        self.handle_data_timeout(now);
        self.settle(now);
    }

    /// The next segment to send, and by which subflow; ports are in there. Call until there is none.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(SubflowId, TcpHeader, Payload)> {
        self.settle_what_was_done(now);
        while let Some(subflow) = self.subflows.get_mut(self.polled) {
            if !subflow.tcp.rests(now) {
                if let Some((header, payload)) = subflow.tcp.poll_transmit(now) {
                    let mut segment = (self.polled, header, payload);
                    self.add_options(segment.0, &mut segment.1, &segment.2);
                    return Some(segment);
                }
                subflow.tcp.rest();
            }
            self.polled += 1;
        }
        self.polled = 0;
        None
    }

    /// After what the application did: what comes of it.
    fn settle_what_was_done(&mut self, now: Time) {
        if core::mem::take(&mut self.touched) {
            self.settle(now);
        }
        if core::mem::take(&mut self.wrote) {
            self.polled = 0;
            self.schedule(now);
        }
        if core::mem::take(&mut self.has_other_owners) {
            self.polled = 0;
            self.settle_owners();
        }
    }

    /// After anything that happened: subflows that ended, what is to be closed, what is to be sent by whom.
    fn settle(&mut self, now: Time) {
        (self.wrote, self.polled) = (false, 0);
        self.reap(now);
        self.close_when_done();
        self.manage_paths(now);
        self.announce_addresses(now);
        self.schedule(now);
        self.close_when_done();
        // Before anything leaves: the application may read until then.
        self.has_other_owners = true;
    }
}

/// The MP_JOIN of a segment.
fn join_of(header: &TcpHeader) -> Option<Join> {
    header.options.mptcp().flatten().find_map(|option| match option {
        MptcpOption::Join(join) => Some(join),
        _ => None,
    })
}

/// What a host answers to a segment that is for none of its connections: a reset, and why to a SYN that joins (sections 3.2, 3.6).
pub fn reset_for(header: &TcpHeader, payload: &Payload) -> Option<TcpHeader> {
    let mut reset = tcp::reset_for(header, payload)?;
    if joins(header).is_some() {
        reset.options.push_mptcp(&MptcpOption::Reset { transient: false, reason: arrival::reason::SPECIFIC });
    }
    Some(reset)
}

/// The token of a SYN that joins a connection.
pub fn joins(header: &TcpHeader) -> Option<u32> {
    match join_of(header)? {
        Join::Syn { token, .. } => Some(token),
        _ => None,
    }
}
