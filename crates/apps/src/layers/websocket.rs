//! WebSocket (RFC 6455) for MQTT (section 6 of MQTT 5.0): each packet is a binary message of one frame.
//!
//! The request is that of paho's clients. A client masks by a key of zeros, so that a body that is described stays so; what others
//! have masked is unmasked octet by octet. Frames of both kinds are as long as with any other key.

use super::layer::{Failed, Layer, Made};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use base64ct::{Base64, Encoding};
use serde::{Deserialize, Serialize};
use sha1::{Digest, Sha1};
use voxpath_units::check::Check;
use voxpath_wire::{Payload, PayloadQueue};

/// Octets of a request or its answer, at most.
const MOST_HEAD: usize = 8 << 10;
/// Octets of a control frame, at most (section 5.5).
const MOST_CONTROL: u64 = 125;
/// What a client's key is hashed with (section 1.3).
const MAGIC: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// The key of section 1.3: nobody is to be kept from guessing it here.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

/// Statuses of requests that open no WebSocket: RFC 9110 sections 15.5.1 and 15.5.22, RFC 6585 section 5. The second one names what
/// the server speaks.
const BAD_REQUEST: &str = "400 Bad Request";
const UPGRADE_REQUIRED: &str = "426 Upgrade Required\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13";
const TOO_LARGE: &str = "431 Request Header Fields Too Large";

/// Opcodes (section 5.2).
const CONTINUATION: u8 = 0;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;
/// Status codes of Close frames (section 7.4.1).
const NORMAL: u16 = 1000;
const PROTOCOL_ERROR: u16 = 1002;
const FIN: u8 = 0x80;
const MASKED: u8 = 0x80;

/// Octets of a frame's header before a payload of so many, without a masking key (section 5.2).
pub const fn header(payload: u64) -> u64 {
    match payload {
        0..=125 => 2,
        126..=0xffff => 4,
        _ => 10,
    }
}

/// Octets of a frame whose payload has so many.
pub const fn frame(payload: u64) -> u64 {
    header(payload) + payload
}

/// Octets of a client's frame, which has a masking key of four.
pub const fn masked(payload: u64) -> u64 {
    frame(payload) + 4
}

/// Where clients ask for a WebSocket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebSocket {
    /// The server as a client names it: `HOST:PORT`.
    pub host: String,
    /// Where on it.
    pub path: String,
}

impl WebSocket {
    pub(super) fn check(&self, check: &mut Check<'_>) {
        let is_one_word =
            |text: &str| (1..=1000).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        check.at("host").need(is_one_word(&self.host), "has 1 to 1000 visible ASCII characters");
        let is_path = is_one_word(&self.path) && self.path.starts_with('/');
        check.at("path").need(is_path, "begins with / and has at most 1000 visible ASCII characters");
    }

    pub(super) fn end(&self, is_client: bool, over_tls: bool) -> End {
        let request = is_client.then(|| self.request(over_tls));
        let ending = Ending::default();
        End { request, is_client, is_open: false, unread: PayloadQueue::new(), coming: None, ending }
    }

    /// The request that opens it.
    fn request(&self, over_tls: bool) -> String {
        let Self { host, path } = self;
        let scheme = if over_tls { "https" } else { "http" };
        format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Origin: {scheme}://{host}\r\nSec-WebSocket-Key: {KEY}\r\nSec-Websocket-Version: 13\r\n\
             Sec-Websocket-Protocol: mqtt\r\n\r\n"
        )
    }
}

/// Answers a request that opens no WebSocket (section 4.2.2); what the server does then.
fn refuse(made: &mut Made, status: &str) -> Failed {
    let answer = format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    made.down.push(Payload::bytes(answer.into_bytes().into()));
    Failed
}

/// What answers a client's key (section 4.2.2).
fn accepts(key: &str) -> String {
    Base64::encode_string(&Sha1::digest(format!("{key}{MAGIC}")))
}

/// The header of a frame.
#[derive(Debug, Clone, Copy)]
struct Header {
    opcode: u8,
    mask: [u8; 4],
    /// Octets of the header, and of what follows.
    len: u32,
    payload: u64,
}

/// The frame of data that comes.
#[derive(Debug, Clone, Copy)]
struct Coming {
    /// Octets that have not come yet.
    left: u64,
    mask: [u8; 4],
}

/// One end.
#[derive(Debug)]
pub(super) struct End {
    /// What a client says first.
    request: Option<String>,
    is_client: bool,
    is_open: bool,
    unread: PayloadQueue,
    coming: Option<Coming>,
    ending: Ending,
}

/// How far the end has come (section 7).
#[derive(Debug, Default, Clone, Copy)]
struct Ending {
    /// This end has sent a Close frame.
    said: bool,
    /// It has got one.
    heard: bool,
    /// The other end broke a rule: nothing of it is waited for.
    failed: bool,
}

impl End {
    /// A Close frame of this end, with a status code or without.
    fn last(&mut self, code: Option<u16>) -> Payload {
        self.ending.said = true;
        let code = code.map_or(Payload::Empty, |code| Payload::bytes(code.to_be_bytes().to_vec().into()));
        self.frame(CLOSE, code)
    }

    /// Takes the content of a Close frame in (section 5.5.1).
    fn hear_last(&mut self, content: &Payload, made: &mut Made) -> Result<(), Failed> {
        let mut octets = Vec::new();
        content.write_to(&mut octets);
        let code = match octets.split_first_chunk::<2>() {
            Some((code, reason)) => {
                let code = u16::from_be_bytes(*code);
                // Section 7.4: some are never sent, and those below 3000 are defined.
                let is_sent = matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999);
                (is_sent && core::str::from_utf8(reason).is_ok()).then_some(Some(code)).ok_or(Failed)?
            }
            None => octets.is_empty().then_some(None).ok_or(Failed)?,
        };
        self.ending.heard = true;
        made.is_over = true;
        if !self.ending.said {
            made.down.push(self.last(code));
        }
        Ok(())
    }

    /// Takes in what frames are there.
    fn take_frames(&mut self, made: &mut Made) -> Result<(), Failed> {
        while !made.is_over {
            if let Some(coming) = &mut self.coming {
                let data = self.unread.read(u32::try_from(coming.left).unwrap_or(u32::MAX));
                coming.left -= u64::from(data.len());
                let (data, mask) = unmask(data, coming.mask);
                coming.mask = mask;
                if coming.left == 0 {
                    self.coming = None;
                } else if data.is_empty() {
                    break;
                }
                made.up.push(data);
                continue;
            }
            let Some(Header { opcode, mask, len, payload }) = self.frame_header()? else { break };
            match opcode {
                // Packets need not keep to frames.
                BINARY | CONTINUATION => {
                    self.unread.take(len);
                    self.coming = Some(Coming { left: payload, mask });
                }
                CLOSE | PING | PONG => {
                    if self.unread.len() < u64::from(len) + payload {
                        break;
                    }
                    self.unread.take(len);
                    let (data, _) = unmask(self.unread.take(payload as u32), mask);
                    match opcode {
                        CLOSE => self.hear_last(&data, made)?,
                        // Nothing follows a Close frame.
                        PING if !self.ending.said => made.down.push(self.frame(PONG, data)),
                        _ => {}
                    }
                }
                _ => return Err(Failed),
            }
        }
        Ok(())
    }

    /// Takes in the request, or the answer to it, once it is whole; whether it is.
    fn shake(&mut self, made: &mut Made) -> Result<bool, Failed> {
        let (seen, count) = self.unread.peek::<MOST_HEAD>();
        let seen = &seen[..count];
        let Some(end) = seen.windows(4).position(|it| it == b"\r\n\r\n") else {
            return match count {
                0..MOST_HEAD => Ok(false),
                _ if self.is_client => Err(Failed),
                _ => Err(refuse(made, TOO_LARGE)),
            };
        };
        let text = match core::str::from_utf8(&seen[..end]) {
            Ok(text) => text,
            Err(_) if self.is_client => return Err(Failed),
            Err(_) => return Err(refuse(made, BAD_REQUEST)),
        };
        let field = |name: &str| {
            let fields = text.split("\r\n").skip(1).filter_map(|line| line.split_once(':'));
            fields.into_iter().find(|(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
        };
        if self.is_client {
            let is_accepted =
                text.starts_with("HTTP/1.1 101 ") && field("sec-websocket-accept") == Some(&accepts(KEY));
            is_accepted.then_some(()).ok_or(Failed)?;
        } else {
            // Sections 4.2.1 and 4.2.2; MQTT 5.0 section 6 asks for the subprotocol.
            let has = |name: &str, token: &str| {
                field(name)
                    .is_some_and(|list| list.split(',').any(|it| it.trim().eq_ignore_ascii_case(token)))
            };
            let is_key = |key: &&str| Base64::decode(key, &mut [0; 16]).is_ok_and(|key| key.len() == 16);
            let key = field("sec-websocket-key").filter(is_key);
            let is_request = text.starts_with("GET ")
                && has("upgrade", "websocket")
                && has("connection", "upgrade")
                && has("sec-websocket-protocol", "mqtt");
            let (true, Some(key)) = (is_request, key) else { return Err(refuse(made, BAD_REQUEST)) };
            if field("sec-websocket-version") != Some("13") {
                return Err(refuse(made, UPGRADE_REQUIRED));
            }
            let answer = format!(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                 Sec-WebSocket-Accept: {}\r\nSec-WebSocket-Protocol: mqtt\r\n\r\n",
                accepts(key)
            );
            made.down.push(Payload::bytes(answer.into_bytes().into()));
        }
        self.unread.take(end as u32 + 4);
        self.is_open = true;
        Ok(true)
    }

    /// The header of the frame that comes next, once it is whole.
    fn frame_header(&self) -> Result<Option<Header>, Failed> {
        let (seen, count) = self.unread.peek::<14>();
        if count < 2 {
            return Ok(None);
        }
        // Who opened the connection masks, and nobody else (section 5.1). Nobody has extensions.
        if (seen[1] & MASKED > 0) == self.is_client || seen[0] & 0x70 > 0 {
            return Err(Failed);
        }
        let (mut payload, mut len) = (u64::from(seen[1] & 0x7f), 2);
        let longer = match payload {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        if longer > 0 {
            payload = seen[2..2 + longer].iter().fold(0, |sum, &octet| sum << 8 | u64::from(octet));
            len += longer;
            if payload > i64::MAX as u64 {
                return Err(Failed);
            }
        }
        let mut mask = [0; 4];
        if !self.is_client {
            mask.copy_from_slice(&seen[len..len + 4]);
            len += 4;
        }
        if count < len {
            return Ok(None);
        }
        let is_control = seen[0] & 8 > 0;
        if is_control && (payload > MOST_CONTROL || seen[0] & FIN == 0) {
            return Err(Failed);
        }
        Ok(Some(Header { opcode: seen[0] & 0x0f, mask, len: len as u32, payload }))
    }

    /// A frame of this end.
    fn frame(&self, opcode: u8, data: Payload) -> Payload {
        let len = data.len();
        let mut header: Vec<u8> = [FIN | opcode].into();
        let mask = if self.is_client { MASKED } else { 0 };
        match len {
            0..=125 => header.push(mask | len as u8),
            126..=0xffff => {
                header.push(mask | 126);
                header.extend((len as u16).to_be_bytes());
            }
            _ => {
                header.push(mask | 127);
                header.extend(u64::from(len).to_be_bytes());
            }
        }
        if self.is_client {
            header.extend([0; 4]);
        }
        Payload::rope([Payload::bytes(header.into()), data])
    }
}

/// Undoes a mask; the mask as it goes on behind.
fn unmask(data: Payload, mask: [u8; 4]) -> (Payload, [u8; 4]) {
    let mut rest = mask;
    rest.rotate_left(data.len() as usize % 4);
    if mask == [0; 4] {
        return (data, rest);
    }
    let mut bytes = Vec::with_capacity(data.len() as usize);
    data.write_to(&mut bytes);
    bytes.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
    (Payload::bytes(bytes.into()), rest)
}

impl Layer for End {
    fn begin(&mut self) -> Option<Payload> {
        self.request.take().map(|request| Payload::bytes(request.into_bytes().into()))
    }

    fn receive(&mut self, data: Payload, made: &mut Made) -> Result<(), Failed> {
        self.unread.push(data);
        if !self.is_open && !self.shake(made)? {
            return Ok(());
        }
        let taken = self.take_frames(made);
        self.ending.failed |= taken.is_err();
        taken
    }

    fn is_open(&self) -> bool {
        self.is_open
    }

    fn send(&mut self, data: &Payload) -> Payload {
        self.frame(BINARY, data.clone())
    }

    /// A Close frame: of a normal end, or because of what came (sections 7.1.2 and 7.1.7).
    fn close(&mut self) -> Option<Payload> {
        let code = if self.ending.failed { PROTOCOL_ERROR } else { NORMAL };
        (!self.ending.said).then(|| self.last(Some(code)))
    }

    /// The server closes the connection when both have said their last, and the client waits for that (section 7.1.1).
    fn waits(&self) -> bool {
        self.is_open && !self.ending.failed && (self.is_client || !self.ending.heard)
    }
}
