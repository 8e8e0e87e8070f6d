"""The very frames of a voice over the kernel: `--backend real`."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from voxpath import _engine
from voxpath.voice.call.problems import CallError
from voxpath.voice.call.programs import pacing, rtp
from voxpath.voice.call.transports.base import NEVER, Arrivals, Way

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voxpath.backends.real.entered import Entered
    from voxpath.realtime import RealNetwork
    from voxpath.scenario import Document
    from voxpath.voice.call.codecs.base import Encoded
    from voxpath.voice.call.network import Network
    from voxpath.voice.call.transports.base import Carrier

PORT = 5004
"""Of RTP, by RFC 3551 section 8; the second direction has the next even one."""


def planned(
    network: Network, seed: int | None, told: str = "a voice by rtp", *, gone_ns: int = 0
) -> Document:
    """The network with real hosts at its ends.

    Args:
        network: What the voice crosses.
        seed: Of the random streams; the scenario's own without it.
        told: What goes over it, in words.
        gone_ns: When nothing of the voice is waited for any more.

    Raises:
        CallError: One of them is simulated.
        ScenarioError: They cannot be.
    """
    from voxpath.scenario import from_dict

    hosts = dict(network.data.get("hosts", {}))
    for name in (network.here, network.there):
        if hosts.get(name, {}).get("simulated"):
            raise CallError(
                f"{network.told}: {name!r} is simulated; a voice over the kernel has real hosts at both ends"
            )
        hosts[name] = {**hosts.get(name, {}), "real": True}
    data: dict[str, Any] = {
        **network.data,
        **network.lasting(gone_ns),
        "hosts": hosts,
        "name": f"{told}: {network.told}",
    }
    if seed is not None:
        data["seed"] = seed
    return from_dict(data, network.told, network.base)


def carry(
    document: Document,
    carriers: Sequence[Carrier],
    ways: Sequence[Way],
    coded: Sequence[Encoded],
    out: Path,
) -> tuple[list[Arrivals], Path, list[str]]:
    """Sends the frames of each direction from host to host, in real time.

    Where the machine was too busy it is tried again, as often as other real runs are.

    Returns:
        What became of them, the folder of the run, and what was wrong with the attempts before it.

    Raises:
        CallError: The run is not valid, or what came is not what was sent.
        RealError: The machine cannot do it.
    """
    from voxpath.backends.real.backend import ATTEMPTS

    rejected: list[str] = []
    while True:
        try:
            return *_carried(document, carriers, ways, coded, out), rejected
        except BusyError as error:
            rejected.append(str(error))
        if len(rejected) == ATTEMPTS:
            told = "; ".join(f"attempt {number}: {why}" for number, why in enumerate(rejected, start=1))
            raise BusyError(f"the machine is too busy for a call in real time: {told}")


class BusyError(CallError):
    """The machine had no time for a run; another time it may have some."""


def _carried(
    document: Document,
    carriers: Sequence[Carrier],
    ways: Sequence[Way],
    coded: Sequence[Encoded],
    out: Path,
) -> tuple[list[Arrivals], Path]:
    from voxpath.api import real

    with (
        as_file(files("voxpath.voice.call.programs")) as programs,
        tempfile.TemporaryDirectory() as scratch,
        _Silence() as silence,
        real(document, out=out) as net,
    ):
        given = list(zip(carriers, ways, coded, strict=True))
        # A broker or a server is there before anybody speaks.
        listeners = [
            _started(
                document,
                net,
                programs,
                one,
                way,
                index,
                "receive",
                [str(sum(map(bool, encoded.frames)))],
                stdin=silence.input,
            )
            for index, (one, way, encoded) in enumerate(given)
        ]
        for listener in listeners:
            _wait_until_it_hears(listener)
        speakers = []
        for index, (one, way, encoded) in enumerate(given):
            frames = Path(scratch, f"{way.name}.frames")
            write_frames(frames, encoded)
            with frames.open("rb") as said:
                speakers.append(_started(document, net, programs, one, way, index, "send", [], stdin=said))
        sent = [_told(one) for one in speakers]
        # What is late is waited for as long as in the simulator.
        tail = max(way.times.tail_ns for way in ways) / 1e9
        silence.falls(listeners, tail if any(max(one["sent"]) >= 0 for one in sent) else 0.0)
        came = [_told(one) for one in listeners]
        result = net.finish()
    if not result.valid:
        error = CallError if result.kept_up else BusyError
        raise error(f"the run is not valid: {'; '.join(result.problems)}")
    return [
        _arrivals(heard, said, encoded, one)
        for heard, said, (one, _, encoded) in zip(came, sent, given, strict=True)
    ], result.folders[0]


class _Silence:
    """The end of a call, after which listeners wait for nothing more: their input ends."""

    def __enter__(self) -> Self:
        self.input, self._end = os.pipe()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.input)
        self._close()

    def falls(self, listeners: Sequence[Entered], seconds: float) -> None:
        """Everything was said; who still listens does so for at most so long."""
        until = time.monotonic() + seconds
        for listener in listeners:
            with contextlib.suppress(subprocess.TimeoutExpired):
                listener.communicate(timeout=max(0.0, until - time.monotonic()))
        self._close()

    def _close(self) -> None:
        if self._end >= 0:
            os.close(self._end)
        self._end = -1


def write_frames(path: Path, encoded: Encoded) -> None:
    """What a program that speaks reads."""
    ticks = ticks_of(encoded)
    lines = [f"{ticks} {encoded.frame_ns}", *(frame.hex() for frame in encoded.frames)]
    path.write_text("\n".join(lines) + "\n")


def ticks_of(encoded: Encoded) -> int:
    """How far RTP's clock goes on in a frame."""
    return encoded.frame_ns * encoded.clock_hz // 1_000_000_000


def congestion_of(document: Document, host: str) -> str:
    """The congestion control that a host has by the scenario; the machine's own may be another one."""
    found = document.scenario.hosts[host]
    own = None if found.tcp is None else found.tcp.congestion
    if own is not None:
        return own
    usual: str = json.loads(_engine.profile(found.profile))["congestion"]
    return usual


def _started(
    document: Document,
    net: RealNetwork,
    programs: Path,
    carrier: Carrier,
    way: Way,
    index: int,
    does: str,
    counted: Sequence[str],
    **options: Any,
) -> Entered:
    """A program at one end of a direction."""
    host = way.to if does == "receive" else way.from_
    port = PORT + 2 * index if carrier.port is None else carrier.port
    door = carrier.door or min((way.from_, way.to), key=lambda end: len(net.addresses[end]))
    waits = [max(way.times.patience_ns, way.times.tail_ns) / 1e9, way.times.round_ns / 1e9]
    settings = [*map(str, waits), congestion_of(document, host)]
    program = [sys.executable, str(programs / f"{carrier.program}.py"), "set", *settings]
    address = net.addresses[door][0]
    return net.host(host).popen(
        [*program, does, "at" if host == door else "to", address, str(port), *counted, *carrier.arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # What comes behind the first line is not to be read with it.
        bufsize=0,
        **options,
    )


def _wait_until_it_hears(listener: Entered) -> None:
    if listener.stdout is None or not listener.stdout.readline():
        _told(listener)


def _told(program: Entered) -> Any:
    """What a program tells in the end."""
    out, problems = program.communicate()
    if program.returncode:
        why = problems.decode(errors="replace").strip().splitlines()[-1:] or [
            f"exit code {program.returncode}"
        ]
        raise CallError(f"a voice did not get over the kernel: {why[0]}")
    return json.loads(out)


def _arrivals(came: pacing.Came, sent: dict[str, Any], encoded: Encoded, carrier: Carrier) -> Arrivals:
    captured = np.array(sent["captured"], np.int64)
    left = np.array(sent["sent"], np.int64)
    if sent["late"] > 0.01 * len(left):
        raise BusyError(f"{sent['late']} of {len(left)} frames left too late")
    spoken = [index for index, frame in enumerate(encoded.frames) if frame]
    left[[not frame for frame in encoded.frames]] = NEVER
    complete = np.full(len(captured), NEVER, np.int64)
    ticks = ticks_of(encoded)
    for place, at, content in came:
        if carrier.counts:
            index = spoken[place] if place < len(spoken) else len(complete)
        else:
            index = place // ticks
        if index >= len(complete) or encoded.frames[index].hex() != content:
            raise CallError(f"what came as frame {index} is not what was sent")
        if complete[index] == NEVER or at < complete[index]:
            complete[index] = at
    return Arrivals(captured, left, complete, sent["errors"])


def description(encoded: Encoded, address: str, port: int = PORT) -> str:
    """The session description (SDP, RFC 8866) by which others read our RTP, without redundancy and NACK.

    Args:
        encoded: What is sent.
        address: Of the listener.
        port: Of the listener.
    """
    kind = "IP6" if ":" in address else "IP4"
    lines = [
        "v=0",
        f"o=- 0 0 IN {kind} {address}",
        "s=voxpath",
        f"c=IN {kind} {address}",
        "t=0 0",
        f"m=audio {port} RTP/AVP {rtp.MEDIA}",
        "a=rtcp-mux",
        f"a=rtpmap:{rtp.MEDIA} {encoded.rtp}",
        *(f"a=extmap:{number} {name}" for number, name in rtp.EXTENSIONS.items()),
        f"a=ptime:{encoded.frame_ns / 1e6:g}",
    ]
    return "".join(f"{line}\r\n" for line in lines)
