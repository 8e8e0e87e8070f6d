//! Two ends of a call over a path that loses, repeats, reorders and marks.

use std::collections::BTreeMap;
use voxpath_net::{Ecn, Seed, Stream};
use voxpath_rtc::breaker::Cause;
use voxpath_rtc::data::{DataChannel, Outcome, SentMessage};
use voxpath_rtc::rate::{Bounds, RateSettings, Value};
use voxpath_rtc::receive::Buffer;
use voxpath_rtc::record::{Fate, Media, Record};
use voxpath_rtc::session::{Config, Party, Protection, Session};
use voxpath_rtc::settings::{Pause, Repair, Sends};
use voxpath_rtc::source::audio::{Audio, Dtx};
use voxpath_rtc::source::video::{Encoder, Video};
use voxpath_units::{Prob, Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::rtcp::{ReceiverReport, Remb, ReportBlock, RtcpPacket};
use voxpath_wire::rtp::{ExtensionIds, RtpHeader};

fn ms(ms: u64) -> Span {
    Span::from_millis(ms)
}

fn sends() -> Sends {
    Sends {
        video: Some(Video {
            interval_ns: 33_333_333,
            key_interval_ns: None,
            key_size: 3.0,
            key_frames: 8,
            encoder: Encoder::Constant { rate_bps: 1_000_000 },
        }),
        audio: Some(Audio {
            rate_bps: 20_000,
            frame_ns: 20_000_000,
            size_spread: 0.0,
            dtx: None,
            sizes: None,
        }),
        control: serde_json::from_str(r#"{"kind": "none"}"#).expect("a rate control"),
        rate: Bounds { min_bps: 150_000, start_bps: 1_200_000, max_bps: 2_000_000 },
        packet_bytes: 1200,
        queue_ns: 2_000_000_000,
        buffer: Buffer::Fixed { delay_ns: 150_000_000 },
        repair: Repair::default(),
        circuit_breaker: false,
        data: None,
        pauses: Vec::new(),
    }
}

/// The path: each way a delay, and chances.
#[derive(Clone)]
struct Path {
    delay: Span,
    loss: f64,
    copies: f64,
    /// Up to so much more, at random.
    jitter: Span,
    marks: f64,
    /// Nothing from the server arrives in between.
    silent: (Time, Time),
    protection: Protection,
    drift_ppb: [i64; 2],
}

const GOOD: Path = Path {
    delay: Span::from_nanos(40_000_000),
    loss: 0.0,
    copies: 0.0,
    jitter: Span::ZERO,
    marks: 0.0,
    silent: (Time::ZERO, Time::ZERO),
    protection: Protection::None,
    drift_ppb: [0; 2],
};

struct Call {
    ends: [Session; 2],
    path: Path,
    coming: BTreeMap<(Time, u64), (usize, Payload, Ecn)>,
    draws: Stream,
    sent: u64,
    ticket: u64,
    now: Time,
    wrong: u32,
}

impl Call {
    fn new(sends: [Option<&Sends>; 2], path: Path, duration: Option<Span>) -> Self {
        let seed = Seed::new(1, 0);
        let party = |end: u32| Party::draw(end, end, &mut seed.stream(&format!("party {end}")));
        let parties = [party(0), party(1)];
        let ends = [0, 1].map(|end| {
            Session::new(&Config {
                end,
                sends,
                parties,
                drift_ppb: path.drift_ppb,
                start: Time::ZERO + ms(10),
                duration,
                rtcp_interval: ms(500),
                protection: path.protection,
                name: "call",
                seed,
            })
        });
        let draws = seed.stream("path");
        Self { ends, path, coming: BTreeMap::new(), draws, sent: 0, ticket: 0, now: Time::ZERO, wrong: 0 }
    }

    fn drain(&mut self, end: usize) {
        self.ends[end].handle_timeout(self.now);
        while let Some(transmit) = self.ends[end].poll_transmit(self.now) {
            self.sent += 1;
            let mut chance = |p: f64| self.draws.happens(Prob::new(p).expect("a probability"));
            let (lost, twice, marked) =
                (chance(self.path.loss), chance(self.path.copies), chance(self.path.marks));
            let (from, until) = self.path.silent;
            let silent = end == 1 && (from..until).contains(&self.now);
            let ecn = if marked && transmit.ecn != Ecn::NotEct { Ecn::Ce } else { transmit.ecn };
            for _ in 0..if lost || silent { 0 } else { 1 + u32::from(twice) } {
                let at = self.now + self.path.delay + self.draws.span_below(self.path.jitter);
                self.ticket += 1;
                self.coming.insert((at, self.ticket), (1 - end, transmit.data.clone(), ecn));
            }
        }
    }

    /// Runs until `end`; how often anything happened.
    fn run(&mut self, end: Time) -> u64 {
        let mut steps = 0;
        loop {
            let timeouts = self.ends.iter().filter_map(Session::poll_timeout);
            let Some(next) = timeouts.chain(self.coming.keys().map(|key| key.0).next()).min() else {
                return steps;
            };
            if next > end {
                return steps;
            }
            assert!(next >= self.now, "time goes forward");
            steps += 1;
            assert!(steps < 2_000_000, "it stands still at {:?}", self.now);
            self.now = next;
            while let Some(entry) = self.coming.first_entry().filter(|entry| entry.key().0 <= next) {
                let (to, data, ecn) = entry.remove();
                self.wrong += self.ends[to].handle_datagram(next, &data, ecn).1;
                self.drain(to);
            }
            (0..2).for_each(|end| self.drain(end));
        }
    }

    fn record(&self, end: usize) -> &Record {
        self.ends[end].record()
    }

    /// How many frames of a medium from the client were sent, and how many had this fate at the server.
    fn count(&self, media: Media, fate: Fate) -> (usize, usize) {
        let frames = &self.record(1).received[media.index()].frames;
        let sent = &self.record(0).sent[media.index()].frames;
        (sent.len(), frames.iter().filter(|frame| frame.fate == fate).count())
    }
}

fn run(sends: &Sends, path: Path, seconds: u64) -> Call {
    let mut call = Call::new([Some(sends), Some(sends)], path, None);
    call.run(Time::ZERO + Span::from_secs(seconds));
    call
}

#[test]
fn on_a_good_path_every_frame_is_played_as_far_behind_its_capture_as_the_buffer_says() {
    let call = run(&sends(), GOOD, 10);
    for media in Media::ALL {
        let (sent, complete) = call.count(media, Fate::Complete);
        assert!(complete >= sent - 3, "{media:?}: {complete} of {sent}");
        let (frames, came) =
            (&call.record(0).sent[media.index()].frames, &call.record(1).received[media.index()].frames);
        for (frame, came) in frames.iter().zip(came) {
            let played = came.played.map(|at| at.since(frame.captured));
            // The media's clock has whole ticks.
            assert!(played.is_none_or(|after| after.abs_diff(ms(190)) < Span::from_micros(50)), "{played:?}");
        }
    }
    assert_eq!((call.wrong, call.record(0).malformed, call.record(1).malformed), (0, 0, 0));
}

#[test]
fn rates_of_a_second_count_what_was_sent_and_what_came() {
    let call = run(&sends(), GOOD, 10);
    let sent = call.record(0).sent[Media::Audio.index()].seconds.get(5).expect("a second");
    let came = call.record(1).received[Media::Audio.index()].seconds.get(5).expect("a second");
    // 50 packets of 12 + 16 octets of headers and 50 of Opus.
    assert_eq!((sent.packets, sent.bytes, came.packets, came.bytes), (50, 50 * 74, 50, 50 * 74));
    assert_eq!((came.expected, came.arrived), (50, 50));
    assert!(came.delay.0 / 50 - 40_000_000 < 4_000, "abs-send-time has steps of 3.8 us");
}

#[test]
fn each_kind_of_repair_makes_losses_fewer() {
    let lossy = Path { loss: 0.03, ..GOOD };
    let with = |repair: Repair| {
        let call = run(&Sends { repair, ..sends() }, lossy.clone(), 30);
        assert_eq!((call.wrong, call.record(1).malformed), (0, 0));
        let played = |media| {
            let (sent, complete) = call.count(media, Fate::Complete);
            complete as f64 / sent as f64
        };
        (played(Media::Audio), played(Media::Video))
    };
    let (audio, video) = with(Repair::default());
    assert!((0.94..0.99).contains(&audio), "3 % of single packets are lost: {audio}");
    assert!(video < 0.9, "a frame has four packets, and others build upon it: {video}");
    // A round trip of 80 ms fits into the buffer of 150 ms.
    let (_, again) = with(Repair { nack: true, ..Repair::default() });
    assert!(again > 0.97 && again > video, "{again}");
    let (_, parity) = with(Repair { parity_packets: Some(4), ..Repair::default() });
    assert!(parity > video + 0.03, "{parity} after {video}");
    let (redundant, _) = with(Repair { redundant_frames: 1, ..Repair::default() });
    assert!(redundant > 0.995, "two in a row are one in a thousand: {redundant}");
    // What is lost again comes after another round trip and a margin, too late.
    let (again, _) = with(Repair { audio_nack: true, ..Repair::default() });
    assert!(again > 0.99, "{again}");
    let (both, _) = with(Repair { audio_nack: true, redundant_frames: 2, ..Repair::default() });
    assert!(both >= again, "{both}");
    let (inband, _) = with(Repair { inband: true, ..Repair::default() });
    assert!(inband > 0.995, "{inband}");
}

/// RFC 8888 reports on each source, so on parity and on what is sent again.
#[test]
fn a_control_counts_what_repair_takes() {
    let repair = Repair { parity_packets: Some(1), nack: true, ..Repair::default() };
    for kind in ["nada", "libwebrtc"] {
        let control = serde_json::from_str(&format!(r#"{{"kind": "{kind}"}}"#)).expect("a rate control");
        let rate = Bounds { min_bps: 3_000_000, start_bps: 3_000_000, max_bps: 3_000_000 };
        let sends = Sends { control, repair, rate, ..sends() };
        let mut call = Call::new([Some(&sends), Some(&sends)], Path { loss: 0.01, ..GOOD }, None);
        call.ends[0].observe();
        call.run(Time::ZERO + ms(10_000));
        let signals = &call.ends[0].record().signals;
        let heard: Vec<f64> = signals
            .iter()
            .filter(|it| it.name == "incoming_bps" && it.at.as_nanos() / 1_000_000_000 == 8)
            .filter_map(|it| if let Value::Number(bps) = it.value { Some(bps) } else { None })
            .collect();
        let heard = heard.iter().sum::<f64>() / heard.len() as f64;
        let sent = call.ends[0].record().sent.iter().filter_map(|media| media.seconds.get(8));
        let bps = sent.map(|second| second.bytes as f64 * 8.0).sum::<f64>();
        // Without parity half of that.
        assert!((0.95..1.02).contains(&(heard / bps)), "{kind}: {heard} of {bps} bit/s");
    }
}

#[test]
fn a_call_of_some_length_ends_at_both_ends() {
    for duration in [1, 33, 20_000] {
        for loss in [0.0, 0.3] {
            let sends = sends();
            for way in [[Some(&sends), None], [None, Some(&sends)], [Some(&sends), Some(&sends)]] {
                let mut call = Call::new(way, Path { loss, ..GOOD }, Some(ms(duration)));
                call.run(Time::ZERO + Span::from_secs(60));
                assert!(call.ends[0].is_done());
                assert!(
                    call.now < Time::ZERO + ms(duration) + Span::from_secs(6) || loss > 0.0,
                    "{:?}",
                    call.now
                );
            }
        }
    }
}

#[test]
fn an_end_that_leaves_is_heard_though_datagrams_are_lost() {
    let sends = sends();
    let ended = |loss: f64, duration: u64| {
        let path = Path { loss, ..GOOD };
        let mut call = Call::new([Some(&sends), Some(&sends)], path, Some(ms(duration)));
        call.run(Time::ZERO + Span::from_secs(60));
        call.record(1).ended.expect("it is over").since(Time::ZERO + ms(10) + ms(duration))
    };
    let soonest = ended(0.0, 3_000);
    assert!(soonest < ms(100), "{soonest:?}");
    // Other lengths meet other losses: one BYE alone would be lost in a third of them.
    for duration in 3_000..3_040 {
        let after = ended(0.3, duration);
        assert!(after < Span::from_secs(2) + ms(100), "{after:?} after {duration} ms");
    }
}

#[test]
fn a_handshake_takes_its_round_trips_and_survives_losses() {
    let path = Path { protection: Protection::DtlsSrtp, ..GOOD };
    let call = run(&sends(), path.clone(), 5);
    let first = |end: usize| call.record(end).sent[Media::Audio.index()].frames[0].captured;
    // Six flights of 40 ms; the end that answers begins with the fifth.
    assert_eq!((first(0), first(1)), (Time::ZERO + ms(10 + 6 * 40), Time::ZERO + ms(10 + 5 * 40)));
    assert_eq!((call.record(0).malformed, call.record(1).malformed), (0, 0));
    let call = run(&sends(), Path { loss: 0.4, copies: 0.2, jitter: ms(60), ..path }, 30);
    assert!([0, 1].iter().all(|&end| call.record(end).sent[Media::Audio.index()].frames.len() > 500));
}

#[test]
fn every_control_stays_within_its_bounds_whatever_the_path_does() {
    let paths = [
        Path { loss: 0.3, ..GOOD },
        Path { copies: 0.2, jitter: ms(80), ..GOOD },
        Path { silent: (Time::ZERO + Span::from_secs(5), Time::ZERO + Span::from_secs(15)), ..GOOD },
        Path { drift_ppb: [100_000, -100_000], jitter: ms(5), ..GOOD },
        Path { marks: 0.1, loss: 0.01, protection: Protection::Srtp, ..GOOD },
    ];
    for kind in RateSettings::KINDS {
        let control: RateSettings =
            serde_json::from_str(&format!(r#"{{"kind": "{kind}"}}"#)).expect("defaults of a rate control");
        for path in &paths {
            // Ten seconds without reports are not yet enough to stop.
            let mut sends = Sends { control: control.clone(), circuit_breaker: true, ..sends() };
            sends.video.as_mut().expect("video").encoder = Encoder::Adaptive {
                reaction_ns: 100_000_000,
                size_spread: 0.1,
                interval_spread: 0.0,
                deviation: 0.0,
            };
            sends.audio.as_mut().expect("audio").dtx =
                Some(Dtx { talk_ns: 1_000_000_000, pause_ns: 500_000_000 });
            let call = run(&sends, path.clone(), 20);
            let record = call.record(0);
            let [audio, video] = record.stopped;
            // Without control it may be congestion; with one it is not.
            assert!(audio.is_none() && (video.is_none() || *kind == "none"), "{kind}: {:?}", record.stopped);
            let seconds = record.sent[Media::Video.index()].seconds.iter();
            for (second, sent) in seconds {
                let target = sent.target_bps().unwrap_or_default();
                assert!(target <= 2e6, "{kind}: {target} bit/s in second {second}");
            }
            let frames = record.sent[Media::Video.index()].frames.len();
            assert!(frames >= 590, "{kind}: the camera goes on: {frames}");
            assert_eq!(call.wrong, 0, "{kind}");
            let late = call.record(1).received[Media::Video.index()].seconds.get(19);
            assert!(late.is_some_and(|second| second.packets > 0), "{kind}: no media after 19 s");
        }
    }
}

/// A hundred parts in a million of 20 s are 2 ms: the sixtieth part of a frame. So clocks a hundred times as far apart show it.
#[test]
fn an_end_that_sends_audio_alone_probes_for_little_and_reports_by_that() {
    let control = serde_json::from_str(r#"{"kind": "libwebrtc"}"#).expect("a rate control");
    let rate = Bounds { min_bps: 30_000, start_bps: 300_000, max_bps: 2_500_000 };
    let both = Sends { control, rate, ..sends() };
    let alone = Sends { video: None, audio: both.audio.clone(), ..both.clone() };
    let mut call = Call::new([Some(&both), Some(&alone)], GOOD, None);
    call.ends.iter_mut().for_each(Session::observe);
    call.run(Time::ZERO + Span::from_secs(30));
    let signals = |end: usize, name| {
        let all = call.record(end).signals.iter();
        all.filter(move |it| it.name == name && it.at > Time::ZERO + Span::from_secs(5))
    };
    // 50 + 28 + 28 octets of audio, headers, IP and UDP, 50 times a second are 42.4 kbit/s, and probes have twice as much.
    let Some(Value::Number(bps)) = signals(1, "target_bps").next_back().map(|it| it.value) else {
        panic!("a number")
    };
    assert!((60e3..90e3).contains(&bps), "{bps}");
    let padding = |second| call.record(1).sent[0].seconds.get(second).map_or(0, |it| it.repair_bytes);
    // The first probes, of 900 and 1800 kbit/s, wait for larger packets than audio has.
    assert_eq!((0..5).map(padding).sum::<u64>(), 0);
    // Then there is one in five seconds, of five packets: two of padding, of 74 octets, between those of audio.
    assert_eq!((5..30).step_by(5).map(padding).collect::<Vec<_>>(), [148; 5]);
    // A twentieth of 84.8 kbit/s is a report of 68 octets every 128 ms; where the estimate is lower, the next one comes later.
    let reports: Vec<_> = signals(0, "trend").map(|it| it.at).collect();
    let mut apart: Vec<_> = reports.windows(2).map(|two| two[1].since(two[0])).collect();
    apart.sort_unstable();
    let median = apart[apart.len() / 2];
    assert!((ms(110)..ms(180)).contains(&median), "{median:?}");
}

#[test]
fn an_end_captures_plays_and_reports_by_its_own_clock() {
    let drift_ppb = [10_000_000, 0];
    let call = run(&sends(), Path { drift_ppb, ..GOOD }, 20);
    let sent = |end: usize| &call.record(end).sent[Media::Video.index()].frames;
    // 20 s less 10 ms until the start, and half of a path less at the server; then one part in a hundred more.
    assert_eq!((sent(0).len(), sent(1).len()), (606, 599));
    let late = sent(0)[500].by_run(call.record(0).clock);
    let ideal = Time::ZERO + ms(10) + Span::from_nanos(500 * 33_333_333 * 100 / 101);
    let off = late.captured.as_nanos().abs_diff(ideal.as_nanos());
    assert!(off < 10, "{:?} is not {ideal:?}", late.captured);
    // What is fast is played ever later behind its capture, as a fixed buffer counts media time by its own clock: 190 ms at first.
    let after = |frame: usize| {
        let played =
            call.record(1).received[Media::Video.index()].frames[frame].played.expect("it is played");
        played.since(sent(0)[frame].by_run(call.record(0).clock).captured)
    };
    let gained = after(500) - after(0);
    assert!(gained.abs_diff(ms(165)) < ms(2), "1 % of 16.5 s: {gained:?}");
    let delay = call.record(1).received[Media::Video.index()].seconds.get(18).expect("a second").delay;
    let mean = delay.0 / delay.1 as i64;
    assert!((mean - 40_000_000).abs() < 10_000, "the path's delay is told by the clock of the run: {mean}");
}

/// Nothing of the server arrives any more after 5 s: the client hears no RTCP, and its own reports tell the server so.
#[test]
fn a_breaker_stops_media_and_not_the_call() {
    let silent = (Time::ZERO + Span::from_secs(5), Time::MAX);
    let with = |circuit_breaker| run(&Sends { circuit_breaker, ..sends() }, Path { silent, ..GOOD }, 25);
    let sent = |call: &Call, end: usize, second| {
        let seconds = &call.record(end).sent[Media::Video.index()].seconds;
        seconds.get(second).map_or(0, |second| second.packets)
    };
    let call = with(true);
    let at = |end: usize, media: Media| call.record(end).stopped[media.index()];
    for media in Media::ALL {
        let (when, cause) = at(0, media).expect("the client stops");
        // The last RTCP came up to a whole interval before.
        assert!((19_000..20_100).contains(&(when.as_nanos() / 1_000_000)), "{when:?}");
        assert_eq!(cause, Cause::RtcpTimeout);
        let (when, cause) = at(1, media).expect("the server stops");
        // Five reports, half a second apart in the mean.
        assert!((6_500..9_500).contains(&(when.as_nanos() / 1_000_000)), "{when:?}");
        assert_eq!(cause, Cause::MediaTimeout);
    }
    assert!(sent(&call, 0, 18) > 100 && sent(&call, 1, 5) > 100);
    assert_eq!((sent(&call, 0, 22), sent(&call, 1, 12)), (0, 0));
    assert!(call.record(0).ended.is_none(), "the call goes on");
    let call = with(false);
    assert!(sent(&call, 0, 22) > 100 && sent(&call, 1, 22) > 100);
    assert_eq!((call.record(0).stopped, call.record(1).stopped), ([None; 2], [None; 2]));
}

/// Off from 4 to 24 s: nothing of the media is sent, no circuit breaker takes that for a failure, and what follows begins anew.
#[test]
fn a_call_that_pauses_sends_no_media_and_goes_on() {
    for circuit_breaker in [false, true] {
        let pauses = vec![Pause { at_ns: 4_000_000_000, length_ns: 20_000_000_000 }];
        let call = run(&Sends { pauses, circuit_breaker, ..sends() }, GOOD, 30);
        assert_eq!((call.record(0).ended, call.record(0).stopped), (None, [None; 2]));
        for media in Media::ALL {
            let (sent, complete) = call.count(media, Fate::Complete);
            assert!(sent > 200 && complete >= sent - 3, "{media:?}: {complete} of {sent}");
            let record = &call.record(0).sent[media.index()];
            let packets = |second| record.seconds.get(second).map_or(0, |second| second.packets);
            // What was captured just before is sent in the fifth second.
            assert!((5..24).all(|second| packets(second) == 0), "{media:?}");
            let begins = record.frames[0].captured;
            let off = begins + Span::from_secs(4)..begins + Span::from_secs(24);
            assert!(record.frames.iter().all(|frame| !off.contains(&frame.captured)), "{media:?}");
            let first = record.frames.iter().find(|frame| frame.captured >= off.end).expect("a frame");
            assert!(first.key && first.captured.since(off.end) < ms(40), "{media:?}: {first:?}");
        }
    }
}

/// With a round trip of 0.4 s and 20 % of losses TCP sends 1 / (0.4 s * sqrt(2 / 3 * 0.2)) = 6.8 packets a second.
#[test]
fn a_breaker_stops_what_is_ten_times_as_fast_as_tcp() {
    let path = Path { delay: ms(200), loss: 0.2, ..GOOD };
    let call = run(&Sends { circuit_breaker: true, ..sends() }, path, 40);
    for end in 0..2 {
        let [audio, video] = call.record(end).stopped;
        // 120 packets of video are more than 68, 50 of audio are not.
        assert_eq!((audio, video.expect("it stops").1), (None, Cause::Congestion));
    }
}

#[test]
fn packets_of_strangers_and_liars_are_counted_and_nothing_else() {
    let sends = Sends {
        repair: Repair {
            nack: true,
            audio_nack: true,
            parity_packets: Some(3),
            redundant_frames: 2,
            inband: true,
        },
        ..sends()
    };
    let mut call = Call::new([Some(&sends), Some(&sends)], GOOD, None);
    call.run(Time::ZERO + Span::from_secs(2));
    let real: Vec<Vec<u8>> = call
        .coming
        .values()
        .map(|(_, data, _)| {
            let mut bytes = Vec::new();
            data.write_to(&mut bytes);
            bytes
        })
        .collect();
    assert!(!real.is_empty());
    let mut draws = Seed::new(3, 0).stream("liar");
    let before = call.record(1).malformed;
    for i in 0..20_000 {
        let mut bytes = real[i % real.len()].clone();
        for _ in 0..1 + draws.bits() % 4 {
            let at = draws.bits() as usize % bytes.len();
            bytes[at] = draws.bits() as u8;
        }
        bytes.truncate(draws.bits() as usize % (bytes.len() + 1));
        let data = Payload::bytes(bytes.into());
        call.ends[i % 2].handle_datagram(call.now, &data, Ecn::NotEct);
    }
    assert!(call.record(1).malformed > before);
    call.run(Time::ZERO + Span::from_secs(12));
    let bytes = call.record(1).memory();
    assert!(bytes < 4_000_000, "{bytes} bytes");
    let second = call.record(1).received[Media::Audio.index()].seconds.get(11).expect("a second");
    assert!(second.packets >= 45, "audio goes on: {}", second.packets);
}

/// Datagrams of somebody who is not in the call, whole and as their formats ask.
fn of_a_stranger() -> Vec<Vec<u8>> {
    const STRANGER: u32 = 7;
    let block = ReportBlock { ssrc: STRANGER, fraction_lost: 255, ..ReportBlock::default() };
    let whole = [
        RtcpPacket::ReceiverReport(ReceiverReport { ssrc: STRANGER, blocks: vec![block] }),
        RtcpPacket::Remb(Remb { sender: STRANGER, bitrate: 10_000, ssrcs: vec![] }),
        RtcpPacket::PictureLoss { sender: STRANGER, media: 1 },
        RtcpPacket::Nack { sender: STRANGER, media: 1, lost: vec![] },
        RtcpPacket::Goodbye { ssrcs: vec![STRANGER], reason: vec![] },
        RtcpPacket::Goodbye { ssrcs: vec![], reason: vec![] },
    ];
    let mut made: Vec<Vec<u8>> = whole
        .iter()
        .map(|packet| {
            let mut bytes = Vec::new();
            packet.emit(&mut bytes);
            bytes
        })
        .collect();
    let header = RtpHeader { payload_type: 96, ssrc: STRANGER, ..RtpHeader::default() };
    let mut rtp = Vec::new();
    header.emit(&ExtensionIds::USUAL, &mut rtp);
    rtp.resize(rtp.len() + 500, 0);
    made.push(rtp);
    // Of another version, of STUN, of DTLS, without a header, and empty.
    made.extend([vec![0x40; 50], vec![0; 20], vec![22; 40], vec![23, 0xfe, 0xfd, 1], vec![0x80, 96], vec![]]);
    made
}

/// What the tables of both ends are made of, but for what was counted as malformed, and that.
fn all_of(call: &mut Call) -> (String, [u64; 2]) {
    let malformed = [0, 1].map(|end| call.record(end).malformed);
    let records = [0, 1].map(|end| Record { malformed: 0, ..call.record(end).clone() });
    (format!("{records:?}"), malformed)
}

#[test]
fn a_call_among_strangers_is_the_same_as_one_left_alone() {
    let control = serde_json::from_str(r#"{"kind": "libwebrtc"}"#).expect("a rate control");
    let sends = Sends { control, repair: Repair { nack: true, ..Repair::default() }, ..sends() };
    for protection in [Protection::None, Protection::Srtp, Protection::DtlsSrtp] {
        let path = Path { protection, ..GOOD };
        let [(alone, none), (among, counted)] = [false, true].map(|strangers| {
            let mut call = Call::new([Some(&sends), Some(&sends)], path.clone(), Some(Span::from_secs(8)));
            // From before the call is set up.
            for at in 0..70 {
                call.run(Time::ZERO + ms(12 + 100 * at));
                for bytes in of_a_stranger().into_iter().filter(|_| strangers) {
                    let data = Payload::bytes(bytes.into());
                    for end in &mut call.ends {
                        end.handle_datagram(call.now, &data, Ecn::NotEct);
                    }
                }
            }
            call.run(Time::ZERO + Span::from_secs(40));
            all_of(&mut call)
        });
        assert_eq!(none, [0, 0]);
        assert_eq!(counted, [70 * of_a_stranger().len() as u64; 2], "{protection:?}");
        assert_eq!(alone, among, "{protection:?}");
    }
}

#[test]
fn strangers_do_not_keep_a_call_alive_whose_other_end_is_gone() {
    let sends = sends();
    let gone = Time::ZERO + Span::from_secs(5);
    let path = Path { silent: (gone, Time::ZERO + Span::from_secs(100)), ..GOOD };
    let mut call = Call::new([Some(&sends), Some(&sends)], path, None);
    for second in 1..50 {
        call.run(Time::ZERO + Span::from_secs(second));
        for bytes in of_a_stranger() {
            call.ends[0].handle_datagram(call.now, &Payload::bytes(bytes.into()), Ecn::NotEct);
        }
    }
    let ended = call.record(0).ended.expect("nobody consents any more");
    assert!(ended.since(gone).abs_diff(Span::from_secs(30)) < ms(100), "{ended:?}");
}

/// A call with a data channel over a lossy path: what became of the messages.
fn messages(data: DataChannel, loss: f64) -> (Call, Vec<SentMessage>, Vec<Option<Time>>) {
    let path = Path { loss, protection: Protection::DtlsSrtp, ..GOOD };
    let sends = Sends { data: Some(data), ..sends() };
    let mut call = Call::new([Some(&sends), Some(&sends)], path, Some(Span::from_secs(40)));
    call.run(Time::ZERO + Span::from_secs(60));
    let (sent, delivered) = (call.record(0).messages.clone(), &call.record(1).delivered);
    let delivered = sent.iter().map(|sent| match sent.outcome {
        Outcome::Taken(number) | Outcome::GivenUp(number) => delivered.get(&number).copied(),
        Outcome::Refused => None,
    });
    let delivered = delivered.collect();
    (call, sent, delivered)
}

const fn is_taken(message: &SentMessage) -> bool {
    matches!(message.outcome, Outcome::Taken(_))
}

const MESSAGES: DataChannel = DataChannel {
    bytes: 3_000,
    interval_ns: 100_000_000,
    messages: Some(200),
    ordered: true,
    retransmits: None,
};

#[test]
fn messages_of_a_reliable_channel_all_come_in_their_order() {
    let (call, sent, delivered) = messages(MESSAGES, 0.1);
    assert_eq!((sent.len(), call.wrong), (200, 0));
    let delivered: Vec<Time> = delivered.into_iter().map(|at| at.expect("every one comes")).collect();
    assert!(delivered.is_sorted());
    assert!(sent.iter().zip(&delivered).all(|(sent, &at)| at >= sent.at + GOOD.delay && is_taken(sent)));
    let unordered = messages(DataChannel { ordered: false, ..MESSAGES }, 0.1).2;
    assert!(
        unordered.iter().all(Option::is_some) && !unordered.is_sorted(),
        "without order they overtake each other"
    );
}

#[test]
fn messages_of_an_unreliable_channel_are_given_up() {
    let data = DataChannel { bytes: 500, retransmits: Some(0), ..MESSAGES };
    let (call, sent, delivered) = messages(data, 0.1);
    assert_eq!(call.wrong, 0);
    let given_up = sent.iter().filter(|message| !is_taken(message)).count();
    let missing = delivered.iter().filter(|at| at.is_none()).count();
    // One packet each: a tenth of them is lost, and of the others none.
    assert!((8..=35).contains(&missing), "{missing} did not come");
    assert!(
        missing.abs_diff(given_up) <= 2 + given_up / 4,
        "{missing} did not come, {given_up} were given up"
    );
    let (_, sent, delivered) = messages(data, 0.0);
    assert!(sent.iter().all(is_taken) && delivered.iter().all(Option::is_some));
}

#[test]
fn video_leaves_room_for_messages() {
    let encoder =
        Encoder::Adaptive { reaction_ns: 0, size_spread: 0.0, interval_spread: 0.0, deviation: 0.0 };
    let rate = |data| {
        let mut sends = Sends { data, ..sends() };
        sends.video.as_mut().expect("it has video").encoder = encoder.clone();
        let path = Path { protection: Protection::DtlsSrtp, ..GOOD };
        let mut call = Call::new([Some(&sends), None], path, Some(Span::from_secs(20)));
        call.run(Time::ZERO + Span::from_secs(30));
        let seconds = &call.record(0).sent[Media::Video.index()].seconds;
        seconds.iter().map(|(_, second)| second.bytes).sum::<u64>() * 8 / 20
    };
    let (alone, beside) = (rate(None), rate(Some(DataChannel { messages: None, ..MESSAGES })));
    // The channel asks for 240 kbit/s of 1.2 Mbit/s.
    assert!((200_000..280_000).contains(&(alone - beside)), "{alone} and {beside} bit/s");
}
