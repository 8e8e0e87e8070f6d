"""What the programs share: frames come in, each is sent when it is due, and both ends tell of their times.

Who speaks reads from its input a line with the ticks and nanoseconds of a frame, then a frame a line, in
hexadecimal; an empty one is not sent. In the end it tells as JSON `captured` and `sent`, the times of each
frame, `late`, how many were sent too late, and `errors`, how often the socket told of a lost packet, by the
errors' names; without a connection nothing is sent, and `sent` is below zero. Who listens says `ready` in a
line as soon as it can hear, and in the end as JSON of each frame where it belongs, when all of it was there,
and what it was. It listens until it has heard all or its input ends, for only who started it knows that
nothing more will come. Times are of CLOCK_MONOTONIC in nanoseconds, which hosts on one machine share.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import socket
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

LEAD_S = 1.5
"""From its start to the first frame."""
LATE_S = 0.01
"""A frame that leaves later than this after it was due was not sent in time."""
PATIENCE_S = 10.0
"""For a connection to the other end, as in the simulator, beside what the way takes. A SYN is sent three
times more in that time."""
_DRAIN_S = 30.0
"""After the last frame, for what the connection has not taken, at least."""
NEVER = -1
"""In place of a time."""


class Place(NamedTuple):
    """Where both ends meet.

    Attributes:
        address: Of one end, or of something between.
        port: There.
        waits: Whether it is this end that waits there.
        patience_s: For a connection to the other end, and for what it has not taken after the last frame.
        round_s: What it takes there and back at most, if that is known.
        congestion: TCP's congestion control; none is what the machine has.
    """

    address: str
    port: int
    waits: bool
    patience_s: float = PATIENCE_S
    round_s: float = 0.0
    congestion: str | None = None

    def socket(self, protocol: int = 0) -> socket.socket:
        """One for a connection, with its congestion control; Nagle's algorithm is off."""
        made = socket.socket(family(self.address), socket.SOCK_STREAM, protocol)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.congestion is not None:
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self.congestion.encode())
        return made


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

    def tell(self, errors: Mapping[str, int] | None = None) -> None:
        """Tells of all frames.

        Args:
            errors: How often the socket told of a lost packet, by the errors' names; none on a connection.
        """
        captured = [self._due(number) for number in range(len(self._times))]
        late = sum(sent - due > LATE_S * 1e9 for sent, due in zip(self._times, captured, strict=True))
        told = {"captured": captured, "sent": self._times, "late": late, "errors": dict(errors or {})}
        sys.stdout.write(json.dumps(told))


def tell_unsent(count: int, frame_ns: int) -> None:
    """Tells of frames that were not sent, since there was no connection."""
    captured = [number * frame_ns for number in range(count)]
    sys.stdout.write(json.dumps({"captured": captured, "sent": [NEVER] * count, "late": 0, "errors": {}}))


class Patience:
    """How long an end waits for the other one."""

    def __init__(self, listens: bool, seconds: float = PATIENCE_S) -> None:
        """Who speaks gives up after so long; who listens does so only as long as it is not ready."""
        self._input = [sys.stdin] if listens else []
        self._seconds: float | None = seconds
        self._begun = time.monotonic()
        self.in_vain = False

    def ready(self) -> None:
        """Says once that the listener can hear. From now on it waits until its input ends."""
        if self._seconds is None:
            return
        self._seconds = None
        sys.stdout.write("ready\n")
        sys.stdout.flush()

    def wait(
        self,
        read: socket.socket | None = None,
        write: socket.socket | None = None,
        seconds: float | None = None,
    ) -> bool:
        """Waits until there is something to read, or room to write; whether there is.

        Args:
            read: Where to read.
            write: Where to write.
            seconds: How long at most, if that is less.
        """
        reads = [*self._input, *([] if read is None else [read])]
        writes = [] if write is None else [write]
        least = min((one for one in (seconds, self._seconds) if one is not None), default=None)
        came, has_room, _ = select.select(reads, writes, (), least)
        is_there = read in came or bool(has_room)
        # Nothing is written to the input: it can only end.
        self.in_vain = not is_there and (seconds is None or any(one in came for one in self._input))
        return is_there

    def pause(self, seconds: float) -> bool:
        """Waits for so long; whether that was worth it."""
        self.wait(seconds=seconds)
        return not self.in_vain and (self._seconds is None or time.monotonic() - self._begun < self._seconds)


class Backlog:
    """What a connection has not taken yet: who speaks does not wait for the network."""

    def __init__(self, out: socket.socket, patience_s: float = PATIENCE_S) -> None:
        """The connection no longer blocks."""
        out.setblocking(False)
        self._drain_s = max(_DRAIN_S, patience_s)
        self._out = out
        self._rest = bytearray()
        self._is_gone = False

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

    def finish(self) -> bool:
        """Whether the connection has taken all, in time."""
        until = time.monotonic() + self._drain_s
        while self._rest and (left := until - time.monotonic()) > 0:
            self.idle(left)
        return not self._rest and not self._is_gone

    def _push(self) -> None:
        try:
            taken = self._out.send(self._rest)
        except BlockingIOError:
            return
        except OSError:
            # The connection is gone, and what is said from now on is said to nobody.
            self._is_gone = True
            taken = len(self._rest)
        del self._rest[:taken]


def met(place: Place, patience: Patience, protocol: int = 0) -> socket.socket | None:
    """A connection with the other end, whoever opens it; none in vain. Nagle's algorithm is off."""
    if not place.waits:
        return connected(place, patience, protocol)
    with door(place, protocol) as here:
        return accepted(here, patience)


def connected(place: Place, patience: Patience, protocol: int = 0) -> socket.socket | None:
    """A connection, once somebody waits for it; none in vain."""
    while True:
        here = place.socket(protocol)
        here.setblocking(False)
        error = here.connect_ex((place.address, place.port))
        if error == errno.EINPROGRESS:
            if not patience.wait(write=here):
                here.close()
                return None
            error = here.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if not error:
            return here
        here.close()
        if not patience.pause(0.05):
            return None


def door(place: Place, protocol: int = 0) -> socket.socket:
    """Where the other end connects."""
    here = place.socket(protocol)
    here.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    here.bind((place.address, place.port))
    here.listen()
    return here


def accepted(here: socket.socket, patience: Patience) -> socket.socket | None:
    """The connection of who comes; none in vain."""
    if not patience.wait(here):
        return None
    came, _ = here.accept()
    came.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return came


def pieces(here: socket.socket, patience: Patience) -> Iterator[bytes]:
    """What comes on a connection, until the other end closes it or the wait is in vain."""
    while patience.wait(here):
        try:
            piece = here.recv(65_536)
        except BlockingIOError:
            continue
        except OSError:
            return
        if not piece:
            return
        yield piece


def tell(came: Came) -> None:
    """Tells of what came."""
    sys.stdout.write(json.dumps(came))


def run(
    arguments: Sequence[str], usage: str | None, send: Callable[..., None], receive: Callable[..., None]
) -> None:
    """Does what the arguments say: who it is, where both ends meet, the listener's count, and more.

    Before them may stand `set PATIENCE_S ROUND_S CONGESTION`, as `Place` has them.
    """
    # As the ends of flows, which do not wait for other programs either (`crates/host/src/run.rs`).
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(os.sched_get_priority_min(os.SCHED_FIFO)))
    settings: tuple[Any, ...] = ()
    if arguments[:1] == ["set"]:
        patience, round_trip, congestion = arguments[1:4]
        settings, arguments = (float(patience), float(round_trip), congestion), arguments[4:]
    match arguments:
        case ["send", "at" | "to" as waits, address, port, *more]:
            send(Place(address, int(port), waits == "at", *settings), *more)
        case ["receive", "at" | "to" as waits, address, port, count, *more]:
            receive(Place(address, int(port), waits == "at", *settings), int(count), *more)
        case _:
            raise SystemExit(usage)
