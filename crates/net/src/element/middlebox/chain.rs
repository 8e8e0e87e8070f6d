//! The middleboxes of a link, one behind the other.

use super::{Middlebox, Passed, Surroundings, Way, Which, Working, Works};
use crate::element::Count;
use crate::event::{EventQueue, Target, Ticket};
use crate::packet::Packet;
use crate::random::Seed;
use crate::tap::{Action, Place, Tap};
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::IpAddr;
use voxpath_units::Time;

/// The middleboxes of a link: packets from its first node meet them in order, those from its second node in reverse.
#[derive(Debug)]
pub struct Chain {
    boxes: Vec<Standing>,
    /// What the next event of theirs is.
    due: Option<(Time, Ticket)>,
    target: Target,
    /// Where packets of each direction are seen.
    places: [Place; 2],
}

#[derive(Debug)]
struct Standing {
    kind: &'static str,
    which: Which,
    takes_udp: bool,
    working: Working,
    counts: [Count; 2],
}

/// What a middlebox has met in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Met {
    /// Its kind.
    pub kind: &'static str,
    /// Its account.
    pub count: Count,
    /// Packets that it holds.
    pub held: u64,
}

impl Chain {
    /// Of settings with which nothing is wrong. `name` is the link's, `target` is woken for what they hold, and
    /// `addresses` are all of the world.
    pub fn new<'a>(
        settings: impl IntoIterator<Item = (&'a Which, &'a Middlebox)>,
        name: &str,
        seed: Seed,
        addresses: &Arc<[IpAddr]>,
        target: Target,
        places: [Place; 2],
    ) -> Self {
        let standing = |(i, (which, set)): (usize, (&Which, &Middlebox))| {
            let stream = seed.stream(&format!("link {name} middlebox {i}"));
            let around = Surroundings { stream, addresses: addresses.clone() };
            Standing {
                kind: set.kind(),
                which: which.clone(),
                takes_udp: set.takes_udp(),
                working: set.process(&around),
                counts: [Count::default(); 2],
            }
        };
        let boxes = settings.into_iter().enumerate().map(standing).collect();
        Self { boxes, due: None, target, places }
    }

    /// Takes a packet in; what comes out of the last of them in this direction.
    pub fn handle(
        &mut self,
        now: Time,
        way: Way,
        packet: Packet,
        events: &mut EventQueue,
        tap: &mut Tap,
    ) -> Vec<Packet> {
        let out = self.run(now, way, 0, alloc::vec![packet], tap);
        self.arm(events);
        out
    }

    /// Whether the event of `ticket` is theirs.
    pub fn is_due(&self, now: Time, ticket: Ticket) -> bool {
        self.due == Some((now, ticket))
    }

    /// Lets go of what is due; what comes out, by direction.
    pub fn handle_timeout(&mut self, now: Time, events: &mut EventQueue, tap: &mut Tap) -> [Vec<Packet>; 2] {
        self.due = None;
        let out = Way::BOTH.map(|way| {
            let mut out = Vec::new();
            for position in 0..self.boxes.len() {
                let mut packets = Vec::new();
                let place = self.places[way.index()];
                self.at(way, position).work(way, &mut packets, (now, place, tap), |working, passed| {
                    working.handle_timeout(now, way, passed);
                });
                out.extend(self.run(now, way, position + 1, packets, tap));
            }
            out
        });
        self.arm(events);
        out
    }

    /// What each of them has met in a direction, in the order in which a packet meets them.
    pub fn met(&self, way: Way) -> impl Iterator<Item = Met> {
        let of = move |one: &Standing| Met {
            kind: one.kind,
            count: one.counts[way.index()],
            held: one.working.held(way),
        };
        let mut met: Vec<Met> = self.boxes.iter().map(of).collect();
        if way == Way::Ba {
            met.reverse();
        }
        met.into_iter()
    }

    /// Packets that they hold.
    pub fn held(&self) -> u64 {
        self.boxes.iter().map(|one| one.working.held(Way::Ab) + one.working.held(Way::Ba)).sum()
    }

    /// The one that a packet of a direction meets behind so many others.
    fn at(&mut self, way: Way, position: usize) -> &mut Standing {
        let index = match way {
            Way::Ab => position,
            Way::Ba => self.boxes.len() - 1 - position,
        };
        &mut self.boxes[index]
    }

    fn run(
        &mut self,
        now: Time,
        way: Way,
        from: usize,
        mut packets: Vec<Packet>,
        tap: &mut Tap,
    ) -> Vec<Packet> {
        let place = self.places[way.index()];
        for position in from..self.boxes.len() {
            let one = self.at(way, position);
            let mut next = Vec::with_capacity(packets.len());
            for packet in packets {
                one.take(way, packet, &mut next, (now, place, tap));
            }
            packets = next;
        }
        packets
    }

    fn arm(&mut self, events: &mut EventQueue) {
        let next = self.boxes.iter().filter_map(|one| one.working.poll_timeout()).min();
        if let Some(at) = next
            && self.due.is_none_or(|(due, _)| at < due)
        {
            let ticket = events.ticket();
            events.push_with(at, ticket, self.target);
            self.due = Some((at, ticket));
        }
    }
}

impl Standing {
    fn take(&mut self, way: Way, packet: Packet, out: &mut Vec<Packet>, seen: (Time, Place, &mut Tap)) {
        self.counts[way.index()].entered += 1;
        let takes = !packet.corrupted
            && (packet.tcp().is_some() || (self.takes_udp && packet.is_udp()))
            && self.which.is_of(way, &packet);
        let now = seen.0;
        self.work(way, out, seen, |working, passed| {
            if takes { working.handle(now, way, packet, passed) } else { passed.pass(packet) }
        });
    }

    fn work(
        &mut self,
        way: Way,
        packets: &mut Vec<Packet>,
        (now, place, tap): (Time, Place, &mut Tap),
        what: impl FnOnce(&mut Working, &mut Passed<'_>),
    ) {
        let mut dropped = Vec::new();
        let count = &mut self.counts[way.index()];
        what(&mut self.working, &mut Passed { count, packets, dropped: &mut dropped });
        for packet in dropped {
            tap.packet(now, place, Action::Dropped, &packet);
        }
    }
}
