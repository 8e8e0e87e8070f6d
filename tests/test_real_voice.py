"""A voice over the kernel: its losses are the network's, and a receiver that is not ours reads our RTP."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from test_voice_call import BAD, save
from voxpath import api
from voxpath.voice.call import call, datagrams, kernel
from voxpath.voice.call.codecs import CODECS
from voxpath.voice.call.codecs.base import Wish
from voxpath.voice.call.network import one_link
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


def test_a_receiver_that_is_not_ours_reads_our_packets_by_their_description(tmp_path: Path):
    encoded = CODECS["opus"].encode(read(shortened(tmp_path)), Wish())
    document = kernel.planned(one_link({"delay": "20 ms"}, "no loss"), None)
    frames, description = tmp_path / "frames", tmp_path / "voice.sdp"
    ticks = encoded.frame_ns * 48_000 // 1_000_000_000
    frames.write_text("\n".join([f"{ticks} {encoded.frame_ns}", *(one.hex() for one in encoded.frames)]))
    with api.real(document) as net:
        address = net.addresses["server"][0]
        description.write_text(
            f"v=0\no=- 0 0 IN IP4 {address}\ns=voice\nc=IN IP4 {address}\nt=0 0\n"
            f"m=audio {kernel.PORT} RTP/AVP {datagrams.PAYLOAD_TYPE}\n"
            f"a=rtpmap:{datagrams.PAYLOAD_TYPE} opus/48000/2\n"
        )
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


def test_only_rtp_goes_over_the_kernel(tmp_path: Path):
    for more in ({"over": "tcp"}, {"redundancy": 1}):
        with pytest.raises(CallError, match="by rtp, without redundancy"):
            call(BAD, backend="real", out=tmp_path, **more)
