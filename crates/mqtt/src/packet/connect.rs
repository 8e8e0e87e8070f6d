//! CONNECT and CONNACK (sections 3.1 and 3.2).

use super::bytes::{MALFORMED, PROTOCOL_ERROR, Reader, put_binary, put_u16};
use super::property::Of;
use super::{Properties, Qos, Text, Version};
use crate::{Malformed, Reason, is_topic_name};
use alloc::vec::Vec;
use bytes::Bytes;

/// What the server publishes if the client is gone without a DISCONNECT (section 3.1.2.5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Will {
    /// Where.
    pub topic: Text,
    /// What; at most 65 535 bytes.
    pub payload: Bytes,
    /// How.
    pub qos: Qos,
    /// Whether it is kept.
    pub retain: bool,
    /// Of version 5.
    pub properties: Properties,
}

/// A client opens.
#[derive(Debug, Clone, PartialEq)]
pub struct Connect {
    /// What it speaks.
    pub version: Version,
    /// Forget the session that was; Clean Start of version 5, Clean Session of 3.1.1.
    pub clean: bool,
    /// Seconds; 0 is off.
    pub keep_alive: u16,
    /// Who it is; empty leaves it to the server.
    pub client_id: Text,
    /// If it is gone.
    pub will: Option<Will>,
    /// On whose behalf.
    pub user: Option<Text>,
    /// How it proves that.
    pub password: Option<Bytes>,
    /// Of version 5.
    pub properties: Properties,
}

impl Connect {
    /// Writes it in its own version.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let version = self.version;
        put_binary(out, b"MQTT");
        out.push(if version == Version::V5 { 5 } else { 4 });
        let mut flags = u8::from(self.clean) << 1;
        if let Some(will) = &self.will {
            flags |= 0x04 | u8::from(will.qos) << 3 | u8::from(will.retain) << 5;
        }
        flags |= u8::from(self.password.is_some()) << 6 | u8::from(self.user.is_some()) << 7;
        out.push(flags);
        put_u16(out, self.keep_alive);
        if version == Version::V5 {
            self.properties.put(out);
        }
        put_binary(out, self.client_id.as_bytes());
        if let Some(will) = &self.will {
            if version == Version::V5 {
                will.properties.put(out);
            }
            put_binary(out, will.topic.as_bytes());
            put_binary(out, &will.payload);
        }
        if let Some(user) = &self.user {
            put_binary(out, user.as_bytes());
        }
        if let Some(password) = &self.password {
            put_binary(out, password);
        }
    }

    pub(super) fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let unsupported = Malformed(Reason::UNSUPPORTED_VERSION);
        if reader.binary()? != b"MQTT" {
            return Err(unsupported);
        }
        let version = match reader.u8()? {
            4 => Version::V311,
            5 => Version::V5,
            _ => return Err(unsupported),
        };
        let flags = reader.u8()?;
        let keep_alive = reader.u16()?;
        let has = |bit: u8| flags & (1 << bit) != 0;
        // The reserved bit is zero; without a will its flags are; 3.1.1 knows no password without a user.
        if has(0) || (!has(2) && flags & 0x38 != 0) || (version == Version::V311 && has(6) && !has(7)) {
            return Err(MALFORMED);
        }
        let is_v5 = version == Version::V5;
        let properties = if is_v5 { Properties::read(reader, Of::Connect)? } else { Properties::default() };
        let client_id = reader.text()?;
        let will = if has(2) {
            let qos = Qos::try_from(flags >> 3 & 3).map_err(|_| MALFORMED)?;
            let properties = if is_v5 { Properties::read(reader, Of::Will)? } else { Properties::default() };
            let (topic, payload) = (reader.text()?, reader.owned()?);
            if !is_topic_name(&topic) {
                return Err(Malformed(Reason::TOPIC_INVALID));
            }
            Some(Will { topic, payload, qos, retain: has(5), properties })
        } else {
            None
        };
        let user = has(7).then(|| reader.text()).transpose()?;
        let password = has(6).then(|| reader.owned()).transpose()?;
        Ok(Self { version, clean: has(1), keep_alive, client_id, will, user, password, properties })
    }
}

/// The server answers a CONNECT.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connack {
    /// The server knows the session.
    pub session_present: bool,
    /// Whether it is accepted. Of version 3.1.1 the reason of version 5 that says the same.
    pub reason: Reason,
    /// Of version 5.
    pub properties: Properties,
}

impl Connack {
    pub(super) fn put(&self, version: Version, out: &mut Vec<u8>) {
        out.push(self.session_present.into());
        if version == Version::V5 {
            out.push(self.reason.0);
            self.properties.put(out);
        } else {
            out.push(self.reason.connack_v311());
        }
    }

    pub(super) fn parse(reader: &mut Reader<'_>, version: Version) -> Result<Self, Malformed> {
        let session_present = match reader.u8()? {
            0 => false,
            1 => true,
            _ => return Err(MALFORMED),
        };
        let code = reader.u8()?;
        let (reason, properties) = if version == Version::V5 {
            (Reason(code), Properties::read(reader, Of::Connack)?)
        } else {
            (Reason::of_connack_v311(code).ok_or(MALFORMED)?, Properties::default())
        };
        if session_present && reason.is_error() {
            return Err(PROTOCOL_ERROR);
        }
        Ok(Self { session_present, reason, properties })
    }
}
