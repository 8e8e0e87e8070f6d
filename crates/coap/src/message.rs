//! A message (RFC 7252 section 3).

use crate::block::Block;
use crate::uint::{emit_uint, parse_uint};
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
    /// 0.01.
    pub const GET: Self = Self(1);
    /// 0.02.
    pub const POST: Self = Self(2);
    /// 0.03.
    pub const PUT: Self = Self(3);
    /// 2.04.
    pub const CHANGED: Self = Self::of(2, 4);
    /// 2.05.
    pub const CONTENT: Self = Self::of(2, 5);
    /// 2.31 (RFC 7959 section 2.9.1).
    pub const CONTINUE: Self = Self::of(2, 31);
    /// 4.00.
    pub const BAD_REQUEST: Self = Self::of(4, 0);
    /// 4.02.
    pub const BAD_OPTION: Self = Self::of(4, 2);
    /// 4.04.
    pub const NOT_FOUND: Self = Self::of(4, 4);
    /// 4.05.
    pub const METHOD_NOT_ALLOWED: Self = Self::of(4, 5);
    /// 4.08 (RFC 7959 section 2.9.2).
    pub const REQUEST_ENTITY_INCOMPLETE: Self = Self::of(4, 8);
    /// 4.13.
    pub const REQUEST_ENTITY_TOO_LARGE: Self = Self::of(4, 13);
    /// 5.03.
    pub const SERVICE_UNAVAILABLE: Self = Self::of(5, 3);

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
    /// ETag: which representation it is a part of; up to eight octets.
    pub etag: Option<Vec<u8>>,
    /// Observe (RFC 7641 section 2): in a request 0 registers and 1 deregisters, in a notification it is its place in their order.
    pub observe: Option<u32>,
    /// Max-Age: seconds for which a representation is fresh.
    pub max_age: Option<u32>,
    /// Block1: which part of a request's body it carries, or answers.
    pub block1: Option<Block>,
    /// Block2: which part of a response's body it asks for, or carries.
    pub block2: Option<Block>,
    /// The body, or a block of it.
    pub payload: Payload,
    /// A critical option that we do not know, or one with a value that it cannot have (section 5.4.1).
    pub has_bad_option: bool,
}

/// Critical options that a server may leave out of account here: Uri-Host, Uri-Port and Uri-Query.
const IGNORED: [u16; 3] = [3, 7, 15];
const ETAG: u16 = 4;
const OBSERVE: u16 = 6;
const URI_PATH: u16 = 11;
const MAX_AGE: u16 = 14;
const BLOCK2: u16 = 23;
const BLOCK1: u16 = 27;
/// Before the payload, if there is one.
const MARKER: u8 = 0xff;

impl Message {
    /// A message without options and body.
    pub const fn new(kind: Kind, code: Code, id: u16, token: Vec<u8>) -> Self {
        Self {
            kind,
            code,
            id,
            token,
            path: Vec::new(),
            etag: None,
            observe: None,
            max_age: None,
            block1: None,
            block2: None,
            payload: Payload::Empty,
            has_bad_option: false,
        }
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
        let values = [
            (CoapOption::ETag, self.etag.clone()),
            (CoapOption::Observe, self.observe.map(emit_uint)),
            (CoapOption::MaxAge, self.max_age.map(emit_uint)),
            (CoapOption::Block1, self.block1.map(Block::emit)),
            (CoapOption::Block2, self.block2.map(Block::emit)),
        ];
        for (option, value) in values {
            if let Some(value) = value {
                packet.add_option(option, value);
            }
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
                BLOCK1 | BLOCK2 => {
                    let block = values.front().and_then(|value| Block::parse(value));
                    message.has_bad_option |= block.is_none() || values.len() > 1;
                    if number == BLOCK1 {
                        message.block1 = block;
                    } else {
                        message.block2 = block;
                    }
                }
                // Elective options with values that they cannot have are as if they were not there (section 5.4.3).
                ETAG => {
                    let is_tag = |value: &&Vec<u8>| (1..=8).contains(&value.len());
                    message.etag = values.front().filter(is_tag).cloned();
                }
                OBSERVE => message.observe = values.front().and_then(|value| parse_uint(value, 3)),
                MAX_AGE => message.max_age = values.front().and_then(|value| parse_uint(value, 4)),
                _ => message.has_bad_option |= number % 2 == 1 && !IGNORED.contains(&number),
            }
        }
        let len = packet.payload.len() as u32;
        message.payload = datagram.slice(datagram.len() - len, len);
        Some(message)
    }
}
