//! A forwarding server: what one end sends is passed on to many, packet by packet (the selective forwarding middlebox of RFC 7667
//! section 3.7).
//!
//! Each leg is a call of its own ([`Session`]), with its own numbers, reports, rate control, send queue, and history of what may be asked
//! for again. So a loss on one leg is mended there, and nobody else hears of it. Where frames have layers, each leg gets as many as its
//! rate control has room for: fewer from the next frame on, more from the next key frame on. Key frames are asked for on behalf of
//! all legs, and no more often than the server is told. Where frames have none, the sender is told the least of what the legs have room for.
//!
//! [`Forwarder`] has the legs, [`Choice`] which layers one gets, and [`Numbers`] what a packet is sent as.

use crate::record::{Media, Record};
use crate::session::{Relayed, Renumbered, Session, Transmit};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use voxpath_net::Ecn;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;

/// Who goes up a layer has so much room for it: a key frame that turns out too large costs everybody.
const ROOM_TO_GO_UP: f64 = 1.1;
/// The sender is told what the legs have room for this often.
const TELL_EVERY: Span = Span::from_secs(1);
/// Frames whose layers are remembered, for packets that come late.
const FRAMES: usize = 512;
/// Packets that were left out and are remembered.
const LEFT_OUT: usize = 8192;
/// A packet that is further behind the newest one is too late for everybody.
const LATEST: u64 = 2048;

/// The server. Leg 0 is the sender's, those of receivers follow.
#[derive(Debug)]
pub struct Forwarder {
    source: Session,
    legs: Vec<Leg>,
    /// Bits per second of a frame's layers together, from one to all; none where there are none.
    layers_bps: Vec<u64>,
    /// Legs have rate controls, whose least rate the sender of frames without layers is told.
    limits: bool,
    told: Option<Time>,
    /// A key frame is asked for no sooner again.
    key_every: Span,
    asked: Option<Time>,
    key_requests: u64,
}

/// One receiver's leg.
#[derive(Debug)]
pub struct Leg {
    session: Session,
    numbers: [Numbers; 2],
    choice: Choice,
    wants_key: bool,
    account: LegAccount,
}

/// What a leg passed on.
#[derive(Debug, Clone, Default)]
pub struct LegAccount {
    /// Packets of the sender that were passed on.
    pub passed: u64,
    /// Packets that were not, being of layers too many, or because the receiver was not there or its queue full.
    pub withheld: u64,
    /// Of each frame of video of the sender, how many layers were passed on; zero of one that was not, or never came.
    pub layers: Vec<u8>,
    /// The first frame that was passed on, by [`Media::index`]: the receiver counts from it.
    pub first: [Option<u32>; 2],
    /// How often the number of layers changed.
    pub changes: u64,
    /// How often the receiver asked for a key frame.
    pub key_requests: u64,
}

impl Leg {
    fn new(mut session: Session) -> Self {
        session.pass_through();
        Self {
            session,
            numbers: Default::default(),
            choice: Choice::default(),
            wants_key: false,
            account: LegAccount::default(),
        }
    }

    /// What its session saw.
    pub const fn record(&self) -> &Record {
        self.session.record()
    }

    /// What it passed on.
    pub const fn account(&self) -> &LegAccount {
        &self.account
    }

    /// Whether its circuit breaker has stopped a medium.
    fn is_stopped(&self, media: Media) -> bool {
        self.session.record().stopped[media.index()].is_some()
    }

    /// How many layers there is room for now; none if not even for one.
    fn wanted(&self, now: Time, layers_bps: &[u64]) -> Option<u8> {
        let is_stopped = self.is_stopped(Media::Video);
        let room = self.session.room(now).filter(|room| !room.is_full && !is_stopped)?;
        let fits = |at: usize| {
            let margin = if at >= usize::from(self.choice.layers) { ROOM_TO_GO_UP } else { 1.0 };
            layers_bps[at] as f64 * margin <= room.video_bps as f64
        };
        // The lowest one is always tried: there is nothing less.
        Some((1..layers_bps.len()).take_while(|&at| fits(at)).count() as u8 + 1)
    }

    fn take(&mut self, now: Time, packet: &Relayed, layers_bps: &[u64]) {
        let renumbered = self.renumber(now, packet, layers_bps);
        let Some(to) = renumbered else {
            self.account.withheld += 1;
            return;
        };
        self.account.passed += 1;
        self.session.relay(now, packet, to);
    }

    fn renumber(&mut self, now: Time, packet: &Relayed, layers_bps: &[u64]) -> Option<Renumbered> {
        let media = packet.media.index();
        let numbers = &self.numbers[media];
        let is_late = numbers.newest.is_some_and(|newest| packet.number + LATEST < newest);
        let room = self.session.room(now).filter(|_| !is_late && !self.is_stopped(packet.media));
        let mut marker = packet.marker;
        let passes = match packet.media {
            Media::Audio => room.is_some(),
            Media::Video => {
                let before = self.choice.layers;
                let is_new = self.choice.is_new(packet.frame);
                let wanted = is_new.then(|| self.wanted(now, layers_bps)).flatten();
                let layers = self.choice.layers_of(packet.frame, packet.key(), wanted);
                self.account.changes += u64::from(self.choice.layers != before);
                // The last layer that is passed on ends the frame.
                marker |= packet.ends_layer() && packet.layer() + 1 == layers;
                room.is_some() && packet.layer() < layers
            }
        };
        if !passes {
            self.numbers[media].leave_out(packet.number);
            return None;
        }
        let to = self.numbers[media].place(packet, marker)?;
        self.account.first[media].get_or_insert(packet.frame);
        if packet.media == Media::Video {
            let frame = packet.frame as usize;
            if self.account.layers.len() <= frame {
                self.account.layers.resize(frame + 1, 0);
            }
            let layers = &mut self.account.layers[frame];
            *layers = (*layers).max(packet.layer() + 1);
        }
        Some(to)
    }

    /// Whether a key frame would help: to begin, to mend what the receiver misses, or to go up.
    fn wants_key(&self, now: Time, layers_bps: &[u64]) -> bool {
        let wanted = self.wanted(now, layers_bps);
        wanted.is_some_and(|wanted| self.wants_key || wanted > self.choice.layers)
    }
}

/// How many layers of each frame are passed on.
#[derive(Debug, Default)]
struct Choice {
    /// Of the newest frame; zero while a key frame is awaited.
    layers: u8,
    /// The last frames, by their numbers.
    frames: VecDeque<(u32, u8)>,
}

impl Choice {
    /// Whether a frame is behind all of which something came.
    fn is_new(&self, frame: u32) -> bool {
        self.frames.back().is_none_or(|&(newest, _)| newest < frame)
    }

    /// The layers of a frame, a packet of which came; of a new one when so many are wanted.
    fn layers_of(&mut self, frame: u32, key: bool, wanted: Option<u8>) -> u8 {
        if !self.is_new(frame) {
            // As was decided, or as of the frame before if nothing of this one came in time.
            let known = self.frames.iter().rev().find(|(known, _)| *known <= frame);
            return known.map_or(0, |&(_, layers)| layers);
        }
        let wanted = wanted.unwrap_or(0);
        self.layers = if key { wanted } else { self.layers.min(wanted) };
        self.frames.push_back((frame, self.layers));
        if self.frames.len() > FRAMES {
            self.frames.pop_front();
        }
        self.layers
    }
}

/// What packets of a medium are sent as on a leg: without gaps where some are left out, and with gaps where some are missing.
#[derive(Debug, Default)]
struct Numbers {
    /// Number, frame and timestamp of the first one that was passed on.
    first: Option<(u64, u32, u32)>,
    newest: Option<u64>,
    /// Numbers that were left out since, the last of them.
    left_out: VecDeque<u64>,
    /// How many were left out before those.
    forgotten: u64,
}

impl Numbers {
    /// A packet is left out. One that comes late has its place already, and leaves a gap there.
    fn leave_out(&mut self, number: u64) {
        if self.newest.is_some_and(|newest| newest >= number) || self.first.is_none() {
            return;
        }
        self.newest = Some(number);
        self.left_out.push_back(number);
        if self.left_out.len() > LEFT_OUT {
            self.left_out.pop_front();
            self.forgotten += 1;
        }
    }

    /// What a packet is sent as; none of one before the first.
    fn place(&mut self, packet: &Relayed, marker: bool) -> Option<Renumbered> {
        let (number, frame, timestamp) =
            *self.first.get_or_insert((packet.number, packet.frame, packet.timestamp));
        self.newest = self.newest.max(Some(packet.number));
        let left_out = self.forgotten + self.left_out.partition_point(|&it| it < packet.number) as u64;
        Some(Renumbered {
            sequence: packet.number.checked_sub(number)?.checked_sub(left_out)? as u16,
            frame: packet.frame.checked_sub(frame)?,
            ticks: packet.timestamp.wrapping_sub(timestamp),
            marker,
        })
    }
}

impl Forwarder {
    /// A server between a session that receives and sessions that send, all of them ends that answer. `layers_bps` are bits per second of a
    /// frame's layers together, from one to all; `limits` says that legs have rate controls.
    pub fn new(
        mut source: Session,
        legs: Vec<Session>,
        layers_bps: Vec<u64>,
        limits: bool,
        key_every: Span,
    ) -> Self {
        source.pass_through();
        Self {
            source,
            legs: legs.into_iter().map(Leg::new).collect(),
            limits: limits && layers_bps.is_empty(),
            layers_bps,
            told: None,
            key_every,
            asked: None,
            key_requests: 0,
        }
    }

    /// What the sender's leg saw.
    pub const fn source(&self) -> &Record {
        self.source.record()
    }

    /// The legs of receivers.
    pub fn legs(&self) -> &[Leg] {
        &self.legs
    }

    /// How often the sender was asked for a key frame on behalf of the legs.
    pub const fn key_requests(&self) -> u64 {
        self.key_requests
    }

    /// A datagram came on a leg; octets of media that are new, and how many of these are wrong.
    pub fn handle_datagram(&mut self, now: Time, leg: usize, data: &Payload, ecn: Ecn) -> (u32, u32) {
        let session = match leg.checked_sub(1) {
            None => &mut self.source,
            Some(leg) => &mut self.legs[leg].session,
        };
        let came = session.handle_datagram(now, data, ecn);
        while let Some(packet) = self.source.poll_relayed() {
            for leg in &mut self.legs {
                leg.take(now, &packet, &self.layers_bps);
            }
            if packet.media == Media::Video && packet.key() {
                self.legs.iter_mut().for_each(|leg| leg.wants_key = false);
            }
        }
        came
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Time) {
        self.source.handle_timeout(now);
        for leg in &mut self.legs {
            if self.source.is_done() {
                leg.session.stop();
            }
            leg.session.handle_timeout(now);
            if leg.session.poll_key_request() {
                leg.wants_key = true;
                leg.account.key_requests += 1;
            }
        }
        // It is looked at whenever media or a report is due, which is often enough.
        let may_ask = self.asked.is_none_or(|asked| now >= asked + self.key_every);
        if may_ask && self.key_is_wanted(now) && self.source.request_key() {
            self.asked = Some(now);
            self.key_requests += 1;
        }
        if self.limits && self.told.is_none_or(|told| now >= told + TELL_EVERY) {
            let least =
                self.legs.iter().filter_map(|leg| leg.session.room(now)).map(|room| room.target_bps).min();
            if let Some(least) = least {
                self.told = Some(now);
                self.source.limit(least);
            }
        }
    }

    fn key_is_wanted(&self, now: Time) -> bool {
        self.legs.iter().any(|leg| leg.wants_key(now, &self.layers_bps))
    }

    /// When to call [`Forwarder::handle_timeout`] though nothing has come.
    pub fn poll_timeout(&self) -> Option<Time> {
        let legs = self.legs.iter().filter_map(|leg| leg.session.poll_timeout());
        legs.chain(self.source.poll_timeout()).min()
    }

    /// The next datagram to send at `now`, and on which leg.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(usize, Transmit)> {
        let sessions = [&mut self.source].into_iter().chain(self.legs.iter_mut().map(|leg| &mut leg.session));
        (0..).zip(sessions).find_map(|(leg, session)| Some((leg, session.poll_transmit(now)?)))
    }
}
