"""Calls: what tshark sees of them is what was meant, and what users write of them."""

from __future__ import annotations

import itertools
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from tshark import dissect

if TYPE_CHECKING:
    from collections.abc import Iterator

CALL = """\
name = "a call"
duration = "12 s"

[topology]
kind = "pipe"
link = {{ rate = "2 Mbit/s", delay = "20 ms", loss = "2 %" }}

[[flows]]
name = "call"
app = {{ kind = "call", duration = "10 s", control = {control}, video = {{}}, audio = {{}}, {more} }}
"""

PAUSES_TWICE = 'pauses = [{ at = "1 s", length = "2 s" }, { at = "2 s", length = "1 s" }]'


def run(voxpath: Any, where: Path, control: str, more: str = "", *options: str) -> Path:
    """The folder of a run of the call."""
    (where / "call.toml").write_text(CALL.format(control=control, more=more))
    called = voxpath("run", "call.toml", *options)
    assert called.code == 0, called.err
    (folder,) = (where / "runs").iterdir()
    return folder


@pytest.fixture
def ends(voxpath, tmp_path: Path) -> tuple[Path, pl.DataFrame, pl.DataFrame]:
    """A call under libwebrtc's control, captured at both ends: its folder, frames and seconds."""
    more = 'nack = true, parity = "5 packets"'
    folder = run(voxpath, tmp_path, '"libwebrtc"', more, "--capture", "client", "--capture", "server")
    return folder, *(pl.read_parquet(folder / f"{name}.parquet") for name in ("frames", "media_seconds"))


def test_tshark_sees_the_media_that_was_meant(ends):
    folder, frames, seconds = ends
    sent = folder / "captures" / "client.pcapng"
    assert dissect(sent, "_ws.malformed", "frame.number") == []
    names = (
        "rtp.ssrc",
        "rtp.p_type",
        "rtp.seq",
        "rtp.marker",
        "rtp.timestamp",
        "vp8.pld.pictureid",
        "vp8.hdr.frametype",
    )
    packets = dissect(sent, "ip.src == 10.0.0.1 && rtp", *names)
    from_client = seconds.filter(pl.col("end") == "client")
    assert len(packets) == from_client.get_column("media_packets_sent").sum()
    video = [packet for packet in packets if packet[1] == "96"]
    # Each video packet of a source has the next number, and the last one of a frame the marker.
    numbers = [int(packet[2]) for packet in video]
    assert all((b - a) % 65536 == 1 for a, b in itertools.pairwise(numbers))
    captured = frames.filter((pl.col("end") == "client") & (pl.col("media") == "video"))
    was_sent = captured.filter(pl.col("frame_sent_ns").is_not_null())
    assert sum(packet[3] in {"1", "True"} for packet in video) == was_sent.height
    assert len(video) == was_sent.get_column("frame_packets").sum()
    # Timestamps tell when frames were captured, by a clock of 90 kHz.
    begin = int(video[0][4])
    ticks = sorted({(int(packet[4]) - begin) % 2**32 for packet in video})
    expected = [ns * 9 // 100_000 for ns in was_sent.get_column("captured_ns").to_list()]
    assert ticks == [tick - expected[0] for tick in expected]
    assert {packet[1] for packet in packets} == {"96", "111", "97", "35"}, "media, retransmissions, parity"


def test_tshark_sees_the_reports_that_were_meant(ends):
    folder, _, _ = ends
    sent, came = (folder / "captures" / f"{end}.pcapng" for end in ("client", "server"))
    packets = dissect(
        sent, "ip.src == 10.0.0.1 && rtp && rtp.p_type == 96", "frame.time_relative", "rtp.ssrc"
    )
    ssrc = packets[0][1]
    reports = dissect(
        sent, f"ip.src == 10.0.0.1 && rtcp.pt == 200 && rtcp.senderssrc == {ssrc}", "frame.number",
        "rtcp.senderssrc", "rtcp.sender.packetcount",
    )  # fmt: skip
    assert len(reports) >= 8, "one in a second"
    before = {
        number: len(
            dissect(sent, f"ip.src == 10.0.0.1 && rtp.ssrc == {ssrc} && frame.number < {number}", "rtp.seq")
        )
        for number in (reports[1][0], reports[-1][0])
    }
    for number, sources, counts in reports:
        if number in before:
            index = [source.lower() for source in sources.split(",")].index(ssrc.lower())
            assert int(counts.split(",")[index]) == before[number]
    # What the receiver reports lost is what its capture lacks.
    blocks = dissect(
        came, f"ip.src == 10.0.0.2 && rtcp.ssrc.identifier == {ssrc}", "frame.number", "rtcp.ssrc.identifier",
        "rtcp.ssrc.cum_nr", "rtcp.ssrc.ext_high",
    )  # fmt: skip
    number, sources, lost, highest = blocks[-1]
    index = [source.lower() for source in sources.split(",")].index(ssrc.lower())
    there = dissect(came, f"ip.src == 10.0.0.1 && rtp.ssrc == {ssrc} && frame.number < {number}", "rtp.seq")
    numbers = {int(seq) for (seq,) in there}
    first = int(there[0][0])
    expected = (int(highest.split(",")[index]) % 65536 - first) % 65536 + 1
    assert int(lost.split(",")[index]) == expected - len(numbers) > 0


def test_tshark_sees_the_arrivals_that_were_reported(ends):
    folder, _, _ = ends
    came = folder / "captures" / "server.pcapng"
    feedback = dissect(
        came, "ip.src == 10.0.0.2 && rtcp.rtpfb.transportcc.baseseq", "rtcp.rtpfb.transportcc.baseseq",
        "rtcp.rtpfb.transportcc.statuscount", "rtcp.rtpfb.transportcc.recv_delta",
    )  # fmt: skip
    assert len(feedback) > 40, "at most 250 ms apart"
    # Each packet that came is in one report, and reports go on where those before ended.
    deltas = sum(len(deltas.split(",")) for _, _, deltas in feedback if deltas)
    packets = len(dissect(came, "ip.src == 10.0.0.1 && rtp", "rtp.seq"))
    assert packets - 40 < deltas <= packets, "those of the last quarter second are not reported"
    assert dissect(came, "rtcp.rtpfb.transportcc_bad", "frame.number") == []


def test_tshark_sees_the_header_extensions_that_were_meant(ends):
    folder, _, _ = ends
    names = ("frame.time_relative", "rtp.p_type", "rtp.ext.rfc5285.id", "rtp.ext.rfc5285.data")
    packets = dissect(folder / "captures" / "client.pcapng", "ip.src == 10.0.0.1 && rtp", *names)
    told = [
        (float(at), kind, dict(zip(ids.split(","), data.split(","), strict=True)))
        for at, kind, ids, data in packets
    ]
    # Numbers of all packets follow each other, of whatever source.
    numbers = [int(of["3"], 16) for _, _, of in told]
    assert all((b - a) % 65536 == 1 for a, b in itertools.pairwise(numbers))
    # Seconds modulo 64, in units of 2^-18 s.
    (begin, _, first) = told[0]
    for at, _, of in told:
        passed = (int(of["2"], 16) - int(first["2"], 16)) % 2**24
        assert abs(passed - (at - begin) * 2**18) <= 1.5, at
    # Somebody speaks, 30 dB below overload; video has no loudness.
    levels = {of.get("1") for _, kind, of in told if kind == "111"}
    assert levels == {"9e"}
    assert {of.get("1") for _, kind, of in told if kind == "96"} == {None}


def test_tshark_sees_who_is_there_what_is_asked_for_and_who_leaves(ends):
    folder, _, _ = ends
    sent, came = (folder / "captures" / f"{end}.pcapng" for end in ("client", "server"))
    named = dissect(sent, "ip.src == 10.0.0.1 && rtcp.pt == 202", "rtcp.sdes.type", "rtcp.sdes.text")
    assert {kind for kinds, _ in named for kind in kinds.split(",")} == {"1", "0"}, "canonical names alone"
    names = {text for _, texts in named for text in texts.split(",")}
    others = dissect(sent, "ip.src == 10.0.0.2 && rtcp.pt == 202", "rtcp.sdes.text")
    assert len(names) == 1
    assert names.isdisjoint(text for (texts,) in others for text in texts.split(","))
    left = dissect(sent, "ip.src == 10.0.0.1 && rtcp.pt == 203", "frame.time_relative")
    assert [9.9 < float(at) < 10.5 for (at,) in left] == [True], left
    # What is asked for was sent, and had not come.
    video = "ip.src == 10.0.0.1 && rtp.p_type == 96"
    was_sent = {int(seq) for (seq,) in dissect(sent, video, "rtp.seq")}
    had_come = [(int(frame), int(seq)) for frame, seq in dissect(came, video, "frame.number", "rtp.seq")]
    asked = dissect(
        came, "ip.src == 10.0.0.2 && rtcp.rtpfb.nack_pid", "frame.number", "rtcp.rtpfb.nack_pid",
        "rtcp.rtpfb.nack_blp",
    )  # fmt: skip
    assert asked
    for frame, bases, masks in asked:
        lost = {int(base) for base in bases.split(",")}
        # A mask without bits is shown for the packet, not for each pair.
        for base, mask in zip(bases.split(","), masks.split(","), strict=False):
            bits = int(mask, 0)
            lost |= {(int(base) + 1 + bit) % 65536 for bit in range(16) if bits >> bit & 1}
        assert lost <= was_sent
        assert lost.isdisjoint(seq for number, seq in had_come if number < int(frame))


@pytest.fixture
def repaired(voxpath, tmp_path: Path) -> Path:
    """The folder of a call under NADA's control, with redundant audio, captured at both ends."""
    return run(voxpath, tmp_path, '"nada"', "redundancy = 1", "--capture", "client", "--capture", "server")


def runs_of_reports(payload: bytes) -> Iterator[tuple[int, int, list[int]]]:
    """Sources in a report of RFC 8888, with the first number and what is said of each packet (section 3.1).

    tshark 4.0 does not know the format.
    """
    (length,) = struct.unpack_from(">H", payload, 2)
    assert len(payload) == 4 * (length + 1), "it is alone in its datagram"
    at, end = 8, len(payload) - 4
    while at < end:
        ssrc, begin, count = struct.unpack_from(">IHH", payload, at)
        at += 8
        yield ssrc, begin, list(struct.unpack_from(f">{count}H", payload, at))
        at += 2 * (count + count % 2)
    assert at == end


def test_a_report_of_rfc_8888_says_of_each_packet_whether_and_when_it_came(repaired: Path):
    came = repaired / "captures" / "server.pcapng"
    names = ("frame.time_relative", "rtp.ssrc", "rtp.seq")
    arrivals = {
        (int(ssrc, 16), int(seq)): float(at)
        for at, ssrc, seq in dissect(came, "ip.src == 10.0.0.1 && rtp", *names)
    }
    reports = dissect(
        came, "ip.src == 10.0.0.2 && rtcp.pt == 205 && rtcp.rtpfb.fmt == 11", "frame.time_relative",
        "udp.payload",
    )  # fmt: skip
    assert len(reports) > 50
    found = {True: 0, False: 0}
    for at, payload in reports:
        for ssrc, begin, packets in runs_of_reports(bytes.fromhex(payload)):
            for number, said in enumerate(packets, begin):
                arrived = arrivals.get((ssrc, number % 65536))
                # Later packets are in the next report.
                had_come = arrived is not None and arrived <= float(at)
                assert bool(said >> 15) == had_come, (ssrc, number, at)
                found[had_come] += 1
                if arrived is not None and had_come:
                    assert said >> 13 & 3 == 0, "nothing was marked"
                    assert abs((said & 0x1FFF) / 1024 - (float(at) - arrived)) < 1.5 / 1024
    assert min(found.values()) > 10
    assert found[True] > 0.9 * len(arrivals)


def test_tshark_sees_the_loss_of_a_picture_and_the_key_frame_that_follows(repaired: Path):
    sent = repaired / "captures" / "client.pcapng"
    names = ("frame.time_relative", "rtp.ssrc")
    keys = dissect(sent, "ip.src == 10.0.0.1 && vp8.hdr.frametype == 0", *names)
    asked = dissect(
        sent, "ip.src == 10.0.0.2 && rtcp.pt == 206 && rtcp.psfb.fmt == 1", "frame.time_relative",
        "rtcp.mediassrc",
    )  # fmt: skip
    assert asked
    assert {int(media, 16) for _, media in asked} == {int(keys[0][1], 16)}
    for at, _ in asked:
        # At the next frame, and as long as the pacer takes for those before it.
        assert any(0 <= float(key) - float(at) < 0.5 for key, _ in keys), at


def test_a_packet_of_redundant_audio_has_the_frame_before_it(repaired: Path):
    names = ("rtp.seq", "rtp.timestamp", "rtp.payload")
    packets = [
        (int(seq), int(timestamp), bytes.fromhex(payload.replace(":", "")))
        for seq, timestamp, payload in dissect(
            repaired / "captures" / "client.pcapng", "ip.src == 10.0.0.1 && rtp.p_type == 63", *names
        )
    ]
    assert len(packets) > 400
    frames = {}
    for number, (_, timestamp, payload) in enumerate(packets):
        # RFC 2198 section 3: four octets of each earlier frame, one of the newest.
        head, at = [], 0
        while payload[at] & 0x80:
            (word,) = struct.unpack_from(">I", payload, at)
            head.append((word >> 24 & 0x7F, word >> 10 & 0x3FFF, word & 0x3FF))
            at += 4
        assert (payload[at], len(head)) == (111, min(number, 1))
        at += 1
        for kind, offset, length in head:
            assert (kind, offset) == (111, 960), "20 ms at 48 kHz"
            # Octets of media are of the packet: lengths alone tell frames apart.
            assert length == frames[timestamp - offset]
            at += length
        frames[timestamp] = len(payload) - at


def test_an_estimate_is_sent_as_it_was_made(voxpath, tmp_path: Path):
    control = '{ kind = "gcc", side = "receiver" }'
    folder = run(voxpath, tmp_path, control, "", "--capture", "server", "--observe", "rtc")
    sent = dissect(
        folder / "captures" / "server.pcapng", "ip.src == 10.0.0.2 && rtcp.psfb.remb.fci.br_mantissa",
        "rtcp.psfb.remb.fci.br_exp", "rtcp.psfb.remb.fci.br_mantissa",
    )  # fmt: skip
    signals = pl.read_parquet(folder / "signals.parquet").filter(pl.col("end") == "server")
    estimates = set(signals.filter(pl.col("signal").str.ends_with("_bps")).get_column("number").to_list())
    assert len(sent) >= 9, "one in a second at least"
    # 18 bits and an exponent: cut by less than one in 2^17.
    for exponent, mantissa in sent:
        bitrate = int(mantissa) << int(exponent)
        assert any(0 <= number - bitrate <= number / 2**17 + 1 for number in estimates if number), bitrate


@pytest.mark.parametrize(
    ("app", "where", "why"),
    [
        ('{ kind = "call" }', "video", "a call has one of them"),
        ('{ kind = "call", video = {}, control = "bbr" }', "control", "'bbr' is no rate control"),
        (
            '{ kind = "call", video = { rate = "1 Mbit/s", rates = ["1 Mbit/s"] } }',
            "video.rates",
            "contradicts rate",
        ),
        ('{ kind = "call", audio = { rate = "1 Mbit/s" } }', "audio", "6 to 510 kbit/s"),
        ('{ kind = "call", video = { sizes = "none.txt" } }', "video", "'none.txt' cannot be read"),
        (
            '{ kind = "call", video = { sizes = "none.txt" }, back = "none" }',
            "video",
            "'none.txt' cannot be read",
        ),
        (
            '{ kind = "call", video = { ratios = "none.txt", rate = "1 Mbit/s" } }',
            "video.ratios",
            "contradicts rate",
        ),
        ('{ kind = "call", video = { ratios = "odd.txt" } }', "video", "'odd.txt', line 2: write a number"),
        ('{ kind = "call", video = { ratios = "nothing.txt" } }', "video", "no frame above 0"),
        ('{ kind = "call", video = {}, parity = "16 packets" }', "parity", "15"),
        ('{ kind = "call", video = {}, rate = { min = "2 Mbit/s" } }', "rate", "between min_bps and max_bps"),
        (
            '{ kind = "call", audio = {}, ' + PAUSES_TWICE + " }",
            "pauses",
            "begins when the one before it has ended, or later",
        ),
    ],
)
def test_what_no_call_can_be_is_refused_at_its_place(app: str, where: str, why: str, voxpath, tmp_path: Path):
    text = CALL.split("app = ", maxsplit=1)[0].replace("{{", "{").replace("}}", "}") + f"app = {app}\n"
    (tmp_path / "bad.toml").write_text(text)
    (tmp_path / "odd.txt").write_text("1.5\n0.5 a key\n")
    (tmp_path / "nothing.txt").write_text("0\n0\n")
    called = voxpath("run", "bad.toml")
    assert called.code != 0
    assert f"app.{where}" in called.err, called.err
    assert why in called.err, called.err


@pytest.mark.parametrize(
    ("video", "told"),
    [
        # One key makes both directions, and is named once.
        ("{ key_size = 10 }", ["app.video: key_frames is at least key_size"]),
        ("{ key_frames = 1 }", ["app.video.key_frames: is at least key_size"]),
        (
            "{ key_size = 10 }, back = { video = { key_size = 10 } }",
            ["app.video: key_frames is at least key_size", "app.back.video: key_frames is at least key_size"],
        ),
    ],
)
def test_a_key_that_is_not_written_is_named_once(video: str, told: list[str], voxpath, tmp_path: Path):
    text = CALL.format(control='"none"', more="").replace("video = {}", f"video = {video}")
    (tmp_path / "bad.toml").write_text(text)
    called = voxpath("run", "bad.toml")
    assert called.code != 0
    problems = [line.split("flows[0].", 1)[1] for line in called.err.splitlines() if "flows[0]." in line]
    assert len(problems) == len(told), called.err
    assert all(problem.startswith(start) for problem, start in zip(problems, told, strict=True)), called.err


def test_feedback_leaves_alone(ends):
    folder, _, _ = ends
    sent = folder / "captures" / "client.pcapng"
    rtcp = [types.split(",") for (types,) in dissect(sent, "ip.src == 10.0.0.1 && rtcp", "rtcp.pt")]
    feedback = [types for types in rtcp if {"205", "206"} & set(types)]
    assert len(feedback) > 50
    # RFC 5506: no report is before it. All else is compound, as RFC 3550 section 6.1 wants it.
    assert [types for types in feedback if {"200", "201"} & set(types)] == []
    assert {types[0] for types in rtcp if types not in feedback} <= {"200", "201"}


def test_an_adaptive_buffer_leaves_out_audio_behind_its_quantile(voxpath, tmp_path: Path):
    link = 'up = { rate = "1 Mbit/s", queue = "37500 B" }'
    shares = {}
    for quantile in (0.95, 0.99):
        where = tmp_path / str(quantile)
        where.mkdir()
        buffer = f'buffer = {{ kind = "adaptive", quantile = {quantile} }}'
        text = CALL.format(control='"libwebrtc"', more=buffer).replace('loss = "2 %"', link)
        (where / "call.toml").write_text(text)
        called = voxpath("run", str(where / "call.toml"), "--out", str(where / "runs"))
        assert called.code == 0, called.err
        (folder,) = (where / "runs").iterdir()
        audio = pl.read_parquet(folder / "frames.parquet").filter(
            pl.col("end").cast(pl.String) == "client", pl.col("media").cast(pl.String) == "audio"
        )
        late = audio.filter(pl.col("fate").cast(pl.String) == "late")["captured_ns"]
        shares[quantile] = late.len() / audio.height
        if quantile == 0.95:
            assert late.min() < 5e9 < late.max(), "all the time, not only at the start"
    # A frame is judged by those before it, so the share is only near 1 - quantile.
    assert 0.005 < shares[0.95] < 0.05
    assert shares[0.99] < shares[0.95] / 3


def test_one_way_and_other_media_back(voxpath, tmp_path: Path):
    back = 'back = { audio = { rate = "64 kbit/s", dtx = {} } }, protection = "srtp"'
    folder = run(voxpath, tmp_path, '"nada"', back)
    frames = pl.read_parquet(folder / "frames.parquet")
    assert set(frames.select("end", "media").unique().rows()) == {
        ("client", "audio"), ("client", "video"), ("server", "audio"),
    }  # fmt: skip
    (flow,) = pl.read_parquet(folder / "flows.parquet").to_dicts()
    assert (flow["status"], flow["bytes_wrong"]) == ("completed", 0)
    assert flow["server_video_frames"] is None
    assert flow["server_audio_frames"] > 0


def test_a_call_can_pause(voxpath, tmp_path: Path):
    folder = run(
        voxpath, tmp_path, '"gcc"', 'pauses = [{ at = "3 s", length = "4 s" }], back = { audio = {} }'
    )
    seconds = pl.read_parquet(folder / "media_seconds.parquet").filter(pl.col("media_packets_sent") > 0)
    sent = {end: set(of["second"]) for (end,), of in seconds.group_by("end")}
    assert sent["server"] >= set(range(10))
    # What was captured just before is sent in the fourth second.
    assert {4, 5, 6} & sent["client"] == set()
    assert {0, 1, 2, 7, 8, 9} <= sent["client"]
    first = pl.read_parquet(folder / "frames.parquet").filter(
        (pl.col("media") == "video") & (pl.col("captured_ns") > 5_000_000_000)
    )
    assert first["key"][0]


def test_an_encoder_can_vary_as_a_recorded_one_did(voxpath, tmp_path: Path):
    (tmp_path / "encoder.txt").write_text("0.5\n1.5\n0  # none\n3 key\n0.25\n")
    more = 'back = "none", rate = { start = "600 kbit/s", max = "600 kbit/s" }'
    scenario = CALL.format(control='"none"', more=more).replace(
        "video = {}", 'video = { ratios = "encoder.txt" }'
    )
    # Nothing is lost, so no key frame is asked for.
    (tmp_path / "call.toml").write_text(scenario.replace("2 %", "0 %"))
    called = voxpath("run", "call.toml")
    assert called.code == 0, called.err
    (folder,) = (tmp_path / "runs").iterdir()
    sent = pl.read_parquet(folder / "frames.parquet").filter(pl.col("media") == "video")
    assert sent.height >= 300
    # In the first round the key frame that begins the call is paid for.
    later = sent[50:300]
    mean = later["frame_bytes"].mean() / 1.05
    found = [(round(size / mean, 1), key) for size, key in later.select("frame_bytes", "key").rows()]
    place = found.index((3.0, True))
    assert found[place : place + 5] == [(3.0, True), (0.2, False), (0.5, False), (1.5, False), (0.0, False)]
    assert found[place:200] == found[place + 50 : 250]


def test_frames_come_as_late_as_recorded_ones(voxpath, tmp_path: Path):
    (tmp_path / "encoder.txt").write_text("1 2 ms\n1\n1 7 ms\n")
    more = 'back = "none", rate = { start = "600 kbit/s", max = "600 kbit/s" }'
    scenario = CALL.format(control='"none"', more=more)
    (tmp_path / "call.toml").write_text(scenario.replace("video = {}", 'video = { ratios = "encoder.txt" }'))
    called = voxpath("run", "call.toml")
    assert called.code == 0, called.err
    (folder,) = (tmp_path / "runs").iterdir()
    captured = pl.read_parquet(folder / "frames.parquet").filter(pl.col("media") == "video")["captured_ns"]
    steps = captured[:90].diff().drop_nulls() / 1e6 - 1000 / 30
    place = [round(step) for step in steps[:3]].index(-2)
    assert steps[place : place + 84].to_list() == pytest.approx([-2, 7, -5] * 28, abs=0.01)


def test_a_circuit_breaker_says_when_it_stopped_what_and_why(voxpath, tmp_path: Path):
    # At 15 % of losses and 0.4 s TCP sends 7.9 packets a second; ten times as many are fewer than video has.
    lossy = 'circuit_breaker = true, back = "none", rate = { start = "2 Mbit/s", max = "2 Mbit/s" }'
    scenario = CALL.format(control='"none"', more=lossy)
    (tmp_path / "call.toml").write_text(scenario.replace("20 ms", "200 ms").replace("2 %", "15 %"))
    called = voxpath("run", "call.toml")
    assert called.code == 0, called.err
    (folder,) = (tmp_path / "runs").iterdir()
    client = pl.read_parquet(folder / "calls.parquet").row(0, named=True)
    assert (client["video_stopped_by"], client["audio_stopped_ns"]) == ("congestion", None)
    frames = pl.read_parquet(folder / "frames.parquet")
    last = frames.filter(pl.col("media") == "video")["captured_ns"].max()
    assert last < client["video_stopped_ns"] < last + 40_000_000


def test_media_of_a_clock_that_gains_run_ahead_of_the_run(voxpath, tmp_path: Path):
    for drift, gain in (("1 %", 1.01), ("-1 %", 0.99)):
        where = tmp_path / drift
        where.mkdir()
        (where / "call.toml").write_text(CALL.format(control='"none"', more=f'clock_drift = "{drift}"'))
        called = voxpath("run", where / "call.toml", "--capture", "client", "--out", where / "runs")
        assert called.code == 0, called.err
        (folder,) = (where / "runs").iterdir()
        names = ("frame.time_relative", "rtp.timestamp")
        sent = dissect(folder / "captures/client.pcapng", "ip.src == 10.0.0.1 && rtp.p_type == 111", *names)
        (began, first), (ended, last) = sent[0], sent[-1]
        media_s = (int(last) - int(first)) % 2**32 / 48_000
        assert media_s / (float(ended) - float(began)) == pytest.approx(gain, abs=0.001)


def test_messages_beside_media_have_a_table_and_octets(voxpath, tmp_path: Path):
    data = 'data = { size = "100 B", interval = "50 ms", messages = 100 }'
    more = f'protection = "dtls_srtp", back = "none", {data}'
    folder = run(voxpath, tmp_path, '"none"', more, "--capture", "client")
    messages = pl.read_parquet(folder / "data_messages.parquet").with_columns(
        pl.col("outcome", "end").cast(pl.String)
    )
    assert messages.height == 100
    assert messages["outcome"].unique().to_list() == ["delivered"]
    flows = pl.read_parquet(folder / "flows.parquet").to_dicts()[0]
    assert flows["bytes_wrong"] == 0
    # DTLS and SCTP around 100 octets (RFC 9260 section 3.3.1): 21 and 16, 12 and 16.
    records = dissect(
        folder / "captures" / "client.pcapng", "ip.src == 10.0.0.1 && udp.length == 173", "udp.length"
    )
    assert len(records) >= 100


def flow_of(voxpath: Any, where: Path, link: str, app: str, duration: str = "20 s") -> dict[str, Any]:
    """What the table of flows tells of a call of audio over a link; rates, losses, frames of its client."""
    (where / "call.toml").write_text(
        f'name = "a call"\nduration = "{duration}"\n'
        f'topology = {{ kind = "pipe", link = {{ rate = "2 Mbit/s", delay = "40 ms", {link} }} }}\n'
        f'[[flows]]\nname = "call"\napp = {{ kind = "call", audio = {{}}, {app} }}\n'
    )
    called = voxpath("run", "call.toml")
    assert called.code == 0, called.err
    (folder,) = (where / "runs").iterdir()
    (flow,) = pl.read_parquet(folder / "flows.parquet").to_dicts()
    return flow


@pytest.mark.parametrize("length", ["300 ms", "2500 ms", "20 s", "none"])
def test_a_mean_rate_is_that_of_the_time_in_which_media_is_sent(voxpath, tmp_path: Path, length: str):
    # 50 packets a second: 12 octets of header, 12 of extensions and 50 of media.
    duration = "" if length == "none" else f'duration = "{length}"'
    flow = flow_of(voxpath, tmp_path, "", duration)
    # A frame more or less at either end.
    frames = 15 if length == "300 ms" else 100
    for end in ("client", "server"):
        assert flow[f"{end}_media_sent_bps"] == pytest.approx(50 * 74 * 8, rel=1.5 / frames)


def test_what_is_lost_up_to_the_end_is_counted(voxpath, tmp_path: Path):
    outages = 'loss = { kind = "outages", outages = [{ start = "8 s", length = "1 min" }] }'
    flow = flow_of(voxpath, tmp_path, f"up = {{ {outages} }}", "")
    assert flow["client_media_loss"] == pytest.approx(0.6, abs=0.01)
    assert flow["server_media_loss"] == 0


def test_what_is_lost_at_the_start_is_counted(voxpath, tmp_path: Path):
    outages = 'loss = { kind = "outages", outages = [{ start = "0 s", length = "8 s" }] }'
    flow = flow_of(voxpath, tmp_path, f"up = {{ {outages} }}", "")
    assert flow["client_media_loss"] == pytest.approx(0.4, abs=0.01)


def test_what_comes_late_is_not_lost(voxpath, tmp_path: Path):
    # Some of what is overtaken comes in the next second.
    flow = flow_of(voxpath, tmp_path, 'reorder = { probability = "30 %", by = "90 ms" }', "")
    assert (flow["client_media_loss"], flow["server_media_loss"]) == (0, 0)
