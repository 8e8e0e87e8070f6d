//! How fast data is delivered (draft-cheng-iccrg-delivery-rate-estimation, `tcp_rate.c` of Linux): each segment remembers what had been
//! delivered when it was sent.

use super::retransmission_queue::Delivered;
use voxpath_units::{Span, Time};

/// What a segment remembers of the moment at which it was sent.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Snapshot {
    /// P.delivered.
    pub(crate) delivered: u64,
    /// P.delivered_time.
    delivered_at: Time,
    /// P.first_sent_time.
    first_sent: Time,
    /// P.is_app_limited.
    app_limited: bool,
}

/// One measurement.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Measured {
    /// Octets delivered before the segment was sent.
    pub(crate) prior_delivered: u64,
    /// Octets delivered since.
    pub(crate) delivered: u64,
    /// How long that took; none if nothing can be said.
    pub(crate) interval: Option<Span>,
    pub(crate) app_limited: bool,
}

/// The connection's state (section 3.1).
#[derive(Debug, Default)]
pub(crate) struct RateSampler {
    /// C.delivered, octets as they were charged.
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    /// C.app_limited: what is delivered up to here says little of the network; none where the application keeps up.
    app_limited: Option<u64>,
    min_rtt: Option<Span>,
}

impl RateSampler {
    /// A segment is sent, `idle` if nothing was outstanding (section 3.2).
    pub(crate) fn snapshot(&mut self, now: Time, idle: bool) -> Snapshot {
        if idle {
            (self.delivered_at, self.first_sent) = (now, now);
        }
        Snapshot {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            app_limited: self.app_limited.is_some(),
        }
    }

    /// The handshake took this round trip; its SYN counts as a segment, of so many octets.
    pub(crate) fn init(&mut self, rtt: Option<Span>, smss: u64) {
        (self.min_rtt, self.delivered) = (rtt, smss);
    }

    pub(crate) const fn is_app_limited(&self) -> bool {
        self.app_limited.is_some()
    }

    /// The application has less to send than the window allows, with `pipe` octets in flight (section 3.4).
    pub(crate) fn limit_by_application(&mut self, pipe: u64) {
        self.app_limited = Some(self.delivered + pipe);
    }

    pub(crate) const fn delivered(&self) -> u64 {
        self.delivered
    }

    /// When data was delivered last, or sent where nothing was outstanding.
    pub(crate) const fn delivered_at(&self) -> Time {
        self.delivered_at
    }

    /// An acknowledgment delivered this (section 3.3).
    pub(crate) fn measure(&mut self, now: Time, delivered: &Delivered, rtt: Option<Span>) -> Measured {
        self.min_rtt = self.min_rtt.into_iter().chain(rtt).min();
        self.delivered += delivered.charged();
        if self.app_limited.is_some_and(|mark| self.delivered > mark) {
            self.app_limited = None;
        }
        if delivered.octets > 0 {
            self.delivered_at = now;
        }
        let (Some(newest), snapshot) = (delivered.newest, delivered.snapshot) else {
            return Measured::default();
        };
        let sent = newest.at;
        let send_elapsed = sent.since(snapshot.first_sent);
        self.first_sent = sent;
        let interval = send_elapsed.max(now.since(snapshot.delivered_at));
        Measured {
            prior_delivered: snapshot.delivered,
            delivered: self.delivered - snapshot.delivered,
            // Shorter than a round trip it is an artefact of acknowledgments that came together.
            interval: Some(interval)
                .filter(|&span| span > Span::ZERO && self.min_rtt.is_none_or(|min| span >= min)),
            app_limited: snapshot.app_limited,
        }
    }
}
