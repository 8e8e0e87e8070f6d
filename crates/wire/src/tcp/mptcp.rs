//! The options of Multipath TCP, version 1 (RFC 8684): header values, each with `parse` and `emit`.
//!
//! All are of one TCP option kind and told apart by a subtype. What a receiver has to ignore (reserved bits) is ignored, and sent as zero
//! (section 3). Which option may be where is for Multipath TCP itself to know; here is only how they lie in the header.

use super::{ForeignOptions, TcpOptions};
use crate::error::{Header, WireError, WireErrorKind};
use core::net::IpAddr;

/// The TCP option kind of them all (section 8.1).
pub const KIND: u8 = 30;

/// The version that is spoken (section 3.1).
pub const VERSION: u8 = 1;

/// Subtypes (section 8.2).
mod subtype {
    pub(super) const CAPABLE: u8 = 0;
    pub(super) const JOIN: u8 = 1;
    pub(super) const DSS: u8 = 2;
    pub(super) const ADD_ADDR: u8 = 3;
    pub(super) const REMOVE_ADDR: u8 = 4;
    pub(super) const PRIO: u8 = 5;
    pub(super) const FAIL: u8 = 6;
    pub(super) const FASTCLOSE: u8 = 7;
    pub(super) const TCPRST: u8 = 8;
}

/// An option of Multipath TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MptcpOption {
    /// MP_CAPABLE: opens a connection.
    Capable(Capable),
    /// MP_JOIN: opens a further subflow.
    Join(Join),
    /// DSS: data sequence signal.
    Dss(Dss),
    /// ADD_ADDR: a further address.
    AddAddr(AddAddr),
    /// REMOVE_ADDR: addresses that are gone.
    RemoveAddr(AddressIds),
    /// MP_PRIO (section 3.3.8): changes the priority of the subflow on which it comes.
    Prio {
        /// B: the subflow is to be used only if no other is there.
        backup: bool,
    },
    /// MP_FAIL (section 3.7): the checksum of a mapping was wrong.
    Fail {
        /// The data sequence number of the mapping's first octet.
        dsn: u64,
    },
    /// MP_FASTCLOSE (section 3.5): ends the connection at once.
    FastClose {
        /// The receiver's key.
        key: u64,
    },
    /// MP_TCPRST (section 3.6): why this subflow is reset.
    Reset {
        /// T: the reason may pass.
        transient: bool,
        /// The reason, of those listed in section 3.6.
        reason: u8,
    },
}

/// MP_CAPABLE (section 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Capable {
    /// What the sender asks for.
    pub flags: CapableFlags,
    /// What the segment's place in the handshake adds.
    pub form: CapableForm,
}

/// The flags of MP_CAPABLE, bits A to H.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct CapableFlags(pub u8);

impl CapableFlags {
    /// A: checksums are required.
    pub const CHECKSUM: Self = Self(0x80);
    /// B: extensibility, zero in this version.
    pub const EXTENSIBILITY: Self = Self(0x40);
    /// C: no further subflows to the address and port of this one.
    pub const NO_JOIN: Self = Self(0x20);
    /// H: HMAC-SHA256.
    pub const HMAC_SHA256: Self = Self(0x01);

    /// Whether every bit of `other` is set here.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The forms of MP_CAPABLE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CapableForm {
    /// Of a SYN.
    Syn,
    /// Of a SYN|ACK.
    SynAck {
        /// The sender's key.
        key: u64,
    },
    /// Of the third segment, and of the first with data.
    Ack {
        /// The key of who opens the connection.
        sender: u64,
        /// The key of who accepts it.
        receiver: u64,
        /// The segment has data, which it maps.
        data: Option<FirstData>,
    },
}

/// The mapping of the first data, which begins the data sequence (section 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FirstData {
    /// Data-level length.
    pub len: u16,
    /// The checksum, where that was agreed on.
    pub checksum: Option<u16>,
}

/// MP_JOIN (section 3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Join {
    /// Of a SYN.
    Syn {
        /// B: the subflow is to be used only if no other is there.
        backup: bool,
        /// The sender's address.
        address_id: u8,
        /// Which connection of the receiver's is joined.
        token: u32,
        /// The sender's random number.
        nonce: u32,
    },
    /// Of a SYN|ACK.
    SynAck {
        /// B: the subflow is to be used only if no other is there.
        backup: bool,
        /// The sender's address.
        address_id: u8,
        /// The leftmost 64 bits of the sender's HMAC.
        hmac: u64,
        /// The sender's random number.
        nonce: u32,
    },
    /// Of the third segment.
    Ack {
        /// The leftmost 160 bits of the sender's HMAC.
        hmac: [u8; 20],
    },
}

/// The data sequence signal (section 3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Dss {
    /// F: the mapping's last octet is the DATA_FIN (section 3.3.3).
    pub data_fin: bool,
    /// Data ACK.
    pub ack: Option<DataNumber>,
    /// The mapping.
    pub mapping: Option<DataMapping>,
}

/// A data sequence number as the wire has it: whole, or its lower half (section 3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DataNumber {
    /// 32 bits.
    Short(u32),
    /// 64 bits.
    Long(u64),
}

/// The mapping of a run of octets from a subflow to the data sequence (section 3.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DataMapping {
    /// The data sequence number of the first octet.
    pub dsn: DataNumber,
    /// Its subflow sequence number, counted from the SYN; zero where only a DATA_FIN is mapped.
    pub ssn: u32,
    /// Octets.
    pub len: u16,
    /// The checksum, where that was agreed on.
    pub checksum: Option<u16>,
}

/// ADD_ADDR (section 3.4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AddAddr {
    /// How the address is called from here on.
    pub address_id: u8,
    /// The address.
    pub address: IpAddr,
    /// Its port, if not that of the connection.
    pub port: Option<u16>,
    /// The rightmost 64 bits of the sender's HMAC; an echo (E) has none.
    pub hmac: Option<u64>,
}

/// The addresses of a REMOVE_ADDR (section 3.4.2), at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AddressIds {
    len: u8,
    ids: [u8; Self::MAX],
}

impl AddressIds {
    /// How many there may be.
    pub const MAX: usize = ForeignOptions::ROOM - 3;

    /// These; none if there are none, or too many.
    pub fn new(of: &[u8]) -> Option<Self> {
        let mut ids = [0; Self::MAX];
        ids.get_mut(..of.len()).filter(|place| !place.is_empty())?.copy_from_slice(of);
        Some(Self { len: of.len() as u8, ids })
    }

    /// Them.
    pub fn as_slice(&self) -> &[u8] {
        &self.ids[..usize::from(self.len)]
    }
}

impl TcpOptions {
    /// The options of Multipath TCP, in their order. A malformed one is an error in its place.
    pub fn mptcp(&self) -> impl Iterator<Item = Result<MptcpOption, WireError>> {
        let foreign = self.foreign();
        let mut at = 0;
        core::iter::from_fn(move || {
            loop {
                let option = foreign.as_slice()[at..]
                    .split_at_checked(usize::from(*foreign.as_slice().get(at + 1)?))?
                    .0;
                at += option.len();
                if option[0] == KIND {
                    return Some(MptcpOption::parse(option));
                }
            }
        })
    }

    /// Appends an option of Multipath TCP; `false`, and nothing is changed, if it does not fit beside the others.
    pub fn push_mptcp(&mut self, option: &MptcpOption) -> bool {
        if let MptcpOption::Dss(dss) = option
            && let Some(put) = self.push_only_words(dss.len())
        {
            dss.write(put);
            return true;
        }
        self.push_foreign(option.emit().as_slice())
    }
}

impl MptcpOption {
    /// Reads an option, kind and length included.
    ///
    /// # Errors
    /// [`WireErrorKind::BadOption`] if the subtype cannot have that length, [`WireErrorKind::Unsupported`] if it is of another kind, subtype
    /// or version.
    pub fn parse(option: &[u8]) -> Result<Self, WireError> {
        let (kind, length) = match *option {
            [kind, length, _, ..] if usize::from(length) == option.len() => (kind, length),
            [kind, length, ..] => return Err(bad_length(kind, length)),
            _ => return Err(WireError::truncated(Header::Tcp, 0, 2, option.len())),
        };
        if kind != KIND {
            return Err(unsupported());
        }
        let mut reader = Reader(&option[3..]);
        let (subtype, bits) = (option[2] >> 4, option[2] & 0xf);
        let parsed = match subtype {
            subtype::CAPABLE if bits != VERSION => return Err(unsupported()),
            subtype::CAPABLE => Capable::read(&mut reader).map(Self::Capable),
            subtype::JOIN => Join::read(bits, &mut reader).map(Self::Join),
            subtype::DSS => Dss::read(&mut reader).map(Self::Dss),
            subtype::ADD_ADDR => AddAddr::read(bits, &mut reader).map(Self::AddAddr),
            subtype::REMOVE_ADDR => {
                let ids = core::mem::take(&mut reader.0);
                AddressIds::new(ids).map(Self::RemoveAddr)
            }
            subtype::PRIO => Some(Self::Prio { backup: bits & 1 == 1 }),
            subtype::FAIL => reader.skip().and_then(|()| reader.u64()).map(|dsn| Self::Fail { dsn }),
            subtype::FASTCLOSE => {
                reader.skip().and_then(|()| reader.u64()).map(|key| Self::FastClose { key })
            }
            subtype::TCPRST => reader.u8().map(|reason| Self::Reset { transient: bits & 1 == 1, reason }),
            _ => return Err(unsupported()),
        };
        parsed.filter(|_| reader.0.is_empty()).ok_or(bad_length(kind, length))
    }

    /// The option as it lies in the header.
    pub fn emit(&self) -> ForeignOptions {
        let mut writer = Writer { len: 2, bytes: [0; ForeignOptions::ROOM] };
        match self {
            Self::Capable(capable) => capable.write(&mut writer),
            Self::Join(join) => join.write(&mut writer),
            Self::Dss(dss) => return dss.emit(),
            Self::AddAddr(add) => add.write(&mut writer),
            Self::RemoveAddr(ids) => {
                writer.subtype(subtype::REMOVE_ADDR, 0);
                writer.put(ids.as_slice());
            }
            Self::Prio { backup } => writer.subtype(subtype::PRIO, u8::from(*backup)),
            Self::Fail { dsn } => writer.with_number(subtype::FAIL, *dsn),
            Self::FastClose { key } => writer.with_number(subtype::FASTCLOSE, *key),
            Self::Reset { transient, reason } => {
                writer.subtype(subtype::TCPRST, u8::from(*transient));
                writer.put(&[*reason]);
            }
        }
        writer.finish()
    }
}

impl Capable {
    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let flags = CapableFlags(reader.u8()?);
        if reader.0.is_empty() {
            return Some(Self { flags, form: CapableForm::Syn });
        }
        let sender = reader.u64()?;
        if reader.0.is_empty() {
            return Some(Self { flags, form: CapableForm::SynAck { key: sender } });
        }
        let receiver = reader.u64()?;
        let mut data = None;
        if !reader.0.is_empty() {
            data = Some(FirstData { len: reader.u16()?, checksum: reader.last_u16()? });
        }
        Some(Self { flags, form: CapableForm::Ack { sender, receiver, data } })
    }

    fn write(&self, writer: &mut Writer) {
        writer.subtype(subtype::CAPABLE, VERSION);
        writer.put(&[self.flags.0]);
        match self.form {
            CapableForm::Syn => {}
            CapableForm::SynAck { key } => writer.put(&key.to_be_bytes()),
            CapableForm::Ack { sender, receiver, data } => {
                writer.put(&sender.to_be_bytes());
                writer.put(&receiver.to_be_bytes());
                if let Some(FirstData { len, checksum }) = data {
                    writer.put(&len.to_be_bytes());
                    writer.checksum(checksum);
                }
            }
        }
    }
}

impl Join {
    /// The forms are told apart by their length (figures 5 to 7).
    fn read(bits: u8, reader: &mut Reader<'_>) -> Option<Self> {
        let backup = bits & 1 == 1;
        match reader.0.len() {
            9 => Some(Self::Syn {
                backup,
                address_id: reader.u8()?,
                token: reader.u32()?,
                nonce: reader.u32()?,
            }),
            13 => Some(Self::SynAck {
                backup,
                address_id: reader.u8()?,
                hmac: reader.u64()?,
                nonce: reader.u32()?,
            }),
            _ => reader.skip().and_then(|()| reader.array()).map(|hmac| Self::Ack { hmac }),
        }
    }

    fn write(&self, writer: &mut Writer) {
        match *self {
            Self::Syn { backup, address_id, token, nonce } => {
                writer.subtype(subtype::JOIN, u8::from(backup));
                writer.put(&[address_id]);
                writer.put(&token.to_be_bytes());
                writer.put(&nonce.to_be_bytes());
            }
            Self::SynAck { backup, address_id, hmac, nonce } => {
                writer.subtype(subtype::JOIN, u8::from(backup));
                writer.put(&[address_id]);
                writer.put(&hmac.to_be_bytes());
                writer.put(&nonce.to_be_bytes());
            }
            Self::Ack { hmac } => {
                writer.subtype(subtype::JOIN, 0);
                writer.put(&[0]);
                writer.put(&hmac);
            }
        }
    }
}

/// The flags of a DSS (figure 9).
mod dss {
    /// F
    pub(super) const DATA_FIN: u8 = 0x10;
    /// m: the data sequence number has 8 octets.
    pub(super) const LONG_DSN: u8 = 0x08;
    /// M: there is a mapping.
    pub(super) const MAPPING: u8 = 0x04;
    /// a: the data ACK has 8 octets.
    pub(super) const LONG_ACK: u8 = 0x02;
    /// A: there is a data ACK.
    pub(super) const ACK: u8 = 0x01;
}

impl Dss {
    #[inline(always)]
    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let flags = reader.u8()?;
        let has = |flag| flags & flag != 0;
        let mut read = Self { data_fin: has(dss::DATA_FIN), ..Self::default() };
        if has(dss::ACK) {
            read.ack = Some(DataNumber::read(has(dss::LONG_ACK), reader)?);
        }
        if has(dss::MAPPING) {
            read.mapping = Some(DataMapping {
                dsn: DataNumber::read(has(dss::LONG_DSN), reader)?,
                ssn: reader.u32()?,
                len: reader.u16()?,
                checksum: reader.last_u16()?,
            });
        }
        Some(read)
    }

    /// How many octets it has.
    fn len(&self) -> u8 {
        let number = |number| if matches!(number, DataNumber::Long(_)) { 8 } else { 4 };
        let mapping =
            |mapping: DataMapping| number(mapping.dsn) + if mapping.checksum.is_some() { 8 } else { 6 };
        4 + self.ack.map_or(0, number) + self.mapping.map_or(0, mapping)
    }

    /// Hands it out word by word: each field is one, or two, and every segment has the option.
    fn write(&self, mut put: impl FnMut(u32)) {
        let mut flags = if self.data_fin { dss::DATA_FIN } else { 0 };
        flags |= match self.ack {
            Some(DataNumber::Long(_)) => dss::ACK | dss::LONG_ACK,
            Some(DataNumber::Short(_)) => dss::ACK,
            None => 0,
        };
        flags |= match self.mapping.map(|mapping| mapping.dsn) {
            Some(DataNumber::Long(_)) => dss::MAPPING | dss::LONG_DSN,
            Some(DataNumber::Short(_)) => dss::MAPPING,
            None => 0,
        };
        put(u32::from_be_bytes([KIND, self.len(), subtype::DSS << 4, flags]));
        if let Some(ack) = self.ack {
            ack.write(&mut put);
        }
        if let Some(DataMapping { dsn, ssn, len, checksum }) = self.mapping {
            dsn.write(&mut put);
            put(ssn);
            put(u32::from(len) << 16 | u32::from(checksum.unwrap_or(0)));
        }
    }

    fn emit(&self) -> ForeignOptions {
        let (mut octets, mut at) = ([0; ForeignOptions::ROOM], 0);
        self.write(|word| {
            octets[at..at + 4].copy_from_slice(&word.to_be_bytes());
            at += 4;
        });
        ForeignOptions::of(octets, self.len())
    }
}

impl DataNumber {
    fn read(long: bool, reader: &mut Reader<'_>) -> Option<Self> {
        if long { reader.u64().map(Self::Long) } else { reader.u32().map(Self::Short) }
    }

    fn write(self, put: &mut impl FnMut(u32)) {
        match self {
            Self::Short(number) => put(number),
            Self::Long(number) => {
                put((number >> 32) as u32);
                put(number as u32);
            }
        }
    }

    /// The whole number, of which the wire may have the lower half: that one of those it can stand for that lies nearest to `near`.
    pub const fn near(self, near: u64) -> u64 {
        match self {
            Self::Long(number) => number,
            Self::Short(low) => {
                let distance = low.wrapping_sub(near as u32).cast_signed();
                near.wrapping_add_signed(distance as i64)
            }
        }
    }
}

impl AddAddr {
    /// What is there follows from the length and from E (figure 12).
    fn read(bits: u8, reader: &mut Reader<'_>) -> Option<Self> {
        let echo = bits & 1 == 1;
        let address_id = reader.u8()?;
        let rest = reader.0.len().checked_sub(if echo { 0 } else { 8 })?;
        let address =
            if rest < 16 { IpAddr::from(reader.array::<4>()?) } else { IpAddr::from(reader.array::<16>()?) };
        let port = if matches!(rest, 6 | 18) { Some(reader.u16()?) } else { None };
        let hmac = if echo { None } else { Some(reader.u64()?) };
        Some(Self { address_id, address, port, hmac })
    }

    fn write(&self, writer: &mut Writer) {
        writer.subtype(subtype::ADD_ADDR, u8::from(self.hmac.is_none()));
        writer.put(&[self.address_id]);
        match self.address {
            IpAddr::V4(address) => writer.put(&address.octets()),
            IpAddr::V6(address) => writer.put(&address.octets()),
        }
        if let Some(port) = self.port {
            writer.put(&port.to_be_bytes());
        }
        if let Some(hmac) = self.hmac {
            writer.put(&hmac.to_be_bytes());
        }
    }
}

/// What is left of an option.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_be_bytes)
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// An octet that is reserved.
    fn skip(&mut self) -> Option<()> {
        self.u8().map(|_| ())
    }

    /// What may end an option, and may be left out.
    fn last_u16(&mut self) -> Option<Option<u16>> {
        if self.0.is_empty() { Some(None) } else { self.u16().map(Some) }
    }
}

/// An option that is being written: every one fits.
struct Writer {
    len: usize,
    bytes: [u8; ForeignOptions::ROOM],
}

impl Writer {
    fn put(&mut self, octets: &[u8]) {
        self.bytes[self.len..self.len + octets.len()].copy_from_slice(octets);
        self.len += octets.len();
    }

    fn subtype(&mut self, subtype: u8, bits: u8) {
        self.put(&[subtype << 4 | bits]);
    }

    fn with_number(&mut self, subtype: u8, number: u64) {
        self.subtype(subtype, 0);
        self.put(&[0]);
        self.put(&number.to_be_bytes());
    }

    fn checksum(&mut self, checksum: Option<u16>) {
        if let Some(checksum) = checksum {
            self.put(&checksum.to_be_bytes());
        }
    }

    fn finish(mut self) -> ForeignOptions {
        (self.bytes[0], self.bytes[1]) = (KIND, self.len as u8);
        ForeignOptions::of(self.bytes, self.len as u8)
    }
}

const fn bad_length(kind: u8, length: u8) -> WireError {
    WireError { header: Header::Tcp, offset: 0, kind: WireErrorKind::BadOption { kind, length } }
}

const fn unsupported() -> WireError {
    WireError { header: Header::Tcp, offset: 0, kind: WireErrorKind::Unsupported }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Timestamps;
    use alloc::vec::Vec;
    use core::net::{Ipv4Addr, Ipv6Addr};

    const KEY_A: u64 = 0x0102_0304_0506_0708;
    const KEY_B: u64 = 0x1112_1314_1516_1718;
    const A: [u8; 8] = KEY_A.to_be_bytes();
    const B: [u8; 8] = KEY_B.to_be_bytes();

    /// The option lies as the figure has it, and is read again alike.
    fn lies(option: MptcpOption, parts: &[&[u8]]) {
        let octets = parts.concat();
        assert_eq!(option.emit().as_slice(), octets, "{option:?}");
        assert_eq!(MptcpOption::parse(&octets), Ok(option));
    }

    #[test]
    fn mp_capable_has_no_key_one_or_two_and_then_a_length() {
        // Figure 4: version 1, flags A and H.
        let flags = CapableFlags(0x81);
        let capable = |form| MptcpOption::Capable(Capable { flags, form });
        let ack = |data| capable(CapableForm::Ack { sender: KEY_A, receiver: KEY_B, data });
        lies(capable(CapableForm::Syn), &[&[30, 4, 0x01, 0x81]]);
        lies(capable(CapableForm::SynAck { key: KEY_B }), &[&[30, 12, 0x01, 0x81], &B]);
        lies(ack(None), &[&[30, 20, 0x01, 0x81], &A, &B]);
        let len = 0x0506;
        lies(ack(Some(FirstData { len, checksum: None })), &[&[30, 22, 0x01, 0x81], &A, &B, &[5, 6]]);
        let checksum = Some(0x0708);
        lies(ack(Some(FirstData { len, checksum })), &[&[30, 24, 0x01, 0x81], &A, &B, &[5, 6, 7, 8]]);
        assert!(flags.contains(CapableFlags::CHECKSUM) && !flags.contains(CapableFlags::NO_JOIN));
    }

    #[test]
    fn mp_join_is_told_by_its_length() {
        // Figures 5, 6 and 7.
        let (address_id, nonce) = (3, 0x0a0b_0c0d);
        let syn = Join::Syn { backup: true, address_id, token: 0x2122_2324, nonce };
        lies(MptcpOption::Join(syn), &[&[30, 12, 0x11, 3, 0x21, 0x22, 0x23, 0x24, 10, 11, 12, 13]]);
        let syn_ack = Join::SynAck { backup: false, address_id, hmac: KEY_A, nonce };
        lies(MptcpOption::Join(syn_ack), &[&[30, 16, 0x10, 3], &A, &[10, 11, 12, 13]]);
        lies(MptcpOption::Join(Join::Ack { hmac: [7; 20] }), &[&[30, 24, 0x10, 0], &[7; 20]]);
    }

    #[test]
    fn a_dss_lies_alike_by_words_and_by_octets() {
        let mapping = |dsn, checksum| Some(DataMapping { dsn, ssn: 0x21, len: 0x0304, checksum });
        let (short, long) = (DataNumber::Short(0x0a0b_0c0d), DataNumber::Long(KEY_A));
        let timestamps = Some(Timestamps { value: 1, echo: 2 });
        for (ack, mapping) in [
            (None, None),
            (Some(short), mapping(long, None)),
            (Some(long), mapping(short, Some(0x0708))),
            (Some(long), mapping(long, Some(0x0708))),
        ] {
            let dss = MptcpOption::Dss(Dss { data_fin: true, ack, mapping });
            let octets = dss.emit();
            let alone = TcpOptions::default();
            for before in [alone, TcpOptions { timestamps, ..alone }, with(&[99, 3, 7])] {
                let (mut by_words, mut by_octets) = (before, before);
                assert_eq!(by_words.push_mptcp(&dss), by_octets.push_foreign(octets.as_slice()), "{dss:?}");
                assert_eq!(by_words, by_octets);
            }
        }
    }

    /// Options with this one that is not of Multipath TCP.
    fn with(other: &[u8]) -> TcpOptions {
        let mut options = TcpOptions::default();
        assert!(options.push_foreign(other));
        options
    }

    #[test]
    fn a_dss_has_what_its_flags_say() {
        // Figure 9; the shortest is four octets, the longest 28.
        let dss = |data_fin, ack, mapping| MptcpOption::Dss(Dss { data_fin, ack, mapping });
        let mapping = |dsn, checksum| Some(DataMapping { dsn, ssn: 0x21, len: 0x0304, checksum });
        let (short, long) = (DataNumber::Short(0x0a0b_0c0d), DataNumber::Long(KEY_A));
        lies(dss(false, None, None), &[&[30, 4, 0x20, 0]]);
        lies(dss(false, Some(short), None), &[&[30, 8, 0x20, 0x01, 10, 11, 12, 13]]);
        lies(dss(false, Some(long), None), &[&[30, 12, 0x20, 0x03], &A]);
        lies(
            dss(true, None, mapping(short, None)),
            &[&[30, 14, 0x20, 0x14, 10, 11, 12, 13], &[0, 0, 0, 0x21, 3, 4]],
        );
        lies(
            dss(false, Some(short), mapping(long, None)),
            &[&[30, 22, 0x20, 0x0d, 10, 11, 12, 13], &A, &[0, 0, 0, 0x21, 3, 4]],
        );
        lies(
            dss(true, Some(long), mapping(long, Some(0x0506))),
            &[&[30, 28, 0x20, 0x1f], &A, &A, &[0, 0, 0, 0x21, 3, 4, 5, 6]],
        );
    }

    #[test]
    fn half_a_data_number_stands_for_the_nearest_whole_one() {
        let near = 0x0000_0007_ffff_fff0;
        assert_eq!(DataNumber::Short(0xffff_ffff).near(near), 0x0000_0007_ffff_ffff);
        assert_eq!(DataNumber::Short(0x10).near(near), 0x0000_0008_0000_0010);
        assert_eq!(DataNumber::Short(0xffff_0000).near(0x0000_0008_0000_0010), 0x0000_0007_ffff_0000);
        assert_eq!(DataNumber::Long(5).near(near), 5);
    }

    #[test]
    fn add_addr_has_a_port_or_not_and_an_hmac_unless_it_is_an_echo() {
        // Figure 12, of both versions.
        let v6: [u8; 16] = core::array::from_fn(|i| i as u8);
        let families: [(IpAddr, &[u8]); 2] =
            [(Ipv4Addr::new(10, 0, 0, 9).into(), &[10, 0, 0, 9]), (Ipv6Addr::from(v6).into(), &v6)];
        for (address, octets) in families {
            let add = |port, hmac| MptcpOption::AddAddr(AddAddr { address_id: 2, address, port, hmac });
            let len = 4 + octets.len() as u8;
            lies(add(None, None), &[&[30, len, 0x31, 2], octets]);
            lies(add(Some(0x5051), None), &[&[30, len + 2, 0x31, 2], octets, &[0x50, 0x51]]);
            lies(add(None, Some(KEY_A)), &[&[30, len + 8, 0x30, 2], octets, &A]);
            lies(add(Some(0x5051), Some(KEY_A)), &[&[30, len + 10, 0x30, 2], octets, &[0x50, 0x51], &A]);
        }
    }

    #[test]
    fn the_others_are_short() {
        // Figures 13, 11, 16, 14 and 15.
        let ids = AddressIds::new(&[4, 9]).expect("two");
        lies(MptcpOption::RemoveAddr(ids), &[&[30, 5, 0x40, 4, 9]]);
        lies(MptcpOption::Prio { backup: true }, &[&[30, 3, 0x51]]);
        lies(MptcpOption::Fail { dsn: KEY_A }, &[&[30, 12, 0x60, 0], &A]);
        lies(MptcpOption::FastClose { key: KEY_B }, &[&[30, 12, 0x70, 0], &B]);
        lies(MptcpOption::Reset { transient: true, reason: 2 }, &[&[30, 4, 0x81, 2]]);
        assert_eq!((AddressIds::new(&[]), AddressIds::new(&[0; 30])), (None, None));
    }

    /// The lengths that RFC 8684's figures give each subtype, and no other.
    #[test]
    fn any_other_length_is_an_error() {
        let lengths: [(u8, u8, &[u8]); 10] = [
            (0x01, 0x81, &[4, 12, 20, 22, 24]),
            (0x10, 0, &[12, 16, 24]),
            (0x20, 0x05, &[18, 20]),
            (0x20, 0x0f, &[26, 28]),
            (0x30, 1, &[16, 18, 28, 30]),
            (0x31, 1, &[8, 10, 20, 22]),
            (0x50, 0, &[3]),
            (0x60, 0, &[12]),
            (0x70, 0, &[12]),
            (0x80, 0, &[4]),
        ];
        for (third, fourth, known) in lengths {
            for len in 3..=40_u8 {
                let mut octets = Vec::from([30, len, third, fourth]);
                octets.resize(usize::from(len), 9);
                let parsed = MptcpOption::parse(&octets);
                if known.contains(&len) {
                    assert!(parsed.is_ok(), "{octets:?}");
                } else {
                    assert_eq!(parsed, Err(bad_length(30, len)), "{octets:?}");
                }
            }
        }
    }

    #[test]
    fn what_is_not_spoken_is_told_from_what_is_malformed() {
        // Version 0 (RFC 6824), a subtype that nobody has given out, another kind.
        for octets in [&[30, 4, 0x00, 0x81][..], &[30, 4, 0xf0, 0], &[34, 4, 0, 0]] {
            assert_eq!(MptcpOption::parse(octets), Err(unsupported()));
        }
        assert_eq!(MptcpOption::parse(&[30, 2]), Err(bad_length(30, 2)));
        assert_eq!(MptcpOption::parse(&[30, 4, 0x50]), Err(bad_length(30, 4)));
        assert_eq!(MptcpOption::parse(&[30]), Err(WireError::truncated(Header::Tcp, 0, 2, 1)));
    }

    #[test]
    fn a_header_has_several_and_tells_them_from_others() {
        let mut options = TcpOptions::default();
        assert!(options.push_foreign(&[34, 4, 1, 2]));
        let prio = MptcpOption::Prio { backup: false };
        assert!(options.push_mptcp(&prio) && options.push_foreign(&[30, 4, 0xf0, 0]));
        assert!(options.mptcp().eq([Ok(prio), Err(unsupported())]));
        let dss = Dss { ack: Some(DataNumber::Long(1)), ..Dss::default() };
        assert!(options.push_mptcp(&MptcpOption::Dss(dss)));
        assert!(!options.push_mptcp(&MptcpOption::Fail { dsn: 1 }), "43 octets");
        assert_eq!(options.mptcp().count(), 3);
    }
}
