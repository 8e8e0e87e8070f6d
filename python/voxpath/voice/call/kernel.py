"""The very packets of a voice over the kernel: `--backend real`."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from voxpath.voice.call import datagrams
from voxpath.voice.call.problems import CallError
from voxpath.voice.call.transports.base import NEVER, Arrivals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voxpath.scenario import Document
    from voxpath.voice.call.codecs.base import Encoded
    from voxpath.voice.call.network import Network
    from voxpath.voice.call.transports.base import Way

PORT = 5004
"""Of RTP, by RFC 3551 section 8; the second direction has the next even one."""
_MEDIA_HZ = 48_000
"""Ticks of the RTP clock of Opus (RFC 7587)."""
_PATIENCE_S = 5.0


def planned(network: Network, seed: int | None) -> Document:
    """The network with real hosts at its ends.

    Raises:
        ScenarioError: They cannot be.
    """
    from voxpath.scenario import from_dict

    hosts = dict(network.data.get("hosts", {}))
    for name in (network.here, network.there):
        hosts[name] = {**hosts.get(name, {}), "real": True}
    data: dict[str, Any] = {**network.data, "hosts": hosts, "name": f"a voice by RTP: {network.told}"}
    if seed is not None:
        data["seed"] = seed
    return from_dict(data, network.told, network.base)


def carry(
    document: Document, ways: Sequence[Way], coded: Sequence[Encoded], out: Path
) -> tuple[list[Arrivals], Path]:
    """Sends the frames of each direction from host to host, in real time.

    Returns:
        What became of them, and the folder of the run.

    Raises:
        CallError: The run is not valid, or what came is not what was sent.
        RealError: The machine cannot do it.
    """
    from voxpath.api import real

    program = [sys.executable, datagrams.__file__]
    with tempfile.TemporaryDirectory() as scratch, real(document, out=out) as net:
        running = []
        for index, (way, encoded) in enumerate(zip(ways, coded, strict=True)):
            address, port = net.addresses[way.to][0], str(PORT + 2 * index)
            frames = Path(scratch, f"{way.name}.frames")
            ticks = encoded.frame_ns * _MEDIA_HZ // 1_000_000_000
            lines = [f"{ticks} {encoded.frame_ns}", *(frame.hex() for frame in encoded.frames)]
            frames.write_text("\n".join(lines) + "\n")
            listener = net.host(way.to).popen(
                [*program, "receive", address, port, str(_PATIENCE_S)], stdout=subprocess.PIPE
            )
            with frames.open("rb") as given:
                speaker = net.host(way.from_).popen(
                    [*program, "send", address, port], stdin=given, stdout=subprocess.PIPE
                )
            running.append((listener, speaker))
        told = [tuple(json.loads(program.communicate()[0]) for program in pair) for pair in running]
        result = net.finish()
    if not result.valid:
        raise CallError(f"the run is not valid: {'; '.join(result.problems)}")
    return [
        _arrivals(came, sent, one) for (came, sent), one in zip(told, coded, strict=True)
    ], result.folders[0]


def _arrivals(came: list[tuple[int, int, str]], sent: dict[str, Any], encoded: Encoded) -> Arrivals:
    captured = np.array(sent["captured"], np.int64)
    left = np.array(sent["sent"], np.int64)
    if sent["late"] > 0.01 * len(left):
        raise CallError(f"{sent['late']} of {len(left)} frames left too late: the machine is too busy")
    left[[not frame for frame in encoded.frames]] = NEVER
    complete = np.full(len(captured), NEVER, np.int64)
    begun = 0
    for number, at, content in came:
        # Sequence numbers have 16 bits.
        index = begun + (number - begun + 0x8000) % 0x10000 - 0x8000
        if not 0 <= index < len(complete) or encoded.frames[index].hex() != content:
            raise CallError(f"packet {number} is not what was sent")
        begun = max(begun, index)
        if complete[index] == NEVER:
            complete[index] = at
    return Arrivals(captured, left, complete)
