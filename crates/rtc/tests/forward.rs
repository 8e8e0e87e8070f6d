//! One who presents, a forwarding server, and those who view, over paths of their own.

use proptest::prelude::*;
use std::collections::BTreeMap;
use voxpath_net::{Ecn, Seed, Stream};
use voxpath_rtc::forward::Forwarder;
use voxpath_rtc::rate::{Bounds, RateSettings};
use voxpath_rtc::receive::Buffer;
use voxpath_rtc::record::{Fate, Media, Record};
use voxpath_rtc::session::{Config, Party, Protection, Session};
use voxpath_rtc::settings::{Repair, Sends};
use voxpath_rtc::source::audio::Audio;
use voxpath_rtc::source::video::{Encoder, Video};
use voxpath_units::{Prob, Span, Time};
use voxpath_wire::Payload;

const LAYERS: [u64; 3] = [300_000, 1_000_000, 2_000_000];
const KEY_EVERY: Span = Span::from_secs(1);

fn ms(ms: u64) -> Span {
    Span::from_millis(ms)
}

fn control(name: &str) -> RateSettings {
    serde_json::from_value(serde_json::json!({ "kind": name })).expect("a rate control")
}

fn libwebrtc() -> RateSettings {
    RateSettings::LibWebRtc(Default::default())
}

fn sends(layered: bool, control: RateSettings, nack: bool) -> Sends {
    let encoder = match layered {
        true => Encoder::Steps { reaction_ns: 0, rates_bps: LAYERS.into(), layered },
        false => Encoder::Constant { rate_bps: 800_000 },
    };
    Sends {
        video: Some(Video {
            interval_ns: 33_333_333,
            key_interval_ns: None,
            key_size: 3.0,
            key_frames: 8,
            encoder,
        }),
        audio: Some(Audio {
            rate_bps: 20_000,
            frame_ns: 20_000_000,
            size_spread: 0.0,
            dtx: None,
            sizes: None,
        }),
        control,
        rate: Bounds { min_bps: 150_000, start_bps: 3_000_000, max_bps: 4_000_000 },
        packet_bytes: 1200,
        queue_ns: 2_000_000_000,
        buffer: Buffer::Fixed { delay_ns: 200_000_000 },
        repair: Repair { nack, audio_nack: nack, redundant_frames: 1, ..Repair::default() },
        circuit_breaker: false,
        data: None,
        pauses: Vec::new(),
    }
}

/// One leg's path, both ways.
#[derive(Debug, Clone, Copy)]
struct Path {
    bps: u64,
    delay: Span,
    loss: f64,
    copies: f64,
    jitter: Span,
}

const GOOD: Path = Path {
    bps: 100_000_000,
    delay: Span::from_nanos(20_000_000),
    loss: 0.0,
    copies: 0.0,
    jitter: Span::ZERO,
};

/// Everybody: place 0 presents, others view; each has a leg of its number.
struct Conference {
    server: Forwarder,
    parties: Vec<Session>,
    paths: Vec<Path>,
    /// When each path is free again, to the server and from it.
    free: Vec<[Time; 2]>,
    /// What is on its way: the leg, and whether it goes to the server.
    coming: BTreeMap<(Time, u64), (usize, bool, Payload)>,
    draws: Stream,
    ticket: u64,
    now: Time,
    wrong: u32,
}

impl Conference {
    fn new(presents: &Sends, views: &[(Sends, Path, u64)], up: Path, duration: Span) -> Self {
        let seed = Seed::new(1, 0);
        let legs: Vec<&Sends> = [presents].into_iter().chain(views.iter().map(|(sends, ..)| sends)).collect();
        let session = |leg: usize, end: usize| {
            let party = |end: u32| {
                Party::draw(end, 2 * leg as u32 + end, &mut seed.stream(&format!("party {leg} {end}")))
            };
            let sends = if leg == 0 { [Some(legs[0]), None] } else { [None, Some(legs[leg])] };
            let start = leg.checked_sub(1).map_or(0, |view| views[view].2);
            Session::new(&Config {
                end,
                sends,
                parties: [party(0), party(1)],
                drift_ppb: [0; 2],
                start: Time::ZERO + ms(10 + start),
                duration: (end == 0 && leg == 0).then_some(duration),
                rtcp_interval: ms(500),
                protection: Protection::None,
                name: &format!("leg {leg}"),
                seed,
            })
        };
        let layers = presents.video.as_ref().map_or(&[][..], |video| video.encoder.layer_rates()).to_vec();
        let limits = views.iter().any(|(sends, ..)| !matches!(sends.control, RateSettings::Fixed(_)));
        let at_server = (1..legs.len()).map(|leg| session(leg, 1)).collect();
        let paths: Vec<Path> = [up].into_iter().chain(views.iter().map(|&(_, path, _)| path)).collect();
        Self {
            server: Forwarder::new(session(0, 1), at_server, layers, limits, KEY_EVERY),
            parties: (0..legs.len()).map(|leg| session(leg, 0)).collect(),
            free: vec![[Time::ZERO; 2]; paths.len()],
            paths,
            coming: BTreeMap::new(),
            draws: seed.stream("path"),
            ticket: 0,
            now: Time::ZERO,
            wrong: 0,
        }
    }

    fn send(&mut self, leg: usize, to_server: bool, data: &Payload) {
        let path = self.paths[leg];
        let mut chance = |p: f64| self.draws.happens(Prob::new(p).expect("a probability"));
        let (lost, twice) = (chance(path.loss), chance(path.copies));
        let free = &mut self.free[leg][usize::from(to_server)];
        let begins = self.now.max(*free);
        // A queue of 300 ms.
        if lost || begins.since(self.now) > ms(300) {
            return;
        }
        *free = begins + Span::from_nanos(u64::from(data.len() + 28) * 8_000_000_000 / path.bps);
        for _ in 0..1 + u32::from(twice) {
            let at = *free + path.delay + self.draws.span_below(path.jitter);
            self.ticket += 1;
            self.coming.insert((at, self.ticket), (leg, to_server, data.clone()));
        }
    }

    fn drain(&mut self) {
        self.server.handle_timeout(self.now);
        while let Some((leg, transmit)) = self.server.poll_transmit(self.now) {
            self.send(leg, false, &transmit.data);
        }
        for leg in 0..self.parties.len() {
            self.parties[leg].handle_timeout(self.now);
            while let Some(transmit) = self.parties[leg].poll_transmit(self.now) {
                self.send(leg, true, &transmit.data);
            }
        }
    }

    fn run(&mut self, end: Time) {
        for step in 0.. {
            assert!(step < 3_000_000, "it stands still at {:?}", self.now);
            let timeouts = self.parties.iter().filter_map(Session::poll_timeout);
            let timeouts = timeouts.chain(self.server.poll_timeout());
            let Some(next) = timeouts.chain(self.coming.keys().map(|key| key.0).next()).min() else { return };
            if next > end {
                return;
            }
            self.now = self.now.max(next);
            while let Some(entry) = self.coming.first_entry().filter(|entry| entry.key().0 <= next) {
                let (leg, to_server, data) = entry.remove();
                let (_, wrong) = match to_server {
                    true => self.server.handle_datagram(next, leg, &data, Ecn::NotEct),
                    false => self.parties[leg].handle_datagram(next, &data, Ecn::NotEct),
                };
                self.wrong += wrong;
            }
            self.drain();
        }
    }

    /// What the viewer of a leg saw.
    fn viewer(&self, leg: usize) -> &Record {
        self.parties[leg].record()
    }

    fn fates(&self, leg: usize, media: Media, fate: Fate) -> usize {
        self.viewer(leg).received[media.index()].frames.iter().filter(|frame| frame.fate == fate).count()
    }
}

fn ran(presents: &Sends, views: &[(Sends, Path, u64)], up: Path, seconds: u64) -> Conference {
    let mut conference = Conference::new(presents, views, up, Span::from_secs(seconds));
    conference.run(Time::ZERO + Span::from_secs(seconds + 40));
    conference
}

fn repaired(record: &Record) -> u64 {
    record.sent[Media::Video.index()].seconds.iter().map(|(_, second)| second.repair_bytes).sum()
}

#[test]
fn everybody_sees_every_frame_over_good_paths_whoever_came_later_from_then_on() {
    let source = sends(false, control("none"), false);
    let views = [(source.clone(), GOOD, 0), (source.clone(), GOOD, 5_000)];
    let conference = ran(&source, &views, GOOD, 10);
    assert_eq!(conference.wrong, 0);
    for media in Media::ALL {
        let sent = conference.parties[0].record().sent[media.index()].frames.len();
        for (leg, least) in [(1, sent - 5), (2, sent / 2 - 60)] {
            let complete = conference.fates(leg, media, Fate::Complete);
            let all = conference.viewer(leg).received[media.index()].frames.len();
            assert_eq!(complete, all, "{media:?} of viewer {leg}");
            assert!((least..=sent).contains(&all), "{media:?} of viewer {leg}: {all} of {sent}");
        }
    }
    let over = conference.parties.iter().all(Session::is_done);
    assert!(over && conference.server.source().ended.is_some(), "who presents takes everybody along");
}

#[test]
fn a_loss_on_a_leg_is_mended_on_that_leg_and_nobody_else_hears_of_it() {
    let source = sends(false, control("none"), true);
    let lossy = Path { loss: 0.05, ..GOOD };
    let conference = ran(&source, &[(source.clone(), GOOD, 0), (source.clone(), lossy, 0)], GOOD, 20);
    assert_eq!(conference.wrong, 0);
    let legs = conference.server.legs();
    assert_eq!(repaired(legs[0].record()), 0);
    assert!(repaired(legs[1].record()) > 20_000, "some 3 % of 2 MB");
    assert_eq!(repaired(conference.parties[0].record()), 0, "the server answers from its history");
    assert_eq!(
        conference.fates(2, Media::Video, Fate::Lost) + conference.fates(2, Media::Video, Fate::Frozen),
        0
    );
}

#[test]
fn a_loss_before_the_server_is_mended_there_for_everybody() {
    let source = sends(false, control("none"), true);
    let lossy = Path { loss: 0.05, ..GOOD };
    let conference = ran(&source, &[(source.clone(), GOOD, 0)], lossy, 20);
    assert_eq!(conference.wrong, 0);
    assert!(repaired(conference.parties[0].record()) > 20_000);
    let unseen = [Fate::Lost, Fate::Frozen].map(|fate| conference.fates(1, Media::Video, fate));
    assert_eq!(unseen, [0, 0], "what the server gets late is passed on in its place");
}

#[test]
fn each_gets_as_many_layers_as_there_is_room_for_and_loses_no_frame_by_a_change() {
    let source = sends(true, libwebrtc(), true);
    let view = Sends {
        rate: Bounds { min_bps: 150_000, start_bps: 500_000, max_bps: 4_000_000 },
        ..sends(true, libwebrtc(), true)
    };
    let narrow = Path { bps: 700_000, ..GOOD };
    let middle = Path { bps: 1_600_000, ..GOOD };
    let conference = ran(
        &source,
        &[(view.clone(), GOOD, 0), (view.clone(), middle, 0), (view.clone(), narrow, 0)],
        GOOD,
        60,
    );
    assert_eq!(conference.wrong, 0);
    let means: Vec<f64> = conference
        .server
        .legs()
        .iter()
        .map(|leg| {
            let late = &leg.account().layers[600..];
            late.iter().map(|&layers| f64::from(layers)).sum::<f64>() / late.len() as f64
        })
        .collect();
    assert!(means[0] > 2.9, "{means:?}");
    assert!((1.3..2.2).contains(&means[1]), "{means:?}");
    assert!((0.9..1.2).contains(&means[2]), "{means:?}");
    let unseen = [Fate::Lost, Fate::Frozen].map(|fate| conference.fates(1, Media::Video, fate));
    assert_eq!(unseen, [0, 0]);
    for leg in conference.server.legs() {
        let account = leg.account();
        assert!(account.changes < 40, "{} changes", account.changes);
    }
}

#[test]
fn key_frames_are_asked_for_no_more_often_than_the_server_is_told() {
    let source = sends(false, control("none"), false);
    // Without retransmissions every loss asks for one.
    let lossy = Path { loss: 0.1, ..GOOD };
    let views: Vec<_> = (0..4).map(|_| (source.clone(), lossy, 0)).collect();
    let conference = ran(&source, &views, GOOD, 20);
    let asked: u64 = conference.server.legs().iter().map(|leg| leg.account().key_requests).sum();
    let passed = conference.server.key_requests();
    assert!(asked > 2 * passed, "{asked} were asked for, {passed} passed on");
    assert!((5..=21).contains(&passed), "{passed} in 20 s");
    let keys = conference.parties[0].record().sent[1].frames.iter().filter(|frame| frame.key).count() as u64;
    assert!(keys <= passed + 1, "{keys} key frames for {passed} requests");
}

#[test]
fn who_sends_no_layers_is_told_the_least_room_of_the_legs() {
    let adaptive =
        Encoder::Adaptive { reaction_ns: 0, size_spread: 0.0, interval_spread: 0.0, deviation: 0.0 };
    let mut source = sends(false, libwebrtc(), true);
    source.video.as_mut().expect("it has video").encoder = adaptive;
    let view =
        Sends { rate: Bounds { min_bps: 150_000, start_bps: 500_000, max_bps: 4_000_000 }, ..source.clone() };
    let narrow = Path { bps: 700_000, ..GOOD };
    let rate = |views: &[(Sends, Path, u64)]| {
        let conference = ran(&source, views, GOOD, 40);
        let seconds = &conference.parties[0].record().sent[1].seconds;
        let late: Vec<u64> = seconds.iter().filter(|(at, _)| *at >= 25).map(|(_, it)| it.bytes * 8).collect();
        late.iter().sum::<u64>() / late.len() as u64
    };
    let (alone, together) =
        (rate(&[(view.clone(), GOOD, 0)]), rate(&[(view.clone(), GOOD, 0), (view, narrow, 0)]));
    assert!(alone > 2_000_000, "{alone} bit/s");
    assert!((300_000..750_000).contains(&together), "{together} bit/s");
}

fn any_path() -> impl Strategy<Value = Path> {
    (100_000..20_000_000_u64, 0..200_u64, 0.0..0.3, 0.0..0.1, 0..60_u64).prop_map(
        |(bps, delay, loss, copies, jitter)| Path { bps, delay: ms(delay), loss, copies, jitter: ms(jitter) },
    )
}

fn any_control() -> impl Strategy<Value = RateSettings> {
    prop_oneof![Just(control("none")), Just(libwebrtc())]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn nothing_is_made_up_and_nothing_stands_still(
        layered in any::<bool>(),
        nack in any::<bool>(),
        up in any_path(),
        of_source in any_control(),
        views in prop::collection::vec((any_path(), any_control(), any::<bool>(), 0..8_000_u64), 1..4),
    ) {
        let source = sends(layered, of_source, nack);
        let views: Vec<_> = views
            .into_iter()
            .map(|(path, control, nack, start)| (sends(layered, control, nack), path, start))
            .collect();
        let conference = ran(&source, &views, up, 10);
        prop_assert_eq!(conference.wrong, 0, "every octet is what the server sent");
        let sent = &conference.parties[0].record().sent;
        for (index, leg) in conference.server.legs().iter().enumerate() {
            let account = leg.account();
            let came: u64 = conference.server.source().received.iter()
                .flat_map(|media| media.seconds.iter()).map(|(_, second)| second.packets).sum();
            prop_assert!(account.passed + account.withheld <= came, "what came is passed on once");
            let most = if layered { 3 } else { 1 };
            prop_assert!(account.layers.iter().all(|&layers| layers <= most));
            for media in Media::ALL {
                let frames = &conference.viewer(index + 1).received[media.index()].frames;
                let first = account.first[media.index()].unwrap_or(0) as usize;
                prop_assert!(first + frames.len() <= sent[media.index()].frames.len());
                let played = frames.iter().filter(|frame| frame.played.is_some());
                prop_assert!(played.clone().all(|frame| frame.complete.is_some()));
            }
        }
        let most = 2 + conference.now.as_nanos() / KEY_EVERY.as_nanos();
        prop_assert!(conference.server.key_requests() <= most);
    }
}
