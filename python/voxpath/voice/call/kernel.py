"""The very packets of a voice over the kernel: `--backend real`."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from voxpath.voice.call import datagrams, streams
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
_PATIENCE_S = 5.0
CARRIERS = {"rtp": datagrams, "tcp": streams}
"""By the names of transports: the programs that take frames from one host to another."""


def planned(network: Network, seed: int | None, over: str = "rtp") -> Document:
    """The network with real hosts at its ends.

    Raises:
        ScenarioError: They cannot be.
    """
    from voxpath.scenario import from_dict

    hosts = dict(network.data.get("hosts", {}))
    for name in (network.here, network.there):
        hosts[name] = {**hosts.get(name, {}), "real": True}
    data: dict[str, Any] = {**network.data, "hosts": hosts, "name": f"a voice by {over}: {network.told}"}
    if seed is not None:
        data["seed"] = seed
    return from_dict(data, network.told, network.base)


def carry(
    document: Document, ways: Sequence[Way], coded: Sequence[Encoded], out: Path, over: str = "rtp"
) -> tuple[list[Arrivals], Path]:
    """Sends the frames of each direction from host to host, in real time.

    Returns:
        What became of them, and the folder of the run.

    Raises:
        CallError: The run is not valid, or what came is not what was sent.
        RealError: The machine cannot do it.
    """
    from voxpath.api import real

    program = [sys.executable, str(CARRIERS[over].__file__)]
    with tempfile.TemporaryDirectory() as scratch, real(document, out=out) as net:
        running = []
        for index, (way, encoded) in enumerate(zip(ways, coded, strict=True)):
            # Of a byte stream, the listener opens the connection.
            host = way.to if over == "rtp" else way.from_
            address, port = net.addresses[host][0], str(PORT + 2 * index)
            frames = Path(scratch, f"{way.name}.frames")
            ticks = encoded.frame_ns * encoded.clock_hz // 1_000_000_000
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


def description(encoded: Encoded, address: str, port: int = PORT) -> str:
    """The session description (SDP, RFC 8866) by which others read our RTP.

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
        f"m=audio {port} RTP/AVP {datagrams.PAYLOAD_TYPE}",
        f"a=rtpmap:{datagrams.PAYLOAD_TYPE} {encoded.rtp}",
        f"a=ptime:{encoded.frame_ns / 1e6:g}",
    ]
    return "".join(f"{line}\r\n" for line in lines)
