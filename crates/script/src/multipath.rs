//! The options of Multipath TCP (RFC 8684) as a script says them.
//!
//! Numbers count from each side's initial data sequence number, which is 0. Keys, tokens and proofs are not said: they are those that
//! belong there, and a segment that has left with others does not hold.

use crate::parse::ParseError;
use crate::words::Words;
use std::fmt;
use std::net::IpAddr;
use voxpath_mptcp::keys::{JoinHmac, Joining, address_hmac};
use voxpath_mptcp::{Key, data_checksum};
use voxpath_wire::Payload;
use voxpath_wire::tcp::mptcp::{
    AddAddr, AddressIds, Capable, CapableFlags, CapableForm, DataMapping, DataNumber, Dss, FirstData, Join,
    MptcpOption,
};
use voxpath_wire::tcp::{TcpFlags, TcpHeader};

/// The key of the peer that scripts speak for.
const THEIR_KEY: Key = Key(0x7068_7465_2070_6565);
/// The random number of its first subflow.
const THEIR_NONCE: u32 = 0x6e6f_6e63;

/// An option as a script says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Multipath {
    /// Which one.
    pub kind: Kind,
    /// Its proof, checksum or key is not the right one: of what arrives only.
    pub wrong: bool,
}

/// The options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// MP_CAPABLE, in the form that the segment asks for.
    Capable {
        /// A: checksums are required.
        checksum: bool,
    },
    /// MP_JOIN, in the form that the segment asks for.
    Join {
        /// B: only if no other subflow is there.
        backup: bool,
        /// The sender's address; zero where nothing is said of what arrives.
        id: Option<u8>,
    },
    /// DSS.
    Dss {
        /// The data ACK.
        ack: Option<u64>,
        /// The number of the first octet that is mapped, which is that of the segment.
        dsn: Option<u64>,
        /// The mapping's length where it is not the segment's.
        len: Option<u16>,
        /// F: DATA_FIN.
        fin: bool,
    },
    /// ADD_ADDR.
    AddAddr {
        /// What it is called.
        id: u8,
        /// The address.
        address: IpAddr,
        /// Its port, if not that of the connection.
        port: Option<u16>,
        /// E: it is the echo of one.
        echo: bool,
    },
    /// REMOVE_ADDR.
    RemoveAddr(Vec<u8>),
    /// MP_PRIO.
    Prio {
        /// B: only if no other subflow is there.
        backup: bool,
    },
    /// MP_FAIL.
    Fail {
        /// The number of the first octet of the mapping whose checksum was wrong.
        dsn: u64,
    },
    /// MP_FASTCLOSE.
    FastClose,
    /// MP_TCPRST.
    Reset {
        /// Why.
        reason: u8,
    },
}

/// The names of the options, as errors list them.
pub(crate) const NAMES: &str =
    "mp_capable, mp_join, dss, add_addr, remove_addr, mp_prio, mp_fail, mp_fastclose, mp_tcprst";

/// Reads what follows the name of an option; none if it is no option of Multipath TCP.
pub(crate) fn option(name: &str, words: &mut Words<'_>) -> Result<Option<Multipath>, ParseError> {
    let kind = match name {
        "mp_capable" => Kind::Capable { checksum: words.take("checksum") },
        "mp_join" => Kind::Join { backup: words.take("backup"), id: words.tagged_or_none("id")? },
        "dss" => dss(words)?,
        "add_addr" => Kind::AddAddr {
            id: words.tagged("id")?,
            address: words.value("an IP address")?,
            port: words.tagged_or_none("port")?,
            echo: words.take("echo"),
        },
        "remove_addr" => {
            let at = words.clone();
            let mut ids = vec![words.value("an address identifier")?];
            while words.peek().is_some_and(|word| word.parse::<u8>().is_ok()) {
                ids.push(words.value("an address identifier")?);
            }
            if AddressIds::new(&ids).is_none() {
                return Err(at.error(format!("remove_addr takes {} identifiers at most", AddressIds::MAX)));
            }
            Kind::RemoveAddr(ids)
        }
        "mp_prio" => Kind::Prio { backup: words.take("backup") },
        "mp_fail" => Kind::Fail { dsn: words.tagged::<u32>("dsn")?.into() },
        "mp_fastclose" => Kind::FastClose,
        "mp_tcprst" => Kind::Reset { reason: words.value("a reason")? },
        _ => return Ok(None),
    };
    let at = words.clone();
    let wrong = words.take("wrong");
    let can_be =
        matches!(kind, Kind::Join { .. } | Kind::Dss { .. } | Kind::AddAddr { .. } | Kind::FastClose);
    if wrong && !can_be {
        return Err(at.error("only the proof of mp_join and add_addr, the checksum of dss and the key of mp_fastclose can be wrong"));
    }
    Ok(Some(Multipath { kind, wrong }))
}

fn dss(words: &mut Words<'_>) -> Result<Kind, ParseError> {
    let ack = words.tagged_or_none::<u32>("ack")?.map(u64::from);
    let dsn = words.tagged_or_none::<u32>("dsn")?.map(u64::from);
    let at = words.clone();
    let (len, fin) = (words.tagged_or_none("len")?, words.take("fin"));
    if dsn.is_none() && (len.is_some() || fin) {
        return Err(at.error("what is mapped has a dsn"));
    }
    Ok(Kind::Dss { ack, dsn, len, fin })
}

impl fmt::Display for Multipath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flag = |set: bool, name: &'static str| if set { name } else { "" };
        let tagged =
            |name: &str, value: Option<u64>| value.map_or(String::new(), |value| format!(" {name} {value}"));
        match &self.kind {
            Kind::Capable { checksum } => write!(f, "mp_capable{}", flag(*checksum, " checksum")),
            Kind::Join { backup, id } => {
                write!(f, "mp_join{}{}", flag(*backup, " backup"), tagged("id", id.map(u64::from)))
            }
            Kind::Dss { ack, dsn, len, fin } => {
                let len = tagged("len", len.map(u64::from));
                write!(f, "dss{}{}{len}{}", tagged("ack", *ack), tagged("dsn", *dsn), flag(*fin, " fin"))
            }
            Kind::AddAddr { id, address, port, echo } => {
                let port = tagged("port", port.map(u64::from));
                write!(f, "add_addr id {id} {address}{port}{}", flag(*echo, " echo"))
            }
            Kind::RemoveAddr(ids) => {
                f.write_str("remove_addr")?;
                ids.iter().try_for_each(|id| write!(f, " {id}"))
            }
            Kind::Prio { backup } => write!(f, "mp_prio{}", flag(*backup, " backup")),
            Kind::Fail { dsn } => write!(f, "mp_fail dsn {dsn}"),
            Kind::FastClose => f.write_str("mp_fastclose"),
            Kind::Reset { reason } => write!(f, "mp_tcprst {reason}"),
        }?;
        f.write_str(flag(self.wrong, " wrong"))
    }
}

impl Multipath {
    /// Whether an option that has left is this one; what was not said of it is not compared.
    pub(crate) fn is(&self, sent: &Self) -> bool {
        match (&self.kind, &sent.kind) {
            (Kind::Join { backup, id: None }, Kind::Join { backup: other, .. }) => backup == other,
            (Kind::Dss { len: None, .. }, Kind::Dss { ack, dsn, fin, .. }) => {
                self.kind == Kind::Dss { ack: *ack, dsn: *dsn, len: None, fin: *fin }
            }
            (expected, sent) => expected == sent,
        }
    }

    /// The same for what lies `octets` further on.
    pub(crate) fn further(&self, octets: u32) -> Self {
        let mut moved = self.clone();
        if let Kind::Dss { dsn: Some(dsn), .. } = &mut moved.kind {
            *dsn = dsn.wrapping_add(u64::from(octets));
        }
        moved
    }
}

/// Whether options that have left are these in their order, with others between them or not.
pub(crate) fn are(expected: &[Multipath], sent: &[Multipath], others: bool) -> bool {
    let mut left = sent.iter();
    let found = expected.iter().all(|one| left.any(|other| one.is(other)));
    found && (others || expected.len() == sent.len())
}

/// Where the data of a segment begins in its sender's stream, if options of Multipath TCP say so.
pub(crate) fn place(options: &[Multipath], flags: TcpFlags) -> Option<u64> {
    options.iter().find_map(|option| match option.kind {
        Kind::Dss { dsn: Some(dsn), .. } => Some(dsn.saturating_sub(1)),
        Kind::Capable { .. } if !flags.contains(TcpFlags::SYN) => Some(0),
        _ => None,
    })
}

/// What the peer knows of the connection above its subflows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Level {
    /// The endpoint's key, once known.
    ours: Option<Key>,
    /// One of both has asked for checksums.
    checksum: bool,
}

/// A number on the wire, counted from an initial one; half a number is taken for the one next behind that.
fn since(number: DataNumber, initial: u64) -> u64 {
    match number {
        DataNumber::Long(number) => number.wrapping_sub(initial),
        DataNumber::Short(number) => number.wrapping_sub(initial as u32).into(),
    }
}

/// The random numbers of a subflow: the peer's, and the endpoint's once known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Nonces {
    theirs: u32,
    ours: Option<u32>,
}

impl Nonces {
    /// Those of a subflow by its place, from 0 on.
    pub(crate) const fn of(subflow: usize) -> Self {
        Self { theirs: THEIR_NONCE.wrapping_add(subflow as u32), ours: None }
    }

    fn both(self, key: Key) -> Result<(Joining, Joining), String> {
        let nonce = self.ours.ok_or("the endpoint has not told its random number yet")?;
        Ok((Joining { key, nonce }, Joining { key: THEIR_KEY, nonce: self.theirs }))
    }

    /// With this an endpoint that has this key shows that it has both.
    fn proof_of_endpoint(self, key: Key) -> Result<JoinHmac, String> {
        let (ours, theirs) = self.both(key)?;
        Ok(ours.hmac(theirs))
    }

    /// With this the peer shows it to an endpoint that has this key.
    fn proof_of_peer(self, key: Key) -> Result<JoinHmac, String> {
        let (ours, theirs) = self.both(key)?;
        Ok(theirs.hmac(ours))
    }
}

impl Level {
    /// Takes note of the options of a segment that has left.
    pub(crate) fn hear(&mut self, header: &TcpHeader, nonces: &mut Nonces) {
        for option in header.options.mptcp().flatten() {
            match option {
                MptcpOption::Capable(Capable { flags, form }) => {
                    self.checksum |= flags.contains(CapableFlags::CHECKSUM);
                    match form {
                        CapableForm::Syn => {}
                        CapableForm::SynAck { key } | CapableForm::Ack { sender: key, .. } => {
                            self.ours.get_or_insert(Key(key));
                        }
                    }
                }
                MptcpOption::Join(Join::Syn { nonce, .. } | Join::SynAck { nonce, .. }) => {
                    nonces.ours = Some(nonce);
                }
                _ => {}
            }
        }
    }

    /// Takes note of what the peer says.
    fn say(&mut self, said: &Multipath) {
        if let Kind::Capable { checksum } = said.kind {
            self.checksum |= checksum;
        }
    }

    fn ours(&self) -> Result<Key, String> {
        self.ours.ok_or_else(|| "the endpoint has not told its key yet".into())
    }

    /// An option as it arrives with a segment.
    pub(crate) fn emit(
        &mut self,
        said: &Multipath,
        nonces: Nonces,
        (flags, seq): (TcpFlags, u32),
        payload: &Payload,
    ) -> Result<MptcpOption, String> {
        self.say(said);
        let (syn, ack) = (flags.contains(TcpFlags::SYN), flags.contains(TcpFlags::ACK));
        let bent = u64::from(said.wrong);
        Ok(match &said.kind {
            &Kind::Capable { checksum } => {
                let bit = if checksum { CapableFlags::CHECKSUM.0 } else { 0 };
                let form = match (syn, ack) {
                    (true, false) => CapableForm::Syn,
                    (true, true) => CapableForm::SynAck { key: THEIR_KEY.0 },
                    (false, _) => {
                        let mut data = None;
                        if !payload.is_empty() {
                            let dsn = THEIR_KEY.initial_number().wrapping_add(1);
                            data = Some(self.first_data(dsn, payload)?);
                        }
                        CapableForm::Ack { sender: THEIR_KEY.0, receiver: self.ours()?.0, data }
                    }
                };
                MptcpOption::Capable(Capable { flags: CapableFlags(CapableFlags::HMAC_SHA256.0 | bit), form })
            }
            &Kind::Join { backup, id } => {
                let (ours, address_id) = (self.ours()?, id.unwrap_or(0));
                if syn && !ack {
                    let token = ours.token() ^ bent as u32;
                    let nonce = nonces.theirs;
                    return Ok(MptcpOption::Join(Join::Syn { backup, address_id, token, nonce }));
                }
                let proof = nonces.proof_of_peer(ours)?;
                MptcpOption::Join(if syn {
                    let hmac = proof.short() ^ bent;
                    Join::SynAck { backup, address_id, hmac, nonce: nonces.theirs }
                } else {
                    let mut hmac = proof.long();
                    hmac[0] ^= bent as u8;
                    Join::Ack { hmac }
                })
            }
            &Kind::Dss { ack, dsn, len, fin } => {
                let number = |base: Key, at: u64| DataNumber::Long(base.initial_number().wrapping_add(at));
                let ours = self.ours()?;
                let octets = u16::try_from(payload.len() + u32::from(fin));
                let octets = octets.map_err(|_| "the segment is too long for a mapping")?;
                let mapping = dsn.map(|dsn| {
                    let (ssn, len) = (if payload.is_empty() { 0 } else { seq }, len.unwrap_or(octets));
                    let dsn = THEIR_KEY.initial_number().wrapping_add(dsn);
                    let checksum = self.checksum.then(|| data_checksum(dsn, ssn, len, payload) ^ bent as u16);
                    DataMapping { dsn: DataNumber::Long(dsn), ssn, len, checksum }
                });
                if said.wrong && mapping.is_none_or(|mapping| mapping.checksum.is_none()) {
                    return Err(
                        "there is no checksum that could be wrong: no mapping, or nobody asked for one"
                            .into(),
                    );
                }
                MptcpOption::Dss(Dss { data_fin: fin, ack: ack.map(|ack| number(ours, ack)), mapping })
            }
            &Kind::AddAddr { id, address, port, echo } => {
                let hmac = address_hmac(THEIR_KEY, self.ours()?, id, address, port) ^ bent;
                MptcpOption::AddAddr(AddAddr { address_id: id, address, port, hmac: (!echo).then_some(hmac) })
            }
            Kind::RemoveAddr(ids) => {
                MptcpOption::RemoveAddr(AddressIds::new(ids).ok_or("there are too many identifiers")?)
            }
            &Kind::Prio { backup } => MptcpOption::Prio { backup },
            Kind::Fail { dsn } => MptcpOption::Fail { dsn: self.ours()?.initial_number().wrapping_add(*dsn) },
            Kind::FastClose => MptcpOption::FastClose { key: self.ours()?.0 ^ bent },
            &Kind::Reset { reason } => MptcpOption::Reset { transient: false, reason },
        })
    }

    fn first_data(&self, dsn: u64, payload: &Payload) -> Result<FirstData, String> {
        let len = u16::try_from(payload.len()).map_err(|_| "the first data is too long for its mapping")?;
        Ok(FirstData { len, checksum: self.checksum.then(|| data_checksum(dsn, 1, len, payload)) })
    }

    /// The options of a segment that has left, as a script would say them.
    ///
    /// # Errors
    /// One of them is none, or has a key or proof that is not the right one.
    pub(crate) fn read(
        &self,
        nonces: Nonces,
        header: &TcpHeader,
        seq: u32,
        payload: &Payload,
    ) -> Result<Vec<Multipath>, String> {
        let read = |option: Result<MptcpOption, _>| {
            let option = option.map_err(|error| format!("an option of Multipath TCP is none: {error}"))?;
            Ok(Multipath { kind: self.kind(nonces, &option, seq, payload)?, wrong: false })
        };
        header.options.mptcp().map(read).collect()
    }

    fn kind(
        &self,
        nonces: Nonces,
        option: &MptcpOption,
        seq: u32,
        payload: &Payload,
    ) -> Result<Kind, String> {
        let right =
            |is: bool, what: &str| if is { Ok(()) } else { Err(format!("{what} is not the right one")) };
        let (ours, theirs) = (self.ours.map_or(0, Key::initial_number), THEIR_KEY.initial_number());
        Ok(match *option {
            MptcpOption::Capable(Capable { flags, form }) => {
                right(flags.contains(CapableFlags::HMAC_SHA256), "the algorithm of mp_capable")?;
                if let CapableForm::Ack { sender, receiver, data } = form {
                    right(Some(Key(sender)) == self.ours, "the sender's key")?;
                    right(Key(receiver) == THEIR_KEY, "the receiver's key")?;
                    right(data.is_some() != payload.is_empty(), "whether mp_capable maps data")?;
                }
                Kind::Capable { checksum: flags.contains(CapableFlags::CHECKSUM) }
            }
            MptcpOption::Join(Join::Syn { backup, address_id, token, .. }) => {
                right(token == THEIR_KEY.token(), "the token")?;
                Kind::Join { backup, id: Some(address_id) }
            }
            MptcpOption::Join(Join::SynAck { backup, address_id, hmac, .. }) => {
                right(hmac == nonces.proof_of_endpoint(self.ours()?)?.short(), "the HMAC")?;
                Kind::Join { backup, id: Some(address_id) }
            }
            MptcpOption::Join(Join::Ack { hmac }) => {
                right(hmac == nonces.proof_of_endpoint(self.ours()?)?.long(), "the HMAC")?;
                Kind::Join { backup: false, id: None }
            }
            MptcpOption::Dss(Dss { data_fin: fin, ack, mapping }) => {
                let mut dsn = None;
                if let Some(DataMapping { dsn: first, ssn, checksum, .. }) = mapping {
                    right(checksum.is_some() == self.checksum, "whether there is a checksum")?;
                    // A mapping may have begun with an earlier segment.
                    let skipped = if payload.is_empty() { 0 } else { seq.wrapping_sub(ssn) };
                    dsn = Some(since(first, ours).wrapping_add(u64::from(skipped)));
                }
                let len = mapping.map(|mapping| mapping.len);
                Kind::Dss { ack: ack.map(|ack| since(ack, theirs)), dsn, len, fin }
            }
            MptcpOption::AddAddr(AddAddr { address_id: id, address, port, hmac }) => {
                if let Some(hmac) = hmac {
                    right(hmac == address_hmac(self.ours()?, THEIR_KEY, id, address, port), "the HMAC")?;
                }
                Kind::AddAddr { id, address, port, echo: hmac.is_none() }
            }
            MptcpOption::RemoveAddr(ids) => Kind::RemoveAddr(ids.as_slice().to_vec()),
            MptcpOption::Prio { backup } => Kind::Prio { backup },
            MptcpOption::Fail { dsn } => Kind::Fail { dsn: dsn.wrapping_sub(theirs) },
            MptcpOption::FastClose { key } => {
                right(Key(key) == THEIR_KEY, "the key")?;
                Kind::FastClose
            }
            MptcpOption::Reset { reason, .. } => Kind::Reset { reason },
        })
    }
}
