//! Who comes to a forwarding server: one who presents, or one who views.

use super::account::PartyAccount;
use super::{Leg, Legs, check_media, end_of_leg, tables};
use crate::process::{
    Event, Peer, Process, ProcessContext, ProcessEntity, ProcessSettings, SocketId, Sockets, Work,
};
use alloc::boxed::Box;
use core::any::Any;
use core::net::{IpAddr, SocketAddr};
use serde::{Deserialize, Serialize};
use voxpath_net::Ecn;
use voxpath_rtc::settings::Sends;
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

/// Who sends media to the server, if it `PRESENTS`, or receives from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Party<const PRESENTS: bool> {
    /// Where the server waits for it.
    pub server: Peer,
    /// How its leg is set up.
    pub legs: Legs,
    /// What is sent on the leg.
    pub sends: Sends,
    /// When it comes.
    pub start_ns: u64,
    /// How long it stays; none until the run, or the call, ends.
    pub duration_ns: Option<u64>,
}

/// Who sends.
pub type Presenter = Party<true>;
/// Who receives.
pub type Viewer = Party<false>;

impl<const PRESENTS: bool> ProcessSettings for Box<Party<PRESENTS>> {
    type Machine = End<PRESENTS>;

    const TABLES: &'static [&'static dyn ProcessEntity] =
        &[&tables::FORWARDED_FRAMES, &tables::LEG_SECONDS, &tables::LEGS];

    fn check(&self, nodes: u32, check: &mut Check<'_>) {
        check.at("server").need(self.server.node < nodes && self.server.port > 0, "a port of a node");
        self.legs.check(&mut check.at("legs"));
        check_media(&self.sends, &mut check.at("sends"));
        check.at("start_ns").span(self.start_ns);
        if let Some(ns) = self.duration_ns {
            check.at("duration_ns").span_above_zero(ns);
        }
    }

    fn is_endless(&self) -> bool {
        // Who views leaves with who presents.
        PRESENTS && self.duration_ns.is_none()
    }

    fn targets(&self) -> impl Iterator<Item = u32> {
        [self.server.node].into_iter()
    }

    fn machine(&self, context: &ProcessContext, address: impl Fn(u32) -> IpAddr) -> Self::Machine {
        let &Party { server, legs, ref sends, start_ns, duration_ns } = &**self;
        let leg = Leg { server, legs, sends, up: PRESENTS, seed: context.seed };
        let start = Time::from_nanos(start_ns);
        let account = PartyAccount {
            session: end_of_leg(leg, 0, start, duration_ns.map(Span::from_nanos)),
            server,
            octets: (0, 0),
            first_at: None,
            last_at: None,
        };
        let target = SocketAddr::new(address(server.node), server.port);
        End { account: Box::new(account), start, target, socket: None, was_killed: false }
    }
}

/// The process.
#[derive(Debug)]
pub struct End<const PRESENTS: bool> {
    account: Box<PartyAccount>,
    start: Time,
    target: SocketAddr,
    socket: Option<SocketId>,
    /// What was killed does not come back to the call.
    was_killed: bool,
}

impl<const PRESENTS: bool> Process for End<PRESENTS> {
    fn start(&mut self, sockets: &mut impl Sockets) {
        if !self.was_killed {
            self.socket = Some(sockets.bind(None, None));
        }
    }

    fn stop(&mut self, _now: Time) {
        (self.socket, self.was_killed) = (None, true);
    }

    fn drive(&mut self, now: Time, sockets: &mut impl Sockets) {
        let account = &mut *self.account;
        while let Some(event) = sockets.poll_event() {
            let Event::Ready(socket) = event else { continue };
            while let Some((_, data)) = sockets.receive_from(socket) {
                let (octets, wrong) = account.session.handle_datagram(now, &data, Ecn::NotEct);
                account.octets.0 += u64::from(octets);
                account.octets.1 += u64::from(wrong);
                if octets > 0 {
                    account.first_at.get_or_insert(now);
                    account.last_at = Some(now);
                }
            }
        }
        let Some(socket) = self.socket else { return };
        account.session.handle_timeout(now);
        while let Some(transmit) = account.session.poll_transmit(now) {
            sockets.send_to(socket, self.target, transmit.data);
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.socket?;
        self.account.session.poll_timeout()
    }

    fn is_busy(&self) -> bool {
        !self.was_killed && !self.account.session.is_done()
    }

    fn work(&self) -> Option<Work> {
        let Self { account, start, .. } = self;
        Some(Work {
            transport: tables::TRANSPORT,
            to: account.server.node,
            start: *start,
            status: if account.session.is_done() { "completed" } else { "unfinished" },
            first: account.first_at,
            completed: account.last_at,
            octets: account.octets.0,
            wrong: account.octets.1,
        })
    }

    fn account(&self) -> &dyn Any {
        &*self.account
    }
}
