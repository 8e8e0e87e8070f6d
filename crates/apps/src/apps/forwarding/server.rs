//! A server that passes on what one sends to many, with a socket for each of them.

use super::account::ServerAccount;
use super::{Leg, Legs, check_media, end_of_leg, tables};
use crate::process::{
    Event, Peer, Process, ProcessContext, ProcessEntity, ProcessSettings, SocketId, Sockets, Work,
};
use crate::settings::Over;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::any::Any;
use core::net::{IpAddr, SocketAddr};
use serde::{Deserialize, Serialize};
use voxpath_net::Ecn;
use voxpath_rtc::forward::Forwarder;
use voxpath_rtc::rate::RateSettings;
use voxpath_rtc::settings::Sends;
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

/// A server that forwards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Where it waits for who presents, and what comes of them.
    pub source: Place,
    /// The same for each who views, and what they are sent.
    pub viewers: Vec<Place>,
    /// How legs are set up.
    pub legs: Legs,
    /// A key frame is asked for no sooner again.
    pub key_every_ns: u64,
}

/// A leg at the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Where the server waits.
    pub port: u16,
    /// What is sent on the leg.
    pub sends: Sends,
}

impl Server {
    /// All legs, the one of who presents first.
    fn places(&self) -> impl Iterator<Item = &Place> {
        [&self.source].into_iter().chain(&self.viewers)
    }
}

impl ProcessSettings for Box<Server> {
    type Machine = Running;

    const TABLES: &'static [&'static dyn ProcessEntity] =
        &[&tables::FORWARDED_FRAMES, &tables::LEG_SECONDS, &tables::LEGS];

    fn check(&self, _nodes: u32, check: &mut Check<'_>) {
        self.legs.check(&mut check.at("legs"));
        check.at("key_every_ns").span(self.key_every_ns);
        check_media(&self.source.sends, &mut check.at("source").at("sends"));
        for (i, viewer) in self.viewers.iter().enumerate() {
            check_media(&viewer.sends, &mut check.at("viewers").at(i).at("sends"));
        }
        let mut ports = BTreeSet::new();
        let differ = self.places().all(|place| place.port > 0 && ports.insert(place.port));
        check.at("viewers").need(differ, "each leg has a port of its own, above zero");
    }

    fn ports(&self) -> impl Iterator<Item = (u16, Over)> {
        self.places().map(|place| (place.port, Over::Datagrams))
    }

    fn targets(&self) -> impl Iterator<Item = u32> {
        [].into_iter()
    }

    fn machine(&self, context: &ProcessContext, _address: impl Fn(u32) -> IpAddr) -> Self::Machine {
        let node = context.node;
        let end = |place: &Place, up| {
            let server = Peer { node, port: place.port };
            let leg = Leg { server, legs: self.legs, sends: &place.sends, up, seed: context.seed };
            end_of_leg(leg, 1, Time::ZERO, None)
        };
        let video = self.source.sends.video.as_ref();
        let forwarder = Forwarder::new(
            end(&self.source, true),
            self.viewers.iter().map(|viewer| end(viewer, false)).collect(),
            video.map_or(&[][..], |video| video.encoder.layer_rates()).to_vec(),
            self.viewers.iter().any(|viewer| !matches!(viewer.sends.control, RateSettings::Fixed(_))),
            Span::from_nanos(self.key_every_ns),
        );
        let places = self.places().map(|place| Peer { node, port: place.port }).collect();
        Running {
            account: Box::new(ServerAccount { forwarder, places, octets: (0, 0) }),
            legs: BTreeMap::new(),
            others: Vec::new(),
            was_killed: false,
        }
    }
}

/// The process.
#[derive(Debug)]
pub struct Running {
    account: Box<ServerAccount>,
    /// The leg of each socket.
    legs: BTreeMap<SocketId, usize>,
    /// The socket of each leg, and who is at its other end, once they came.
    others: Vec<(SocketId, Option<SocketAddr>)>,
    /// What was killed has forgotten its calls, and does not go on with them.
    was_killed: bool,
}

impl Process for Running {
    fn start(&mut self, sockets: &mut impl Sockets) {
        if self.was_killed {
            return;
        }
        for (leg, place) in self.account.places.iter().enumerate() {
            let socket = sockets.bind(Some(place.port), None);
            self.legs.insert(socket, leg);
            self.others.push((socket, None));
        }
    }

    fn stop(&mut self, _now: Time) {
        self.legs.clear();
        self.others.clear();
        self.was_killed = true;
    }

    fn drive(&mut self, now: Time, sockets: &mut impl Sockets) {
        let Self { account, legs, others, .. } = self;
        let ServerAccount { forwarder, octets, .. } = &mut **account;
        while let Some(event) = sockets.poll_event() {
            let Event::Ready(socket) = event else { continue };
            let Some(&leg) = legs.get(&socket) else { continue };
            while let Some((from, data)) = sockets.receive_from(socket) {
                // Who came first has the leg.
                if *others[leg].1.get_or_insert(from) != from {
                    continue;
                }
                let (new, wrong) = forwarder.handle_datagram(now, leg, &data, Ecn::NotEct);
                octets.0 += u64::from(new);
                octets.1 += u64::from(wrong);
            }
        }
        forwarder.handle_timeout(now);
        while let Some((leg, transmit)) = forwarder.poll_transmit(now) {
            // A leg sends to nobody before somebody came, and a server that was killed to nobody at all.
            if let Some(&(socket, Some(to))) = others.get(leg) {
                sockets.send_to(socket, to, transmit.data);
            }
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.account.forwarder.poll_timeout().filter(|_| !self.was_killed)
    }

    fn work(&self) -> Option<Work> {
        let ServerAccount { forwarder, places, octets } = &*self.account;
        let is_over = forwarder.source().ended.is_some();
        Some(Work {
            transport: tables::TRANSPORT,
            to: places[0].node,
            start: Time::ZERO,
            status: if is_over { "completed" } else { "unfinished" },
            first: None,
            completed: forwarder.source().ended,
            octets: octets.0,
            wrong: octets.1,
        })
    }

    fn account(&self) -> &dyn Any {
        &*self.account
    }
}
