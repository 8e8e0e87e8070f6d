//! One sender of media and many receivers, and a server between them that forwards: processes over UDP.
//!
//! | module | what is in |
//! | --- | --- |
//! | [`server`] | the server, with a socket for each leg |
//! | [`party`] | who sends to it, and who receives from it |
//! | `account` | what they saw |
//! | `tables` | what is told of that |
//!
//! What they do is in `voxpath_rtc::forward`. A leg is a call between the server and one of them, at a port of its own.

mod account;
pub mod party;
pub mod server;
mod tables;

use crate::process::Peer;
use alloc::format;
use serde::{Deserialize, Serialize};
use voxpath_net::random::Seed;
use voxpath_rtc::session::{Config, Party, Protection, Session};
use voxpath_rtc::settings::Sends;
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

/// How a leg is set up, the same at both of its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Legs {
    /// Regular RTCP packets are not more frequent than this.
    pub rtcp_interval_ns: u64,
    /// How its packets are protected.
    pub protection: Protection,
}

impl Legs {
    fn check(self, check: &mut Check<'_>) {
        check.at("rtcp_interval_ns").span_of_at_least(self.rtcp_interval_ns, Span::from_millis(10));
    }
}

/// An end of a leg, 0 for who comes to the server; `up` says that this one sends.
fn end_of_leg(leg: Leg<'_>, end: usize, start: Time, duration: Option<Span>) -> Session {
    let Leg { server, legs, sends, up, seed } = leg;
    let name = format!("leg {}:{}", server.node, server.port);
    // Both ends draw the same: what is agreed on before a call.
    let pattern = |end: u32| server.node << 17 | u32::from(server.port) << 1 | end;
    let parties =
        [0, 1].map(|end| Party::draw(end, pattern(end), &mut seed.stream(&format!("{name} rtp {end}"))));
    Session::new(&Config {
        end,
        sends: if up { [Some(sends), None] } else { [None, Some(sends)] },
        parties,
        drift_ppb: [0; 2],
        start,
        duration,
        rtcp_interval: Span::from_nanos(legs.rtcp_interval_ns),
        protection: legs.protection,
        name: &name,
        seed,
    })
}

/// What both ends of a leg know.
#[derive(Debug, Clone, Copy)]
struct Leg<'a> {
    /// Where the server waits for it.
    server: Peer,
    legs: Legs,
    /// What is sent.
    sends: &'a Sends,
    /// To the server.
    up: bool,
    seed: Seed,
}

/// What is sent on a leg can be.
fn check_media(sends: &Sends, check: &mut Check<'_>) {
    let any = sends.video.is_some() || sends.audio.is_some();
    check.at("video").need(any, "is missing, and audio too: there is nothing to send");
    sends.check(check);
    check
        .at("control")
        .need(!sends.control.needs().ecn, "does without congestion marks, which processes are not told");
    check.at("data").need(sends.data.is_none(), "messages are not passed on");
    let mut repair = check.at("repair");
    repair
        .at("parity_packets")
        .need(sends.repair.parity_packets.is_none(), "parity packets are not passed on");
}
