//! A second opinion: Wireshark's dissectors read what we wrote.
//!
//! Needs `tshark` (Debian package tshark, 4.0 or later) and fails without it: a check that skips itself is no
//! check.

use std::net::IpAddr;
use std::path::PathBuf;
use std::process::Command;
use voxpath_units::Time;
use voxpath_wire::Payload;
use voxpath_wire::ip::{Ecn, IpHeader, Protocol};
use voxpath_wire::packet::{emit_tcp, emit_udp};
use voxpath_wire::pcapng::{CapturedPacket, Direction, Interface, InterfaceId, PcapngWriter};
use voxpath_wire::tcp::{SackBlock, SackBlocks, Seq, TcpFlags, TcpHeader, TcpOptions, Timestamps};
use voxpath_wire::udp::UdpHeader;

#[test]
fn tshark_sees_a_small_tcp_exchange_as_we_meant_it() {
    for (name, [client, server]) in [
        ("exchange-v4", [IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2])]),
        ("exchange-v6", ["fd00::1", "fd00::2"].map(|text| text.parse().expect("an address"))),
    ] {
        let file = exchange(client, server).save(name);

        assert_eq!(
            file.fields(&[
                "frame.time_epoch",
                "frame.interface_name",
                "frame.packet_flags_direction",
                "frame.len"
            ]),
            [
                ["0.000000000", "client", "0x00000002", &len_of(client, 40)],
                ["0.020000001", "client", "0x00000001", &len_of(client, 40)],
                ["0.040000002", "client", "0x00000002", &len_of(client, 32 + 5)],
                ["0.060000003", "client", "0x00000001", &len_of(client, 32 + 28)],
                ["18446744073.709551614", "client", "0x00000002", &len_of(client, 20)],
            ]
        );
        assert_eq!(
            file.fields(&[
                "tcp.flags.str",
                "tcp.checksum.status",
                "tcp.options.mss_val",
                "tcp.options.timestamp.tsval",
                "tcp.options.timestamp.tsecr",
                "tcp.options.wscale.shift",
                "tcp.options.sack_le",
                "tcp.options.sack_re",
            ]),
            [
                ["··········S·", "1", "1460", "100", "0", "7", "", ""],
                ["·······A··S·", "1", "1440", "200", "100", "9", "", ""],
                ["·······AP···", "1", "", "120", "200", "", "", ""],
                ["····CE·A····", "1", "", "220", "120", "", "5100,5200,5300", "5110,5210,5310"],
                ["·········R··", "1", "", "", "", "", "", ""],
            ]
        );
        // MSS 2, SACK-permitted 4, timestamps 8, no-operation 1, window scale 3, SACK 5.
        assert_eq!(
            file.fields(&["tcp.option_kind"]),
            [["2,4,8,1,3"], ["2,4,8,1,3"], ["1,1,8"], ["1,1,8,1,1,5"], [""]]
        );
        assert_eq!(file.fields(&["tcp.payload"])[2], [hex(&materialised(&request()))]);
        file.assert_free_of("_ws.malformed || _ws.expert.severity == \"Error\"");
        file.assert_free_of("ip && !(ip.checksum.status == \"Good\")");
    }
}

#[test]
fn tshark_sees_ip_fields_and_good_ip_and_udp_checksums() {
    let mut capture = Capture::new(None);
    for (src, dst) in [("192.0.2.1", "192.0.2.2"), ("2001:db8::1", "2001:db8::2")] {
        let ip = IpHeader {
            ttl: 17,
            dscp: 46,
            ecn: Ecn::Ce,
            ..IpHeader::new(address(src), address(dst), Protocol::Udp)
        };
        let udp = UdpHeader { src_port: 4000, dst_port: 4001 };
        let mut bytes = Vec::new();
        emit_udp(&ip, &udp, &Payload::pattern(3, 0, 160), &mut bytes);
        capture.packet(Time::ZERO, Direction::Outbound, &bytes);
    }
    let file = capture.save("udp");
    assert_eq!(
        file.fields(&["ip.checksum.status", "ip.ttl", "ip.dsfield.dscp", "ip.dsfield.ecn", "ip.flags.df"]),
        [["1", "17", "46", "3", "1"], ["", "", "", "", ""]]
    );
    assert_eq!(
        file.fields(&[
            "ipv6.hlim",
            "ipv6.tclass.dscp",
            "ipv6.tclass.ecn",
            "udp.checksum.status",
            "udp.length"
        ]),
        [["", "", "", "1", "168"], ["17", "46", "3", "1", "168"]]
    );
}

#[test]
fn tshark_knows_what_a_short_snap_length_left_out() {
    let mut capture = Capture::new(Some(60));
    let ip = IpHeader::new(address("10.0.0.1"), address("10.0.0.2"), Protocol::Udp);
    let mut bytes = Vec::new();
    emit_udp(&ip, &UdpHeader::default(), &Payload::pattern(0, 0, 1000), &mut bytes);
    capture.packet(Time::ZERO, Direction::Outbound, &bytes);
    let file = capture.save("snap");
    assert_eq!(file.fields(&["frame.len", "frame.cap_len"]), [["1028", "60"]]);
}

/// SYN, SYN-ACK, a request, an acknowledgment with all that ECN and SACK can say, a reset at the end of time.
fn exchange(client: IpAddr, server: IpAddr) -> Capture {
    let syn = TcpOptions {
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: Some(Timestamps { value: 100, echo: 0 }),
        sack: SackBlocks::EMPTY,
    };
    let syn_ack = TcpOptions {
        mss: Some(1440),
        window_scale: Some(9),
        timestamps: Some(Timestamps { value: 200, echo: 100 }),
        ..syn
    };
    let only = |timestamps| TcpOptions { timestamps: Some(timestamps), ..TcpOptions::default() };
    let mut sack = SackBlocks::EMPTY;
    for left in [5100, 5200, 5300] {
        assert!(sack.push(SackBlock { left: Seq(left), right: Seq(left + 10) }));
    }
    let from_client = |seq, ack, flags, options| TcpHeader {
        src_port: 40_000,
        dst_port: 7,
        seq: Seq(seq),
        ack: Seq(ack),
        flags,
        window: 500,
        options,
    };
    let from_server = |seq, ack, flags, options| TcpHeader {
        src_port: 7,
        dst_port: 40_000,
        ..from_client(seq, ack, flags, options)
    };
    let (there, back) =
        (IpHeader::new(client, server, Protocol::Tcp), IpHeader::new(server, client, Protocol::Tcp));
    let echo = TcpFlags::ACK | TcpFlags::ECE | TcpFlags::CWR;
    let mut capture = Capture::new(None);
    for (ns, ip, tcp, payload) in [
        (0, there, from_client(5000, 0, TcpFlags::SYN, syn), Payload::Empty),
        (20_000_001, back, from_server(9000, 5001, TcpFlags::SYN | TcpFlags::ACK, syn_ack), Payload::Empty),
        (
            40_000_002,
            there,
            from_client(
                5001,
                9001,
                TcpFlags::ACK | TcpFlags::PSH,
                only(Timestamps { value: 120, echo: 200 }),
            ),
            request(),
        ),
        (
            60_000_003,
            back,
            from_server(9001, 5006, echo, TcpOptions { sack, ..only(Timestamps { value: 220, echo: 120 }) }),
            Payload::Empty,
        ),
        (u64::MAX, there, from_client(5006, 0, TcpFlags::RST, TcpOptions::default()), Payload::Empty),
    ] {
        let direction = if ip.src == client { Direction::Outbound } else { Direction::Inbound };
        let mut bytes = Vec::new();
        emit_tcp(&ip, &tcp, &payload, &mut bytes);
        capture.packet(Time::from_nanos(ns), direction, &bytes);
    }
    capture
}

fn request() -> Payload {
    Payload::pattern(1, 3, 5)
}

fn materialised(payload: &Payload) -> Vec<u8> {
    let mut bytes = Vec::new();
    payload.write_to(&mut bytes);
    bytes
}

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn len_of(address: IpAddr, segment_len: u32) -> String {
    (segment_len + if address.is_ipv4() { IpHeader::V4_LEN } else { IpHeader::V6_LEN }).to_string()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A capture with the one interface "client".
struct Capture {
    writer: PcapngWriter,
    client: InterfaceId,
    out: Vec<u8>,
}

impl Capture {
    fn new(snap_len: Option<u32>) -> Self {
        let mut out = Vec::new();
        let mut writer = PcapngWriter::new(&mut out);
        let client = writer.interface(&Interface { name: Some("client"), snap_len }, &mut out);
        Self { writer, client, out }
    }

    fn packet(&mut self, at: Time, direction: Direction, bytes: &[u8]) {
        self.writer.packet(&CapturedPacket::whole(self.client, at, direction, bytes), &mut self.out);
    }

    fn save(self, name: &str) -> CaptureFile {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name).with_extension("pcapng");
        std::fs::write(&path, self.out).expect("the target folder is writable");
        CaptureFile(path)
    }
}

/// A capture on disk, as tshark reads it.
struct CaptureFile(PathBuf);

impl CaptureFile {
    /// One row per packet, one column per field; absent fields are empty.
    fn fields(&self, fields: &[&str]) -> Vec<Vec<String>> {
        let mut arguments = vec!["-T", "fields"];
        for field in fields {
            arguments.extend(["-e", field]);
        }
        let rows = self.tshark(&arguments);
        rows.lines().map(|row| row.split('\t').map(str::to_owned).collect()).collect()
    }

    /// No packet matches the display filter.
    fn assert_free_of(&self, filter: &str) {
        assert_eq!(self.tshark(&["-Y", filter]), "", "packets that match {filter}");
    }

    fn tshark(&self, arguments: &[&str]) -> String {
        let verify = ["ip", "tcp", "udp"].map(|protocol| format!("-o{protocol}.check_checksum:TRUE"));
        let output = Command::new("tshark")
            .arg("-n")
            .arg("-r")
            .arg(&self.0)
            .args(verify)
            .arg("-otcp.relative_sequence_numbers:FALSE")
            .args(arguments)
            .output()
            .expect("this test needs tshark: install Debian's package tshark, or Wireshark");
        // What tshark writes to stderr beside failing is advice, such as not to run it as root.
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tshark {arguments:?} failed: {stderr}");
        String::from_utf8(output.stdout).expect("tshark writes UTF-8")
    }
}
