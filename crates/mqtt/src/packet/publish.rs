//! PUBLISH (section 3.3).

use super::bytes::{MALFORMED, PROTOCOL_ERROR, Reader, put_binary, put_u16};
use super::property::Of;
use super::{Properties, Qos, Text, Version};
use crate::{Malformed, Reason, is_topic_name};
use alloc::vec::Vec;
use voxpath_wire::Payload;

/// Bytes of a PUBLISH that are looked at first: most headers are shorter.
const FIRST_LOOK: u32 = 128;

/// A message.
#[derive(Debug, Clone, PartialEq)]
pub struct Publish {
    /// It may have come before.
    pub dup: bool,
    /// What is promised of it.
    pub qos: Qos,
    /// To a server: keep it; to a client: it was kept.
    pub retain: bool,
    /// What it is about; empty where an alias stands for it.
    pub topic: Text,
    /// Its identifier; none at QoS 0.
    pub id: Option<u16>,
    /// Of version 5.
    pub properties: Properties,
    /// Its body.
    pub payload: Payload,
}

impl Publish {
    pub(super) fn flags(&self) -> u8 {
        u8::from(self.dup) << 3 | u8::from(self.qos) << 1 | u8::from(self.retain)
    }

    pub(super) fn put(&self, version: Version, out: &mut Vec<u8>) {
        put_binary(out, self.topic.as_bytes());
        if let Some(id) = self.id {
            put_u16(out, id);
        }
        if version == Version::V5 {
            self.properties.put(out);
        }
    }

    /// Only the header is looked at, however long the body is.
    pub(super) fn parse(flags: u8, content: &Payload, version: Version) -> Result<Self, Malformed> {
        let qos = Qos::try_from(flags >> 1 & 3).map_err(|_| MALFORMED)?;
        let dup = flags & 8 != 0;
        if dup && qos == Qos::AtMostOnce {
            return Err(MALFORMED);
        }
        let mut looked = FIRST_LOOK;
        let mut seen = Vec::new();
        loop {
            let len = looked.min(content.len());
            seen.clear();
            content.slice(0, len).write_to(&mut seen);
            let mut reader = Reader::new(&seen);
            match Header::read(&mut reader, qos, version) {
                Ok(Header { topic, id, properties }) => {
                    let header = len - reader.len() as u32;
                    let payload = content.slice(header, content.len() - header);
                    let has_alias = properties.topic_alias().is_some();
                    let is_left_out = topic.is_empty() && has_alias;
                    if !is_left_out && !is_topic_name(&topic) {
                        return Err(Malformed(if topic.is_empty() && version == Version::V5 {
                            Reason::PROTOCOL_ERROR
                        } else {
                            Reason::TOPIC_INVALID
                        }));
                    }
                    return Ok(Self { dup, qos, retain: flags & 1 != 0, topic, id, properties, payload });
                }
                // The header may go on behind what was looked at.
                Err(MALFORMED) if len < content.len() => looked = looked.saturating_mul(8),
                Err(error) => return Err(error),
            }
        }
    }
}

struct Header {
    topic: Text,
    id: Option<u16>,
    properties: Properties,
}

impl Header {
    fn read(reader: &mut Reader<'_>, qos: Qos, version: Version) -> Result<Self, Malformed> {
        let topic = reader.text()?;
        let id = match qos {
            Qos::AtMostOnce => None,
            _ => Some(reader.id()?),
        };
        let properties = match version {
            Version::V5 => Properties::read(reader, Of::Publish)?,
            Version::V311 => Properties::default(),
        };
        if properties.topic_alias() == Some(0) {
            return Err(Malformed(Reason::TOPIC_ALIAS_INVALID));
        }
        // Only a client that means harm, or a bug, has several where it published itself.
        if properties.0.len() > usize::from(u16::MAX) {
            return Err(PROTOCOL_ERROR);
        }
        Ok(Self { topic, id, properties })
    }
}
