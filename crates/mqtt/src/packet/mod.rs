//! Control packets (section 2) as values.
//!
//! [`Packet::emit`] gives a packet's bytes as a payload, of which the body of a message is a part as it is;
//! [`Packet::parse`] reads a packet that is there as a whole. Each is the other's inverse.

mod acknowledge;
mod bytes;
mod connect;
mod property;
mod publish;
mod subscribe;

pub use acknowledge::{Acknowledge, Disconnect};
pub use connect::{Connack, Connect, Will};
pub use property::{Properties, Property, Varint};
pub use publish::Publish;
pub use subscribe::{Granted, RetainHandling, Subscribe, SubscribeTo, Unsubscribe};

pub(crate) use self::bytes::{MOST, varint_len};

use self::bytes::{MALFORMED, Reader, put_varint};
use crate::{Malformed, NOTHING, Reason};
use ::bytes::Bytes;
use alloc::sync::Arc;
use alloc::vec::Vec;
use property::Of;
use serde::{Deserialize, Serialize};
use voxpath_wire::Payload;

/// A text: valid UTF-8 of at most 65 535 bytes, without U+0000.
pub type Text = Arc<str>;

/// Which MQTT is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Version {
    /// Version 3.1.1.
    #[serde(rename = "3.1.1")]
    V311,
    /// Version 5.
    #[serde(rename = "5")]
    V5,
}

/// What is promised of a message's delivery (section 4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "u8", try_from = "u8")]
pub enum Qos {
    /// QoS 0.
    AtMostOnce,
    /// QoS 1.
    AtLeastOnce,
    /// QoS 2.
    ExactlyOnce,
}

impl From<Qos> for u8 {
    fn from(qos: Qos) -> Self {
        match qos {
            Qos::AtMostOnce => 0,
            Qos::AtLeastOnce => 1,
            Qos::ExactlyOnce => 2,
        }
    }
}

impl TryFrom<u8> for Qos {
    type Error = &'static str;

    fn try_from(level: u8) -> Result<Self, Self::Error> {
        Ok(match level {
            0 => Self::AtMostOnce,
            1 => Self::AtLeastOnce,
            2 => Self::ExactlyOnce,
            _ => return Err("QoS is 0, 1 or 2"),
        })
    }
}

/// A control packet.
#[derive(Debug, Clone, PartialEq)]
pub enum Packet {
    /// A client opens.
    Connect(Connect),
    /// The server answers that.
    Connack(Connack),
    /// A message.
    Publish(Publish),
    /// QoS 1: a message has come.
    Puback(Acknowledge),
    /// QoS 2, first: a message has come.
    Pubrec(Acknowledge),
    /// QoS 2, second: its identifier is given up.
    Pubrel(Acknowledge),
    /// QoS 2, third: it is free.
    Pubcomp(Acknowledge),
    /// A client wants messages.
    Subscribe(Subscribe),
    /// The server answers that.
    Suback(Granted),
    /// A client wants them no longer.
    Unsubscribe(Unsubscribe),
    /// The server answers that.
    Unsuback(Granted),
    /// Are you there?
    Pingreq,
    /// Yes.
    Pingresp,
    /// The end.
    Disconnect(Disconnect),
    /// Authentication goes on; version 5 only.
    Auth(Disconnect),
}

impl Packet {
    /// The number of its type.
    pub const fn kind(&self) -> u8 {
        match self {
            Self::Connect(_) => 1,
            Self::Connack(_) => 2,
            Self::Publish(_) => 3,
            Self::Puback(_) => 4,
            Self::Pubrec(_) => 5,
            Self::Pubrel(_) => 6,
            Self::Pubcomp(_) => 7,
            Self::Subscribe(_) => 8,
            Self::Suback(_) => 9,
            Self::Unsubscribe(_) => 10,
            Self::Unsuback(_) => 11,
            Self::Pingreq => 12,
            Self::Pingresp => 13,
            Self::Disconnect(_) => 14,
            Self::Auth(_) => 15,
        }
    }

    /// The name of a type.
    pub const fn name(kind: u8) -> &'static str {
        const NAMES: [&str; 16] = [
            "reserved",
            "CONNECT",
            "CONNACK",
            "PUBLISH",
            "PUBACK",
            "PUBREC",
            "PUBREL",
            "PUBCOMP",
            "SUBSCRIBE",
            "SUBACK",
            "UNSUBSCRIBE",
            "UNSUBACK",
            "PINGREQ",
            "PINGRESP",
            "DISCONNECT",
            "AUTH",
        ];
        NAMES[(kind & 15) as usize]
    }

    /// The packet's bytes, in `version`; a CONNECT has its own.
    ///
    /// Panics if they are more than a packet can have, 256 MiB.
    pub fn emit(&self, version: Version) -> Payload {
        let mut own = Vec::with_capacity(64);
        let mut flags = 0;
        let body = match self {
            Self::Publish(publish) => {
                flags = publish.flags();
                publish.put(version, &mut own);
                publish.payload.clone()
            }
            Self::Connect(connect) => {
                connect.put(&mut own);
                NOTHING
            }
            Self::Connack(connack) => {
                connack.put(version, &mut own);
                NOTHING
            }
            Self::Puback(it) | Self::Pubrec(it) | Self::Pubrel(it) | Self::Pubcomp(it) => {
                flags = if matches!(self, Self::Pubrel(_)) { 2 } else { 0 };
                it.put(version, &mut own);
                NOTHING
            }
            Self::Subscribe(subscribe) => {
                flags = 2;
                subscribe.put(version, &mut own);
                NOTHING
            }
            Self::Unsubscribe(unsubscribe) => {
                flags = 2;
                unsubscribe.put(version, &mut own);
                NOTHING
            }
            Self::Suback(granted) => {
                granted.put(version, true, &mut own);
                NOTHING
            }
            Self::Unsuback(granted) => {
                granted.put(version, false, &mut own);
                NOTHING
            }
            Self::Pingreq | Self::Pingresp => NOTHING,
            Self::Disconnect(it) | Self::Auth(it) => {
                it.put(version, &mut own);
                NOTHING
            }
        };
        let len = own.len() as u32 + body.len();
        assert!(len <= MOST, "a packet has at most {MOST} bytes behind its fixed header");
        let mut header = Vec::with_capacity(5 + own.len());
        header.push(self.kind() << 4 | flags);
        put_varint(&mut header, len);
        header.extend_from_slice(&own);
        let header = Payload::bytes(Bytes::from(header));
        if body.is_empty() { header } else { Payload::rope([header, body]) }
    }

    /// The packet whose fixed header begins with `first`, and whose bytes behind the fixed header are `content`.
    ///
    /// A CONNECT says its own version; others are of `version`.
    pub fn parse(first: u8, content: &Payload, version: Version) -> Result<Self, Malformed> {
        let (kind, flags) = (first >> 4, first & 15);
        if kind == 3 {
            return Publish::parse(flags, content, version).map(Self::Publish);
        }
        let expected = if matches!(kind, 6 | 8 | 10) { 2 } else { 0 };
        if flags != expected {
            return Err(MALFORMED);
        }
        let mut copied = Vec::new();
        let whole = match content.as_bytes() {
            Some(bytes) => &bytes[..],
            None => {
                content.write_to(&mut copied);
                &copied
            }
        };
        let mut reader = Reader::new(whole);
        let reader = &mut reader;
        let acknowledge = |reader: &mut Reader<'_>, of| Acknowledge::parse(reader, version, of);
        let packet = match kind {
            1 => Self::Connect(Connect::parse(reader)?),
            2 => Self::Connack(Connack::parse(reader, version)?),
            4 => Self::Puback(acknowledge(reader, Of::Puback)?),
            5 => Self::Pubrec(acknowledge(reader, Of::Pubrec)?),
            6 => Self::Pubrel(acknowledge(reader, Of::Pubrel)?),
            7 => Self::Pubcomp(acknowledge(reader, Of::Pubcomp)?),
            8 => Self::Subscribe(Subscribe::parse(reader, version)?),
            9 => Self::Suback(Granted::parse(reader, version, Of::Suback)?),
            10 => Self::Unsubscribe(Unsubscribe::parse(reader, version)?),
            11 => Self::Unsuback(Granted::parse(reader, version, Of::Unsuback)?),
            12 => Self::Pingreq,
            13 => Self::Pingresp,
            14 => Self::Disconnect(Disconnect::parse(reader, version, Of::Disconnect)?),
            15 if version == Version::V5 => Self::Auth(Disconnect::parse(reader, version, Of::Auth)?),
            _ => return Err(Malformed(Reason::MALFORMED)),
        };
        reader.end()?;
        Ok(packet)
    }
}
