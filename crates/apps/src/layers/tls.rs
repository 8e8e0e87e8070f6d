//! TLS 1.3 (RFC 8446) by its sizes: round trips and octets of the handshake, and of records. Nothing is encrypted. On real hosts
//! a library encrypts (`tls.rs` of the crate `host`); its octets are as many.
//!
//! ```text
//! client  ClientHello  |                                    Finished, data  |
//! server               |  ServerHello ... Finished                          |  tickets, data
//! ```
//!
//! Records show the types that TLS 1.3 shows: hellos are seen, and what is encrypted is application data, with its own type behind
//! the content (section 5.2). What is encrypted of a flight is one record here, as long as all of the real flight together.

use super::layer::{Failed, Layer, Made};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use voxpath_units::check::Check;
use voxpath_wire::{Payload, PayloadQueue};

/// Octets of a record's header.
const HEADER: u32 = 5;
/// Octets of data in a record, at most (section 5.1).
const LARGEST: u32 = 1 << 14;
/// What encrypting adds to a record: the type of what is in it, and the tag of an AEAD (section 5.2).
const ADDED: u32 = 1 + 16;
/// Octets of a record behind its header, at most (section 5.2).
const MOST: u32 = LARGEST + 256;
/// Octets of an alert (section 6).
const ALERT_BYTES: u32 = 2;
/// The pattern of which handshakes and tags are; flows have those from 0 on, and messages the last.
const STREAM: u32 = u32::MAX - 1;

/// Types of records, and of what is in them (section 5.1).
const CHANGE_CIPHER_SPEC: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;
/// A ServerHello's record, with a key of X25519 and the client's session identifier, as OpenSSL sends it.
const SERVER_HELLO: u32 = HEADER + 122;
/// The record that stands before the first encrypted one of each end, for middleboxes (appendix D.4).
const CHANGE: &[u8] = &[CHANGE_CIPHER_SPEC, 3, 3, 0, 1, 1];

/// Whose handshake it is, which decides how long its flights are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Library {
    /// rustls 0.23, which real hosts have.
    Rustls,
    /// OpenSSL 3.0.
    Openssl,
}

/// Octets of the flights of a handshake, headers of records included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flights {
    /// The client's first one, which names no server.
    pub client_hello: u32,
    /// The server's, besides its certificates.
    pub server: u32,
    /// The client's second one.
    pub client_finished: u32,
    /// The server's tickets for further sessions.
    pub tickets: u32,
}

impl Library {
    /// How long they are: keys of X25519, AES-256-GCM, a certificate of Ed25519 with rustls and of P-256 with OpenSSL.
    pub const fn flights(self) -> Flights {
        match self {
            Self::Rustls => Flights { client_hello: 198, server: 298, client_finished: 80, tickets: 184 },
            // Its hello is padded, so a name in it changes nothing; a signature of P-256 has an octet less now and then.
            Self::Openssl => Flights { client_hello: 517, server: 371, client_finished: 80, tickets: 510 },
        }
    }
}

/// TLS of a connection's end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// Whose flights this end has.
    pub library: Library,
    /// The server's name, which its certificate has.
    pub server: String,
    /// Octets of the server's certificates.
    pub certificate_bytes: u32,
}

impl Tls {
    /// The most octets of certificates, so that a server's flight is one record.
    pub const MOST_CERTIFICATE: u32 = 16_000;
    /// The fewest octets that a certificate for a real host has, besides the server's name.
    pub const LEAST_CERTIFICATE: u32 = 350;

    pub(super) fn check(&self, check: &mut Check<'_>) {
        let most = format_args!("1 to {} bytes", Self::MOST_CERTIFICATE);
        let fits = (1..=Self::MOST_CERTIFICATE).contains(&self.certificate_bytes);
        check.at("certificate_bytes").need(fits, most);
    }

    pub(super) fn check_real(&self, check: &mut Check<'_>) {
        let is_ours = self.library == Library::Rustls;
        check.at("library").need(is_ours, "TLS of real hosts is that of rustls");
        let least = Self::LEAST_CERTIFICATE + self.server.len() as u32;
        let message =
            format_args!("a certificate for {:?} on a real host has at least {least} bytes", self.server);
        check.at("certificate_bytes").need(self.certificate_bytes >= least, message);
    }

    /// One end, by its sizes.
    pub fn by_sizes(&self, is_client: bool) -> Box<dyn Layer> {
        Box::new(self.end(is_client))
    }

    fn end(&self, is_client: bool) -> End {
        let mut flights = self.library.flights();
        flights.server += self.certificate_bytes;
        End { flights, is_client, heard: 0, unread: PayloadQueue::new(), has_closed: false }
    }
}

/// One end.
#[derive(Debug)]
struct End {
    flights: Flights,
    is_client: bool,
    /// Records of the other end's handshake that have come: its hello, what is encrypted of its first flight, tickets.
    heard: u8,
    /// What has come of records that are not whole.
    unread: PayloadQueue,
    /// It has said that nothing follows.
    has_closed: bool,
}

impl End {
    /// Takes in a record of the other end's handshake; what is answered to it.
    fn hear(&mut self, is_sealed: bool) -> Result<Option<Payload>, Failed> {
        if is_sealed != (self.heard > 0) {
            return Err(Failed);
        }
        let Flights { server, client_finished, tickets, .. } = self.flights;
        let change = || Payload::bytes(CHANGE.into());
        let answer = match (self.is_client, self.heard) {
            // A ServerHello, of which nothing follows before the rest of the flight, and tickets.
            (true, 0 | 2) => None,
            (true, 1) => {
                let rest = client_finished - CHANGE.len() as u32;
                Some(Payload::rope([change(), flight(rest)]))
            }
            (false, 0) => {
                let rest = server - SERVER_HELLO - CHANGE.len() as u32;
                Some(Payload::rope([hello(SERVER_HELLO), change(), flight(rest)]))
            }
            (false, 1) => Some(flight(tickets)),
            _ => return Err(Failed),
        };
        self.heard += 1;
        Ok(answer)
    }

    /// Takes in what was encrypted, of a type of its own.
    fn open(&mut self, content: &Payload, made: &mut Made) -> Result<(), Failed> {
        let len = content.len().checked_sub(ADDED).filter(|len| *len > 0).ok_or(Failed)?;
        let mut inner = Vec::new();
        content.slice(len, 1).write_to(&mut inner);
        match inner[..] {
            [HANDSHAKE] => made.down.extend(self.hear(true)?),
            [APPLICATION_DATA] if self.is_open() => made.up.push(content.slice(0, len)),
            [ALERT] if self.is_open() => made.is_over = true,
            _ => return Err(Failed),
        }
        Ok(())
    }
}

/// A hello of so many octets, its record's header included.
fn hello(octets: u32) -> Payload {
    let content = octets - HEADER;
    record(HANDSHAKE, content, Payload::pattern(STREAM, 0, content))
}

/// What is encrypted of a flight of a handshake, of so many octets.
fn flight(octets: u32) -> Payload {
    sealed(&[HANDSHAKE], Payload::pattern(STREAM, 0, octets - HEADER - ADDED))
}

/// A record with what it holds.
fn record(kind: u8, len: u32, content: Payload) -> Payload {
    let len = (len as u16).to_be_bytes();
    let header: Vec<u8> = [kind, 3, 3, len[0], len[1]].into();
    Payload::rope([Payload::bytes(header.into()), content])
}

/// An encrypted record: content, its type, and the tag.
fn sealed(inner: &'static [u8], data: Payload) -> Payload {
    let len = data.len() + ADDED;
    let inner = Payload::bytes(inner.into());
    record(APPLICATION_DATA, len, Payload::rope([data, inner, Payload::pattern(STREAM, 0, ADDED - 1)]))
}

impl Layer for End {
    fn begin(&mut self) -> Option<Payload> {
        self.is_client.then(|| hello(self.flights.client_hello))
    }

    fn receive(&mut self, data: Payload, made: &mut Made) -> Result<(), Failed> {
        self.unread.push(data);
        while let ([kind, major, minor, high, low], 5) = self.unread.peek() {
            let len = u32::from(u16::from_be_bytes([high, low]));
            if (major, minor) != (3, 3) || len == 0 || len > MOST {
                return Err(Failed);
            }
            if self.unread.len() < u64::from(HEADER + len) {
                break;
            }
            let content = self.unread.take(HEADER + len).slice(HEADER, len);
            match kind {
                HANDSHAKE => made.down.extend(self.hear(false)?),
                // It says nothing, and stands between a hello and what is encrypted (section 5).
                CHANGE_CIPHER_SPEC if len == 1 && self.heard == 1 => {}
                APPLICATION_DATA => self.open(&content, made)?,
                _ => return Err(Failed),
            }
        }
        Ok(())
    }

    fn is_open(&self) -> bool {
        // A client may write behind its Finished; a server does when that has come.
        self.heard >= 2
    }

    fn send(&mut self, data: &Payload) -> Payload {
        let len = data.len();
        let records = (0..len).step_by(LARGEST as usize);
        Payload::rope(records.map(|at| sealed(&[APPLICATION_DATA], data.slice(at, LARGEST.min(len - at)))))
    }

    fn close(&mut self) -> Option<Payload> {
        let is_first = !core::mem::replace(&mut self.has_closed, true);
        is_first.then(|| sealed(&[ALERT], Payload::pattern(STREAM, 0, ALERT_BYTES)))
    }
}
