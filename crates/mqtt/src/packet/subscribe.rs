//! SUBSCRIBE, SUBACK, UNSUBSCRIBE, UNSUBACK (sections 3.8 to 3.11).

use super::bytes::{MALFORMED, PROTOCOL_ERROR, Reader, put_binary, put_u16};
use super::property::Of;
use super::{Properties, Qos, Text, Version};
use crate::{Malformed, Reason};
use alloc::vec::Vec;

/// Whether a subscription is given what is retained (section 3.8.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetainHandling {
    /// Each time it is made.
    Always,
    /// Only if it is new.
    IfNew,
    /// Never.
    Never,
}

/// A filter, and how its messages are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscribeTo {
    /// Which topics.
    pub filter: Text,
    /// The most that is promised.
    pub qos: Qos,
    /// Not what the client publishes itself; version 5.
    pub no_local: bool,
    /// Pass on whether the message was to be retained; version 5.
    pub retain_as_published: bool,
    /// Version 5.
    pub retain_handling: RetainHandling,
}

impl SubscribeTo {
    /// As version 3.1.1 has it.
    pub const fn new(filter: Text, qos: Qos) -> Self {
        Self {
            filter,
            qos,
            no_local: false,
            retain_as_published: false,
            retain_handling: RetainHandling::Always,
        }
    }

    fn options(&self, version: Version) -> u8 {
        let qos = u8::from(self.qos);
        if version == Version::V311 {
            return qos;
        }
        let handling = match self.retain_handling {
            RetainHandling::Always => 0,
            RetainHandling::IfNew => 1,
            RetainHandling::Never => 2,
        };
        qos | u8::from(self.no_local) << 2 | u8::from(self.retain_as_published) << 3 | handling << 4
    }

    fn parse(reader: &mut Reader<'_>, version: Version) -> Result<Self, Malformed> {
        let filter = reader.text()?;
        let options = reader.u8()?;
        let reserved = if version == Version::V5 { 0xC0 } else { 0xFC };
        if options & reserved != 0 {
            return Err(MALFORMED);
        }
        let qos = Qos::try_from(options & 3).map_err(|_| PROTOCOL_ERROR)?;
        let retain_handling = match options >> 4 & 3 {
            0 => RetainHandling::Always,
            1 => RetainHandling::IfNew,
            2 => RetainHandling::Never,
            _ => return Err(PROTOCOL_ERROR),
        };
        Ok(Self {
            filter,
            qos,
            no_local: options & 4 != 0,
            retain_as_published: options & 8 != 0,
            retain_handling,
        })
    }
}

/// A client wants messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscribe {
    /// Of the packet.
    pub id: u16,
    /// At least one filter.
    pub to: Vec<SubscribeTo>,
    /// Of version 5.
    pub properties: Properties,
}

impl Subscribe {
    pub(super) fn put(&self, version: Version, out: &mut Vec<u8>) {
        put_u16(out, self.id);
        if version == Version::V5 {
            self.properties.put(out);
        }
        for to in &self.to {
            put_binary(out, to.filter.as_bytes());
            out.push(to.options(version));
        }
    }

    pub(super) fn parse(reader: &mut Reader<'_>, version: Version) -> Result<Self, Malformed> {
        let id = reader.id()?;
        let properties = properties(reader, version, Of::Subscribe)?;
        let mut to = Vec::new();
        while !reader.is_empty() {
            to.push(SubscribeTo::parse(reader, version)?);
        }
        if to.is_empty() { Err(PROTOCOL_ERROR) } else { Ok(Self { id, to, properties }) }
    }
}

/// A client wants messages no longer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsubscribe {
    /// Of the packet.
    pub id: u16,
    /// At least one.
    pub filters: Vec<Text>,
    /// Of version 5.
    pub properties: Properties,
}

impl Unsubscribe {
    pub(super) fn put(&self, version: Version, out: &mut Vec<u8>) {
        put_u16(out, self.id);
        if version == Version::V5 {
            self.properties.put(out);
        }
        self.filters.iter().for_each(|filter| put_binary(out, filter.as_bytes()));
    }

    pub(super) fn parse(reader: &mut Reader<'_>, version: Version) -> Result<Self, Malformed> {
        let id = reader.id()?;
        let properties = properties(reader, version, Of::Unsubscribe)?;
        let mut filters = Vec::new();
        while !reader.is_empty() {
            filters.push(reader.text()?);
        }
        if filters.is_empty() { Err(PROTOCOL_ERROR) } else { Ok(Self { id, filters, properties }) }
    }
}

/// What the server answers to each filter of a SUBSCRIBE or UNSUBSCRIBE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Granted {
    /// Of the packet that is answered.
    pub id: u16,
    /// A reason for each filter; of a SUBSCRIBE the QoS that is granted, or a failure, which in 3.1.1 is 0x80. An UNSUBACK
    /// of 3.1.1 has none.
    pub reasons: Vec<Reason>,
    /// Of version 5.
    pub properties: Properties,
}

impl Granted {
    pub(super) fn put(&self, version: Version, is_suback: bool, out: &mut Vec<u8>) {
        put_u16(out, self.id);
        if version == Version::V5 {
            self.properties.put(out);
            out.extend(self.reasons.iter().map(|reason| reason.0));
        } else if is_suback {
            out.extend(self.reasons.iter().map(|reason| if reason.is_error() { 0x80 } else { reason.0 }));
        }
    }

    pub(super) fn parse(reader: &mut Reader<'_>, version: Version, of: Of) -> Result<Self, Malformed> {
        let id = reader.id()?;
        let properties = properties(reader, version, of)?;
        let mut reasons = Vec::new();
        while !reader.is_empty() {
            let reason = Reason(reader.u8()?);
            // Version 3.1.1 has one failure only (its section 3.9.3).
            let is_known = version == Version::V5 || matches!(reason.0, 0..=2 | 0x80);
            reasons.push(if is_known { reason } else { return Err(MALFORMED) });
        }
        let may_be_none = version == Version::V311 && of == Of::Unsuback;
        if reasons.is_empty() == may_be_none {
            Ok(Self { id, reasons, properties })
        } else {
            Err(PROTOCOL_ERROR)
        }
    }
}

fn properties(reader: &mut Reader<'_>, version: Version, of: Of) -> Result<Properties, Malformed> {
    match version {
        Version::V5 => Properties::read(reader, of),
        Version::V311 => Ok(Properties::default()),
    }
}
