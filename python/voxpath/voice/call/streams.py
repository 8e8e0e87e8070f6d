"""A voice's RTP packets on a TCP connection of the kernel: run as programs on the hosts of a real network.

`python streams.py send ADDRESS PORT` waits there for the listener, reads frames from its input and sends each
when it is due, with its length before it (RFC 4571); `python streams.py receive ADDRESS PORT SECONDS`
connects to that, and tells of each packet when all of it was there. What goes in and comes out is as in
`datagrams.py`.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import time
from typing import TYPE_CHECKING

from voxpath.voice.call.datagrams import HEADER, LATE_S, LEAD_S, family, frames_of, number_of, packet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LENGTH = struct.Struct("!H")
_PATIENCE_S = 30.0
"""For the other end."""


def framed(number: int, timestamp: int, frame: bytes) -> bytes:
    """A packet of RTP with its length."""
    made = packet(number, timestamp, frame)
    return _LENGTH.pack(len(made)) + made


def send(address: str, port: int) -> None:
    """Sends what the input has to the one that connects."""
    ticks, frame_ns, frames = frames_of(sys.stdin)
    times: list[int] = []
    with socket.create_server((address, port), family=family(address)) as door:
        door.settimeout(_PATIENCE_S)
        out, _ = door.accept()
    with out:
        out.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        begin = time.monotonic_ns() + int(LEAD_S * 1e9)
        for number, frame in enumerate(frames):
            due = begin + number * frame_ns
            while (left := due - time.monotonic_ns()) > 0:
                time.sleep(left / 1e9)
            times.append(time.monotonic_ns())
            if frame:
                out.sendall(framed(number, number * ticks, frame))
        out.shutdown(socket.SHUT_WR)
        out.settimeout(_PATIENCE_S)
        # The listener closes when it has all.
        out.recv(1)
    late = sum(at - begin - number * frame_ns > LATE_S * 1e9 for number, at in enumerate(times))
    told = {"captured": [begin + n * frame_ns for n in range(len(frames))], "sent": times, "late": late}
    sys.stdout.write(json.dumps(told))


def packets_of(stream: Iterator[bytes]) -> Iterator[bytes]:
    """The packets of a stream that comes in any pieces; each as soon as it is whole."""
    rest = b""
    for piece in stream:
        rest += piece
        while len(rest) >= _LENGTH.size and len(rest) >= _LENGTH.size + _LENGTH.unpack_from(rest)[0]:
            end = _LENGTH.size + _LENGTH.unpack_from(rest)[0]
            yield rest[_LENGTH.size : end]
            rest = rest[end:]


def receive(address: str, port: int, seconds: float) -> None:
    """Tells when each packet was there, and what was in it, until the other end closes or nothing comes."""
    came: list[tuple[int, int, str]] = []

    def pieces() -> Iterator[bytes]:
        try:
            while piece := here.recv(65_536):
                yield piece
        except TimeoutError:
            return

    with _connected(address, port) as here:
        here.settimeout(seconds + LEAD_S)
        for one in packets_of(pieces()):
            at, number = time.monotonic_ns(), number_of(one)
            if number is not None:
                came.append((number, at, one[HEADER.size :].hex()))
    sys.stdout.write(json.dumps(came))


def _connected(address: str, port: int) -> socket.socket:
    """The connection, once somebody waits for it."""
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return socket.create_connection((address, port), timeout=_PATIENCE_S)
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


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
