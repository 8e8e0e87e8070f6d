//! PUBACK, PUBREC, PUBREL, PUBCOMP (sections 3.4 to 3.7), DISCONNECT and AUTH (3.14, 3.15): an identifier or none, a reason,
//! properties, of which the last may be left out.

use super::bytes::{Reader, put_u16};
use super::property::Of;
use super::{Properties, Version};
use crate::{Malformed, Reason};
use alloc::vec::Vec;

/// What becomes of a message with this identifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acknowledge {
    /// Which.
    pub id: u16,
    /// How it went; 3.1.1 cannot tell.
    pub reason: Reason,
    /// Of version 5.
    pub properties: Properties,
}

impl Acknowledge {
    /// All is well with it.
    pub const fn new(id: u16) -> Self {
        Self::because(id, Reason::SUCCESS)
    }

    /// With a reason.
    pub const fn because(id: u16, reason: Reason) -> Self {
        Self { id, reason, properties: Properties(Vec::new()) }
    }

    pub(super) fn put(&self, version: Version, out: &mut Vec<u8>) {
        put_u16(out, self.id);
        put_rest(version, self.reason, &self.properties, out);
    }

    pub(super) fn parse(reader: &mut Reader<'_>, version: Version, of: Of) -> Result<Self, Malformed> {
        let id = reader.id()?;
        let (reason, properties) = rest(reader, version, of)?;
        Ok(Self { id, reason, properties })
    }
}

/// The end of a connection, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disconnect {
    /// Why; 3.1.1 cannot tell.
    pub reason: Reason,
    /// Of version 5.
    pub properties: Properties,
}

impl Disconnect {
    /// For this reason.
    pub const fn because(reason: Reason) -> Self {
        Self { reason, properties: Properties(Vec::new()) }
    }

    pub(super) fn put(&self, version: Version, out: &mut Vec<u8>) {
        put_rest(version, self.reason, &self.properties, out);
    }

    pub(super) fn parse(reader: &mut Reader<'_>, version: Version, of: Of) -> Result<Self, Malformed> {
        let (reason, properties) = rest(reader, version, of)?;
        Ok(Self { reason, properties })
    }
}

/// The shortest form: no properties where there are none, no reason either where all is well.
fn put_rest(version: Version, reason: Reason, properties: &Properties, out: &mut Vec<u8>) {
    if version == Version::V311 || (reason == Reason::SUCCESS && properties.is_empty()) {
        return;
    }
    out.push(reason.0);
    if !properties.is_empty() {
        properties.put(out);
    }
}

fn rest(reader: &mut Reader<'_>, version: Version, of: Of) -> Result<(Reason, Properties), Malformed> {
    if version == Version::V311 || reader.is_empty() {
        return Ok((Reason::SUCCESS, Properties::default()));
    }
    let reason = Reason(reader.u8()?);
    let properties = if reader.is_empty() { Properties::default() } else { Properties::read(reader, of)? };
    Ok((reason, properties))
}
