//! What clients and observers are alike in.

use super::account::ClientAccount;
use crate::process::{Event, Peer, ProcessContext, SocketId, Sockets};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use core::net::{IpAddr, SocketAddr};
use serde::{Deserialize, Serialize};
use voxpath_coap::{Block, Client, ClientSettings, Transmission};
use voxpath_net::random::Stream;
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

/// Bodies are not larger than numbers of blocks of 16 octets allow.
pub(super) const MOST_BYTES: u32 = 16 * Block::MOST;
/// A body has to be this long for its octets to tell which message it is.
pub(super) const LEAST_REAL: u32 = 8;

/// How messages are retransmitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransmissionOptions {
    /// `ACK_TIMEOUT`.
    pub ack_timeout_ns: u64,
    /// `MAX_RETRANSMIT`.
    pub max_retransmit: u8,
}

impl TransmissionOptions {
    pub(super) fn check(&self, check: &mut Check<'_>) {
        check.at("ack_timeout_ns").need(self.ack_timeout_ns > 0, "above zero");
        check.at("max_retransmit").need(self.max_retransmit <= 20, "at most 20");
        // It is doubled as often, and half of it may come on top.
        let longest = self.ack_timeout_ns.saturating_mul(2 << self.max_retransmit.min(20));
        check.at("ack_timeout_ns").span(longest);
    }

    pub(super) const fn settings(&self) -> Transmission {
        let Self { ack_timeout_ns, max_retransmit } = *self;
        Transmission { ack_timeout: Span::from_nanos(ack_timeout_ns), max_retransmit }
    }
}

/// What a client is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientOptions {
    /// Where the server waits.
    pub server: Peer,
    /// The resource: segments of Uri-Path with `/` between.
    pub path: String,
    /// When it begins.
    pub start_ns: u64,
    /// Whether requests are confirmable; those that observe always are.
    pub confirmable: bool,
    /// Octets of a block.
    pub block_bytes: u32,
    /// How requests are sent again.
    pub transmission: TransmissionOptions,
}

/// What keeps segments of Uri-Path from being used (RFC 7252 section 5.10.1).
pub(super) fn check_path(path: &str, check: &mut Check<'_>) {
    let segments = path.split('/').all(|segment| segment.len() <= 255);
    check.need(segments, "segments of a path have at most 255 bytes");
}

/// Segments of Uri-Path.
pub(super) fn segments(path: &str) -> alloc::vec::Vec<String> {
    path.split('/').filter(|segment| !segment.is_empty()).map(ToString::to_string).collect()
}

/// What keeps a block from being used.
pub(super) fn check_block(block_bytes: u32, check: &mut Check<'_>) {
    let known = Block::exponent_of(block_bytes).is_some();
    check.need(known, "a block has 16, 32, 64, 128, 256, 512 or 1024 bytes");
}

impl ClientOptions {
    pub(super) fn check(&self, nodes: u32, check: &mut Check<'_>) {
        check.at("server").need(self.server.node < nodes && self.server.port > 0, "a port of a node");
        check_path(&self.path, &mut check.at("path"));
        check.at("start_ns").span(self.start_ns);
        check_block(self.block_bytes, &mut check.at("block_bytes"));
        self.transmission.check(&mut check.at("transmission"));
    }

    pub(super) fn start(&self) -> Time {
        Time::from_nanos(self.start_ns)
    }

    pub(super) fn ask(&self, context: &ProcessContext, address: impl Fn(u32) -> IpAddr) -> Asking {
        let mut draws = context.seed.stream(&format!("process {} coap", context.index));
        let exponent = Block::exponent_of(self.block_bytes).expect("settings were checked");
        let client = Client::new(ClientSettings {
            confirmable: self.confirmable,
            path: segments(&self.path),
            block: Block { number: 0, more: false, exponent },
            body: MOST_BYTES,
            transmission: self.transmission.settings(),
            first_id: draws.bits() as u16,
        });
        let account = Box::new(ClientAccount::new(context.index, client));
        let target = SocketAddr::new(address(self.server.node), self.server.port);
        Asking { account, draws, target, socket: None }
    }
}

/// A client and its socket.
#[derive(Debug)]
pub(super) struct Asking {
    pub(super) account: Box<ClientAccount>,
    pub(super) draws: Stream,
    target: SocketAddr,
    socket: Option<SocketId>,
}

impl Asking {
    pub(super) fn start(&mut self, sockets: &mut impl Sockets) {
        self.socket = Some(sockets.bind(None, None));
    }

    pub(super) fn stop(&mut self) {
        self.socket = None;
    }

    /// Takes in what has come, and does what is due.
    pub(super) fn take(&mut self, now: Time, sockets: &mut impl Sockets) {
        let Self { account, draws, .. } = self;
        let below = &mut |limit| draws.span_below(limit);
        while let Some(event) = sockets.poll_event() {
            if let Event::Ready(socket) = event {
                while let Some((_, datagram)) = sockets.receive_from(socket) {
                    account.client.receive(now, &datagram, below);
                }
            }
        }
        account.client.advance(now, below);
    }

    /// Sends what there is.
    pub(super) fn send(&mut self, sockets: &mut impl Sockets) {
        let Some(socket) = self.socket else { return };
        while let Some(datagram) = self.account.client.poll_transmit() {
            sockets.send_to(socket, self.target, datagram);
        }
    }
}
