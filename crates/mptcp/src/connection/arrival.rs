//! What segments and their options lead to.

use super::{Connection, Mode, SubflowId};
use crate::keys::{Joining, Key, address_hmac};
use crate::sequence::DataSequence;
use crate::subflow::{Checked, Handshake};
use core::net::SocketAddr;
use voxpath_tcp::{Ended, Received};
use voxpath_units::Time;
use voxpath_wire::tcp::mptcp::{
    AddAddr, AddressIds, Capable, CapableFlags, CapableForm, DataMapping, DataNumber, Dss, FirstData, Join,
    MptcpOption,
};
use voxpath_wire::tcp::{TcpFlags, TcpOptions};

/// Reasons of MP_TCPRST (RFC 8684 section 3.6).
pub(super) mod reason {
    pub(in crate::connection) const SPECIFIC: u8 = 1;
    pub(in crate::connection) const INTERFERENCE: u8 = 6;
}

/// The MP_CAPABLE of a segment.
pub(super) fn capable(options: &TcpOptions) -> Option<Capable> {
    options.mptcp().flatten().find_map(|option| match option {
        MptcpOption::Capable(capable) => Some(capable),
        _ => None,
    })
}

/// Whether a SYN asks for what is known here: others than these algorithms, or an extension, make the connection TCP (section 3.1).
pub(super) fn is_understood(flags: CapableFlags) -> bool {
    flags.contains(CapableFlags::HMAC_SHA256) && !flags.contains(CapableFlags::EXTENSIBILITY)
}

impl Connection {
    /// Takes in what a subflow has: options first, then octets, each by its mapping.
    pub(super) fn take(&mut self, now: Time, id: SubflowId) {
        while let Some(received) = self.subflows[id].tcp.poll_received() {
            self.hear(now, id, &received);
        }
        let (ack, waiting) = (self.rcv.queue.data_ack(), self.readable());
        self.collect(now, id);
        if self.rcv.queue.data_ack() > ack {
            self.follow_reader(now, waiting);
        }
        if self.rcv.queue.is_finished() && !self.fin_taken {
            self.fin_taken = true;
            // RFC 8684 section 3.3.3: a DATA_FIN is acknowledged as data is.
            self.subflows[id].tcp.acknowledge_now();
        }
        self.follow_end(id);
    }

    /// A FIN without a DATA_FIN ends a subflow alone (section 3.3.3): this end closes it too, once it has what was carried by it
    /// (mptcp_worker()'s subflows in CLOSE_WAIT).
    fn follow_end(&mut self, id: SubflowId) {
        let is_last = self.rcv.queue.has_fin() || self.mode != Mode::Multipath;
        let subflow = &mut self.subflows[id];
        if subflow.tcp.is_at_end() && !is_last && !subflow.tcp.is_closing() {
            subflow.tcp.close();
        }
    }

    /// Data in order has come: the receive memory follows what the application takes of it.
    fn follow_reader(&mut self, now: Time, waiting: u64) {
        let live = self.subflows.iter().filter(|subflow| !subflow.is_over());
        let receiving = live.map(|subflow| subflow.tcp.receiving());
        if let Some(taken) = self.rcv.follow_reader(now, waiting, receiving) {
            for subflow in &mut self.subflows {
                subflow.tcp.follow_reader(taken);
            }
        }
    }

    /// A segment was taken in.
    fn hear(&mut self, now: Time, id: SubflowId, received: &Received) {
        let subflow = &mut self.subflows[id];
        subflow.silent = false;
        subflow.last_heard = Some(now);
        subflow.staleness.is_stale = false;
        if received.flags.contains(TcpFlags::RST) {
            self.hear_reset(id, received);
            return;
        }
        if let Mode::Fallback(_) = self.mode {
            return self.hear_parting(id, received);
        }
        let mut spoken = false;
        for option in received.options.iter() {
            // What is malformed, or of another version, is ignored (section 3).
            if let Ok(option) = MptcpOption::parse(option) {
                spoken |= self.hear_option(now, id, received, &option);
            }
        }
        self.subflows[id].is_plain = !spoken;
        if spoken {
            self.subflows[id].plain = 0;
        } else {
            self.hear_plain(id, received);
        }
    }

    /// A reset: it may end everything (MP_FASTCLOSE, section 3.5), or say that the subflow shall not come back (section 3.6).
    fn hear_reset(&mut self, id: SubflowId, received: &Received) {
        for option in received.options.iter() {
            match MptcpOption::parse(option) {
                Ok(MptcpOption::FastClose { key }) if key == self.key.0 => self.end(Ended::Reset),
                Ok(MptcpOption::Reset { transient, .. }) => self.subflows[id].may_return &= transient,
                _ => {}
            }
        }
    }

    /// An option; whether it shows that the other end speaks Multipath TCP on this subflow.
    fn hear_option(&mut self, now: Time, id: SubflowId, received: &Received, option: &MptcpOption) -> bool {
        match *option {
            MptcpOption::Capable(capable) => self.hear_capable(id, received, capable),
            MptcpOption::Join(join) => self.hear_join(now, id, join),
            MptcpOption::Dss(ref dss) => self.hear_dss(now, id, received, dss),
            MptcpOption::AddAddr(add) => self.hear_address(id, add),
            MptcpOption::RemoveAddr(ids) => self.hear_removal(&ids),
            MptcpOption::Prio { backup } => {
                self.subflows[id].is_backup = backup;
                true
            }
            MptcpOption::Fail { .. } => {
                self.hear_failure(id);
                true
            }
            MptcpOption::FastClose { key } => {
                if key == self.key.0 {
                    // Section 3.5: answered with resets on all subflows.
                    for subflow in &mut self.subflows {
                        subflow.tcp.abort();
                    }
                    self.end(Ended::Reset);
                }
                true
            }
            MptcpOption::Reset { .. } => true,
        }
    }

    fn hear_capable(&mut self, id: SubflowId, received: &Received, capable: Capable) -> bool {
        if id != 0 || !matches!(self.subflows[0].handshake, Handshake::Capable | Handshake::Done) {
            return false;
        }
        match capable.form {
            CapableForm::SynAck { key } if self.is_client && received.flags.contains(TcpFlags::SYN) => {
                if self.mode != Mode::Opening || !is_understood(capable.flags) {
                    return false;
                }
                self.heed(capable.flags);
                self.agree(Key(key));
                self.subflows[0].handshake = Handshake::CapableAnswered;
                self.snd.edge = self.snd.edge.max(1 + u64::from(received.window));
                true
            }
            CapableForm::Ack { sender, receiver, data } if !self.is_client => {
                if receiver != self.key.0 || self.their_key.is_some_and(|known| known.0 != sender) {
                    return false;
                }
                if self.mode == Mode::Opening {
                    self.agree(Key(sender));
                    self.subflows[0].handshake = Handshake::Done;
                    self.ask_for_backup(0);
                    while let Some((start, dss)) = self.subflows[0].early.pop_front() {
                        self.learn(0, start, &dss);
                    }
                }
                self.snd.edge = self.snd.edge.max(1 + u64::from(received.window));
                if let Some(FirstData { len, checksum }) = data {
                    let dsn = self.rcv.sequence.map_or(0, |sequence| sequence.number(1));
                    let mapping = DataMapping { dsn: DataNumber::Long(dsn), ssn: 1, len, checksum };
                    let dss = Dss { data_fin: false, ack: None, mapping: Some(mapping) };
                    self.learn(0, received.start, &dss);
                }
                true
            }
            _ => false,
        }
    }

    /// What the other end asks for in its SYN.
    pub(super) fn heed(&mut self, flags: CapableFlags) {
        self.checksum |= flags.contains(CapableFlags::CHECKSUM);
        if flags.contains(CapableFlags::NO_JOIN) {
            self.paths.spare_first();
        }
    }

    /// Both keys are known.
    fn agree(&mut self, theirs: Key) {
        self.their_key = Some(theirs);
        self.rcv.sequence = Some(DataSequence::new(theirs.initial_number()));
        self.mode = Mode::Multipath;
    }

    fn hear_join(&mut self, now: Time, id: SubflowId, join: Join) -> bool {
        let subflow = &mut self.subflows[id];
        match (subflow.handshake, join) {
            (Handshake::Join { ours }, Join::SynAck { backup, address_id, hmac, nonce }) => {
                let Some(key) = self.their_key else { return false };
                let theirs = Joining { key, nonce };
                if theirs.hmac(ours).short() != hmac {
                    self.counters.joins_refused += 1;
                    self.reset(id, reason::SPECIFIC);
                    return true;
                }
                (subflow.is_backup, subflow.remote_id) = (backup, address_id);
                let again = Some(now + subflow.tcp.rto());
                subflow.handshake = Handshake::JoinAnswered { hmac: ours.hmac(theirs).long(), again };
                true
            }
            (Handshake::JoinExpected { hmac: expected, .. }, Join::Ack { hmac }) => {
                if hmac == expected {
                    subflow.handshake = Handshake::Done;
                    // Section 3.2: the fourth segment, before which nothing is sent by the other end. Data with the same timestamps behind it tells a receiver
                    // no round trip (tcp_rcv_rtt_measure_ts()).
                    subflow.tcp.acknowledge_before_data();
                } else {
                    self.counters.joins_refused += 1;
                    self.reset(id, reason::SPECIFIC);
                }
                true
            }
            (Handshake::Done, Join::Ack { .. }) => {
                // The fourth segment was lost.
                subflow.tcp.acknowledge_now();
                true
            }
            _ => false,
        }
    }

    /// The other end is known to have both keys.
    fn note_known(&mut self, id: SubflowId) {
        self.subflows[id].handshake = Handshake::Done;
        self.ask_for_backup(id);
    }

    fn hear_dss(&mut self, now: Time, id: SubflowId, received: &Received, dss: &Dss) -> bool {
        let subflow = &mut self.subflows[id];
        match subflow.handshake {
            Handshake::CapableAnswered => self.note_known(id),
            Handshake::JoinAnswered { .. } => subflow.handshake = Handshake::Done,
            Handshake::Capable if !self.is_client => {
                // The third segment and the first data were lost or overtaken: what it says is understood once they are here.
                if subflow.early.len() < EARLY && dss.mapping.is_some() {
                    subflow.early.push_back((received.start, *dss));
                }
                return true;
            }
            Handshake::Done => {}
            _ => return false,
        }
        if let Some(ack) = dss.ack.and_then(|ack| self.snd.sequence.offset(ack, self.snd.una)) {
            let most = self.snd.nxt + u64::from(self.snd.fin_sent);
            if ack <= most {
                if self.snd.acknowledge(ack) {
                    self.subflows[id].last_news = Some(now);
                    (self.retransmit, self.expiries) = (None, 0);
                }
                self.snd.edge = self.snd.edge.max(ack + u64::from(received.window));
            }
        }
        if dss.mapping.is_some() {
            self.learn(id, received.start, dss);
        }
        true
    }

    /// A mapping came with a segment that begins at `start`.
    pub(super) fn learn(&mut self, id: SubflowId, start: u64, dss: &Dss) {
        let (Some(mapping), Some(sequence)) = (dss.mapping, self.rcv.sequence) else { return };
        let DataMapping { dsn, ssn, len, checksum } = mapping;
        if len == 0 {
            self.hear_infinite(id);
            return;
        }
        let Some(data) = sequence.offset(dsn, self.rcv.queue.data_ack()).filter(|&data| data > 0) else {
            return;
        };
        let octets = u64::from(len) - u64::from(dss.data_fin);
        if dss.data_fin {
            self.rcv.note_fin(data + octets);
        }
        // A DATA_FIN alone is mapped to no octet of the subflow.
        if octets == 0 || ssn == 0 {
            return;
        }
        let Some(at) = near(ssn, start) else { return };
        let subflow = &mut self.subflows[id];
        let refused = subflow.mappings.learn(at, octets as u32, data).is_err();
        if refused {
            self.reset(id, reason::INTERFERENCE);
            return;
        }
        if self.checksum {
            let Some(checksum) = checksum else { return self.reset(id, reason::INTERFERENCE) };
            let checked = Checked {
                len: octets as u32,
                data,
                checksum,
                dsn: sequence.number(data),
                ssn,
                wire_len: len,
            };
            if subflow.tcp.read_offset() <= at {
                subflow.checksums.insert(at, checked);
            }
        }
    }

    fn hear_address(&mut self, id: SubflowId, add: AddAddr) -> bool {
        let AddAddr { address_id, address, port, hmac } = add;
        let Some(hmac) = hmac else {
            self.paths.confirmed(address_id, self.subflows[0].local.ip());
            return true;
        };
        let Some(theirs) = self.their_key else { return false };
        if hmac != address_hmac(theirs, self.key, address_id, address, port) {
            // Section 3.4.1: silently ignored.
            return true;
        }
        if self.subflows[id].handshake == Handshake::CapableAnswered {
            // Linux announces its addresses before any data, and without a DSS.
            self.note_known(id);
        }
        // A port that is not told is that of the first subflow's.
        let remote = SocketAddr::new(address, port.unwrap_or(self.subflows[0].remote.port()));
        self.paths.learn(address_id, remote);
        let echo = AddAddr { hmac: None, ..add };
        self.subflows[id].outbox.push_back(MptcpOption::AddAddr(echo));
        self.subflows[id].tcp.acknowledge_now();
        true
    }

    fn hear_removal(&mut self, ids: &AddressIds) -> bool {
        for &address in ids.as_slice() {
            self.paths.forget(address);
            for subflow in self.subflows.iter_mut().filter(|subflow| subflow.remote_id == address) {
                // Section 3.4.2.
                subflow.tcp.abort();
            }
        }
        true
    }
}

/// How many mappings are kept that come before the key: an initial window of them.
const EARLY: usize = 64;

/// The octet of a subflow near `start` that a relative number of 32 bits stands for.
fn near(ssn: u32, start: u64) -> Option<u64> {
    start.checked_add_signed(i64::from(ssn.wrapping_sub(start as u32).cast_signed()))
}
