//! What an encoder may make of its share of the target.
//!
//! A target counts packets, an encoder makes frames. What lies between, headers above all, is taken off here: [`Headers`] takes what the
//! packets of a frame have, and a control may have a rule of its own (`Settings::encoding`).

use core::fmt::Debug;
use voxpath_units::{Span, Time};

/// What the packets of a stream of video have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packets {
    /// Octets of an RTP packet at most.
    pub most: u32,
    /// Octets of its header and of the authentication tag.
    pub header: u32,
    /// Octets of the payload descriptor (RFC 7741, RFC 9628).
    pub descriptor: u32,
    /// Octets that a retransmission has more (RFC 4588); zero if nothing is sent again.
    pub again: u32,
    /// Octets of the headers below that the control counts.
    pub below: u32,
    /// From one frame to the next.
    pub interval: Span,
}

/// How the rate of an encoder follows from what its packets may have.
pub trait Encoding: Debug + Send {
    /// Bits per second of frames, if their packets may have so many from `now` on. Asked before each frame.
    fn rate(&mut self, now: Time, packets: &Packets, packet_bps: f64) -> f64;

    /// A frame of so many octets was encoded, with these octets of payload descriptors in its packets.
    fn on_frame(&mut self, now: Time, bytes: u32, descriptors: u32) {
        let _ = (now, bytes, descriptors);
    }

    /// A packet of video has left, of so many octets: a new one, or one that was asked for again.
    fn on_sent(&mut self, now: Time, bytes: u32, again: bool) {
        let _ = (now, bytes, again);
    }
}

/// The headers of as many packets as a frame of that rate has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Headers;

impl Headers {
    /// Bits per second that they leave.
    pub(crate) fn leave(packets: &Packets, packet_bps: f64) -> f64 {
        let seconds = packets.interval.as_secs_f64();
        let frame = packet_bps * seconds / 8.0;
        let count = libm::ceil(frame / f64::from(packets.most + packets.below));
        let headers = count * f64::from(packets.header + packets.descriptor + packets.below);
        (frame - headers) * 8.0 / seconds
    }
}

impl Encoding for Headers {
    fn rate(&mut self, _now: Time, packets: &Packets, packet_bps: f64) -> f64 {
        Self::leave(packets, packet_bps)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A stream of 25 frames a second.
    pub(in crate::rate) const PACKETS: Packets = Packets {
        most: 1200,
        header: 40,
        descriptor: 4,
        again: 2,
        below: 28,
        interval: Span::from_millis(40),
    };

    #[test]
    fn each_packet_of_a_frame_has_its_headers() {
        // 1 Mbit/s are 5000 octets a frame, in 5 packets of at most 1228: 72 octets in each are 72 kbit/s.
        let left = Headers.rate(Time::ZERO, &PACKETS, 1e6);
        assert!((left - 928e3).abs() < 1e-6, "{left}");
        // 500 octets are one packet: 14.4 kbit/s.
        let left = Headers.rate(Time::ZERO, &PACKETS, 1e5);
        assert!((left - 85.6e3).abs() < 1e-6, "{left}");
    }
}
