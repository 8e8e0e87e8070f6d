"""Browsers in a call across our network, and the tables of what they tell."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import wave
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import voxpath
from conftest import ROOT, of_the_run
from voxpath.results import browsers
from voxpath.results.metrics import dictionary
from voxpath.webrtc import devices

sys.path += [str(ROOT / "benches"), str(ROOT / "benches" / "webrtc")]

from cases import CASES, MIN_AUDIO_KBPS, MIN_VIDEO_KBPS
from frames import Frames, frames
from webrtc import run as judge

BEGAN_NS = 1_700_000_000_000_000_000


def sample(second: float, **values: float) -> dict:
    """A sample in which an end has sent `out` and received `back` octets of video."""
    video = {"kind": "video", "packetsSent": values["packets"], "headerBytesSent": 0}
    sent = {"bytesSent": values["out"], "retransmittedBytesSent": values.get("again", 0), **video}
    got = {"bytesReceived": values["back"], "headerBytesReceived": 0, "kind": "video"}
    got |= {"packetsReceived": values["packets"], "packetsLost": values.get("lost", 0)}
    pair = {"type": "candidate-pair", "nominated": True, "availableOutgoingBitrate": values["estimate"]}
    sent |= {"targetBitrate": 0.8 * values["estimate"]}
    return {
        "unix_ms": BEGAN_NS / 1e6 + 1000 * second,
        "state": "connected",
        "stats": [pair, {"type": "outbound-rtp", **sent}, {"type": "inbound-rtp", **got}],
    }


def lines(end: str, *samples: dict) -> bytes:
    told = [{"call": "talk", "end": end}, *samples]
    return b"".join(json.dumps(line).encode() + b"\n" for line in told)


def test_counters_of_samples_become_what_each_second_had():
    client = lines(
        "client",
        *(
            sample(0.5 + second, out=1000 * second, back=0, packets=10 * second, estimate=estimate)
            for second, estimate in enumerate((300e3, 300e3, 400e3, 500e3, 500e3))
        ),
    )
    server = lines(
        "server",
        *(
            sample(0.5 + second, out=0, back=900 * second, packets=9 * second, lost=second, estimate=1e6)
            for second in range(5)
        ),
    )
    found = browsers.tables([client, b"", server], BEGAN_NS)
    sent = found["media_seconds"].filter(pl.col("end") == "client")
    assert sent["second"].to_list() == [0, 1, 2, 3]
    assert sent["flow"].unique().to_list() == ["talk"]
    # From half a second on 1000 octets a second; in the first second for half of it.
    assert sent["media_sent_bps"].to_list() == [4000, 8000, 8000, 8000]
    assert sent["media_received_bps"].to_list() == [3600, 7200, 7200, 7200]
    assert sent["media_packets_expected"].to_list() == [5, 10, 10, 10]
    assert sent["media_packets_lost"].to_list() == [0, 1, 1, 1]
    estimates = found["signals"].filter(pl.col("end") == "client", pl.col("signal") == "target_bps")
    assert estimates["number"].to_list() == [300e3, 400e3, 500e3]
    assert estimates["time_ns"].to_list() == [500_000_000, 2_500_000_000, 3_500_000_000]
    targets = found["signals"].filter(pl.col("end") == "client", pl.col("signal") == "video_target_bps")
    assert targets["number"].to_list() == [240e3, 320e3, 400e3]


def test_columns_of_browsers_have_meanings_and_those_of_calls_are_theirs():
    found = browsers.tables(
        [lines("client", *(sample(s, out=s, back=0, packets=s, estimate=1e5) for s in range(3)))], BEGAN_NS
    )
    known = dictionary()
    for name, table in found.items():
        assert set(table.columns) <= set(known[name]), name
    # The other end told nothing.
    assert found["media_seconds"]["media_received_bps"].to_list() == [None, None]


def rtp(kind: int, timestamp: int, octets: int) -> bytes:
    """A packet with two words of extensions, so many octets of media and an authentication tag."""
    head = struct.pack(">BBHII", 0x90, kind, 0, timestamp % 2**32, 7)
    return head + struct.pack(">HH", 0xBEDE, 2) + bytes(8 + octets + 10)


def test_packets_of_a_call_become_frames_and_their_share_of_the_target():
    start = 2**32 - 3000
    sent = [
        (1.0, b"\x16 a handshake in DTLS"),
        (1.1, rtp(111, 5, 80)),
        (1.25, rtp(96, start, 1000)),
        (1.26, rtp(0x80 | 96, start, 500)),
        (1.284, rtp(0x80 | 96, start + 3000, 250)),
        # Sent again, by another payload type.
        (1.29, rtp(97, start, 1002)),
        # One frame of the camera is missing before this one.
        (1.35, rtp(0x80 | 96, start + 9000, 600)),
    ]
    # 120 kbit/s are 500 octets a frame; later 60 kbit/s.
    series = {"target": ([1.2, 1.3], [120_000, 60_000]), "keys": ([1.0, 1.26], [0, 1])}
    found = frames(sent, series)
    assert (found.first_s, found.ticks, found.sizes) == (1.25, [0, 3000, 6000], [1500, 250, 600])
    assert found.ratios(30, 0, 10) == [0.5, 0, 2.4]
    assert found.ratios(30, 0, 1.3) == [0.5]
    again = Frames.recorded(json.loads(json.dumps(found.told())))
    assert again.ratios(30, 0, 10) == found.ratios(30, 0, 10)
    # The other end has asked for a key frame.
    asked = {**series, "keys": ([1.0, 1.26, 1.4], [0, 1, 2])}
    assert frames(sent, asked).ratios(30, 0, 10) == [0.5, 0]
    # Of the three packets of the first two frames, two left in one go; 10 ms are the pacer's.
    assert found.apart_us is None
    burst = [(1 + at * 1e-6, rtp(96, start, 100)) for at in (0, 60, 140, 11_000)]
    assert frames(burst, series).apart_us == pytest.approx([65, 70, 75])
    assert again.apart_us is None
    with pytest.raises(ValueError, match="no packet of video"):
        frames(sent[:2], series)


def test_how_late_frames_of_a_call_left_is_kept_and_ours_are_as_late():
    # Captured every 100/3 ms, and sent 5, 8, 12 and 6 ms later; the third one behind a packet of the second.
    sent = [(1.005, rtp(96, 0, 500)), (1.0413333, rtp(96, 3000, 500))]
    sent += [
        (1.0783, rtp(0x80 | 96, 3000, 500)),
        (1.0786667, rtp(96, 6000, 500)),
        (1.106, rtp(96, 9000, 500)),
    ]
    series = {"target": ([1.0], [120_000]), "keys": ([1.0], [0])}
    found = frames(sent, series)
    assert found.late_ms == [0, 3, None, 1]
    again = Frames.recorded(json.loads(json.dumps(found.told())))
    assert again.encoder(30, 0, 10) == ["2.0 3 ms", "1.0 3 ms", "1.0 1 ms"]
    # Calls that were recorded before do not tell, and the two kinds are not mixed.
    told = found.told()
    before = {name: told[name] for name in told if name != "late_ms"}
    assert Frames.recorded(before).encoder(30, 0, 10) == ["2.0", "1.0", "1.0"]
    calls = [{"case": "1000", "run": run, "frames": kept} for run, kept in enumerate((told, before))]
    assert [judge.is_whole(call) for call in calls] == [True, False]
    with pytest.raises(SystemExit, match="with and without late_ms"):
        judge.encoder(calls)


def test_the_least_that_audio_has_is_that_of_the_recorded_calls():
    estimates = [min(call["frames"]["series"]["estimate"][1]) for call in judge.with_frames("tcp")]
    assert estimates
    assert {round(1000 * (MIN_VIDEO_KBPS + MIN_AUDIO_KBPS))} == set(estimates)


def test_an_encoder_that_is_held_out_has_not_seen_what_it_is_compared_with(monkeypatch, tmp_path: Path):
    calls = [
        {"case": name, "run": number, "problem": None, "frames": {}} for name in CASES for number in range(3)
    ]
    asked: list[tuple[list[tuple[str, int]], range]] = []

    def simulated(_name: str, encoder: list[tuple[str, int]], numbers: range, _out: Path) -> list:
        asked.append((encoder, numbers))
        return []

    monkeypatch.setattr(judge, "recorded", lambda: calls)
    monkeypatch.setattr(judge, "encoder", lambda some: [(call["case"], call["run"]) for call in some])
    monkeypatch.setattr(judge, "simulated_with", simulated)
    judge.held_out("500", "call", tmp_path)
    assert [encoder for encoder, _ in asked] == [
        [("500", number) for number in range(3) if number != held] for held in range(3)
    ]
    assert sorted(number for _, numbers in asked for number in numbers) == list(range(judge.SIMULATED))
    asked.clear()
    judged = {name for name, case in CASES.items() if case.judged}
    for name in CASES:
        judge.held_out(name, "network", tmp_path)
        encoder, numbers = asked.pop()
        assert {case for case, _ in encoder} == judged - {name}
        assert numbers == range(judge.SIMULATED)
    # Over the steps the frames are those of another network anyway.
    judge.held_out("steps", "call", tmp_path)
    assert [{case for case, _ in encoder} for encoder, _ in asked] == [{"2000"}]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"{}", "line 1: a sample comes before"),
        (b'{"call": "x", "end": "client"}\n[1]', "line 2: "),
        (b'{"call": "x", "end": "client"}\n{"unix_ms": "now", "stats": []}', "line 2: "),
        (b"\xff", "line 1: "),
    ],
)
def test_what_no_browser_of_ours_wrote_is_refused_by_its_line(line: bytes, why: str):
    with pytest.raises(ValueError, match=why):
        browsers.tables([line], BEGAN_NS)


def test_the_camera_has_motion_and_grain(tmp_path: Path):
    devices.write_scene(tmp_path / "scene.y4m", 64, 48, 10)
    head, _, rest = (tmp_path / "scene.y4m").read_bytes().partition(b"\n")
    assert head == b"YUV4MPEG2 W64 H48 F10:1 Ip A1:1 C420mpeg2"
    frame = len(b"FRAME\n") + 64 * 48 * 3 // 2
    assert len(rest) == 40 * frame
    luma = [np.frombuffer(rest[i * frame + 6 :][: 64 * 48], np.uint8).astype(float) for i in (0, 1)]
    assert luma[0].std() > 20
    assert np.abs(luma[1] - luma[0]).mean() > 3


def test_the_microphone_is_not_silent(tmp_path: Path):
    devices.write_sound(tmp_path / "sound.wav")
    with wave.open(str(tmp_path / "sound.wav")) as file:
        assert (file.getframerate(), file.getnchannels(), file.getnframes()) == (48_000, 1, 192_000)
        samples = np.frombuffer(file.readframes(192_000), "<i2").astype(float)
    # A tenth of full scale throughout.
    assert np.allclose(samples.reshape(40, -1).std(axis=1), 3277, rtol=0.5)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["offer", "server", "--size", "641x480"], "--size 641x480: give even numbers"),
        (["offer", "server", "--max-rate", "2"], "--max-rate: "),
        (["answer", "--duration", "1 parsec"], "--duration: "),
        (["answer", "--camera", "nowhere.y4m"], "nowhere.y4m"),
    ],
)
def test_what_no_call_can_have_is_refused(arguments: list[str], why: str, voxpath):
    called = voxpath("webrtc", *arguments)
    assert called.code == 2
    assert why in called.err


def test_browsers_call_each_other_across_the_network(monkeypatch, tmp_path: Path):
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    text = (ROOT / "scenarios" / "webrtc-call.toml").read_text()
    short = text.replace('"55 s"', '"8 s"').replace('duration = "90 s"', 'duration = "40 s"')
    assert short.count('"8 s"') == short.count('"40 s"') == 1
    (tmp_path / "call.toml").write_text(short)
    result = voxpath.run(tmp_path / "call.toml", out=tmp_path / "runs", backends=["real"])
    (folder,) = result.folders
    verdict = json.loads((folder / "verdict.json").read_text())
    assert of_the_run(verdict["problems"]) == []
    seconds = pl.read_parquet(folder / "media_seconds.parquet")
    ways = {(end, media) for end, media in seconds.select("end", "media").unique().iter_rows()}
    assert ways == {("client", "video"), ("client", "audio"), ("server", "audio")}
    video = seconds.filter(pl.col("end") == "client", pl.col("media") == "video")
    received = video["media_received_bps"].sum()
    # A link of a megabit carries no more; a browser that starts at 300 kbit/s sends at least some of that.
    assert 100e3 < received / video.height < 1e6
    assert video["media_packets_expected"].sum() >= video["media_packets_received"].sum() > 0
    own = pl.read_parquet(folder / "browsers.parquet").filter(pl.col("media") == "video")
    assert set(own["frame_width"].drop_nulls()) == {640}
    assert own["frames_decoded"].sum() > 0
    signals = pl.read_parquet(folder / "signals.parquet").filter(pl.col("end") == "client")
    assert {"target_bps", "round_trip_ms"} <= set(signals["signal"])
    # Twice the delay of the link.
    assert signals.filter(pl.col("signal") == "round_trip_ms")["number"].min() >= 50


def audio_in(capture: Path) -> list[int]:
    """Sequence numbers of Opus in what a client's browser sent, in their order; SRTP hides no headers."""
    command = [
        "tshark",
        "-r",
        str(capture),
        "-Y",
        "udp && ip.src == 10.0.0.1",
        "-T",
        "fields",
        "-e",
        "udp.payload",
    ]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    datagrams = [bytes.fromhex(line) for line in told.split()]
    found = [one for one in datagrams if len(one) > 12 and one[0] >> 6 == 2 and one[1] & 0x7F == OPUS]
    numbers = [int.from_bytes(one[2:4], "big") for one in found]
    return [number + 0x10000 * (number < numbers[0] - 0x8000) for number in numbers]


OPUS = 111
"""Chromium's payload type."""


def test_the_words_arrive_in_a_browser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    from voxpath.voice.call.recording import read, resampled
    from voxpath.voice.call.wav import write
    from voxpath.voice.speech import recognisers
    from voxpath.voice.speech.words import word_errors

    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    said = read(None)
    assert said.text
    write(tmp_path / "said.wav", said.values, said.rate_hz)
    answers = ["voxpath", "webrtc", "answer", "--no-video", "--heard", str(tmp_path / "heard.wav")]
    offers = ["voxpath", "webrtc", "offer", "server", "--no-video", "--duration", "15 s"]
    offers += ["--microphone", str(tmp_path / "said.wav")]
    scenario = {
        "name": "words for a browser",
        "duration": "60 s",
        "topology": {"kind": "pipe", "link": {"delay": "25 ms", "loss": "2 %"}},
        "hosts": {
            "server": {"profile": "linux", "run": answers, "listens": 8000},
            "client": {"profile": "linux", "run": offers},
        },
    }
    hosts = ("client", "server")
    (folder,) = voxpath.run(scenario, out=tmp_path / "runs", backends=["real"], capture=hosts).folders
    assert of_the_run(json.loads((folder / "verdict.json").read_text())["problems"]) == []
    left, came = (audio_in(folder / "captures" / f"{host}.pcapng") for host in hosts)
    # What the network took of what left the client, between the first packet that came and the last one.
    assert set(came) <= set(left)
    lost = left.index(came[-1]) - left.index(came[0]) + 1 - len(came)
    assert 0 < lost < 0.06 * len(left)
    audio = pl.read_parquet(folder / "media_seconds.parquet").filter(
        pl.col("end") == "client", pl.col("media") == "audio"
    )
    # The table has whole seconds: what was lost in the rest of the last one is not in it.
    assert 0 <= lost - audio["media_packets_lost"].sum() <= 3
    with wave.open(str(tmp_path / "heard.wav")) as file:
        rate = file.getframerate()
        values = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    assert len(values) > 10 * rate
    recogniser = recognisers.load(recognisers.DEFAULT, None)

    def words_in(values: np.ndarray) -> list[str]:
        recogniser.reset()
        recogniser.begin()
        recogniser.feed(values.tobytes())
        return recogniser.finish().text.split()

    heard, clean = words_in(resampled(values, rate, 16_000)), words_in(said.at(16_000))
    # The microphone says them over and over, and the call begins and ends somewhere.
    over_and_over = 3 * clean
    parts = (over_and_over[begin:][: len(heard)] for begin in range(len(clean)))
    wrong = min(word_errors(" ".join(part), " ".join(heard))[0] for part in parts)
    assert len(heard) > len(clean)
    assert wrong < 0.25 * len(heard), heard
