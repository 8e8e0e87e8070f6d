//! The options of what leaves.

use super::{Connection, Mode, SubflowId};
use crate::checksum::data_checksum;
use crate::keys::address_hmac;
use crate::subflow::{Handshake, Subflow};
use voxpath_tcp::Mapping;
use voxpath_units::Time;
use voxpath_wire::Payload;
use voxpath_wire::tcp::mptcp::{
    AddAddr, AddressIds, Capable, CapableFlags, CapableForm, DataMapping, DataNumber, Dss, FirstData, Join,
    MptcpOption,
};
use voxpath_wire::tcp::{TcpFlags, TcpHeader};

/// MP_CAPABLE of the third segment, of the first data, and MP_JOIN of the third segment.
const CAPABLE_ACK: u32 = 20;
const CAPABLE_DATA: u32 = 24;
const JOIN_ACK: u32 = 24;

/// Octets that there are for them beside timestamps.
const ROOM: u32 = 28;

/// Expiries after which a SYN leaves without MP_CAPABLE: two retransmissions have it (`net.mptcp.syn_retrans_before_tcp_fallback`).
const PLAIN_SYN: u32 = 3;

/// Octets that the options of the next segment of a subflow without data take, where a DSS takes `dss`.
pub(super) fn ack_options(subflow: &Subflow, dss: u32) -> u32 {
    match subflow.handshake {
        Handshake::CapableAnswered => CAPABLE_ACK,
        Handshake::JoinAnswered { .. } => JOIN_ACK,
        _ => {
            let first = subflow.outbox.front().map_or(0, |option| option.emit().padded_len());
            if first + dss <= ROOM { first + dss } else { first }
        }
    }
}

impl Connection {
    fn number_len(&self) -> u32 {
        if self.config.long_numbers { 8 } else { 4 }
    }

    /// Octets of a DSS with a data ACK.
    pub(super) fn ack_len(&self) -> u32 {
        4 + self.number_len()
    }

    /// Octets of a DSS with a data ACK and a mapping; of MP_CAPABLE with the first data, if that is longer.
    pub(super) fn data_len(&self) -> u32 {
        let mapping = self.number_len() + 6 + if self.checksum { 2 } else { 0 };
        (self.ack_len() + mapping).next_multiple_of(4).max(CAPABLE_DATA)
    }

    /// Octets of the DSS of the next segment without data.
    pub(super) fn dss_len(&self) -> u32 {
        if self.tells_fin() { self.data_len() } else { self.ack_len() }
    }

    /// Whether segments without data repeat the DATA_FIN.
    fn tells_fin(&self) -> bool {
        self.snd.fin_sent && !self.snd.is_finished()
    }

    fn flags(&self) -> CapableFlags {
        let checksum = if self.checksum { CapableFlags::CHECKSUM.0 } else { 0 };
        CapableFlags(CapableFlags::HMAC_SHA256.0 | checksum)
    }

    fn number(&self, offset: u64) -> DataNumber {
        let number = self.snd.sequence.number(offset);
        // The lower half is what fits.
        if self.config.long_numbers { DataNumber::Long(number) } else { DataNumber::Short(number as u32) }
    }

    /// The data ACK, once it is known what is acknowledged.
    fn data_ack(&self) -> Option<DataNumber> {
        let number = self.rcv.sequence?.number(self.rcv.queue.data_ack() + self.plain());
        Some(if self.config.long_numbers {
            DataNumber::Long(number)
        } else {
            DataNumber::Short(number as u32)
        })
    }

    /// Gives a segment its options.
    pub(super) fn add_options(&mut self, id: SubflowId, header: &mut TcpHeader, payload: &Payload) {
        if header.flags.contains(TcpFlags::RST) {
            if let Some(reason) = self.subflows[id].reset.take() {
                header.options.push_mptcp(&reason);
            }
            return;
        }
        if let Mode::Fallback(_) = self.mode {
            if !header.flags.contains(TcpFlags::SYN)
                && let Some(option) = self.last_word(id, header, payload)
            {
                let fits = header.options.push_mptcp(&option);
                debug_assert!(fits, "room was kept: {header:?} {option:?}");
                self.part(id);
            }
            return;
        }
        self.rcv.announced(if header.flags.contains(TcpFlags::SYN) {
            // That of a SYN is the connection's too, and is not scaled.
            header.window.into()
        } else {
            self.subflows[id].tcp.owner().map_or(0, |owner| owner.window)
        });
        let is_bare = payload.is_empty() && !header.flags.contains(TcpFlags::SYN);
        if is_bare && self.subflows[id].handshake == Handshake::Done {
            // What is to be said once goes first; a DSS follows where there is room.
            if let Some(option) = self.subflows[id].outbox.pop_front() {
                header.options.push_mptcp(&option);
                header.options.push_mptcp(&MptcpOption::Dss(self.dss_of_ack()));
                if !self.subflows[id].outbox.is_empty() {
                    self.subflows[id].tcp.acknowledge_now();
                    self.touched = true;
                }
                return;
            }
        }
        if let Some(option) = self.first_option(id, header, payload) {
            let fits = header.options.push_mptcp(&option);
            debug_assert!(fits, "room was kept: {header:?} {option:?}");
        }
    }

    /// What is said of Multipath TCP after it has ended.
    fn last_word(&mut self, id: SubflowId, header: &TcpHeader, payload: &Payload) -> Option<MptcpOption> {
        let subflow = &mut self.subflows[id];
        if let Some(option) = subflow.outbox.pop_front() {
            return Some(option);
        }
        let acknowledges = subflow.acknowledges;
        let is_infinite = !payload.is_empty() && core::mem::take(&mut subflow.is_infinite);
        let Some(start) = subflow.tcp.place(header.seq).filter(|_| is_infinite) else {
            let ack = self.data_ack().filter(|_| acknowledges);
            return ack.map(|ack| MptcpOption::Dss(Dss { data_fin: false, ack: Some(ack), mapping: None }));
        };
        // What was written last is at the same place of both sequences, and what lies before it was carried by no other subflow.
        let first = self.snd.nxt - (subflow.tcp.write_offset() - start);
        // Section 3.7: a length of zero, and so a checksum of zero.
        let checksum = self.checksum.then_some(0);
        let mapping = DataMapping { dsn: self.number(first), ssn: start as u32, len: 0, checksum };
        Some(MptcpOption::Dss(Dss { data_fin: false, ack: self.data_ack(), mapping: Some(mapping) }))
    }

    fn first_option(&mut self, id: SubflowId, header: &TcpHeader, payload: &Payload) -> Option<MptcpOption> {
        let (syn, ack) = (header.flags.contains(TcpFlags::SYN), header.flags.contains(TcpFlags::ACK));
        let flags = self.flags();
        let capable = |form| Some(MptcpOption::Capable(Capable { flags, form }));
        if syn {
            return match self.subflows[id].handshake {
                Handshake::Capable if ack => capable(CapableForm::SynAck { key: self.key.0 }),
                // Section 3.1: whoever drops the SYN may do so for its option.
                Handshake::Capable if self.subflows[id].tcp.counters().timeouts >= PLAIN_SYN => None,
                Handshake::Capable => capable(CapableForm::Syn),
                Handshake::Join { ours } => {
                    let token = self.their_key?.token();
                    let subflow = &self.subflows[id];
                    Some(MptcpOption::Join(Join::Syn {
                        backup: subflow.asked_backup,
                        address_id: subflow.local_id,
                        token,
                        nonce: ours.nonce,
                    }))
                }
                Handshake::JoinExpected { short, nonce, .. } => {
                    let subflow = &self.subflows[id];
                    Some(MptcpOption::Join(Join::SynAck {
                        backup: subflow.asked_backup,
                        address_id: subflow.local_id,
                        hmac: short,
                        nonce,
                    }))
                }
                _ => None,
            };
        }
        if payload.is_empty() {
            return self.option_of_ack(id);
        }
        let Mapping { start, len, value } = self.subflows[id].tcp.mapping(header.seq)?;
        let checksum = self.checksum.then(|| self.subflows[id].own_checksums.get(&start).copied()).flatten();
        if self.is_client
            && start == 1
            && self.subflows[id].handshake == Handshake::CapableAnswered
            && id == 0
        {
            let receiver = self.their_key?.0;
            let data = Some(FirstData { len: len as u16, checksum });
            return capable(CapableForm::Ack { sender: self.key.0, receiver, data });
        }
        let mapping = DataMapping { dsn: self.number(value), ssn: start as u32, len: len as u16, checksum };
        Some(MptcpOption::Dss(Dss { data_fin: false, ack: self.data_ack(), mapping: Some(mapping) }))
    }

    /// The option of a segment without data.
    fn option_of_ack(&mut self, id: SubflowId) -> Option<MptcpOption> {
        match self.subflows[id].handshake {
            Handshake::CapableAnswered => {
                let receiver = self.their_key?.0;
                let form = CapableForm::Ack { sender: self.key.0, receiver, data: None };
                return Some(MptcpOption::Capable(Capable { flags: self.flags(), form }));
            }
            Handshake::JoinAnswered { hmac, .. } => return Some(MptcpOption::Join(Join::Ack { hmac })),
            Handshake::Done => {}
            _ => return None,
        }
        Some(MptcpOption::Dss(self.dss_of_ack()))
    }

    /// The DSS of a segment without data: it repeats the DATA_FIN as long as that is not acknowledged (section 3.3.3).
    fn dss_of_ack(&self) -> Dss {
        let fin = self.snd.fin().filter(|_| self.tells_fin());
        let mapping = fin.map(|fin| {
            let dsn = self.snd.sequence.number(fin);
            let checksum = self.checksum.then(|| data_checksum(dsn, 0, 1, &Payload::Empty));
            DataMapping { dsn: self.number(fin), ssn: 0, len: 1, checksum }
        });
        Dss { data_fin: fin.is_some(), ack: self.data_ack(), mapping }
    }

    /// The subflow by which addresses can be announced now.
    pub(super) fn announces(&self) -> Option<SubflowId> {
        let may = self.mode == Mode::Multipath && self.ended.is_none();
        let mut subflows = self.subflows.iter();
        may.then(|| subflows.position(|one| one.handshake == Handshake::Done && one.is_ready())).flatten()
    }

    /// Has addresses announced that the other end does not know (section 3.4.1), and withdrawn those that are gone (section 3.4.2).
    pub(super) fn announce_addresses(&mut self, now: Time) {
        if !self.paths.has_to_tell() {
            return;
        }
        let (Some(theirs), Some(id)) = (self.their_key, self.announces()) else { return };
        let Some(first) = self.subflows.first().map(|first| first.local.ip()) else { return };
        while let Some(gone) = self.paths.withdraw().and_then(|gone| AddressIds::new(&[gone])) {
            self.subflows[id].outbox.push_back(MptcpOption::RemoveAddr(gone));
            self.subflows[id].tcp.acknowledge_now();
        }
        while let Some((address_id, address)) = self.paths.announce(now, first) {
            let hmac = Some(address_hmac(self.key, theirs, address_id, address, None));
            let add = AddAddr { address_id, address, port: None, hmac };
            self.subflows[id].outbox.push_back(MptcpOption::AddAddr(add));
            self.subflows[id].tcp.acknowledge_now();
        }
    }
}
