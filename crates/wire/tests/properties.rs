//! What must hold for every header, every packet and any bytes at all.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use voxpath_wire::Payload;
use voxpath_wire::checksum;
use voxpath_wire::ip::{Ecn, Fragmentation, IpHeader, Protocol, patch};
use voxpath_wire::packet::{ChecksumStatus, Transport, emit_tcp, emit_udp, parse_packet};
use voxpath_wire::tcp::mptcp::{
    AddAddr, AddressIds, Capable, CapableFlags, CapableForm, DataMapping, DataNumber, Dss, FirstData, Join,
    MptcpOption,
};
use voxpath_wire::tcp::{SackBlock, SackBlocks, Seq, TcpFlags, TcpHeader, TcpOptions, Timestamps};
use voxpath_wire::udp::UdpHeader;

proptest! {
    #[test]
    fn parsing_an_emitted_ip_header_gives_it_back(ip in ip_header(), payload in vec(any::<u8>(), 0..100)) {
        let mut bytes = Vec::new();
        ip.emit(payload.len() as u32, &mut bytes);
        prop_assert_eq!(bytes.len(), ip.wire_len() as usize);
        bytes.extend_from_slice(&payload);
        let carried = ip.wire_len() as usize..bytes.len();
        bytes.extend_from_slice(&[0; 7]); // padding of the link
        prop_assert_eq!(IpHeader::parse(&bytes), Ok((ip, carried)));
    }

    #[test]
    fn parsing_an_emitted_tcp_header_gives_it_back(tcp in tcp_header()) {
        let mut bytes = Vec::new();
        tcp.emit(&mut bytes);
        prop_assert_eq!(bytes.len(), tcp.wire_len() as usize);
        prop_assert_eq!(TcpHeader::parse(&bytes), Ok((tcp, bytes.len())));
    }

    #[test]
    fn parsing_an_emitted_tcp_packet_gives_it_back(
        ip in whole_packet_header(Protocol::Tcp),
        tcp in tcp_header(),
        payload in payload(),
    ) {
        let mut bytes = Vec::new();
        emit_tcp(&ip, &tcp, &payload, &mut bytes);
        let parsed = parse_packet(&bytes).expect("what was emitted is well-formed");
        prop_assert_eq!((parsed.ip, parsed.transport), (ip, Transport::Tcp(tcp)));
        prop_assert_eq!(parsed.checksum, ChecksumStatus::Good);
        prop_assert_eq!(&bytes[parsed.payload], content(&payload));
    }

    #[test]
    fn parsing_an_emitted_udp_packet_gives_it_back(
        ip in whole_packet_header(Protocol::Udp),
        ports in any::<(u16, u16)>(),
        payload in payload(),
    ) {
        let udp = UdpHeader { src_port: ports.0, dst_port: ports.1 };
        let mut bytes = Vec::new();
        emit_udp(&ip, &udp, &payload, &mut bytes);
        let parsed = parse_packet(&bytes).expect("what was emitted is well-formed");
        prop_assert_eq!((parsed.ip, parsed.transport), (ip, Transport::Udp(udp)));
        prop_assert_eq!(parsed.checksum, ChecksumStatus::Good);
        prop_assert_eq!(&bytes[parsed.payload], content(&payload));
    }

    #[test]
    fn parsing_an_emitted_multipath_option_gives_it_back(option in mptcp_option()) {
        let emitted = option.emit();
        prop_assert_eq!(MptcpOption::parse(emitted.as_slice()), Ok(option));
        let mut options = TcpOptions::default();
        prop_assert!(options.push_mptcp(&option));
        prop_assert!(options.mptcp().eq([Ok(option)]));
    }

    /// Reserved bits aside, what is read of an option is all that it says.
    #[test]
    fn any_multipath_option_that_parses_is_emitted_as_long(body in vec(any::<u8>(), 0..38), subtype in 0..9_u8) {
        let mut octets = [&[30, body.len() as u8 + 2], &body[..]].concat();
        if let Some(third) = octets.get_mut(2) {
            *third = subtype << 4 | (*third & 1);
        }
        if let Ok(option) = MptcpOption::parse(&octets) {
            let emitted = option.emit();
            prop_assert_eq!(emitted.as_slice().len(), octets.len());
            prop_assert_eq!(MptcpOption::parse(emitted.as_slice()), Ok(option));
        }
    }

    /// Whatever an option list from outside says, what is read of it can be emitted and is read again alike.
    #[test]
    fn any_tcp_header_that_parses_can_be_emitted(bytes in tcp_like()) {
        if let Ok((tcp, header_len)) = TcpHeader::parse(&bytes) {
            prop_assert!(header_len <= bytes.len());
            let mut again = Vec::new();
            tcp.emit(&mut again);
            prop_assert_eq!(TcpHeader::parse(&again), Ok((tcp, again.len())));
        }
    }

    #[test]
    fn parsing_arbitrary_bytes_never_panics(bytes in vec(any::<u8>(), 0..200)) {
        let _ = parse_packet(&bytes);
        let _ = TcpHeader::parse(&bytes);
        let _ = UdpHeader::parse(&bytes);
    }

    /// Arbitrary bytes hardly ever pass the IP header; behind a valid one they reach the transports.
    #[test]
    fn parsing_arbitrary_bytes_behind_an_ip_header_never_panics(ip in ip_header(), bytes in tcp_like()) {
        let mut packet = Vec::new();
        ip.emit(bytes.len() as u32, &mut packet);
        packet.extend_from_slice(&bytes);
        if let Ok(parsed) = parse_packet(&packet) {
            prop_assert!(packet.get(parsed.payload).is_some(), "the payload is inside the packet");
        }
    }

    #[test]
    fn a_truncated_packet_is_an_error(packet in packet(), cut in any::<prop::sample::Index>()) {
        let kept = &packet[..cut.index(packet.len())];
        let error = parse_packet(kept).expect_err("the IP header states a longer packet");
        prop_assert!(error.to_string().contains("available"), "{}", error);
    }

    /// One flipped bit never goes unnoticed where a checksum covers it: everywhere but in the first eight
    /// bytes of IPv6, and in the length of UDP, which steers what the checksum is taken over.
    #[test]
    fn a_flipped_bit_never_panics_and_is_noticed(packet in packet(), bit in any::<prop::sample::Index>()) {
        let bit = bit.index(packet.len() * 8);
        let mut damaged = packet.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let intact = parse_packet(&packet).expect("the packet is well-formed");
        let transport = intact.ip.wire_len() as usize;
        let covered = match intact.transport {
            Transport::Udp(_) if (transport + 4..transport + 6).contains(&(bit / 8)) => false,
            _ => intact.ip.src.is_ipv4() || bit / 8 >= 8,
        };
        match parse_packet(&damaged) {
            Ok(parsed) if covered => prop_assert_ne!(parsed.checksum, ChecksumStatus::Good),
            Ok(_) | Err(_) => {}
        }
    }

    #[test]
    fn updating_a_checksum_is_the_same_as_recomputing_it(
        words in vec(1_u16.., 1..30),
        at in any::<prop::sample::Index>(),
        new in any::<u16>(),
    ) {
        let checksum_of = |words: &[u16]| {
            checksum::internet(&words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<_>>())
        };
        let at = at.index(words.len());
        let mut changed = words.clone();
        changed[at] = new;
        // An all-zero message is the one case in which ones' complement has two answers.
        prop_assume!(changed.iter().any(|&word| word != 0));
        prop_assert_eq!(checksum::update(checksum_of(&words), words[at], new), checksum_of(&changed));
    }

    #[test]
    fn patched_packets_say_what_was_patched_and_nothing_else(
        packet in packet(),
        ttl in any::<u8>(),
        ecn in ecn(),
    ) {
        let mut expected = parse_packet(&packet).expect("the packet is well-formed");
        (expected.ip.ttl, expected.ip.ecn) = (ttl, ecn);
        let mut patched = packet;
        patch::set_ttl(&mut patched, ttl).expect("the IP header is whole");
        patch::set_ecn(&mut patched, ecn).expect("the IP header is whole");
        prop_assert_eq!(parse_packet(&patched), Ok(expected));
    }

    #[test]
    fn patching_arbitrary_bytes_never_panics(
        mut bytes in vec(any::<u8>(), 0..60),
        ttl in any::<u8>(),
        ecn in ecn(),
    ) {
        let _ = patch::set_ttl(&mut bytes, ttl);
        let _ = patch::set_ecn(&mut bytes, ecn);
    }
}

fn ecn() -> impl Strategy<Value = Ecn> {
    any::<u8>().prop_map(Ecn::from_bits)
}

/// Any header, fragments included.
fn ip_header() -> impl Strategy<Value = IpHeader> {
    let v4 = (
        any::<(Ipv4Addr, Ipv4Addr)>(),
        any::<u16>(),
        (any::<bool>(), any::<bool>(), prop_oneof![Just(0), 0..1_u16 << 13]),
    )
        .prop_map(|((src, dst), identification, (dont_fragment, more_fragments, offset))| IpHeader {
            identification,
            fragmentation: Fragmentation { dont_fragment, more_fragments, offset },
            ..IpHeader::new(IpAddr::V4(src), IpAddr::V4(dst), Protocol::Tcp)
        });
    let v6 = (any::<(Ipv6Addr, Ipv6Addr)>(), 0..1_u32 << 20).prop_map(|((src, dst), flow_label)| IpHeader {
        flow_label,
        ..IpHeader::new(IpAddr::V6(src), IpAddr::V6(dst), Protocol::Tcp)
    });
    let protocol = prop_oneof![Just(6), Just(17), any::<u8>()].prop_map(Protocol::from);
    (prop_oneof![v4, v6], protocol, any::<u8>(), 0..64_u8, ecn())
        .prop_map(|(ip, protocol, ttl, dscp, ecn)| IpHeader { protocol, ttl, dscp, ecn, ..ip })
}

fn whole_packet_header(protocol: Protocol) -> impl Strategy<Value = IpHeader> {
    ip_header().prop_map(move |mut ip| {
        ip.protocol = protocol;
        ip.fragmentation = Fragmentation { more_fragments: false, offset: 0, ..ip.fragmentation };
        ip
    })
}

fn tcp_header() -> impl Strategy<Value = TcpHeader> {
    (any::<(u16, u16, u32, u32, u8, u16)>(), tcp_options()).prop_map(
        |((src_port, dst_port, seq, ack, flags, window), options)| TcpHeader {
            src_port,
            dst_port,
            seq: Seq(seq),
            ack: Seq(ack),
            flags: TcpFlags(flags),
            window,
            options,
        },
    )
}

/// Any options that fit the header.
fn tcp_options() -> impl Strategy<Value = TcpOptions> {
    let timestamps = any::<(u32, u32)>().prop_map(|(value, echo)| Timestamps { value, echo });
    let blocks = vec(any::<(u32, u32)>(), 0..=SackBlocks::MAX);
    let others = (option::of(any::<u16>()), option::of(any::<u8>()), any::<bool>(), option::of(timestamps));
    (others, blocks, foreign()).prop_map(
        |((mss, window_scale, sack_permitted, timestamps), blocks, foreign)| {
            let sack = SackBlocks::EMPTY;
            let mut options = TcpOptions { mss, window_scale, sack_permitted, timestamps, sack };
            for option in foreign {
                options.push_foreign(&option);
            }
            for (left, right) in blocks.into_iter().take(options.sack_room()) {
                options.sack.push(SackBlock { left: Seq(left), right: Seq(right) });
            }
            options
        },
    )
}

fn mptcp_option() -> impl Strategy<Value = MptcpOption> {
    let number =
        || prop_oneof![any::<u32>().prop_map(DataNumber::Short), any::<u64>().prop_map(DataNumber::Long)];
    let first = any::<(u16, Option<u16>)>().prop_map(|(len, checksum)| FirstData { len, checksum });
    let form =
        prop_oneof![
            Just(CapableForm::Syn),
            any::<u64>().prop_map(|key| CapableForm::SynAck { key }),
            (any::<(u64, u64)>(), option::of(first))
                .prop_map(|((sender, receiver), data)| CapableForm::Ack { sender, receiver, data }),
        ];
    let join = prop_oneof![
        any::<(bool, u8, u32, u32)>().prop_map(|(backup, address_id, token, nonce)| Join::Syn {
            backup,
            address_id,
            token,
            nonce
        }),
        any::<(bool, u8, u64, u32)>().prop_map(|(backup, address_id, hmac, nonce)| Join::SynAck {
            backup,
            address_id,
            hmac,
            nonce
        }),
        any::<[u8; 20]>().prop_map(|hmac| Join::Ack { hmac }),
    ];
    let mapping = (number(), any::<(u32, u16, Option<u16>)>())
        .prop_map(|(dsn, (ssn, len, checksum))| DataMapping { dsn, ssn, len, checksum });
    let dss = (any::<bool>(), option::of(number()), option::of(mapping))
        .prop_map(|(data_fin, ack, mapping)| Dss { data_fin, ack, mapping });
    let add = any::<(u8, IpAddr, Option<u16>, Option<u64>)>()
        .prop_map(|(address_id, address, port, hmac)| AddAddr { address_id, address, port, hmac });
    let ids = vec(any::<u8>(), 1..=AddressIds::MAX).prop_filter_map("they fit", |ids| AddressIds::new(&ids));
    prop_oneof![
        (any::<u8>(), form)
            .prop_map(|(flags, form)| MptcpOption::Capable(Capable { flags: CapableFlags(flags), form })),
        join.prop_map(MptcpOption::Join),
        dss.prop_map(MptcpOption::Dss),
        add.prop_map(MptcpOption::AddAddr),
        ids.prop_map(MptcpOption::RemoveAddr),
        any::<bool>().prop_map(|backup| MptcpOption::Prio { backup }),
        any::<u64>().prop_map(|dsn| MptcpOption::Fail { dsn }),
        any::<u64>().prop_map(|key| MptcpOption::FastClose { key }),
        any::<(bool, u8)>().prop_map(|(transient, reason)| MptcpOption::Reset { transient, reason }),
    ]
}

/// Options that TCP does not know, some of them too long to fit.
fn foreign() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let option = (prop_oneof![Just(30_u8), Just(34), any::<u8>()], vec(any::<u8>(), 0..14))
        .prop_map(|(kind, body)| [&[kind, body.len() as u8 + 2], &body[..]].concat());
    prop_oneof![Just(Vec::new()), vec(option, 1..6)]
}

/// Bytes with a plausible data offset, and options of which most are well-formed.
fn tcp_like() -> impl Strategy<Value = Vec<u8>> {
    let option = prop_oneof![
        Just(vec![1]),
        any::<[u8; 2]>().prop_map(|body| [&[2, 4], &body[..]].concat()),
        any::<u8>().prop_map(|shift| vec![3, 3, shift]),
        Just(vec![4, 2]),
        any::<[u8; 8]>().prop_map(|body| [&[8, 10], &body[..]].concat()),
        (1..=4_usize, any::<u8>())
            .prop_map(|(n, fill)| { [vec![5, 2 + 8 * n as u8], vec![fill; 8 * n]].concat() }),
        vec(any::<u8>(), 0..6),
    ];
    (any::<[u8; 20]>(), vec(option, 0..6), 0..=2_u8, vec(any::<u8>(), 0..20)).prop_map(
        |(mut fixed, options, extra_words, data)| {
            let mut options = options.concat();
            options.resize(options.len().next_multiple_of(4), 0);
            options.truncate(40);
            fixed[12] = (5 + options.len() as u8 / 4 + extra_words).min(15) << 4;
            [&fixed[..], &options, &data].concat()
        },
    )
}

/// What is of one piece, and what is not.
fn payload() -> impl Strategy<Value = Payload> {
    vec(run(), 0..4).prop_map(Payload::rope)
}

fn run() -> impl Strategy<Value = Payload> {
    prop_oneof![
        (any::<u32>(), 0..u64::MAX / 2, 0..1500_u32)
            .prop_map(|(stream, offset, len)| Payload::pattern(stream, offset, len)),
        vec(any::<u8>(), 0..1500).prop_map(|bytes| Payload::bytes(bytes.into())),
    ]
}

fn content(payload: &Payload) -> Vec<u8> {
    let mut bytes = Vec::new();
    payload.write_to(&mut bytes);
    bytes
}

/// A well-formed TCP or UDP packet.
fn packet() -> impl Strategy<Value = Vec<u8>> {
    let tcp = (whole_packet_header(Protocol::Tcp), tcp_header(), payload()).prop_map(|(ip, tcp, payload)| {
        let mut bytes = Vec::new();
        emit_tcp(&ip, &tcp, &payload, &mut bytes);
        bytes
    });
    let udp = (whole_packet_header(Protocol::Udp), any::<(u16, u16)>(), payload()).prop_map(
        |(ip, (src_port, dst_port), payload)| {
            let mut bytes = Vec::new();
            emit_udp(&ip, &UdpHeader { src_port, dst_port }, &payload, &mut bytes);
            bytes
        },
    );
    prop_oneof![tcp, udp]
}
