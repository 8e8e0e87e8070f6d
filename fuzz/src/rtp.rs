//! RTP and RTCP as a network would bring them: parsing never panics, what was parsed can be emitted and is then parsed alike, and an
//! end of a call that is brought anything at all goes on.

use crate::source::Source;
use voxpath_net::{Ecn, Seed};
use voxpath_rtc::data::DataChannel;
use voxpath_rtc::rate::RateSettings;
use voxpath_rtc::receive::Buffer;
use voxpath_rtc::session::{Config, Party, Protection, Session};
use voxpath_rtc::settings::{Repair, Sends};
use voxpath_rtc::source::audio::Audio;
use voxpath_rtc::source::video::{Encoder, Video};
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::rtcp::{RtcpPacket, parse_compound};
use voxpath_wire::rtp::{ExtensionIds, RtpHeader, Vp8Descriptor};
use voxpath_wire::vp9::Vp9Descriptor;

/// Datagrams that one input brings.
const MOST: usize = 64;

/// Panics if something does not hold. The first byte says what the rest is.
pub fn run(bytes: &[u8]) {
    let mut source = Source::new(bytes);
    match source.below(3) {
        0 => formats(source.take(bytes.len())),
        _ => session(&mut source),
    }
}

fn formats(bytes: &[u8]) {
    let ids = &ExtensionIds::USUAL;
    if let Ok((header, len)) = RtpHeader::parse(bytes, ids) {
        assert!(len <= bytes.len(), "the header is inside of its bytes");
        let mut again = Vec::new();
        header.emit(ids, &mut again);
        assert_eq!(again.len(), header.octets());
        assert_eq!(RtpHeader::parse(&again, ids), Ok((header, again.len())));
    }
    if let Ok(descriptor) = Vp8Descriptor::parse(bytes) {
        let mut again = Vec::new();
        descriptor.emit(&mut again);
        assert_eq!(Vp8Descriptor::parse(&again), Ok(descriptor));
    }
    if let Ok(descriptor) = Vp9Descriptor::parse(bytes) {
        let mut again = Vec::new();
        descriptor.emit(&mut again);
        assert_eq!(Vp9Descriptor::parse(&again), Ok(descriptor));
    }
    for packet in parse_compound(bytes).map_while(Result::ok) {
        let mut again = Vec::new();
        packet.emit(&mut again);
        assert_eq!(RtcpPacket::parse(&again), Ok((packet, again.len())));
    }
}

fn session(source: &mut Source<'_>) {
    let kind = RateSettings::KINDS[source.below(RateSettings::KINDS.len())];
    let control: RateSettings = serde_json::from_str(&format!(r#"{{"kind": "{kind}"}}"#)).expect("defaults");
    let sends = Sends {
        video: Some(Video {
            interval_ns: 33_333_333,
            key_interval_ns: None,
            key_size: 3.0,
            key_frames: 8,
            encoder: Encoder::Constant { rate_bps: 300_000 },
        }),
        audio: Some(Audio {
            rate_bps: 20_000,
            frame_ns: 20_000_000,
            size_spread: 0.0,
            dtx: None,
            sizes: None,
        }),
        control,
        rate: voxpath_rtc::rate::Bounds { min_bps: 50_000, start_bps: 300_000, max_bps: 1_000_000 },
        packet_bytes: 1200,
        queue_ns: 1_000_000_000,
        buffer: Buffer::Adaptive { quantile: 0.95, least_ns: 0, most_ns: 1_000_000_000 },
        repair: Repair {
            nack: true,
            audio_nack: true,
            parity_packets: Some(4),
            redundant_frames: 1,
            inband: true,
        },
        circuit_breaker: true,
        data: source.bit().then(|| DataChannel {
            bytes: 1 + u32::from(source.u8()) * 16,
            interval_ns: 50_000_000,
            messages: None,
            ordered: source.bit(),
            retransmits: source.bit().then_some(1),
        }),
        pauses: Vec::new(),
    };
    let seed = Seed::new(1, 0);
    let party = |end: u32| Party::draw(end, end, &mut seed.stream(&format!("party {end}")));
    let parties = [party(0), party(1)];
    let protection = if source.below(4) == 0 { Protection::Srtp } else { Protection::None };
    let mut session = Session::new(&Config {
        end: source.below(2),
        sends: [Some(&sends), Some(&sends)],
        parties,
        drift_ppb: [100_000, -100_000],
        start: Time::ZERO,
        duration: None,
        rtcp_interval: Span::from_millis(100),
        protection,
        name: "fuzz",
        seed,
    });
    let (mut now, mut steps) = (Time::ZERO, 0);
    for _ in 0..MOST {
        if source.is_empty() {
            break;
        }
        let (kind, wait) = (source.below(5), source.u8());
        let until = now + Span::from_millis(wait.into());
        while let Some(next) = session.poll_timeout().filter(|&next| next <= until) {
            now = now.max(next);
            session.handle_timeout(now);
            while session.poll_transmit(now).is_some() {}
            steps += 1;
            assert!(steps < 200_000, "it stands still at {now:?}");
        }
        now = until;
        let len = usize::from(source.u8());
        let mut bytes = source.take(len).to_vec();
        // Where an end would look at it: of one of the sources, or one of its own.
        let sources = parties.iter().flat_map(|party| party.ssrc);
        let ssrc = sources.clone().nth(wait as usize % 4).expect("four sources") | u32::from(wait & 24);
        if kind == 4 {
            bytes = record(&bytes, wait);
        } else if kind > 0 && bytes.len() >= 12 {
            bytes[0] = 0x80 | bytes[0] & 0x3f;
            let at = if kind == 1 { 8 } else { 4 };
            bytes[at..at + 4].copy_from_slice(&ssrc.to_be_bytes());
            if kind == 1 {
                bytes[1] = bytes[1] & 0x80 | [96, 97, 35, 111, 63][len % 5];
            } else {
                bytes[1] = 200 + bytes[1] % 8;
                bytes[2] = 0;
            }
        }
        session.handle_datagram(now, &Payload::bytes(bytes.into()), Ecn::NotEct);
        session.handle_timeout(now);
        while session.poll_transmit(now).is_some() {}
    }
}

/// A record of DTLS with one chunk of SCTP, which is said to be as long as it is and has a number near those that are awaited.
fn record(bytes: &[u8], choice: u8) -> Vec<u8> {
    let (number, rest) = bytes.split_at(bytes.len().min(2));
    let kind = [0, 3, 192][usize::from(choice % 3)];
    let length = (8 + rest.len()) as u16;
    let mut made = vec![23, 0xfe, 0xfd];
    made.resize(13 + 8 + 12, 0);
    // Of a part of a message the flags may be one of a few.
    made.extend_from_slice(&[kind, if kind == 0 { choice >> 5 } else { 0 }]);
    made.extend_from_slice(&length.to_be_bytes());
    made.extend_from_slice(&[
        0,
        0,
        number.first().map_or(0, |high| high & 0x1f),
        number.get(1).copied().unwrap_or(0),
    ]);
    made.extend_from_slice(rest);
    made.resize(13 + 8 + 12 + usize::from(length).next_multiple_of(4) + 16, 0);
    made
}
