//! The half of an end that sends: sources, send queue, rate control.

use super::outgoing::{Outgoing, Purpose};
use super::pacer::{Next, Pacer};
use super::relay::{Relayed, Renumbered, Room};
use super::reports::Reader;
use super::timing::soonest;
use super::{Party, Transmit};
use crate::breaker::{Breaker, Intervals, Said};
use crate::clock;
use crate::data::Outbound;
use crate::rate::{
    Allowance, Arrival, Encoding, Feedback, Headers, History, Needs, Probe, RateControl, Report, ReportKind,
    SendQueue,
};
use crate::record::{Media, Record};
use crate::repair::by_sequence::BySequence;
use crate::settings::Sends;
use crate::source::audio::Microphone;
use crate::source::video::Camera;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use voxpath_net::{Ecn, Stream};
use voxpath_units::{Span, Time};
use voxpath_wire::rtcp::{CongestionFeedback, NackPair, ReportBlock, RtcpPacket};
use voxpath_wire::rtp::Extensions;

/// A key frame is sent no sooner after another one that was asked for (libwebrtc's `kMinKeyFrameSendInterval`).
const KEY_EVERY: Span = Span::from_millis(300);
/// Numbers of packets that are remembered, to find them by their sequence numbers.
const NUMBERS: usize = 1 << 14;
/// Octets of padding in a packet at most (RFC 3550 section 5.1).
pub(crate) const PADDING: u32 = 255;
/// What audio has at least in such a packet, where a probe asks for no more (libwebrtc's `kMinAudioPaddingLength`).
const AUDIO_PADDING: u32 = 50;

/// What an encoder makes at least, in bits per second.
const LEAST_BPS: f64 = 1_000.0;

fn at_least(bps: f64) -> u64 {
    bps.max(LEAST_BPS) as u64
}

/// What sends.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(crate) settings: Sends,
    /// A key frame was asked for.
    wants_key: bool,
    needs: Needs,
    control: Box<dyn RateControl>,
    allowance: Allowance,
    /// What it leaves to the encoder.
    encoding: Box<dyn Encoding>,
    camera: Option<Camera>,
    microphone: Option<Microphone>,
    /// Bits per second of audio, with the headers that the control counts, while somebody speaks.
    audio_bps: u64,
    outgoing: [Option<Outgoing>; 2],
    data: Option<Outbound>,
    pacer: Pacer,
    history: History,
    reader: Reader,
    /// The number of the next packet among all.
    next: u64,
    /// Of each source the numbers among all of packets that were sent.
    numbers: BTreeMap<u32, BySequence<u64>>,
    key_sent: Option<Time>,
    /// What a packet is not sent again within.
    round_trip: Span,
    /// The highest sequence number that the last report block had.
    reported: [Option<u32>; 2],
    /// Circuit breakers of the media, where they are switched on.
    breakers: [Option<Breaker>; 2],
    /// Sources make frames.
    is_on: bool,
    start: Time,
    /// Until when targets are accounted for.
    accounted: Time,
}

impl Sender {
    pub(crate) fn new(
        settings: Sends,
        party: &Party,
        now: Time,
        tag: u32,
        relays: bool,
        draws: impl Fn(&str) -> Stream,
    ) -> Self {
        let needs = settings.control.needs();
        let control = settings.control.sender(now, settings.rate);
        let extensions = Extensions {
            audio_level: None,
            abs_send_time: Some(0),
            transport_sequence: (needs.report == ReportKind::TransportWide).then_some(0),
        };
        let below = needs.below_bytes;
        let outgoing = |media| Outgoing::new(media, party, now, &extensions, &settings, tag, below);
        let video = settings
            .video
            .as_ref()
            .map(|video| (Camera::new(video, now, draws("camera")), outgoing(Media::Video)));
        let audio = settings
            .audio
            .as_ref()
            .map(|audio| (Microphone::new(audio, now, draws("microphone")), outgoing(Media::Audio)));
        let audio_bps = match (&settings.audio, &audio) {
            (Some(audio), Some((_, outgoing))) => outgoing.rate_of(audio.frame_bytes(), audio.frame_ns),
            _ => 0,
        };
        let breaker = |frame_ns, group_ns| {
            settings
                .circuit_breaker
                .then(|| Breaker::new(Span::from_nanos(frame_ns), Span::from_nanos(group_ns)))
        };
        let breakers = [
            settings.audio.as_ref().and_then(|it| breaker(it.frame_ns, it.frame_ns)),
            // Key frames that are only sent when asked for make no groups.
            settings
                .video
                .as_ref()
                .and_then(|it| breaker(it.interval_ns, it.key_interval_ns.unwrap_or(it.interval_ns))),
        ];
        let (camera, video) = video.unzip();
        let (microphone, audio) = audio.unzip();
        // What passes through was captured elsewhere.
        let (camera, microphone) = (camera.filter(|_| !relays), microphone.filter(|_| !relays));
        let allowance = control.allowance();
        let mut sender = Self {
            needs,
            control,
            allowance,
            encoding: settings.control.encoding(),
            camera,
            microphone,
            audio_bps,
            outgoing: [audio, video],
            data: settings.data.map(|data| Outbound::new(data, party.pattern, now)),
            pacer: Pacer::new(now, needs.burst, needs.below_bytes),
            history: History::default(),
            reader: Reader::default(),
            next: 0,
            numbers: BTreeMap::new(),
            key_sent: None,
            round_trip: Span::ZERO,
            reported: [None; 2],
            breakers,
            is_on: true,
            start: now,
            accounted: now,
            wants_key: false,
            settings,
        };
        sender.follow(now);
        // Video takes what there is.
        if sender.settings.video.is_none() && sender.settings.audio.is_some() {
            sender.control.set_media_most(sender.audio_bps);
        }
        sender
    }

    /// The control, for who looks.
    pub(crate) fn control(&self) -> &dyn RateControl {
        &*self.control
    }

    /// One of the media, if it is sent.
    pub(crate) const fn outgoing(&self, media: Media) -> Option<&Outgoing> {
        self.outgoing[media.index()].as_ref()
    }

    /// What the control lets media have; none without media.
    pub(crate) fn media_bps(&self) -> Option<u64> {
        self.outgoing.iter().any(Option::is_some).then_some(self.allowance.target_bps)
    }

    /// Sources fall silent.
    pub(crate) const fn end(&mut self) {
        self.is_on = false;
        if let Some(data) = &mut self.data {
            data.end();
        }
    }

    /// Whether a medium was stopped by its circuit breaker.
    fn is_stopped(&self, media: Media) -> bool {
        self.breakers[media.index()].as_ref().is_some_and(|breaker| breaker.tripped().is_some())
    }

    /// RTCP of the other end came, of whatever kind.
    pub(crate) fn heard(&mut self) {
        self.breakers.iter_mut().flatten().for_each(Breaker::heard);
    }

    /// Stops what a circuit breaker says has to stop.
    fn break_circuits(&mut self, now: Time, intervals: Intervals, record: &mut Record) {
        for media in Media::ALL {
            let Some(breaker) = &mut self.breakers[media.index()] else { continue };
            breaker.handle_timeout(now, intervals);
            let Some(tripped) = breaker.tripped() else { continue };
            if record.stopped[media.index()].replace(tripped).is_none() {
                let others = Media::ALL.into_iter().filter(|&it| self.outgoing(it).is_some());
                let is_last = others.into_iter().all(|it| self.is_stopped(it));
                self.pacer.discard(media, is_last);
            }
        }
    }

    /// Whether nothing waits to be sent.
    pub(crate) fn is_empty(&self) -> bool {
        self.pacer.is_empty()
    }

    /// Does what the control says now.
    fn follow(&mut self, now: Time) {
        let is_silent = Media::ALL.into_iter().all(|it| self.outgoing(it).is_none() || self.is_stopped(it));
        while let Some(probe) = self.control.poll_probe() {
            if !is_silent {
                self.pacer.probe(now, probe);
            }
        }
        self.allowance = self.control.allowance();
        self.pacer.set_rate(self.allowance.pacing_bps);
    }

    /// What video may have of the target, with the headers that the control counts.
    fn video_share(&self) -> u64 {
        let rest = self.allowance.target_bps.saturating_sub(self.audio_bps);
        // Messages have what they ask for, but no more than half of what video and they have together.
        rest - self.data.as_ref().map_or(0, Outbound::bps).min(rest / 2)
    }

    /// The data channel that it sends on.
    pub(crate) const fn data(&mut self) -> Option<&mut Outbound> {
        self.data.as_mut()
    }

    /// Feedback said this of packets by their number among all.
    fn feed(&mut self, now: Time, said: Vec<(u64, Option<Arrival>)>) {
        let packets = self.history.report(said);
        let feedback = Feedback { now, packets: &packets, in_flight: self.history.in_flight() };
        self.control.on_feedback(&feedback);
        self.follow(now);
    }

    /// RTCP of the other end came.
    pub(crate) fn handle_packet(&mut self, now: Time, packet: &RtcpPacket) {
        match packet {
            RtcpPacket::Remb(remb) => {
                self.control.on_remb(now, remb.bitrate);
                self.follow(now);
            }
            RtcpPacket::TransportFeedback(feedback) => {
                let said = self.reader.transport_wide(feedback, self.next);
                self.feed(now, said);
            }
            RtcpPacket::CongestionFeedback(feedback) => self.congestion(now, feedback),
            RtcpPacket::PictureLoss { .. } | RtcpPacket::FullIntra { .. } => self.key_wanted(now),
            RtcpPacket::Nack { media, lost, .. } => self.send_again(now, *media, lost),
            _ => {}
        }
    }

    /// Packets are asked for again.
    fn send_again(&mut self, now: Time, ssrc: u32, lost: &[NackPair]) {
        let Some(media) = self.media_of(ssrc).filter(|&media| !self.is_stopped(media)) else { return };
        let Some(outgoing) = &mut self.outgoing[media.index()] else { return };
        for sequence in lost.iter().flat_map(|pair| pair.sequences()) {
            if let Some(packet) = outgoing.again(now, sequence, self.round_trip) {
                self.pacer.push(packet);
            }
        }
        self.tell_queue(now);
    }

    fn congestion(&mut self, now: Time, feedback: &CongestionFeedback) {
        let mut all = Vec::new();
        for stream in &feedback.streams {
            let Some(numbers) = self.numbers.get(&stream.ssrc) else { continue };
            let said = self.reader.congestion(feedback.timestamp, stream).into_iter();
            all.extend(said.filter_map(|(sequence, arrival)| Some((*numbers.get(sequence)?, arrival))));
        }
        self.feed(now, all);
    }

    fn media_of(&self, ssrc: u32) -> Option<Media> {
        self.outgoing.iter().flatten().find(|outgoing| outgoing.ssrc == ssrc).map(|outgoing| outgoing.media)
    }

    /// A sender or receiver report came, with these blocks.
    pub(crate) fn hear(
        &mut self,
        now: Time,
        blocks: &[ReportBlock],
        round_trip: Option<Span>,
        intervals: Intervals,
    ) {
        self.round_trip = round_trip.unwrap_or(self.round_trip);
        let (mut expected, mut lost) = (0, 0.0);
        let known = Some(self.round_trip).filter(|&trip| trip > Span::ZERO);
        let mut said = [0, 1].map(|index| {
            let sent = self.outgoing[index].as_ref().map_or(0, |outgoing| outgoing.packets);
            Said { now, highest: None, expected: 0, lost: 0.0, sent, round_trip: known }
        });
        for block in blocks {
            let Some(media) = self.media_of(block.ssrc) else { continue };
            let outgoing = self.outgoing[media.index()].as_ref().expect("it is sent");
            let before = self.reported[media.index()].unwrap_or_else(|| outgoing.first().wrapping_sub(1));
            let new = block.highest.wrapping_sub(before);
            // More than was sent so far is a lie, or a report that was overtaken.
            if new > outgoing.packets {
                continue;
            }
            self.reported[media.index()] = Some(block.highest);
            let of_block = f64::from(new) * f64::from(block.fraction_lost) / 256.0;
            expected += u64::from(new);
            lost += of_block;
            let said = &mut said[media.index()];
            (said.highest, said.expected, said.lost) = (Some(block.highest), new.into(), of_block);
        }
        for (breaker, said) in self.breakers.iter_mut().zip(&said) {
            if let Some(breaker) = breaker {
                breaker.report(said, intervals);
            }
        }
        if expected > 0 {
            let fraction_lost = lost / expected as f64;
            self.control.on_report(&Report { now, expected, fraction_lost, round_trip });
            self.follow(now);
        }
    }

    /// The other end cannot decode without a key frame.
    fn key_wanted(&mut self, now: Time) {
        self.wants_key = true;
        if let Some(camera) = &mut self.camera
            && self.key_sent.is_none_or(|sent| now.since(sent) >= KEY_EVERY)
        {
            self.key_sent = Some(now);
            camera.request_key();
        }
    }

    /// Whether a key frame was asked for since this was asked last.
    pub(crate) const fn poll_key_request(&mut self) -> bool {
        core::mem::replace(&mut self.wants_key, false)
    }

    /// Sends a packet that passes through.
    pub(crate) fn relay(&mut self, now: Time, packet: &Relayed, to: Renumbered) {
        if self.is_stopped(packet.media) {
            return;
        }
        let Some(outgoing) = &mut self.outgoing[packet.media.index()] else { return };
        self.pacer.push(outgoing.relay(now, packet, to));
        self.tell_queue(now);
    }

    /// What may be sent at `now`.
    pub(crate) fn room(&self, now: Time) -> Room {
        let interval = self.frame_interval();
        // What passes through is encoded elsewhere: no rule for an encoder holds.
        let left = |video: &Outgoing| {
            let bps = video.without_parity(self.video_share(), interval);
            at_least(Headers::leave(&video.packets(interval), bps))
        };
        Room {
            target_bps: self.allowance.target_bps,
            video_bps: self.outgoing(Media::Video).map_or(0, left),
            is_full: self.pacer.waits(now) > Span::from_nanos(self.settings.queue_ns),
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Time, intervals: Intervals, record: &mut Record) {
        self.break_circuits(now, intervals, record);
        if self.control.poll_timeout().is_some_and(|at| at <= now) {
            self.control.handle_timeout(now);
            self.follow(now);
        }
        if let Some(data) = &mut self.data {
            data.handle_timeout(now, &mut record.messages);
        }
        if self.is_on && (self.capture_audio(now, record) | self.capture_video(now, record)) {
            self.tell_queue(now);
        }
    }

    fn capture_audio(&mut self, now: Time, record: &mut Record) -> bool {
        if self.is_stopped(Media::Audio) {
            return false;
        }
        let (Some(microphone), Some(outgoing)) = (&mut self.microphone, &mut self.outgoing[0]) else {
            return false;
        };
        let sent = &mut record.sent[0];
        let mut captured = false;
        while microphone.next_at() <= now {
            let at = microphone.next_at();
            if self.settings.is_paused(at.since(self.start)) {
                microphone.pause();
                continue;
            }
            captured = true;
            let second = sent.seconds.at(at);
            second.account(self.settings.audio.as_ref().map_or(0, |audio| audio.rate_bps), 1);
            let Some(frame) = microphone.capture() else { continue };
            second.encoded_bytes += u64::from(frame.bytes);
            outgoing.packetise(&frame, microphone.speaks(), sent, |packet| self.pacer.push(packet));
        }
        captured
    }

    fn capture_video(&mut self, now: Time, record: &mut Record) -> bool {
        if self.is_stopped(Media::Video) {
            return false;
        }
        let (share, interval) = (self.video_share(), self.frame_interval());
        let (Some(camera), Some(outgoing)) = (&mut self.camera, &mut self.outgoing[1]) else { return false };
        let packets = outgoing.packets(interval);
        let sent = &mut record.sent[1];
        let mut captured = false;
        while camera.next_at() <= now {
            let at = camera.next_at();
            if self.settings.is_paused(at.since(self.start)) {
                camera.pause();
                self.accounted = at;
                continue;
            }
            captured = true;
            let of_packets = outgoing.without_parity(share, interval);
            let target = at_least(self.encoding.rate(at, &packets, of_packets));
            let is_full = self.pacer.waits(now) > Span::from_nanos(self.settings.queue_ns);
            let second = sent.seconds.at(at);
            second.account(target, at.since(self.accounted).as_nanos());
            self.accounted = at;
            if is_full {
                camera.skip();
                outgoing.drop_frame(at, sent);
                continue;
            }
            let Some(frame) = camera.capture(target) else {
                outgoing.drop_frame(at, sent);
                continue;
            };
            second.encoded_bytes += u64::from(frame.bytes);
            let count = outgoing.packetise(&frame, false, sent, |packet| self.pacer.push(packet));
            self.encoding.on_frame(at, frame.bytes, count * packets.descriptor);
        }
        captured
    }

    /// From one frame of video to the next.
    fn frame_interval(&self) -> Span {
        Span::from_nanos(self.settings.video.as_ref().map_or(1, |video| video.interval_ns))
    }

    fn tell_queue(&mut self, now: Time) {
        let queue = SendQueue { now, bytes: self.pacer.bytes(), delay: self.pacer.delay(now) };
        self.control.on_queue(&queue);
        self.follow(now);
    }

    fn window_is_full(&self) -> bool {
        self.allowance.window_bytes.is_some_and(|window| self.history.in_flight() >= window)
    }

    pub(crate) fn poll_timeout(&self, intervals: Intervals) -> Option<Time> {
        let is_on = |media| self.is_on && !self.is_stopped(media);
        let breaker = |breaker: &Option<Breaker>| breaker.as_ref()?.poll_timeout(intervals);
        let sources = [
            self.camera.as_ref().filter(|_| is_on(Media::Video)).map(Camera::next_at),
            self.microphone.as_ref().filter(|_| is_on(Media::Audio)).map(Microphone::next_at),
            self.breakers.iter().filter_map(breaker).min(),
        ];
        let pacer = self.pacer.poll_timeout(self.window_is_full());
        let data = self.data.as_ref();
        let spare = self.pacer.spare_at().filter(|_| data.is_some_and(Outbound::is_waiting));
        let data = data.and_then(Outbound::poll_timeout);
        let control = self.control.poll_timeout().filter(|_| self.is_on || !self.pacer.is_empty());
        soonest([soonest(sources), pacer, control, data, spare])
    }

    /// The next RTP packet to send at `now`.
    pub(crate) fn poll_transmit(&mut self, now: Time, record: &mut Record) -> Option<Transmit> {
        let Some(next) = self.pacer.poll(now, self.window_is_full()) else { return self.transmit_data(now) };
        let (packet, probe) = match next {
            Next::Packet(packet, probe) => (packet, probe),
            Next::Padding(Probe { id, starts_with, .. }) => {
                let media = Media::ALL
                    .into_iter()
                    .rfind(|&it| self.outgoing(it).is_some() && !self.is_stopped(it))?;
                let octets = match media {
                    Media::Audio => starts_with.clamp(AUDIO_PADDING, PADDING),
                    Media::Video => PADDING,
                };
                let packet = self.outgoing[media.index()].as_ref()?.padding(now, octets);
                self.pacer.padded(now, packet.bytes);
                (packet, Some(id))
            }
        };
        let index = packet.media.index();
        let outgoing = self.outgoing[index].as_mut()?;
        let extensions = Extensions {
            audio_level: packet.audio_level,
            abs_send_time: Some(clock::abs_send_time(now)),
            transport_sequence: (self.needs.report == ReportKind::TransportWide).then_some(self.next as u16),
        };
        let sent = &mut record.sent[index];
        let label = outgoing.label(&packet);
        let data = outgoing.emit(now, &packet, label, extensions, sent);
        let second = sent.seconds.at(now);
        second.packets += 1;
        second.bytes += u64::from(data.len());
        if packet.purpose != Purpose::Media {
            second.repair_bytes += u64::from(data.len());
        }
        second.send_delay = second.send_delay.max(now.since(packet.since));
        if packet.media == Media::Video && packet.purpose != Purpose::Padding {
            self.encoding.on_sent(now, data.len(), packet.purpose == Purpose::Retransmission);
        }
        if let Some(breaker) = &mut self.breakers[index] {
            breaker.sent(now);
        }
        self.note(now, label, data.len(), probe);
        self.tell_queue(now);
        let ecn = if self.needs.ecn { Ecn::Ect0 } else { Ecn::NotEct };
        Some(Transmit { data, ecn })
    }

    /// The next message, or part of one, which leaves when no media waits.
    fn transmit_data(&mut self, now: Time) -> Option<Transmit> {
        if self.pacer.spare_at()? > now {
            return None;
        }
        let data = self.data.as_mut()?.poll(now)?;
        self.pacer.pass(now, data.len());
        Some(Transmit { data, ecn: Ecn::NotEct })
    }

    /// Remembers a packet until a report covers it.
    fn note(&mut self, now: Time, (ssrc, sequence): (u32, u16), bytes: u32, probe: Option<u32>) {
        let number = self.next;
        self.next += 1;
        match self.needs.report {
            ReportKind::None | ReportKind::Remb => return,
            ReportKind::TransportWide => {}
            ReportKind::Ccfb => {
                let numbers = self.numbers.entry(ssrc);
                numbers.or_insert_with(|| BySequence::new(sequence, NUMBERS)).put(sequence, number);
            }
        }
        let sent = self.history.send(now, number, bytes + self.needs.below_bytes, probe);
        self.control.on_sent(&sent);
    }
}
