//! One end of a call: media and RTCP on one pair of ports, both ways.
//!
//! After every call that changes something, [`Session::poll_transmit`] is asked until it has nothing more, then
//! [`Session::poll_timeout`]. The end that opens begins at its start; the end that answers begins when it hears of the other one.
//!
//! | module | what is in |
//! | --- | --- |
//! | `descriptor` | what tells frames of video apart in packets |
//! | `outgoing` | frames become packets, and packets octets |
//! | `pacer` | the send queue, and what leaves next |
//! | `incoming` | packets become frames |
//! | `relay` | media that passes through a forwarding server |
//! | `sender` | sources, send queue and rate control |
//! | `reports` | feedback on single packets, made and read |
//! | `setup` | connectivity check and DTLS before media |
//! | `timing` | when RTCP is sent |

mod descriptor;
mod incoming;
mod outgoing;
mod pacer;
mod relay;
mod reports;
mod sender;
mod setup;
mod timing;

use crate::clock::{self, Drift};
use crate::data::{self, Chunk, Inbound};
use crate::rate::{Arrived, ReceiverEstimator, ReportKind, Value};
use crate::receive::statistics::round_trip;
use crate::record::{Media, Record, Signal};
use crate::settings::Sends;
use crate::source::{audio, video};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::vec::Vec;
use bytes::Bytes;
use incoming::{Came, Incoming};
pub use relay::{Relayed, Renumbered, Room};
use reports::Reporter;
use sender::Sender;
use serde::{Deserialize, Serialize};
use setup::{Setup, Step};
use timing::{Timing, soonest};
use voxpath_net::{Ecn, Seed, Stream};
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::rtcp::{
    self, Description, NackPair, ReceiverReport, Remb, ReportBlock, RtcpPacket, SenderReport,
};
use voxpath_wire::rtp::{ExtensionIds, RtpHeader};

/// How a medium is coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Codec {
    /// Its payload type, as browsers offer it.
    pub payload_type: u8,
    /// Ticks a second of its RTP clock.
    pub clock: u32,
}

impl Media {
    /// Opus, or VP8, or VP9 where frames have layers.
    pub const fn codec(self, layered: bool) -> Codec {
        match (self, layered) {
            (Self::Audio, _) => Codec { payload_type: 111, clock: audio::CLOCK },
            (Self::Video, false) => Codec { payload_type: 96, clock: video::CLOCK },
            (Self::Video, true) => Codec { payload_type: 98, clock: video::CLOCK },
        }
    }
}

/// What is agreed on of an end before the call, and drawn at random (RFC 3550 section 5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Party {
    /// Synchronization sources of its media, by [`Media::index`]; none is zero, and all of a call differ.
    pub ssrc: [u32; 2],
    /// Their first sequence numbers.
    pub sequence: [u16; 2],
    /// Their first timestamps.
    pub timestamp: [u32; 2],
    /// The pattern that its media are octets of.
    pub pattern: u32,
}

impl Party {
    /// The end with this number of a call, 0 or 1.
    pub fn draw(end: u32, pattern: u32, draws: &mut Stream) -> Self {
        // The lowest bits tell the sources of a call apart.
        let mut ssrc = |media: u32| (draws.bits() as u32 & !31) | 4 | end << 1 | media;
        let ssrc = [ssrc(0), ssrc(1)];
        let mut bits = || draws.bits();
        Self {
            ssrc,
            sequence: [bits() as u16, bits() as u16],
            timestamp: [bits() as u32, bits() as u32],
            pattern,
        }
    }
}

/// What an end is made of.
#[derive(Debug)]
pub struct Config<'a> {
    /// 0 opens the call, 1 answers.
    pub end: usize,
    /// What each of them sends.
    pub sends: [Option<&'a Sends>; 2],
    /// Who they are.
    pub parties: [Party; 2],
    /// What their clocks gain, in parts in a thousand million.
    pub drift_ppb: [i64; 2],
    /// When the end that opens begins.
    pub start: Time,
    /// How long the call lasts; without end otherwise.
    pub duration: Option<Span>,
    /// Regular RTCP packets are not more frequent than this (T_rr_interval of RFC 4585).
    pub rtcp_interval: Span,
    /// How it is protected.
    pub protection: Protection,
    /// The call's name, of which random streams are named.
    pub name: &'a str,
    /// Their root.
    pub seed: Seed,
}

/// How media is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    /// Not at all.
    #[default]
    None,
    /// SRTP with AEAD_AES_128_GCM (RFC 7714), by its octets.
    Srtp,
    /// The same, with a connectivity check and a handshake of DTLS before, by their octets and round trips.
    DtlsSrtp,
}

impl Protection {
    /// Octets of the authentication tag of an RTP packet.
    const fn rtp(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Srtp | Self::DtlsSrtp => 16,
        }
    }

    /// The same of RTCP, with the word of index and E bit.
    const fn rtcp(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Srtp | Self::DtlsSrtp => 20,
        }
    }
}

/// A datagram to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transmit {
    /// Its octets.
    pub data: Payload,
    /// How it is marked.
    pub ecn: Ecn,
}

/// One end of a call. Its caller's clock is that of the run; all times inside are those of its own.
#[derive(Debug)]
pub struct Session {
    end: usize,
    /// The clocks of both.
    clocks: [Drift; 2],
    phase: Phase,
    protection: Protection,
    start: Time,
    end_at: Option<Time>,
    stopping: bool,
    /// The other end's BYE came.
    left: bool,
    /// When anything came last, and how long nothing may come.
    heard: Time,
    consent: Span,
    sender: Option<Sender>,
    incoming: [Option<Incoming>; 2],
    /// Messages of the other end.
    inbound: Option<Inbound>,
    receives: Option<Sends>,
    parties: [Party; 2],
    estimator: Option<Box<dyn ReceiverEstimator>>,
    reporter: Option<Reporter>,
    timing: Timing,
    outbox: VecDeque<Payload>,
    observed: Option<Observed>,
    record: Record,
    seed: Seed,
    name: alloc::string::String,
    sends: Option<Sends>,
    /// Its media passes through: what comes is given out, what is sent comes from outside.
    relays: bool,
    /// What the other end is told at most of the rate that it may send at, bits per second.
    most_bps: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    /// The end that opens has its start before it; the end that answers has not heard of it.
    Waiting,
    /// The end that opens sets up the call.
    Setup(Setup),
    Running,
    /// Its sources are silent; what waits is sent, as far as it can be until then, and BYE.
    Ending(Time),
    /// BYE is sent, and is sent again; until then the other end's is awaited.
    Leaving {
        until: Time,
        again: Time,
    },
    Done,
}

/// How long an end empties its send queue, and the one that opened waits for the other one's BYE.
const PATIENCE: Span = Span::from_secs(2);
/// How long it waits before it sends BYE again. RFC 3550 has one, and lets the other end time out where that is lost; until then
/// that end would send media to nobody, which no signalling stops here.
const BYE_AGAIN: Span = Span::from_millis(250);
/// An end that hears nothing for so long leaves, as nobody consents to what it sends (RFC 7675 section 5.1).
const CONSENT: Span = Span::from_secs(30);
/// The same in intervals of RTCP (RFC 3550 section 6.3.5).
const TIMEOUT: u64 = 5;
/// A key frame is asked for no sooner again.
const ASK_EVERY: Span = Span::from_millis(500);

/// Signals as they were last.
#[derive(Debug, Default)]
struct Observed(Vec<(&'static str, Value)>);

impl Observed {
    /// Notes a signal if it has changed.
    fn note(&mut self, at: Time, name: &'static str, value: Value, signals: &mut Vec<Signal>) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) if *known == value => return,
            Some((_, known)) => *known = value,
            None => self.0.push((name, value)),
        }
        signals.push(Signal { at, name, value });
    }
}

impl Session {
    /// An end that has not begun.
    pub fn new(config: &Config<'_>) -> Self {
        let (end, start) = (config.end, config.start);
        let draws = config.seed.stream(&format!("flow {} rtcp {end}", config.name));
        let clocks = config.drift_ppb.map(|ppb| Drift::new(start, ppb));
        Self {
            end,
            clocks,
            phase: Phase::Waiting,
            protection: config.protection,
            start,
            end_at: config.duration.filter(|_| end == 0).map(|duration| start + duration),
            stopping: false,
            left: false,
            heard: start,
            consent: CONSENT.max(config.rtcp_interval * TIMEOUT),
            sender: None,
            incoming: [None, None],
            inbound: None,
            receives: config.sends[1 - end].cloned(),
            parties: config.parties,
            estimator: None,
            reporter: None,
            timing: Timing::new(config.rtcp_interval, draws),
            outbox: VecDeque::new(),
            observed: None,
            record: Record::new(clocks[end]),
            seed: config.seed,
            name: config.name.into(),
            sends: config.sends[end].cloned(),
            relays: false,
            most_bps: None,
        }
    }

    /// Has media pass through, before the call begins: what comes is for [`Session::poll_relayed`], and what is sent comes by
    /// [`Session::relay`] alone.
    pub const fn pass_through(&mut self) {
        self.relays = true;
    }

    /// Has signals of the rate control be noted as they change.
    pub fn observe(&mut self) {
        self.observed = Some(Observed::default());
    }

    /// What it saw.
    pub const fn record(&self) -> &Record {
        &self.record
    }

    /// Has the call end.
    pub fn stop(&mut self) {
        self.stopping = true;
    }

    /// Whether it has nothing more to do.
    pub fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Done)
    }

    fn begin(&mut self, now: Time) {
        self.phase = Phase::Running;
        (self.start, self.heard) = (now, now);
        let [own, other] = [self.parties[self.end], self.parties[1 - self.end]];
        if let Some(sends) = self.sends.take() {
            let draws = |part: &str| self.seed.stream(&format!("flow {} {part} {}", self.name, self.end));
            let tag = self.protection.rtp();
            self.sender = Some(Sender::new(sends, &own, now, tag, self.relays, draws));
        }
        if let Some(receives) = &self.receives {
            let needs = receives.control.needs();
            self.estimator = receives.control.receiver(now, receives.rate);
            let each = matches!(needs.report, ReportKind::TransportWide | ReportKind::Ccfb);
            self.reporter = each.then(|| Reporter::new(needs, now));
            let incoming = |media, interval_ns| {
                Incoming::new(media, &other, now, Span::from_nanos(interval_ns), receives)
            };
            self.incoming = [
                receives.audio.as_ref().map(|audio| incoming(Media::Audio, audio.frame_ns)),
                receives.video.as_ref().map(|video| incoming(Media::Video, video.interval_ns)),
            ];
            self.inbound = receives.data.map(|data| Inbound::new(data, other.pattern));
            if self.relays {
                self.incoming.iter_mut().flatten().for_each(Incoming::relay);
            }
        }
        let bandwidth = [self.sender.as_ref().map(|sender| &sender.settings), self.receives.as_ref()];
        let bps = bandwidth.into_iter().flatten().map(|sends| sends.rate.max_bps).sum();
        self.timing.begin(now, bps);
        if self.end == 0 && self.sender.is_none() {
            // The other end hears of the call by a first report.
            self.report(now, false);
        }
    }

    /// A datagram came, on which the network left `ecn`: how many octets of media it had that are new, and how many of
    /// these are wrong.
    pub fn handle_datagram(&mut self, now: Time, data: &Payload, ecn: Ecn) -> (u32, u32) {
        if self.is_done() {
            return (0, 0);
        }
        let now = self.clocks[self.end].local(now);
        let malformed = self.record.malformed;
        let octets = self.take_datagram(now, data, ecn);
        // What anybody may send is no sign that the other end is still there.
        if self.record.malformed == malformed {
            self.heard = now;
        }
        octets
    }

    fn take_datagram(&mut self, now: Time, data: &Payload, ecn: Ecn) -> (u32, u32) {
        if self.protection == Protection::DtlsSrtp
            && let Some(flight) = setup::parse(data, 1 - self.end)
        {
            self.set_up(now, flight);
            return (0, 0);
        }
        if matches!(self.phase, Phase::Setup(_)) {
            // Media that has overtaken the end of the handshake cannot be read yet, but for whose it is.
            let is_of_call = match data::is_record(data.front()) {
                true => data::parse(data, 0, 0).is_some(),
                false => self.is_of_other(data.front()),
            };
            self.record.malformed += u64::from(!is_of_call);
            return (0, 0);
        }
        if data::is_record(data.front()) {
            return self.handle_record(now, data);
        }
        let is_rtcp = RtcpPacket::is_rtcp(data.front());
        let tag = if is_rtcp { self.protection.rtcp() } else { self.protection.rtp() };
        let plain;
        let data = match (tag, data.len().checked_sub(tag)) {
            (0, _) => data,
            (_, Some(len)) => {
                plain = data.slice(0, len);
                &plain
            }
            (_, None) => {
                self.record.malformed += 1;
                return (0, 0);
            }
        };
        if !is_rtcp {
            return self.handle_rtp(now, data, tag, ecn);
        }
        let front = data.front();
        // RTCP has no part that is not held.
        match front.len() == data.len() as usize {
            true => self.handle_rtcp(now, front),
            false => self.record.malformed += 1,
        }
        (0, 0)
    }

    /// Whether a datagram's first header says that it is RTP or RTCP of the other end.
    fn is_of_other(&self, front: &[u8]) -> bool {
        let other = self.parties[1 - self.end].ssrc;
        match RtcpPacket::is_rtcp(front) {
            // Whoever sends it stands first in each kind of packet.
            true => front.get(4..8).is_some_and(|ssrc| other.iter().any(|own| own.to_be_bytes() == ssrc)),
            false => RtpHeader::parse(front, &ExtensionIds::USUAL)
                .is_ok_and(|(header, _)| other.iter().any(|&own| incoming::is_of(own, header.ssrc))),
        }
    }

    /// A record of the data channel came.
    fn handle_record(&mut self, now: Time, record: &Payload) -> (u32, u32) {
        let next = self.inbound.as_ref().map_or(0, Inbound::next);
        let mut outbound = self.sender.as_mut().and_then(Sender::data);
        let acknowledged = outbound.as_ref().map_or(0, |outbound| outbound.acknowledged());
        let Record { messages, delivered, malformed, .. } = &mut self.record;
        let came = match (data::parse(record, next, acknowledged), &mut self.inbound, &mut outbound) {
            (Some(Chunk::Data { index, body }), Some(inbound), _) => {
                inbound.handle_data(now, index, &body, delivered)
            }
            (Some(Chunk::Forward { next }), Some(inbound), _) => {
                inbound.handle_forward(now, next, delivered).then_some((0, 0))
            }
            (Some(Chunk::Sack { next, gaps }), _, Some(outbound)) => {
                outbound.handle_sack(now, next, &gaps, messages).then_some((0, 0))
            }
            _ => None,
        };
        came.unwrap_or_else(|| {
            *malformed += 1;
            (0, 0)
        })
    }

    /// A flight of the other end's handshake came.
    fn set_up(&mut self, now: Time, flight: usize) {
        let pattern = self.parties[self.end].pattern;
        if let Phase::Setup(setup) = &mut self.phase {
            match setup.take(now, flight) {
                Step::Send(next) => self.outbox.push_back(setup::emit(next, pattern)),
                Step::Done => self.begin(now),
                Step::Nothing => {}
            }
        } else if self.end == 1 {
            let (next, is_set_up) = setup::answer(flight);
            self.outbox.push_back(setup::emit(next, pattern));
            if is_set_up && matches!(self.phase, Phase::Waiting) {
                self.begin(now);
            }
        }
    }

    fn handle_rtp(&mut self, now: Time, data: &Payload, tag: u32, ecn: Ecn) -> (u32, u32) {
        let Ok((header, at)) = RtpHeader::parse(data.front(), &ExtensionIds::USUAL) else {
            self.record.malformed += 1;
            return (0, 0);
        };
        let other = &self.parties[1 - self.end];
        if matches!(self.phase, Phase::Waiting) && self.end == 1 && other.ssrc.contains(&header.ssrc) {
            self.begin(now);
        }
        let Some(incoming) = self.incoming.iter_mut().flatten().find(|incoming| incoming.owns(header.ssrc))
        else {
            self.record.malformed += 1;
            return (0, 0);
        };
        let media = incoming.media;
        let bytes = data.len() + tag;
        let received = &mut self.record.received[media.index()];
        let came = incoming.take(now, &header, at, data, received);
        if came == Came::Malformed {
            self.record.malformed += 1;
            return (0, 0);
        }
        let delay = header.extensions.abs_send_time.map(|sent| clock::since_abs_send_time(now, sent));
        incoming.count(now, bytes, delay.map(|delay| of_run(self.clocks, self.end, now, delay)), received);
        let wants_key = incoming.wants_key(now);
        let own_bps = self.sender.as_ref().and_then(Sender::media_bps);
        if let Some(reporter) = &mut self.reporter {
            let sequence = header.extensions.transport_sequence.unwrap_or(header.sequence);
            reporter.take(now, header.ssrc, sequence, ecn, bytes, own_bps);
        }
        if let (Some(estimator), Some(delay)) = (&mut self.estimator, delay) {
            // A sender whose clock is ahead is taken to have sent at the beginning of time.
            let sent = Time::from_nanos(now.as_nanos().saturating_add_signed(-delay));
            estimator.on_arrived(&Arrived { now, sent, bytes });
            self.look(now);
        }
        if media == Media::Video && wants_key {
            self.ask_for_key(now);
        }
        match came {
            Came::New { octets, wrong } => (octets, wrong),
            Came::Nothing | Came::Malformed => (0, 0),
        }
    }

    /// Asks for a key frame, since something is missing that others build upon.
    fn ask_for_key(&mut self, now: Time) {
        if self.timing.may_ask(now, ASK_EVERY) {
            self.send_picture_loss();
        }
    }

    fn send_picture_loss(&mut self) {
        let [sender, media] =
            [self.end, 1 - self.end].map(|end| self.parties[end].ssrc[Media::Video.index()]);
        self.send_rtcp(&[RtcpPacket::PictureLoss { sender, media }]);
    }

    fn handle_rtcp(&mut self, now: Time, bytes: &[u8]) {
        let packets: Vec<_> = rtcp::parse_compound(bytes).collect();
        let Some(Ok(_)) = packets.first().filter(|_| self.is_of_other(bytes)) else {
            self.record.malformed += 1;
            return;
        };
        if matches!(self.phase, Phase::Waiting) && self.end == 1 {
            self.begin(now);
        }
        self.timing.hear(bytes.len());
        if let Some(sender) = &mut self.sender {
            sender.heard();
        }
        let is_report = matches!(packets[0], Ok(RtcpPacket::SenderReport(_) | RtcpPacket::ReceiverReport(_)));
        let mut blocks = Vec::new();
        for packet in packets {
            match packet {
                Ok(packet) => self.handle_packet(now, packet, &mut blocks),
                Err(_) => self.record.malformed += 1,
            }
        }
        if is_report {
            self.handle_blocks(now, &blocks);
        }
        self.look(now);
    }

    fn handle_packet(&mut self, now: Time, packet: RtcpPacket, blocks: &mut Vec<ReportBlock>) {
        match packet {
            RtcpPacket::SenderReport(report) => {
                if let Some(incoming) = self.incoming.iter_mut().flatten().find(|it| it.ssrc == report.ssrc) {
                    incoming.statistics.hear(now, &report);
                }
                blocks.extend(report.blocks);
            }
            RtcpPacket::ReceiverReport(report) => blocks.extend(report.blocks),
            RtcpPacket::Goodbye { .. } => {
                match self.phase {
                    Phase::Leaving { .. } => self.phase = Phase::Done,
                    Phase::Running => self.stopping = true,
                    Phase::Waiting | Phase::Setup(_) | Phase::Ending(_) | Phase::Done => {}
                }
                self.left = true;
            }
            packet => {
                if let Some(sender) = &mut self.sender {
                    sender.handle_packet(now, &packet);
                }
            }
        }
    }

    /// What the other end says of everything that this one sends.
    fn handle_blocks(&mut self, now: Time, blocks: &[ReportBlock]) {
        let trip = blocks.iter().filter_map(|block| round_trip(now, block)).min();
        if let Some(sender) = &mut self.sender {
            sender.hear(now, blocks, trip, self.timing.intervals());
        }
        let Some(trip) = trip else { return };
        if let Some(estimator) = &mut self.estimator {
            estimator.on_round_trip(trip);
        }
        for missing in self.incoming.iter_mut().flatten().filter_map(|incoming| incoming.missing.as_mut()) {
            missing.set_round_trip(trip);
        }
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Time) {
        let now = self.clocks[self.end].local(now);
        match self.phase {
            Phase::Waiting if self.stopping => self.phase = Phase::Done,
            Phase::Waiting
                if self.end == 0 && now >= self.start && self.protection == Protection::DtlsSrtp =>
            {
                self.phase = Phase::Setup(Setup::new(now));
                self.outbox.push_back(setup::emit(0, self.parties[0].pattern));
            }
            Phase::Waiting if self.end == 0 && now >= self.start => self.begin(now),
            Phase::Setup(setup)
                if self.stopping || setup.is_over(now) || self.end_at.is_some_and(|at| now >= at) =>
            {
                self.phase = Phase::Done;
            }
            Phase::Setup(ref mut setup) => {
                let again = setup.poll(now).map(|flight| setup::emit(flight, self.parties[0].pattern));
                self.outbox.extend(again);
            }
            Phase::Running if self.stopping || self.end_at.is_some_and(|at| now >= at) => {
                self.phase = Phase::Ending(now + PATIENCE);
                self.record.silent.get_or_insert(now);
                if let Some(sender) = &mut self.sender {
                    sender.end();
                }
            }
            Phase::Leaving { until, .. } if now >= until => self.phase = Phase::Done,
            Phase::Leaving { until, again } if now >= again => {
                self.report(now, true);
                self.phase = Phase::Leaving { until, again: now + BYE_AGAIN };
            }
            Phase::Running if now >= self.heard + self.consent => self.phase = Phase::Done,
            _ => {}
        }
        if let Some(sender) = &mut self.sender {
            sender.handle_timeout(now, self.timing.intervals(), &mut self.record);
        }
        let is_sent = self.sender.as_ref().is_none_or(Sender::is_empty);
        if let Phase::Ending(until) = self.phase
            && (is_sent || now >= until)
        {
            self.report(now, true);
            self.phase = match self.end == 0 && !self.left {
                true => Phase::Leaving { until: now + PATIENCE, again: now + BYE_AGAIN },
                false => Phase::Done,
            };
        }
        if self.is_done() {
            self.record.ended.get_or_insert(now);
        }
        if !matches!(self.phase, Phase::Running | Phase::Leaving { .. }) {
            return;
        }
        if let Some(estimator) = &mut self.estimator {
            if estimator.poll_timeout().is_some_and(|at| at <= now) {
                estimator.handle_timeout(now);
            }
            if let Some(bitrate) = estimator.poll_remb() {
                self.tell_rate(self.most_bps.map_or(bitrate, |most| bitrate.min(most)));
            }
        }
        self.ask_again(now);
        let report =
            self.inbound.as_mut().and_then(|inbound| inbound.poll(now, self.parties[self.end].pattern));
        self.outbox.extend(report);
        if let Some(reporter) = &mut self.reporter {
            let media = self.incoming.iter().flatten().next().map_or(0, |incoming| incoming.ssrc);
            let reports = reporter.poll(now, self.parties[self.end].ssrc[1], media);
            for report in reports {
                self.send_rtcp(&[report]);
            }
        }
        if matches!(self.phase, Phase::Running) && self.timing.is_due(now) {
            self.report(now, false);
        }
        self.look(now);
    }

    /// Tells the other end a rate that it may send at.
    fn tell_rate(&mut self, bitrate: u64) {
        let sender = self.parties[self.end].ssrc[1];
        let ssrcs = self.incoming.iter().flatten().map(|incoming| incoming.ssrc).collect();
        self.send_rtcp(&[RtcpPacket::Remb(Remb { sender, bitrate, ssrcs })]);
    }

    /// The other end may not send faster than this, bits per second: an estimator of this end tells it no more, and where there is
    /// none it is told by itself.
    pub fn limit(&mut self, most_bps: u64) {
        self.most_bps = Some(most_bps);
        if matches!(self.phase, Phase::Running) && self.estimator.is_none() {
            self.tell_rate(most_bps);
        }
    }

    /// The next packet that came and is to be passed on.
    pub fn poll_relayed(&mut self) -> Option<Relayed> {
        self.incoming.iter_mut().flatten().find_map(Incoming::poll_relayed)
    }

    /// Sends a packet that came elsewhere, under numbers of this call; nothing unless the call stands.
    pub fn relay(&mut self, now: Time, packet: &Relayed, to: Renumbered) {
        if let (Phase::Running, Some(sender)) = (self.phase, &mut self.sender) {
            sender.relay(self.clocks[self.end].local(now), packet, to);
        }
    }

    /// What it may send at `now`; none unless the call stands.
    pub fn room(&self, now: Time) -> Option<Room> {
        let sender = self.sender.as_ref().filter(|_| matches!(self.phase, Phase::Running))?;
        Some(sender.room(self.clocks[self.end].local(now)))
    }

    /// Asks the other end for a key frame; whether it could be asked.
    pub fn request_key(&mut self) -> bool {
        let is_running = matches!(self.phase, Phase::Running);
        if is_running {
            self.send_picture_loss();
        }
        is_running
    }

    /// Whether the other end has asked for a key frame since this was asked last.
    pub fn poll_key_request(&mut self) -> bool {
        self.sender.as_mut().is_some_and(Sender::poll_key_request)
    }

    /// Asks for packets that are missing.
    fn ask_again(&mut self, now: Time) {
        for media in Media::ALL {
            let sender = self.parties[self.end].ssrc[media.index()];
            let Some(incoming) = &mut self.incoming[media.index()] else { continue };
            let lost = incoming.missing.as_mut().map(|missing| missing.poll(now)).unwrap_or_default();
            if !lost.is_empty() {
                let lost = NackPair::of(lost.into_iter().map(|number| number as u16));
                let nack = RtcpPacket::Nack { sender, media: incoming.ssrc, lost };
                self.send_rtcp(&[nack]);
            }
        }
    }

    /// When to call [`Session::handle_timeout`] though nothing has come.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.next_timeout().map(|at| self.clocks[self.end].run(at))
    }

    fn next_timeout(&self) -> Option<Time> {
        match self.phase {
            Phase::Done => return None,
            Phase::Waiting => return (self.end == 0).then_some(self.start),
            Phase::Setup(setup) => return self.end_at.into_iter().chain([setup.poll_timeout()]).min(),
            Phase::Running | Phase::Ending(_) | Phase::Leaving { .. } => {}
        }
        let intervals = self.timing.intervals();
        let sender = self.sender.as_ref().and_then(|sender| sender.poll_timeout(intervals));
        if let Phase::Ending(until) = self.phase {
            // What waits is sent; nothing is reported any more.
            return sender.into_iter().chain([until]).min();
        }
        let until = match self.phase {
            Phase::Leaving { until, again } => Some(until.min(again)),
            _ => self.end_at,
        };
        let until = soonest([until, Some(self.heard + self.consent)]);
        let regular = matches!(self.phase, Phase::Running).then(|| self.timing.due());
        let estimator = self.estimator.as_ref().and_then(|estimator| estimator.poll_timeout());
        let reporter = self.reporter.as_ref().and_then(Reporter::poll_timeout);
        let missing =
            self.incoming.iter().flatten().filter_map(|incoming| incoming.missing.as_ref()?.poll_timeout());
        let inbound = self.inbound.as_ref().and_then(Inbound::poll_timeout);
        soonest([until, regular, sender, estimator, reporter, missing.min(), inbound])
    }

    /// The next datagram to send at `now`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        if let Some(data) = self.outbox.pop_front() {
            return Some(Transmit { data, ecn: Ecn::NotEct });
        }
        if self.is_done() {
            return None;
        }
        let now = self.clocks[self.end].local(now);
        let transmit = self.sender.as_mut()?.poll_transmit(now, &mut self.record);
        if transmit.is_some() {
            self.look(now);
        }
        transmit
    }

    /// A regular compound packet: reports and who sends them (RFC 3550 section 6.1), and BYE if this is the last.
    fn report(&mut self, now: Time, leaves: bool) {
        let own = self.parties[self.end];
        let mut packets = Vec::new();
        let mut ssrcs = Vec::new();
        for media in Media::ALL {
            let index = media.index();
            let block = self.incoming[index].as_mut().and_then(|it| it.statistics.report(now, it.ssrc));
            let outgoing = self.sender.as_ref().and_then(|sender| sender.outgoing(media));
            let blocks: Vec<_> = block.into_iter().collect();
            let ssrc = own.ssrc[index];
            match outgoing.filter(|outgoing| outgoing.packets > 0) {
                Some(outgoing) => packets.push(RtcpPacket::SenderReport(SenderReport {
                    ssrc,
                    ntp: clock::ntp(now),
                    rtp: outgoing.timestamp(now),
                    packets: outgoing.packets,
                    octets: outgoing.octets,
                    blocks,
                })),
                None if !blocks.is_empty() => {
                    packets.push(RtcpPacket::ReceiverReport(ReceiverReport { ssrc, blocks }));
                }
                None => continue,
            }
            ssrcs.push(ssrc);
        }
        if packets.is_empty() {
            let ssrc = own.ssrc[0];
            packets.push(RtcpPacket::ReceiverReport(ReceiverReport { ssrc, blocks: Vec::new() }));
            ssrcs.push(ssrc);
        }
        let name = ["client", "server"][self.end];
        let cname = format!("{}@{name}", self.name);
        // An item has at most 255 octets.
        let cname = cname.get(..cname.len().min(255)).unwrap_or(name);
        let chunks = ssrcs.iter().map(|&ssrc| Description::cname(ssrc, cname)).collect();
        packets.push(RtcpPacket::SourceDescription(chunks));
        if leaves {
            packets.push(RtcpPacket::Goodbye { ssrcs, reason: Vec::new() });
        }
        self.send_rtcp(&packets);
        self.timing.sent(now);
    }

    fn send_rtcp(&mut self, packets: &[RtcpPacket]) {
        let mut bytes = Vec::new();
        packets.iter().for_each(|packet| packet.emit(&mut bytes));
        self.timing.hear(bytes.len());
        let tag = Payload::pattern(self.parties[self.end].pattern, 0, self.protection.rtcp());
        self.outbox.push_back(Payload::rope([Payload::bytes(Bytes::from(bytes)), tag]));
    }

    /// Notes signals that have changed, if somebody looks.
    fn look(&mut self, now: Time) {
        let Some(observed) = &mut self.observed else { return };
        let signals = &mut self.record.signals;
        let mut note = |name, value| observed.note(now, name, value, signals);
        if let Some(sender) = &self.sender {
            sender.control().metrics(&mut note);
        }
        if let Some(estimator) = &self.estimator {
            estimator.metrics(&mut note);
        }
    }
}

/// A one-way delay by the clock of the run, of what was sent by the clock of the other end and came at `now` by that of `end`.
fn of_run(clocks: [Drift; 2], end: usize, now: Time, delay: i64) -> i64 {
    let sent = Time::from_nanos(now.as_nanos().saturating_add_signed(delay.saturating_neg()));
    let ahead = |clock: Drift, at: Time| at.as_nanos() as i64 - clock.run(at).as_nanos() as i64;
    delay - ahead(clocks[end], now) + ahead(clocks[1 - end], sent)
}
