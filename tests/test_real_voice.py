"""A voice over the kernel: its losses are the network's, and a receiver that is not ours reads our RTP."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from test_voice_call import BAD, save
from voxpath import api
from voxpath.voice.call import call, datagrams, kernel, streams
from voxpath.voice.call.codecs import CODECS
from voxpath.voice.call.codecs.base import Wish
from voxpath.voice.call.network import one_link
from voxpath.voice.call.player import Fate
from voxpath.voice.call.problems import CallError
from voxpath.voice.call.recording import read
from voxpath.voice.call.transports.base import NEVER

LOSSY = one_link({"delay": "20 ms", "loss": "10 %"}, "10 % loss")
SECONDS = 2

FFMPEG = """
import sys, json, av
options = {"protocol_whitelist": "file,udp,rtp", "reorder_queue_size": "0"}
sizes = []
with av.open(sys.argv[1], options=options, timeout=(20.0, 4.0)) as container:
    print("ready", file=sys.stderr, flush=True)
    try:
        for packet in container.demux(audio=0):
            if packet.size:
                sizes.append((packet.pts, bytes(packet).hex()))
    except (av.error.ExitError, av.error.TimeoutError):
        pass
print(json.dumps(sizes))
"""


def shortened(tmp_path: Path) -> Path:
    voice = read(None)
    return save(tmp_path / "short.wav", voice.values[: SECONDS * voice.rate_hz], voice.rate_hz)


def test_over_the_kernel_what_is_lost_is_what_the_network_decided(tmp_path: Path):
    made = call(LOSSY, (shortened(tmp_path),), backend="real", out=tmp_path / "runs")
    (talk,) = made.talks
    lost = int((talk.arrivals.complete == NEVER).sum())
    elements = pl.read_parquet(made.folder / "elements.parquet")
    dropped = elements.filter(pl.col("element") == "loss")["packets_dropped"].sum()
    assert lost == dropped > 0
    came = talk.arrivals.complete != NEVER
    network = (talk.arrivals.complete - talk.arrivals.sent)[came] / 1e6
    assert network.min() >= 20


@pytest.mark.parametrize("codec", ["opus", "g711"])
def test_a_receiver_that_is_not_ours_reads_our_packets_by_their_description(codec: str, tmp_path: Path):
    encoded = CODECS[codec].encode(read(shortened(tmp_path)), Wish())
    document = kernel.planned(one_link({"delay": "20 ms"}, "no loss"), None)
    frames, description = tmp_path / "frames", tmp_path / "voice.sdp"
    ticks = {"opus": 960, "g711": 160}[codec]
    assert ticks == encoded.frame_ns * encoded.clock_hz // 1_000_000_000
    frames.write_text("\n".join([f"{ticks} {encoded.frame_ns}", *(one.hex() for one in encoded.frames)]))
    with api.real(document) as net:
        address = net.addresses["server"][0]
        description.write_text(kernel.description(encoded, address))
        theirs = net.host("server").popen(
            [sys.executable, "-c", FFMPEG, str(description)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        with frames.open("rb") as given:
            ours = net.host("client").popen(
                [sys.executable, datagrams.__file__, "send", address, str(kernel.PORT)],
                stdin=given,
                stdout=subprocess.PIPE,
            )
        ours.communicate()
        told, _ = theirs.communicate()
        net.finish()
    read_by_them = json.loads(told)
    sent = [frame.hex() for frame in encoded.frames]
    # FFmpeg may begin to listen after the first packets, and keeps the order of what it hears.
    heard = [content for _, content in read_by_them]
    assert len(heard) > len(sent) / 2
    assert heard == sent[len(sent) - len(heard) :]
    # It counts from the second packet on.
    assert set(np.diff([pts for pts, _ in read_by_them][1:])) == {ticks}


def test_over_a_connection_of_the_kernel_all_frames_come(tmp_path: Path):
    there, back = call(
        LOSSY, (shortened(tmp_path), shortened(tmp_path)), over="tcp", backend="real", out=tmp_path / "runs"
    ).talks
    for talk in (there, back):
        assert (talk.arrivals.complete != NEVER).all()
        network = (talk.arrivals.complete - talk.arrivals.sent) / 1e6
        assert network.min() >= 20
        # What comes after a segment that was lost waits for it.
        assert (np.diff(talk.arrivals.complete) >= 0).all()
        assert network.max() > 40
        assert talk.heard.count(Fate.LOST) == 0


def test_frames_cross_a_connection_on_loopback_as_they_are(tmp_path: Path):
    encoded = CODECS["opus"].encode(read(shortened(tmp_path)), Wish(dtx=True))
    frames = tmp_path / "frames"
    frames.write_text("\n".join([f"960 {encoded.frame_ns}", *(one.hex() for one in encoded.frames)]))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    program = [sys.executable, streams.__file__]
    with frames.open("rb") as given:
        speaker = subprocess.Popen([*program, "send", "127.0.0.1", port], stdin=given, stdout=subprocess.PIPE)
        told = subprocess.run(
            [*program, "receive", "127.0.0.1", port, "20"], stdout=subprocess.PIPE, check=True
        ).stdout
        sent = json.loads(speaker.communicate()[0])
    came = json.loads(told)
    assert {number: bytes.fromhex(content) for number, _, content in came} == {
        number: frame for number, frame in enumerate(encoded.frames) if frame
    }
    assert len(sent["sent"]) == len(encoded.frames)
    assert all(at >= sent["sent"][number] for number, at, _ in came)


@given(st.lists(st.binary(max_size=40), max_size=12), st.lists(st.integers(1, 60), min_size=1, max_size=30))
def test_packets_are_found_however_a_stream_is_cut(frames: list[bytes], cuts: list[int]):
    whole = b"".join(streams.framed(number, 160 * number, frame) for number, frame in enumerate(frames))
    pieces = []
    for cut in cuts:
        pieces.append(whole[:cut])
        whole = whole[cut:]
    found = list(streams.packets_of(iter([*pieces, whole])))
    assert [one[datagrams.HEADER.size :] for one in found] == frames
    assert [datagrams.number_of(one) for one in found] == list(range(len(frames)))


def test_what_does_not_go_over_the_kernel_is_refused(tmp_path: Path):
    for more in ({"over": "mqtt"}, {"redundancy": 1}):
        with pytest.raises(CallError, match="by rtp or tcp, without redundancy"):
            call(BAD, backend="real", out=tmp_path, **more)
