//! TLS 1.3 (RFC 8446) by its sizes: round trips and octets of the handshake, and of records. Nothing is encrypted.
//!
//! ```text
//! client  ClientHello  |                                    Finished, data  |
//! server               |  ServerHello ... Finished                          |  tickets, data
//! ```
//!
//! Each flight of the handshake is one record here, which has as many octets as all records of the real flight.

use super::layer::{Failed, Layer, Made};
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
const ALERT: u32 = 2;
/// The pattern of which handshakes and tags are; flows have those from 0 on, and messages the last.
const STREAM: u32 = u32::MAX - 1;

/// Types of what is in records. TLS 1.3 shows 23 for all that is encrypted (section 5.2); here the type stays to be seen.
const OF_ALERT: u8 = 21;
const OF_HANDSHAKE: u8 = 22;
const OF_DATA: u8 = 23;

/// Octets of the flights of a handshake, headers of records included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// Of the client's first one.
    pub client_hello_bytes: u32,
    /// Of the server's, with its certificates.
    pub server_flight_bytes: u32,
    /// Of the client's second one.
    pub client_finished_bytes: u32,
    /// Of the server's tickets for further sessions; zero if it sends none.
    pub ticket_bytes: u32,
}

impl Tls {
    pub(super) fn check(&self, check: &mut Check<'_>) {
        let range = format_args!("has {} to {} bytes", HEADER + 1, HEADER + MOST);
        for (key, octets) in [
            ("client_hello_bytes", self.client_hello_bytes),
            ("server_flight_bytes", self.server_flight_bytes),
            ("client_finished_bytes", self.client_finished_bytes),
            ("ticket_bytes", if self.ticket_bytes == 0 { HEADER + 1 } else { self.ticket_bytes }),
        ] {
            check.at(key).need((HEADER + 1..=HEADER + MOST).contains(&octets), range);
        }
    }

    pub(super) fn end(&self, is_client: bool) -> End {
        End { flights: self.clone(), is_client, came: 0, unread: PayloadQueue::new(), has_closed: false }
    }
}

/// One end.
#[derive(Debug)]
pub(super) struct End {
    flights: Tls,
    is_client: bool,
    /// Flights of the other end that have come.
    came: u8,
    /// What has come of records that are not whole.
    unread: PayloadQueue,
    /// It has said that nothing follows.
    has_closed: bool,
}

impl End {
    /// What is answered to the flight that has come.
    fn answer(&mut self) -> Result<Option<Payload>, Failed> {
        let octets = match (self.is_client, self.came) {
            (true, 0) => self.flights.client_finished_bytes,
            // Tickets.
            (true, 1) => 0,
            (false, 0) => self.flights.server_flight_bytes,
            (false, 1) => self.flights.ticket_bytes,
            _ => return Err(Failed),
        };
        self.came += 1;
        Ok((octets > 0).then(|| flight(octets)))
    }
}

/// A flight of a handshake, of so many octets.
fn flight(octets: u32) -> Payload {
    let content = octets - HEADER;
    record(OF_HANDSHAKE, content, Payload::pattern(STREAM, 0, content))
}

/// A record with what it holds, encrypted already.
fn record(kind: u8, len: u32, content: Payload) -> Payload {
    let len = (len as u16).to_be_bytes();
    let header: Vec<u8> = [kind, 3, 3, len[0], len[1]].into();
    Payload::rope([Payload::bytes(header.into()), content])
}

/// A record of data or of an alert.
fn sealed(kind: u8, data: Payload) -> Payload {
    let len = data.len() + ADDED;
    record(kind, len, Payload::rope([data, Payload::pattern(STREAM, 0, ADDED)]))
}

impl Layer for End {
    fn begin(&mut self) -> Option<Payload> {
        self.is_client.then(|| flight(self.flights.client_hello_bytes))
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
                OF_HANDSHAKE => made.down.extend(self.answer()?),
                OF_DATA if self.is_open() && len > ADDED => made.up.push(content.slice(0, len - ADDED)),
                OF_ALERT if self.is_open() => made.is_over = true,
                _ => return Err(Failed),
            }
        }
        Ok(())
    }

    fn is_open(&self) -> bool {
        // A client may write behind its Finished; a server does when that has come.
        self.came >= if self.is_client { 1 } else { 2 }
    }

    fn send(&mut self, data: &Payload) -> Payload {
        let len = data.len();
        let records = (0..len).step_by(LARGEST as usize);
        Payload::rope(records.map(|at| sealed(OF_DATA, data.slice(at, LARGEST.min(len - at)))))
    }

    fn close(&mut self) -> Option<Payload> {
        let is_first = !core::mem::replace(&mut self.has_closed, true);
        is_first.then(|| sealed(OF_ALERT, Payload::pattern(STREAM, 0, ALERT)))
    }
}
