//! Confirmable messages (RFC 7252 section 4.2): retransmitted at doubled intervals until they are acknowledged, or given up.

use voxpath_units::{Span, Time};
use voxpath_wire::Payload;

/// How messages are retransmitted (section 4.8).
#[derive(Debug, Clone, Copy)]
pub struct Transmission {
    /// `ACK_TIMEOUT`; also how long a response is waited for that nothing acknowledges.
    pub ack_timeout: Span,
    /// `MAX_RETRANSMIT`.
    pub max_retransmit: u8,
}

/// A message that waits for its answer.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) id: u16,
    pub(crate) datagram: Payload,
    is_confirmable: bool,
    /// When it is sent again, or given up.
    pub(crate) due: Time,
    timeout: Span,
    retransmitted: u8,
    /// The other end has it, and answers later.
    pub(crate) is_acknowledged: bool,
}

impl Pending {
    /// A message that is sent at `now`. `below` draws a span below a limit.
    pub(crate) fn new(
        settings: Transmission,
        is_confirmable: bool,
        id: u16,
        datagram: Payload,
        now: Time,
        below: &mut impl FnMut(Span) -> Span,
    ) -> Self {
        // ACK_RANDOM_FACTOR is 1.5 (section 4.2).
        let half = Span::from_nanos(settings.ack_timeout.as_nanos() / 2);
        let extra = if is_confirmable { below(half) } else { Span::ZERO };
        let timeout = settings.ack_timeout + extra;
        let due = now + timeout;
        Self { id, datagram, is_confirmable, due, timeout, retransmitted: 0, is_acknowledged: false }
    }

    /// Its time is over; whether it is sent again now.
    pub(crate) fn again(&mut self, settings: Transmission, now: Time) -> bool {
        let again =
            self.is_confirmable && !self.is_acknowledged && self.retransmitted < settings.max_retransmit;
        if again {
            self.retransmitted += 1;
            self.timeout = self.timeout * 2;
            self.due = now + self.timeout;
        }
        again
    }

    /// Another message takes its place: the attempts that were made count (RFC 7641 section 4.5.2).
    pub(crate) fn replace(&mut self, id: u16, datagram: Payload) {
        (self.id, self.datagram) = (id, datagram);
    }
}
