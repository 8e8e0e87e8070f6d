"""A voice's RTP packets over a kernel's sockets: run as programs on the hosts of a real network.

`python datagrams.py send ADDRESS PORT` reads frames from its input and sends each when it is due;
`python datagrams.py receive ADDRESS PORT SECONDS` tells of each packet when it came. Times are of
CLOCK_MONOTONIC, which hosts on one machine share. It imports nothing of the package, so it starts at once.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import time
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Sequence

PAYLOAD_TYPE = 96
SSRC = 0x766F7870
HEADER = struct.Struct("!BBHII")
"""Of RTP, without extensions."""
_VERSION = 0x80
LEAD_S = 1.5
"""From its start to the first frame."""
LATE_S = 0.01
"""A packet that leaves later than this after it was due was not sent in time."""


def packet(number: int, timestamp: int, frame: bytes) -> bytes:
    """A packet of RTP (RFC 3550 section 5.1); the first one is marked as the begin of a talk spurt."""
    marker = 0x80 if number == 0 else 0
    return HEADER.pack(_VERSION, marker | PAYLOAD_TYPE, number & 0xFFFF, timestamp & 0xFFFFFFFF, SSRC) + frame


def number_of(datagram: bytes) -> int | None:
    """The sequence number of one of our packets; none of anything else."""
    if len(datagram) < HEADER.size:
        return None
    version, _, number, _, ssrc = HEADER.unpack_from(datagram)
    return int(number) if (version, ssrc) == (_VERSION, SSRC) else None


def send(address: str, port: int) -> None:
    """Sends what the input has: a line with the ticks and nanoseconds of a frame, then a frame a line."""
    ticks, frame_ns, frames = frames_of(sys.stdin)
    begin = time.monotonic_ns() + int(LEAD_S * 1e9)
    times: list[int] = []
    with socket.socket(family(address), socket.SOCK_DGRAM) as out:
        out.connect((address, port))
        for number, frame in enumerate(frames):
            due = begin + number * frame_ns
            while (left := due - time.monotonic_ns()) > 0:
                time.sleep(left / 1e9)
            times.append(time.monotonic_ns())
            if frame:
                out.send(packet(number, number * ticks, frame))
    late = sum(at - begin - number * frame_ns > LATE_S * 1e9 for number, at in enumerate(times))
    sys.stdout.write(
        json.dumps(
            {"captured": [begin + n * frame_ns for n in range(len(frames))], "sent": times, "late": late}
        )
    )


def receive(address: str, port: int, seconds: float) -> None:
    """Tells when each packet came, and what was in it, until nothing has come for so long."""
    came: list[tuple[int, int, str]] = []
    with socket.socket(family(address), socket.SOCK_DGRAM) as here:
        here.bind((address, port))
        here.settimeout(seconds)
        while True:
            try:
                datagram = here.recv(65_535)
            except TimeoutError:
                break
            at, number = time.monotonic_ns(), number_of(datagram)
            if number is not None:
                came.append((number, at, datagram[HEADER.size :].hex()))
    sys.stdout.write(json.dumps(came))


def frames_of(lines: TextIO) -> tuple[int, int, list[bytes]]:
    """Ticks and nanoseconds of a frame, and the frames; an empty one is not sent."""
    ticks, frame_ns = map(int, lines.readline().split())
    return ticks, frame_ns, [bytes.fromhex(line) for line in lines]


def family(address: str) -> socket.AddressFamily:
    """Of an address as it is written."""
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def main(arguments: Sequence[str]) -> None:
    """Does what its arguments say."""
    match arguments:
        case ["send", address, port]:
            send(address, int(port))
        case ["receive", address, port, seconds]:
            receive(address, int(port), float(seconds))
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
