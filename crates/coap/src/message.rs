//! A message (RFC 7252 section 3).

use crate::block::Block;
use alloc::string::String;
use alloc::vec::Vec;
use bytes::Bytes;
use coap_lite::{CoapOption, MessageType, Packet};
use voxpath_wire::Payload;

/// The type of a message (section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Wants to be acknowledged.
    Confirmable,
    /// Does not.
    NonConfirmable,
    /// Acknowledges, and may carry a response.
    Acknowledgement,
    /// Says that a message could not be processed.
    Reset,
}

/// A method or a response code: class and detail (section 12.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Code(pub u8);

impl Code {
    /// 0.00: neither a request nor a response.
    pub const EMPTY: Self = Self(0);
    /// 0.02.
    pub const POST: Self = Self(2);
    /// 0.03.
    pub const PUT: Self = Self(3);
    /// 2.04.
    pub const CHANGED: Self = Self::of(2, 4);
    /// 2.31 (RFC 7959 section 2.9.1).
    pub const CONTINUE: Self = Self::of(2, 31);
    /// 4.02.
    pub const BAD_OPTION: Self = Self::of(4, 2);
    /// 4.05.
    pub const METHOD_NOT_ALLOWED: Self = Self::of(4, 5);
    /// 4.08 (RFC 7959 section 2.9.2).
    pub const REQUEST_ENTITY_INCOMPLETE: Self = Self::of(4, 8);
    /// 4.13.
    pub const REQUEST_ENTITY_TOO_LARGE: Self = Self::of(4, 13);

    const fn of(class: u8, detail: u8) -> Self {
        Self(class << 5 | detail)
    }

    /// The class: 0 of requests, 2 of success, 4 and 5 of errors.
    pub const fn class(self) -> u8 {
        self.0 >> 5
    }

    /// Whether it is a method.
    pub const fn is_request(self) -> bool {
        self.0 != 0 && self.class() == 0
    }
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its type.
    pub kind: Kind,
    /// What it asks or answers.
    pub code: Code,
    /// Which message of its sender.
    pub id: u16,
    /// What a response has in common with its request; up to eight octets.
    pub token: Vec<u8>,
    /// Segments of Uri-Path.
    pub path: Vec<String>,
    /// Block1.
    pub block: Option<Block>,
    /// The body, or a block of it.
    pub payload: Payload,
    /// A critical option that we do not know, or one with a value that it cannot have (section 5.4.1).
    pub has_bad_option: bool,
}

/// Critical options that a server may leave out of account here: Uri-Host, Uri-Port, Uri-Query and Block2.
const IGNORED: [u16; 4] = [3, 7, 15, 23];
const URI_PATH: u16 = 11;
const BLOCK1: u16 = 27;
/// Before the payload, if there is one.
const MARKER: u8 = 0xff;

impl Message {
    /// A message without options and body.
    pub const fn new(kind: Kind, code: Code, id: u16, token: Vec<u8>) -> Self {
        let payload = Payload::Empty;
        Self { kind, code, id, token, path: Vec::new(), block: None, payload, has_bad_option: false }
    }

    /// As a datagram.
    pub fn emit(&self) -> Payload {
        let mut packet = Packet::new();
        packet.header.set_version(1);
        packet.header.set_type(match self.kind {
            Kind::Confirmable => MessageType::Confirmable,
            Kind::NonConfirmable => MessageType::NonConfirmable,
            Kind::Acknowledgement => MessageType::Acknowledgement,
            Kind::Reset => MessageType::Reset,
        });
        packet.header.code = self.code.0.into();
        packet.header.message_id = self.id;
        packet.set_token(self.token.clone());
        for segment in &self.path {
            packet.add_option(CoapOption::UriPath, segment.as_bytes().to_vec());
        }
        if let Some(block) = self.block {
            packet.add_option(CoapOption::Block1, block.emit());
        }
        let mut head = packet.to_bytes_unlimited().expect("a token has eight octets at most");
        if self.payload.is_empty() {
            return Payload::bytes(head.into());
        }
        head.push(MARKER);
        Payload::rope([Payload::bytes(Bytes::from(head)), self.payload.clone()])
    }

    /// What a datagram says; none if it is malformed (sections 3 and 4.1).
    pub fn parse(datagram: &Payload) -> Option<Self> {
        let mut bytes = Vec::new();
        datagram.write_to(&mut bytes);
        // coap-lite takes any version, and reads a token that is cut off.
        let (&first, token) = (bytes.first()?, bytes.first()? & 15);
        if first >> 6 != 1 || token > 8 || bytes.len() < 4 + usize::from(token) {
            return None;
        }
        let packet = Packet::from_bytes(&bytes).ok()?;
        let code = Code(bytes[1]);
        let kind = match packet.header.get_type() {
            MessageType::Confirmable => Kind::Confirmable,
            MessageType::NonConfirmable => Kind::NonConfirmable,
            MessageType::Acknowledgement => Kind::Acknowledgement,
            MessageType::Reset => Kind::Reset,
        };
        // An empty message is nothing but its header.
        if code == Code::EMPTY && bytes.len() > 4 {
            return None;
        }
        let mut message = Self::new(kind, code, packet.header.message_id, packet.get_token().to_vec());
        for (&number, values) in packet.options() {
            match number {
                URI_PATH => {
                    let segments = values.iter().map(|value| String::from_utf8(value.clone()));
                    match segments.collect() {
                        Ok(path) => message.path = path,
                        Err(_) => message.has_bad_option = true,
                    }
                }
                BLOCK1 => {
                    message.block = values.front().and_then(|value| Block::parse(value));
                    message.has_bad_option |= message.block.is_none() || values.len() > 1;
                }
                _ => message.has_bad_option |= number % 2 == 1 && !IGNORED.contains(&number),
            }
        }
        let len = packet.payload.len() as u32;
        message.payload = datagram.slice(datagram.len() - len, len);
        Some(message)
    }
}
