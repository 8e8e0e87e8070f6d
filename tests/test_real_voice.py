"""A voice over the kernel: its losses are the network's, and ends that are not ours understand it."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import json
import math
import shutil
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from test_voice_call import TWO_PATHS, save
from voxpath import api
from voxpath.realtime import RealNetwork, RealResult
from voxpath.voice.call import call, kernel, page, times, verdict
from voxpath.voice.call.codecs import CODECS
from voxpath.voice.call.codecs.base import Encoded, Wish
from voxpath.voice.call.network import of_scenario, one_link
from voxpath.voice.call.player import MISSING, Fate
from voxpath.voice.call.problems import CallError
from voxpath.voice.call.programs import datagrams, mqtt, pacing, rtcp, rtp, streams, websockets
from voxpath.voice.call.recording import read
from voxpath.voice.call.transports import TRANSPORTS
from voxpath.voice.call.transports.base import NEVER, Wants, Way

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


TROUBLE = """
import json, socket, struct, sys
# Of each few frames that come the sender is told by an ICMP error, of one kind after the other.
port, kinds = int(sys.argv[1]), json.loads(sys.argv[2])
v6 = sys.argv[3] == "ipv6"
family = socket.AF_INET6 if v6 else socket.AF_INET
heard = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_UDP)
icmp = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_ICMPV6 if v6 else socket.IPPROTO_ICMP)
print("ready", flush=True)
for number, (kind, code) in enumerate(kind for kind in kinds for _ in range(5)):
    while True:
        octets, (address, *_) = heard.recvfrom(65_535)
        head = b"" if v6 else octets[: 4 * (octets[0] & 15)]
        datagram = octets[len(head) :]
        if struct.unpack_from("!H", datagram, 2)[0] == port:
            break
    if number % 5:
        continue
    if v6:
        ends = (socket.inet_pton(family, end) for end in (address, sys.argv[4]))
        head = struct.pack("!IHBB16s16s", 6 << 28, len(datagram), socket.IPPROTO_UDP, 64, *ends)
    quoted = head + datagram[:8]
    message = struct.pack("!BBHI", kind, code, 0, 0) + quoted
    # The kernel fills in the checksum of ICMPv6 alone.
    total = sum(struct.unpack(f"!{len(message) // 2}H", message))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    if not v6:
        message = struct.pack("!BBHI", kind, code, total ^ 0xFFFF, 0) + quoted
    icmp.sendto(message, (address, 0))
"""
"""Runs on the host that listens."""


def shortened(tmp_path: Path, seconds: float = SECONDS) -> Path:
    voice = read(None)
    return save(tmp_path / "short.wav", voice.values[: int(seconds * voice.rate_hz)], voice.rate_hz)


FRAME = 12 + 12 + 160
"""Octets of a packet of G.711: RTP's header, its extensions, a frame."""
REPORT, GOODBYE = 28 + 24, 8
"""Octets of a sender's report with its name, and of a goodbye."""


@pytest.fixture(autouse=True)
def observed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Networks tell of each packet."""
    monkeypatch.setattr(api, "real", functools.partial(api.real, observe=("packets",)))


def packets(folder: Path, link: str = "link ab") -> pl.DataFrame:
    """What the links did with each datagram."""
    return pl.read_parquet(folder / "packets.parquet").filter(pl.col("link") == link)


def dropped(folder: Path, sizes: Collection[int] = (FRAME,)) -> int:
    """Packets of frames, which have these sizes, that the network's losses took on the way there."""
    lost = packets(folder).filter(pl.col("action") == "lost")["payload_bytes"]
    return int(lost.is_in(list(sizes)).sum())


@pytest.mark.parametrize(("tcp", "control"), [(None, "cubic"), ({"congestion": "reno"}, "reno")])
def test_a_voice_has_the_congestion_control_of_its_host_and_not_the_machines(
    tcp: dict[str, str] | None, control: str
):
    """Which may be BBR, and is asked of the simulator by the profile of the host."""
    hosts = {"client": {"profile": "linux", **({} if tcp is None else {"tcp": tcp})}}
    network = dataclasses.replace(LOSSY, data={**LOSSY.data, "hosts": {**LOSSY.data["hosts"], **hosts}})
    document = kernel.planned(network, None)
    assert kernel.congestion_of(document, "client") == control
    place = pacing.Place("127.0.0.1", 0, True, congestion=kernel.congestion_of(document, "client"))
    with pacing.door(place) as here:
        there = place._replace(port=here.getsockname()[1])
        speaker = pacing.connected(there, pacing.Patience(False))
        assert speaker is not None
        with speaker, here.accept()[0] as listener:
            for end in (speaker, listener):
                told = end.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
                assert told.rstrip(b"\0").decode() == control


@pytest.mark.parametrize("over", sorted(set(TRANSPORTS) - {"rtp"}))
def test_programs_wait_as_long_as_the_way_takes(over: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(times, "PATIENCE_NS", 0)
    monkeypatch.setattr(times, "TAIL_NS", 0)
    short = shortened(tmp_path, 0.5)
    far = one_link({"delay": "300 ms"}, "far")
    made = call(far, (short,), over=over, codec="g711", backend="real", out=tmp_path)
    arrivals = made.talks[0].arrivals
    assert (arrivals.complete != NEVER).all()
    assert arrivals.complete[0] - arrivals.captured[0] == pytest.approx(300e6, abs=50e6)


def test_over_the_kernel_what_is_lost_is_what_the_network_decided(tmp_path: Path):
    made = call(LOSSY, (shortened(tmp_path),), codec="g711", backend="real", out=tmp_path / "runs")
    (talk,) = made.talks
    lost = int((talk.arrivals.complete == NEVER).sum())
    assert lost == dropped(made.folder) > 0
    came = talk.arrivals.complete != NEVER
    network = (talk.arrivals.complete - talk.arrivals.sent)[came] / 1e6
    assert network.min() >= 20


def test_the_packets_of_rtp_are_those_of_the_simulator(tmp_path: Path):
    quiet = one_link({"delay": "20 ms"}, "no loss")
    real, sim = (
        call(quiet, (shortened(tmp_path),), codec="g711", backend=backend, out=tmp_path / "runs")
        for backend in ("real", "sim")
    )
    (simulated,) = api.run(sim.document, out=tmp_path / "observed", observe=("packets",)).folders
    for link in ("link ab", "link ba"):
        ours, theirs = (
            packets(folder, link).filter(pl.col("action") == "enqueued")["payload_bytes"].to_list()
            for folder in (real.folder, simulated)
        )
        # The simulated call goes on for six seconds, and reports once more.
        assert set(ours) == set(theirs)
        assert ours.count(FRAME) == theirs.count(FRAME)
        assert len(ours) > ours.count(FRAME) + 1
    sent = packets(real.folder).filter(pl.col("action") == "enqueued")["payload_bytes"].to_list()
    assert sent[-1] == REPORT + GOODBYE


def test_over_the_kernel_the_same_seed_gives_the_same_sound(tmp_path: Path):
    one, again, other = (
        call(
            LOSSY, (shortened(tmp_path),), backend="real", seed=seed, buffer="300 ms", out=tmp_path / folder
        ).talks[0]
        for seed, folder in ((5, "a"), (5, "b"), (6, "c"))
    )
    assert list(one.heard.fates) == list(again.heard.fates)
    assert one.heard.count(Fate.LOST) + one.heard.count(Fate.RECOVERED) > 0
    assert np.array_equal(one.heard.values, again.heard.values)
    assert list(one.heard.fates) != list(other.heard.fates)


def test_traffic_that_only_the_duration_ends_goes_on_beside_a_voice(tmp_path: Path):
    path = tmp_path / "upload.toml"
    path.write_text("""
name = "beside an upload that never ends"
duration = "1 s"
[topology]
kind = "explicit"
hosts = ["client", "server", "home", "cloud"]
routers = ["r"]
links = [
  { ends = ["client", "r"] },
  { ends = ["home", "r"], rate = "2 Mbit/s", queue = "20 packets" },
  { ends = ["r", "server"] },
  { ends = ["r", "cloud"] },
]
[hosts]
client = { profile = "linux" }
server = { profile = "linux" }
home = { simulated = true }
cloud = { simulated = true }
[[flows]]
name = "upload"
from = "home"
to = "cloud"
app = { kind = "bulk" }
""")
    made = call(
        of_scenario(path), (shortened(tmp_path),), codec="g711", backend="real", out=tmp_path / "runs"
    )
    (talk,) = made.talks
    assert (talk.arrivals.complete != NEVER).all()
    assert made.document.plan.data["duration_ns"] == talk.way.gone_ns
    upload = pl.read_parquet(made.folder / "flows.parquet").row(0, named=True)
    # 2 Mbit/s, headers included, for longer than the second that the scenario has alone.
    assert upload["bytes_delivered"] * 8 > 0.8 * 2e6 * SECONDS


@pytest.mark.parametrize("codec", ["opus", "g711"])
def test_a_receiver_that_is_not_ours_hears_all_but_what_the_network_lost(codec: str, tmp_path: Path):
    encoded = CODECS[codec].encode(read(shortened(tmp_path)), Wish())
    document = kernel.planned(LOSSY, 1)
    frames, description = tmp_path / "frames", tmp_path / "voice.sdp"
    ticks = {"opus": 960, "g711": 160}[codec]
    assert ticks == kernel.ticks_of(encoded)
    sizes = {FRAME - 160 + len(frame) for frame in encoded.frames}
    assert not sizes & {REPORT, REPORT + GOODBYE}
    kernel.write_frames(frames, encoded)
    with api.real(document, out=tmp_path / "runs") as net:
        address = net.addresses["server"][0]
        description.write_text(kernel.description(encoded, address))
        theirs = net.host("server").popen(
            [sys.executable, "-c", FFMPEG, str(description)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        with frames.open("rb") as given:
            ours = net.host("client").popen(
                [
                    sys.executable,
                    datagrams.__file__,
                    "send",
                    "to",
                    address,
                    str(kernel.PORT),
                    "0",
                    "0",
                    str(encoded.clock_hz),
                ],
                stdin=given,
                stdout=subprocess.PIPE,
            )
        ours.communicate()
        told, _ = theirs.communicate()
        result = net.finish()
    heard = [content for _, content in json.loads(told)]
    sent = [frame.hex() for frame in encoded.frames]
    # It keeps the order of what it hears, all of which was sent.
    left = iter(sent)
    assert all(content in left for content in heard)
    lost = dropped(result.folders[0], sizes)
    assert lost > 0
    # FFmpeg begins to tell a packet late where it has to find out the codec's rate first.
    assert 0 <= len(sent) - lost - len(heard) <= 1
    steps = np.diff([pts for pts, _ in json.loads(told)][1:])
    assert set(steps % ticks) == {0}
    assert steps.min() == ticks


@pytest.mark.parametrize("over", ["tcp", "websocket", "mptcp", "mqtt"])
def test_over_a_connection_of_the_kernel_all_frames_come(over: str, tmp_path: Path):
    there, back = call(
        LOSSY, (shortened(tmp_path), shortened(tmp_path)), over=over, backend="real", out=tmp_path / "runs"
    ).talks
    for talk in (there, back):
        assert (talk.arrivals.complete != NEVER).all()
        network = (talk.arrivals.complete - talk.arrivals.sent) / 1e6
        assert network.min() >= 20
        # What comes after a segment that was lost waits for it.
        assert (np.diff(talk.arrivals.complete) >= 0).all()
        assert network.max() > 40
        assert talk.heard.count(Fate.LOST) == 0


@pytest.mark.parametrize("over", TRANSPORTS)
def test_a_call_that_loses_nothing_sounds_the_same_over_the_kernel_and_simulated(over: str, tmp_path: Path):
    quiet = one_link({"delay": "20 ms"}, "no loss")
    real, sim = (
        call(quiet, (shortened(tmp_path, 1),), over=over, backend=backend, out=tmp_path / "runs").talks[0]
        for backend in ("real", "sim")
    )
    assert list(real.heard.fates) == list(sim.heard.fates)
    assert np.array_equal(real.heard.values, sim.heard.values)


@pytest.mark.parametrize("over", TRANSPORTS)
def test_where_nothing_passes_nothing_is_heard_over_the_kernel_as_simulated(over: str, tmp_path: Path):
    dead = one_link({"loss": "100 %"}, "nothing passes")
    real, sim = (
        call(dead, (shortened(tmp_path, 1),), over=over, backend=backend, out=tmp_path / "runs")
        for backend in ("real", "sim")
    )
    for made in (real, sim):
        said = verdict.judged(made, made.talks[0], ("emodel",)).sentence
        assert said.startswith("nothing is heard: no frame ")


def test_what_no_link_takes_is_lost_over_the_kernel_as_simulated(tmp_path: Path):
    small = one_link({"mtu": "115 B"}, "small")
    real, sim = (
        call(small, (shortened(tmp_path),), backend=backend, out=tmp_path / "runs").talks[0]
        for backend in ("real", "sim")
    )
    assert list(real.heard.fates) == list(sim.heard.fates)
    assert real.too_large == sim.too_large > 0


@pytest.mark.parametrize("over", ["tcp", "mqtt"])
def test_what_a_slow_link_delivers_late_is_late_over_the_kernel_as_simulated(over: str, tmp_path: Path):
    slow = one_link({"rate": "30 kbit/s", "delay": "20 ms", "queue": "20 packets"}, "slow")
    real, sim = (
        call(
            slow, (shortened(tmp_path),), over=over, codec="g711", backend=backend, out=tmp_path / "runs"
        ).talks[0]
        for backend in ("real", "sim")
    )
    assert real.heard.count(Fate.LATE) > 0.8 * len(real.heard.fates)
    assert abs(real.heard.count(Fate.LATE) - sim.heard.count(Fate.LATE)) < 0.1 * len(real.heard.fates)


@pytest.mark.parametrize(
    ("family", "kinds"),
    [
        (
            "ipv4",
            {
                (3, 2): "ENOPROTOOPT",
                (3, 3): "ECONNREFUSED",
                (3, 6): "ENETUNREACH",
                (3, 7): "EHOSTDOWN",
                (3, 8): "ENONET",
                (3, 13): "EHOSTUNREACH",
                (12, 0): "EPROTO",
            },
        ),
        ("ipv6", {(1, 1): "EACCES", (1, 4): "ECONNREFUSED", (4, 0): "EPROTO"}),
    ],
)
def test_no_icmp_error_ends_a_call_and_each_is_told(
    family: str, kinds: dict[tuple[int, int], str], tmp_path: Path
):
    quiet = one_link({"delay": "5 ms"}, "no loss")
    encoded = CODECS["g711"].encode(read(shortened(tmp_path)), Wish())
    document = kernel.planned(dataclasses.replace(quiet, data={**quiet.data, "family": family}), 1)
    kernel.write_frames(tmp_path / "frames", encoded)
    piped: dict[str, Any] = {"stdout": subprocess.PIPE, "bufsize": 0}
    with api.real(document, out=tmp_path / "runs") as net:
        address, port = net.addresses["server"][0], str(kernel.PORT)
        trouble = [sys.executable, "-c", TROUBLE, port, json.dumps(list(kinds)), family, address]
        ends = ["0", "0", str(encoded.clock_hz)]
        listens = [sys.executable, datagrams.__file__, "receive", "at", address, port]
        listens += [str(len(encoded.frames)), *ends]
        others = [net.host("server").popen(one, stdin=subprocess.PIPE, **piped) for one in (trouble, listens)]
        assert [one.stdout.readline() for one in others] == [b"ready\n"] * 2
        with (tmp_path / "frames").open("rb") as given:
            speaks = [sys.executable, datagrams.__file__, "send", "to", address, port, *ends]
            sent = kernel._told(
                net.host("client").popen(speaks, stdin=given, stderr=subprocess.PIPE, **piped)
            )
        others[0].communicate(timeout=5)
        came = kernel._told(others[1])
        net.finish()
    assert sent["errors"] == dict.fromkeys(kinds.values(), 1)
    carrier = TRANSPORTS["rtp"].carrier(quiet, Way("there", "client", "server", [160], 1), Wants({}))
    arrivals = kernel._arrivals(came, sent, encoded, carrier)
    # Who hears of an error while it sends has not sent; while it listens, it has lost nothing.
    assert 0 <= (arrivals.complete == NEVER).sum() <= len(kinds)
    assert arrivals.errors == sent["errors"]


def test_what_the_socket_told_of_lost_packets_is_told(tmp_path: Path):
    made = call(one_link({}, "perfect"), (shortened(tmp_path),), codec="g711", out=tmp_path / "runs")
    (talk,) = made.talks
    arrivals = dataclasses.replace(talk.arrivals, errors={"EPROTO": 2, "EHOSTDOWN": 1})
    talk = dataclasses.replace(talk, arrivals=arrivals)
    one = verdict.judged(made, talk, ())
    row = next(row for row in page.numbers(talk, one).rows if row[0] == "never came")
    count = int(talk.sent.sum())
    assert row[2] == f"0 of {count} frames; the sender's socket told of EHOSTDOWN 1 time, EPROTO 2 times"
    assert page.talk_told(talk, one)["frames"]["errors"] == {"EPROTO": 2, "EHOSTDOWN": 1}


def test_an_outage_in_the_middle_of_a_call_is_outlived_over_the_kernel(tmp_path: Path):
    events = [
        {"at": f"{at} s", "link": "link", "connected": connected}
        for at, connected in ((4, False), (10, True))
    ]
    network = one_link({"delay": "20 ms"}, "an outage of 6 s")
    network = dataclasses.replace(network, data={**network.data, "events": events})
    made = call(network, (None,), codec="g711", backend="real", out=tmp_path / "runs")
    lost = made.talks[0].arrivals.complete == NEVER
    assert 250 <= lost.sum() <= 301
    assert not lost[0]
    assert not lost[-1]


def test_multipath_tcp_of_the_kernel_takes_all_paths_both_ways(tmp_path: Path):
    path, said = tmp_path / "two.toml", shortened(tmp_path)
    path.write_text(TWO_PATHS)
    made = call(of_scenario(path), (said, said), over="mptcp", backend="real", out=tmp_path / "runs")
    rows = pl.read_parquet(made.folder / "connections.parquet")
    # Whoever speaks, whichever end has the paths: both ends of both connections have both.
    assert sorted(rows["subflow"]) == [1] * 4 + [2] * 4
    for talk in made.talks:
        assert (talk.arrivals.complete != NEVER).all()


def test_mosquitto_on_a_host_passes_a_voice_on(tmp_path: Path):
    program = shutil.which("mosquitto")
    assert program, "mosquitto is missing: make setup installs it"
    (tmp_path / "mosquitto.conf").write_text("listener 1883\nallow_anonymous true\n")
    command = json.dumps([program, "-c", str(tmp_path / "mosquitto.conf")])
    path = tmp_path / "cloud.toml"
    path.write_text(
        f"""
name = "a broker of others"
[topology]
kind = "explicit"
hosts = ["client", "cloud", "server"]
links = [{{ ends = ["client", "cloud"], delay = "10 ms" }}, {{ ends = ["cloud", "server"], delay = "10 ms" }}]
[hosts.client]
profile = "linux"
[hosts.server]
profile = "linux"
[hosts.cloud]
profile = "linux"
run = {command}
listens = 1883
"""
    )
    (talk,) = call(
        of_scenario(path), (shortened(tmp_path),), over="mqtt", backend="real", out=tmp_path / "runs"
    ).talks
    assert (talk.arrivals.complete != NEVER).all()
    assert np.array_equal(talk.heard.values, talk.clean)


@pytest.mark.parametrize("more", [{"redundancy": 2}, {"nack": True}, {"nack": True, "redundancy": 1}])
def test_copies_and_requests_make_up_for_losses_over_the_kernel(more: dict[str, Any], tmp_path: Path):
    made = call(
        LOSSY,
        (shortened(tmp_path),),
        codec="g711",
        backend="real",
        buffer="400 ms",
        out=tmp_path / "runs",
        **more,
    )
    assert (lost := dropped(made.folder, range(FRAME, 1_500))) > 5
    # What is lost behind the last packet that came is not missed by anybody.
    assert made.talks[0].heard.count(*MISSING) <= (lost // 3 if "nack" not in more else 2)


# The programs, without a network


@contextlib.contextmanager
def heard_by(program: Any, count: int, *more: str) -> Iterator[tuple[str, Any]]:
    """A listener on loopback; the port, and a function that says what it heard."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    listens = "to" if program is streams else "at"
    listener = subprocess.Popen(
        [sys.executable, program.__file__, "receive", listens, "127.0.0.1", port, str(count), *more],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    )
    assert listener.stdout is not None
    assert listener.stdout.readline() == b"ready\n"
    yield port, lambda: json.loads(listener.communicate(timeout=5)[0])
    assert listener.wait() == 0


def speak(program: Any, encoded: Encoded, folder: Path, port: str, *more: str) -> dict[str, Any]:
    kernel.write_frames(folder / "frames", encoded)
    with (folder / "frames").open("rb") as given:
        done = subprocess.run(
            [
                sys.executable,
                program.__file__,
                "send",
                "at" if program is streams else "to",
                "127.0.0.1",
                port,
                *more,
            ],
            stdin=given,
            stdout=subprocess.PIPE,
            check=True,
        )
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize(
    ("program", "speaker", "listener", "counts"),
    [
        (streams, ["tcp"], ["tcp"], False),
        (streams, ["mptcp"], ["mptcp"], False),
        (websockets, [], [], True),
        (datagrams, ["0", "0", "48000"], ["0", "0", "48000"], False),
        (datagrams, ["2", "1", "48000"], ["2", "1", "48000"], False),
    ],
)
def test_frames_cross_loopback_as_they_are(
    program: Any, speaker: list[str], listener: list[str], counts: bool, tmp_path: Path
):
    whole = CODECS["opus"].encode(read(shortened(tmp_path)), Wish())
    pauses = [b"" if place % 7 == 3 else frame for place, frame in enumerate(whole.frames)]
    encoded = dataclasses.replace(whole, frames=pauses)
    frames = [(place, frame) for place, frame in enumerate(encoded.frames) if frame]
    with heard_by(program, len(frames), *listener) as (port, told):
        sent = speak(program, encoded, tmp_path, port, *speaker)
        came = told()
    ticks = kernel.ticks_of(encoded)
    places = range(len(frames)) if counts else [place * ticks for place, _ in frames]
    assert [(place, content) for place, _, content in sorted(came)] == [
        (place, frame.hex()) for place, (_, frame) in zip(places, frames, strict=True)
    ]
    assert len(sent["sent"]) == len(encoded.frames)


def test_a_websocket_server_that_is_not_ours_reads_our_messages(tmp_path: Path):
    from aiohttp import WSMsgType, web

    encoded = CODECS["g711"].encode(read(shortened(tmp_path, 0.2)), Wish())
    heard: list[bytes] = []

    async def taken(request: web.Request) -> web.WebSocketResponse:
        answer = web.WebSocketResponse()
        await answer.prepare(request)
        async for one in answer:
            assert one.type == WSMsgType.BINARY
            heard.append(one.data)
        return answer

    async def serve() -> None:
        app = web.Application()
        app.router.add_get("/", taken)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = str(runner.addresses[0][1])
        await asyncio.to_thread(speak, websockets, encoded, tmp_path, port)
        await runner.cleanup()

    asyncio.run(serve())
    assert heard == list(encoded.frames)


def test_a_websocket_client_that_is_not_ours_is_understood():
    from aiohttp import ClientSession

    said = [b"short", b"x" * 125, b"y" * 126, b"z" * 70_000]

    async def talk(port: str) -> None:
        async with (
            ClientSession() as session,
            session.ws_connect(f"http://127.0.0.1:{port}/") as out,
        ):
            for one in said:
                await out.send_bytes(one)

    with heard_by(websockets, len(said)) as (port, told):
        asyncio.run(talk(port))
        assert [bytes.fromhex(content) for _, _, content in told()] == said


def test_what_is_no_websocket_is_refused_in_a_sentence():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    listener = subprocess.Popen(
        [sys.executable, websockets.__file__, "receive", "at", "127.0.0.1", str(port), "1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert listener.stdout is not None
    listener.stdout.readline()
    with socket.create_connection(("127.0.0.1", port)) as odd:
        odd.sendall(b"\x16\x03\x01 nothing of this is HTTP")
        odd.shutdown(socket.SHUT_WR)
        with pytest.raises(CallError, match="WebSocketError: the connection was closed before"):
            kernel._told(listener)  # type: ignore[arg-type]


_PIECES = st.lists(st.integers(1, 60), min_size=1, max_size=30)


def cut(whole: bytes, cuts: list[int]) -> list[bytes]:
    pieces = []
    for one in cuts:
        pieces.append(whole[:one])
        whole = whole[one:]
    return [*pieces, whole]


@given(st.lists(st.binary(max_size=40), max_size=12), _PIECES)
def test_packets_are_found_however_a_stream_is_cut(frames: list[bytes], cuts: list[int]):
    whole = b"".join(streams.framed(number, 160 * number, frame) for number, frame in enumerate(frames))
    heads = [rtp.head_of(one) for one in streams.packets_of(iter(cut(whole, cuts)))]
    assert [head.payload for head in heads if head] == frames
    assert [head.timestamp for head in heads if head] == [160 * number for number in range(len(frames))]


@given(st.lists(st.binary(max_size=300), max_size=12), st.binary(min_size=4, max_size=4), _PIECES)
def test_messages_are_found_however_a_stream_is_cut(frames: list[bytes], mask: bytes, cuts: list[int]):
    whole = b"".join(websockets.message(2, frame, mask) for frame in frames)
    assert list(websockets.messages_of(iter(cut(whole, cuts)))) == [(2, frame) for frame in frames]
    packets = b"".join(mqtt.packet(3, 0, frame) for frame in frames)
    assert list(mqtt.packets_of(iter(cut(packets, cuts)))) == [(3, frame) for frame in frames]


@given(st.sets(st.integers(0, 0xFFFF), min_size=1, max_size=40))
def test_what_is_asked_for_comes_back(numbers: set[int]):
    assert sorted(rtp.asked_for(rtp.nack(sorted(numbers)))) == sorted(numbers)


@given(st.binary(max_size=60))
def test_no_octets_break_what_reads_packets(octets: bytes):
    rtp.asked_for(octets)
    for _, frame in rtp.frames_in(1_000, octets):
        assert len(frame) <= len(octets)
    if (head := rtp.head_of(rtp.packet(97, 3, 5, octets))) is not None:
        rtp.original_of(head)


@given(st.binary(min_size=8, max_size=60))
def test_no_octets_break_what_reads_reports(octets: bytes):
    rtcp.is_report(octets)
    rtcp.is_goodbye(octets)
    rtcp.Reception(8_000).hear(0, octets)


@given(st.lists(st.booleans(), min_size=2, max_size=300), st.integers(0, 0xFFFF))
def test_a_receiver_reports_what_was_lost(lost: list[bool], first: int):
    lost[0] = lost[-1] = False
    reception = rtcp.Reception(8_000)
    for place, is_lost in enumerate(lost):
        if not is_lost:
            # A millisecond later each time than the one before.
            reception.take(place * 21_000_000, first + place & 0xFFFF, place * 160)
    report = rtcp.of_receiver(reception.block(0), leaves=True)
    _, share_and_lost, highest, jitter, *_ = struct.unpack_from("!6I", report, 8)
    assert share_and_lost & 0xFFFFFF == sum(lost)
    assert share_and_lost >> 24 == 256 * sum(lost) // len(lost)
    assert highest == first + len(lost) - 1
    assert jitter <= 8 * (1 + max(map(len, "".join(" x"[one] for one in lost).split()), default=0))
    assert rtcp.is_report(report)
    assert rtcp.is_goodbye(report)
    assert not rtcp.is_goodbye(rtcp.of_sender(0, 0, 1, 160))


def test_reports_are_as_often_as_the_engine_has_them():
    interval, now, count = rtcp.Interval(0), 0.0, 0
    while now < 1_000:
        now = interval.due
        count += interval.take(now)
    assert count == pytest.approx(1_000 * (math.e - 1.5), rel=0.05)


@given(st.binary(max_size=200), st.lists(st.binary(max_size=200), max_size=3))
def test_redundant_frames_come_back(frame: bytes, earlier: list[bytes]):
    dated = [(10_000 - 960 * (len(earlier) - place), one) for place, one in enumerate(earlier)]
    assert rtp.frames_in(10_000, rtp.redundant(10_000, frame, dated)) == [*dated, (10_000, frame)]
    # What does not fit into an offset's 14 bits is left out.
    assert rtp.frames_in(60_000, rtp.redundant(60_000, frame, dated)) == [(60_000, frame)]


@pytest.mark.parametrize("answers", [True, False])
def test_who_said_goodbye_waits_for_the_other_one(answers: bool, tmp_path: Path):
    """A late goodbye found a closed port, and the kernel sent an ICMP message that no simulated call has."""
    (tmp_path / "frames").write_text("160 20000000\n" + bytes(160).hex() + "\n")
    with socket.socket(type=socket.SOCK_DGRAM) as here, (tmp_path / "frames").open() as frames:
        here.bind(("127.0.0.1", 0))
        here.settimeout(10)
        sends = [sys.executable, datagrams.__file__, "send", "to", "127.0.0.1", str(here.getsockname()[1])]
        speaker = subprocess.Popen([*sends, "0", "0", "8000"], stdin=frames, stdout=subprocess.DEVNULL)
        came, address = here.recvfrom(2048)
        while not rtcp.is_goodbye(came) or not rtcp.is_report(came):
            came, address = here.recvfrom(2048)
        begin = time.monotonic()
        here.connect(address)
        if answers:
            time.sleep(0.3)
            here.send(rtcp.of_receiver(None, leaves=True))
        assert speaker.wait(10) == 0
        assert answers or time.monotonic() - begin > datagrams._AFTER_GOODBYE_S - 0.5
        assert here.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0


def test_packets_are_asked_for_each_round_trip_until_they_come():
    missing = datagrams.Missing()
    for number in (0xFFFE, 2):
        missing.take(0.0, number)
    assert missing.due(0.0) == [0xFFFF, 0, 1]
    missing.take(0.05, 0xFFFF)
    assert missing.due(0.09) == []
    # A round trip of 50 ms, by a timer of 20.
    assert missing.due(0.1) == [0, 1]
    assert missing.next() == pytest.approx(0.16)
    for step in range(2, 30):
        missing.due(0.1 * step)
    assert missing.next() is None, "after ten times a packet is given up"


def test_a_machine_that_is_too_busy_is_asked_again_twice_and_that_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    asked: list[int] = []

    def busy(*_: object) -> tuple[list[Any], Path]:
        asked.append(1)
        if len(asked) != ends_at:
            raise kernel.BusyError(f"late {len(asked)} times")
        return [], tmp_path

    monkeypatch.setattr(kernel, "_carried", busy)
    document = kernel.planned(LOSSY, None)
    ends_at = 3
    assert kernel.carry(document, [], [], [], tmp_path)[2] == ["late 1 times", "late 2 times"]
    asked.clear()
    ends_at = 4
    with pytest.raises(CallError, match=r"too busy .*: attempt 1: late 1 times; .*attempt 3: late 3 times"):
        kernel.carry(document, [], [], [], tmp_path)
    assert len(asked) == 3


@pytest.mark.parametrize(("keeps_up", "attempts"), [(True, 1), (False, 3)])
def test_only_a_machine_that_was_late_is_asked_again(
    keeps_up: bool, attempts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    finished = []

    def finish(net: RealNetwork) -> RealResult:
        finished.append(1)
        result = real_finish(net)
        return dataclasses.replace(result, valid=False, problems=["broken"], kept_up=keeps_up)

    real_finish = RealNetwork.finish
    monkeypatch.setattr(RealNetwork, "finish", finish)
    with pytest.raises(CallError, match="the run is not valid: broken"):
        call(LOSSY, (shortened(tmp_path, 0.2),), backend="real", out=tmp_path / "runs")
    assert len(finished) == attempts


def test_ends_that_are_simulated_are_refused_over_the_kernel(tmp_path: Path):
    hosts = {"client": {"profile": "linux"}, "server": {"profile": "linux", "simulated": True}}
    network = dataclasses.replace(LOSSY, data={**LOSSY.data, "hosts": hosts})
    with pytest.raises(CallError, match="'server' is simulated"):
        call(network, backend="real", out=tmp_path)


def test_what_does_not_fit_is_refused_over_the_kernel_too(tmp_path: Path):
    with pytest.raises(CallError, match="do not fit into an RTP packet"):
        call(LOSSY, codec="pcm", redundancy=2, backend="real", out=tmp_path)
    for over in ("tcp", "websocket", "mptcp", "mqtt"):
        with pytest.raises(CallError, match="redundancy is RTP's"):
            call(LOSSY, over=over, redundancy=1, backend="real", out=tmp_path)
