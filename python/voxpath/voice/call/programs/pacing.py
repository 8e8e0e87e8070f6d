"""What the programs share: frames come in, each is sent when it is due, and both ends tell of their times.

Who speaks reads from its input a line with the ticks and nanoseconds of a frame, then a frame a line, in
hexadecimal; an empty one is not sent. In the end it tells as JSON `captured` and `sent`, the times of each
frame, and `late`, how many were sent too late. Who listens says `ready` in a line as soon as it can hear, and
in the end as JSON of each frame where it belongs, when all of it was there, and what it was. Times are of
CLOCK_MONOTONIC in nanoseconds, which hosts on one machine share.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import sys
import time
from typing import TYPE_CHECKING, NamedTuple, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

LEAD_S = 1.5
"""From its start to the first frame."""
LATE_S = 0.01
"""A frame that leaves later than this after it was due was not sent in time."""
PATIENCE_S = 30.0
"""For the other end of a connection."""


class Place(NamedTuple):
    """Where both ends meet.

    Attributes:
        address: Of one end, or of something between.
        port: There.
        waits: Whether it is this end that waits there.
    """

    address: str
    port: int
    waits: bool


Came = list[tuple[int, int, str]]
"""Of each frame where it belongs, when it came, and its octets."""


def frames_of(lines: TextIO) -> tuple[int, int, list[bytes]]:
    """Ticks and nanoseconds of a frame, and the frames; an empty one is not sent."""
    ticks, frame_ns = map(int, lines.readline().split())
    return ticks, frame_ns, [bytes.fromhex(line) for line in lines]


def family(address: str) -> socket.AddressFamily:
    """Of an address as it is written."""
    return socket.AF_INET6 if ":" in address else socket.AF_INET


class Pace:
    """When each frame is due, and when it left."""

    def __init__(self, frame_ns: int) -> None:
        """The first frame is due after `LEAD_S`."""
        self._begin = time.monotonic_ns() + int(LEAD_S * 1e9)
        self._frame_ns = frame_ns
        self._times: list[int] = []

    def wait(self, idle: Callable[[float], object] = time.sleep) -> None:
        """Returns when the next frame is due; until then `idle` is called with the seconds that are left."""
        due = self._due(len(self._times))
        while (left := due - time.monotonic_ns()) > 0:
            idle(left / 1e9)
        self._times.append(time.monotonic_ns())

    def _due(self, number: int) -> int:
        return self._begin + number * self._frame_ns

    def tell(self) -> None:
        """Tells of all frames."""
        captured = [self._due(number) for number in range(len(self._times))]
        late = sum(sent - due > LATE_S * 1e9 for sent, due in zip(self._times, captured, strict=True))
        sys.stdout.write(json.dumps({"captured": captured, "sent": self._times, "late": late}))


class Backlog:
    """What a connection has not taken yet: who speaks does not wait for the network."""

    def __init__(self, out: socket.socket) -> None:
        """The connection no longer blocks."""
        out.setblocking(False)
        self._out = out
        self._rest = bytearray()

    def put(self, octets: bytes) -> None:
        """Sends as soon as there is room."""
        self._rest += octets
        self._push()

    def idle(self, seconds: float) -> None:
        """Sends what is left for at most so long."""
        if not self._rest:
            time.sleep(seconds)
        elif select.select((), (self._out,), (), seconds)[1]:
            self._push()

    def finish(self) -> None:
        """Waits until the connection has taken all; it blocks again."""
        self._out.settimeout(PATIENCE_S)
        self._out.sendall(self._rest)

    def _push(self) -> None:
        try:
            taken = self._out.send(self._rest)
        except BlockingIOError:
            return
        del self._rest[:taken]


def met(place: Place, protocol: int = 0) -> socket.socket:
    """A connection with the other end, whoever opens it; Nagle's algorithm is off.

    Raises:
        OSError: There is no other end.
    """
    if not place.waits:
        return connected(place, protocol)
    with door(place, protocol) as here:
        return accepted(here)


def connected(place: Place, protocol: int = 0) -> socket.socket:
    """A connection, once somebody waits for it.

    Raises:
        OSError: Nobody does.
    """
    until = time.monotonic() + PATIENCE_S
    while True:
        here = socket.socket(family(place.address), socket.SOCK_STREAM, protocol)
        here.settimeout(PATIENCE_S)
        here.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            here.connect((place.address, place.port))
        except ConnectionRefusedError:
            here.close()
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
        except OSError:
            here.close()
            raise
        else:
            return here


def door(place: Place, protocol: int = 0) -> socket.socket:
    """Where the other end connects."""
    here = socket.socket(family(place.address), socket.SOCK_STREAM, protocol)
    here.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    here.bind((place.address, place.port))
    here.listen()
    here.settimeout(PATIENCE_S)
    return here


def accepted(here: socket.socket) -> socket.socket:
    """The connection of who comes."""
    came, _ = here.accept()
    came.settimeout(PATIENCE_S)
    came.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return came


def pieces(here: socket.socket) -> Iterator[bytes]:
    """What comes on a connection, until the other end closes it or is silent for too long."""
    here.settimeout(PATIENCE_S)
    try:
        while piece := here.recv(65_536):
            yield piece
    except TimeoutError:
        return


def ready() -> None:
    """Says that the listener can hear."""
    sys.stdout.write("ready\n")
    sys.stdout.flush()


def tell(came: Came) -> None:
    """Tells of what came."""
    sys.stdout.write(json.dumps(came))


def run(
    arguments: Sequence[str], usage: str | None, send: Callable[..., None], receive: Callable[..., None]
) -> None:
    """Does what the arguments say: who it is, where both ends meet, the listener's count, and more."""
    # As the ends of flows, which do not wait for other programs either (`crates/host/src/run.rs`).
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(os.sched_get_priority_min(os.SCHED_FIFO)))
    match arguments:
        case ["send", "at" | "to" as waits, address, port, *more]:
            send(Place(address, int(port), waits == "at"), *more)
        case ["receive", "at" | "to" as waits, address, port, count, *more]:
            receive(Place(address, int(port), waits == "at"), int(count), *more)
        case _:
            raise SystemExit(usage)
