//! RTP and RTCP: what is written is read alike, by us and by others; any bytes at all are read or refused.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use rtcp_types::{Compound, Packet};
use voxpath_wire::ip::Ecn;
use voxpath_wire::rtcp::congestion::{Arrived, StreamFeedback};
use voxpath_wire::rtcp::report::LOST_RANGE;
use voxpath_wire::rtcp::{
    CongestionFeedback, Description, NackPair, ReceiverReport, Remb, ReportBlock, RtcpPacket, SenderReport,
    TransportFeedback, parse_compound,
};
use voxpath_wire::rtp::{AudioLevel, ExtensionIds, Extensions, RtpHeader};

proptest! {
    #[test]
    fn another_reader_sees_the_rtp_header_that_was_written(header in header(), payload in vec(any::<u8>(), 1..50)) {
        let mut bytes = Vec::new();
        header.emit(&ExtensionIds::USUAL, &mut bytes);
        prop_assert_eq!(bytes.len(), header.octets());
        prop_assert_eq!(RtpHeader::parse(&bytes, &ExtensionIds::USUAL), Ok((header, bytes.len())));
        bytes.extend_from_slice(&payload);
        let other = rtp_types::RtpPacket::parse(&bytes).expect("it is RTP");
        prop_assert_eq!(other.payload(), &payload[..]);
        let seen = (other.marker_bit(), other.payload_type(), other.sequence_number(), other.timestamp(), other.ssrc());
        let RtpHeader { marker, payload_type, sequence, timestamp, ssrc, .. } = header;
        prop_assert_eq!(seen, (marker, payload_type, sequence, timestamp, ssrc));
        prop_assert_eq!(other.extension_bit(), header.extensions != Extensions::default());
    }

    #[test]
    fn parsing_emitted_rtcp_gives_it_back(packets in vec(packet(), 1..5)) {
        let mut bytes = Vec::new();
        packets.iter().for_each(|packet| packet.emit(&mut bytes));
        prop_assert_eq!(bytes.len() % 4, 0);
        let read: Vec<_> = parse_compound(&bytes).collect();
        prop_assert_eq!(read, packets.into_iter().map(Ok).collect::<Vec<_>>());
    }

    #[test]
    fn another_reader_sees_the_reports_that_were_written(
        report in sender_report(),
        lost in vec(any::<u16>(), 1..5),
        name in "[a-z]{1,20}",
    ) {
        let mut bytes = Vec::new();
        RtcpPacket::SenderReport(report.clone()).emit(&mut bytes);
        RtcpPacket::SourceDescription(vec![Description::cname(report.ssrc, &name)]).emit(&mut bytes);
        RtcpPacket::Nack { sender: report.ssrc, media: 5, lost: NackPair::of(lost.clone()) }.emit(&mut bytes);
        let packets: Vec<_> = Compound::parse(&bytes).expect("a compound packet").map(|it| it.expect("RTCP")).collect();
        let [Packet::Sr(sr), Packet::Sdes(sdes), Packet::TransportFeedback(nack)] = &packets[..] else {
            panic!("{packets:?}")
        };
        prop_assert_eq!((sr.ssrc(), sr.ntp_timestamp(), sr.rtp_timestamp()), (report.ssrc, report.ntp, report.rtp));
        prop_assert_eq!((sr.packet_count(), sr.octet_count()), (report.packets, report.octets));
        for (ours, theirs) in report.blocks.iter().zip(sr.report_blocks()) {
            prop_assert_eq!((ours.ssrc, ours.fraction_lost), (theirs.ssrc(), theirs.fraction_lost()));
            prop_assert_eq!(ours.lost as u32 & 0xff_ffff, theirs.cumulative_lost());
            prop_assert_eq!((ours.highest, ours.jitter), (theirs.extended_sequence_number(), theirs.interarrival_jitter()));
        }
        let chunk = sdes.chunks().next().expect("one chunk");
        let item = chunk.items().next().expect("one item");
        prop_assert_eq!((item.type_(), item.value()), (1, name.as_bytes()));
        let nack = nack.parse_fci::<rtcp_types::Nack<'_>>().expect("a NACK");
        prop_assert!(nack.entries().eq(NackPair::of(lost).into_iter().flat_map(NackPair::sequences)));
    }

    #[test]
    fn any_bytes_are_read_or_refused(mut bytes in vec(any::<u8>(), 0..200), kind in 200..208_u8) {
        let _ = RtpHeader::parse(&bytes, &ExtensionIds::USUAL);
        let _ = parse_compound(&bytes).count();
        if let [first, second, high, low, ..] = &mut bytes[..] {
            (*first, *second, *high, *low) = (0x80 | *first & 0x3f, kind, 0, *low % 50);
        }
        for packet in parse_compound(&bytes).map_while(Result::ok) {
            let mut again = Vec::new();
            packet.emit(&mut again);
            let len = again.len();
            prop_assert_eq!(RtcpPacket::parse(&again), Ok((packet, len)));
        }
    }
}

fn header() -> impl Strategy<Value = RtpHeader> {
    let level = (any::<bool>(), 0..128_u8).prop_map(|(voice, level)| AudioLevel { voice, level });
    let extensions = (option::of(level), option::of(0..1_u32 << 24), option::of(any::<u16>())).prop_map(
        |(audio_level, abs_send_time, transport_sequence)| Extensions {
            audio_level,
            abs_send_time,
            transport_sequence,
        },
    );
    (any::<(bool, u16, u32, u32)>(), 0..128_u8, extensions).prop_map(
        |((marker, sequence, timestamp, ssrc), payload_type, extensions)| RtpHeader {
            marker,
            payload_type,
            sequence,
            timestamp,
            ssrc,
            padding: false,
            extensions,
        },
    )
}

fn block() -> impl Strategy<Value = ReportBlock> {
    (any::<(u32, u8, u32, u32, u32, u32)>(), LOST_RANGE).prop_map(
        |((ssrc, fraction_lost, highest, jitter, last_sender_report, delay), lost)| ReportBlock {
            ssrc,
            fraction_lost,
            lost,
            highest,
            jitter,
            last_sender_report,
            delay,
        },
    )
}

fn sender_report() -> impl Strategy<Value = SenderReport> {
    (any::<(u32, u64, u32, u32, u32)>(), vec(block(), 0..4)).prop_map(
        |((ssrc, ntp, rtp, packets, octets), blocks)| SenderReport {
            ssrc,
            ntp,
            rtp,
            packets,
            octets,
            blocks,
        },
    )
}

fn packet() -> impl Strategy<Value = RtcpPacket> {
    let text = || vec(any::<u8>(), 0..30);
    let items = vec((1..9_u8, text()), 0..4);
    let description = (any::<u32>(), items).prop_map(|(ssrc, items)| Description { ssrc, items });
    let pair = any::<(u16, u16)>().prop_map(|(first, following)| NackPair { first, following });
    let transport =
        (any::<(u32, u32, u16, u8)>(), -(1 << 23)..1 << 23, vec(option::of(any::<i16>()), 0..100)).prop_map(
            |((sender, media, base, number), reference, deltas)| {
                RtcpPacket::TransportFeedback(TransportFeedback {
                    sender,
                    media,
                    base,
                    reference,
                    number,
                    deltas,
                })
            },
        );
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)];
    let arrived = (ecn, 0..8192_u16).prop_map(|(ecn, offset)| Arrived { ecn, offset });
    let stream = (any::<(u32, u16)>(), vec(option::of(arrived), 0..40))
        .prop_map(|((ssrc, begin), packets)| StreamFeedback { ssrc, begin, packets });
    prop_oneof![
        sender_report().prop_map(RtcpPacket::SenderReport),
        (any::<u32>(), vec(block(), 0..4))
            .prop_map(|(ssrc, blocks)| RtcpPacket::ReceiverReport(ReceiverReport { ssrc, blocks })),
        vec(description, 0..4).prop_map(RtcpPacket::SourceDescription),
        (vec(any::<u32>(), 0..4), text()).prop_map(|(ssrcs, reason)| RtcpPacket::Goodbye { ssrcs, reason }),
        (0..32_u8, any::<(u32, [u8; 4])>(), vec(any::<[u8; 4]>(), 0..5)).prop_map(
            |(subtype, (ssrc, name), data)| {
                RtcpPacket::Application { subtype, ssrc, name, data: data.concat() }
            }
        ),
        (any::<(u32, u32)>(), vec(pair, 0..9)).prop_map(|((sender, media), lost)| RtcpPacket::Nack {
            sender,
            media,
            lost
        }),
        any::<(u32, u32)>().prop_map(|(sender, media)| RtcpPacket::PictureLoss { sender, media }),
        (any::<u32>(), vec(any::<(u32, u8)>(), 0..4))
            .prop_map(|(sender, requests)| RtcpPacket::FullIntra { sender, requests }),
        (any::<(u32, u64)>(), vec(any::<u32>(), 0..4)).prop_map(|((sender, bitrate), ssrcs)| {
            RtcpPacket::Remb(Remb { sender, bitrate: Remb::representable(bitrate), ssrcs })
        }),
        transport,
        (any::<(u32, u32)>(), vec(stream, 0..3)).prop_map(|((sender, timestamp), streams)| {
            RtcpPacket::CongestionFeedback(CongestionFeedback { sender, streams, timestamp })
        }),
    ]
}
