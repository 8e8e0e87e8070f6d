"""A voice's RTP packets over UDP sockets of the kernel, with what makes up for losses if asked for.

`python datagrams.py send to ADDRESS PORT COPIES NACK CLOCK` sends each frame with so many earlier ones (RFC
2198), and again what it is asked for if NACK is 1 (RFC 4585, RFC 4588); `python datagrams.py receive at
ADDRESS PORT COUNT COPIES NACK CLOCK` listens there, until the speaker has said goodbye and all frames came or
may be lost. CLOCK is RTP's, in ticks a second. Both ends report. A frame belongs where its timestamp says.
"""

from __future__ import annotations

import contextlib
import errno
import math
import select
import socket
import sys
import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from voxpath.voice.call.programs import pacing, rtcp, rtp

if TYPE_CHECKING:
    from collections.abc import Iterator

_AFTER_GOODBYE_S = 2.0
"""So long after it packets may come that it has overtaken, and who said it waits for the other end's."""
_IP_MTU_DISCOVER, _IPV6_MTU_DISCOVER, _ALWAYS = 10, 23, 2
"""Of <linux/in.h> and <linux/in6.h>; Python has no names for them."""
_KEPT = 1_000
"""Packets that may be asked for, as the engine's calls keep them."""
_LINGER_S = 2.0
"""So long, and a round trip, after the last frame or request, more may be asked for."""


class Missing:
    """Which packets to ask for, and when: as the engine's calls do (`crates/rtc/src/repair/nack.rs`).

    The round trip is what a packet took that was asked for once; the engine has it from reports.
    """

    TRIES = 10
    TIMER_S = 0.02
    ROUND_TRIP_S = 0.1

    def __init__(self) -> None:
        """Nothing has come yet."""
        # How often a packet was asked for, when it is to be again, and when it was first.
        self._asked: dict[int, tuple[int, float, float]] = {}
        self._highest: int | None = None
        self._round_trip = self.ROUND_TRIP_S

    def take(self, now: float, number: int) -> None:
        """A packet came, or came again; numbers are of 16 bits."""
        if self._highest is None:
            self._highest = number
            return
        ahead = (number - self._highest + 0x8000 & 0xFFFF) - 0x8000
        whole = self._highest + ahead
        tries, _, first = self._asked.pop(whole, (0, 0.0, 0.0))
        if tries == 1:
            self._round_trip = now - first
        if ahead <= 0:
            return
        self._asked |= dict.fromkeys(range(self._highest + 1, whole), (0, now, now))
        self._highest = whole
        if len(self._asked) > _KEPT:
            self._asked.clear()

    def next(self) -> float | None:
        """When something is to be asked for."""
        return min((at for _, at, _ in self._asked.values()), default=None)

    def due(self, now: float) -> list[int]:
        """What to ask for now, ascending, in 16 bits."""
        found = []
        for number, (tries, at, first) in list(self._asked.items()):
            if at > now:
                continue
            if tries == self.TRIES:
                del self._asked[number]
                continue
            again = math.ceil((now + max(self._round_trip, self.TIMER_S)) / self.TIMER_S) * self.TIMER_S
            self._asked[number] = (tries + 1, again, first if tries else now)
            found.append(number)
        return [number & 0xFFFF for number in sorted(found)]


_LOST = frozenset(
    {
        errno.ECONNREFUSED,
        errno.EMSGSIZE,
        errno.EHOSTUNREACH,
        errno.ENETUNREACH,
        errno.EACCES,
        errno.EHOSTDOWN,
        errno.ENOPROTOOPT,
        errno.ENONET,
        errno.EPROTO,
    }
)
"""What Linux makes of ICMP's errors, `icmp_err_convert` of net/ipv4/icmp.c and `icmpv6_err_convert` of
net/ipv6/icmp.c: nobody listens, no link takes packets so large, or a router does not let them pass."""


class _Told:
    """What was told of lost packets: how often, by the errors' names."""

    def __init__(self) -> None:
        self.errors: Counter[str] = Counter()

    @contextlib.contextmanager
    def outlived(self) -> Iterator[None]:
        """An error by which the kernel tells of a lost packet is counted, and does not end the call."""
        try:
            yield
        except OSError as error:
            if error.errno not in _LOST:
                raise
            self.errors[errno.errorcode[error.errno]] += 1


class _Sender:
    def __init__(self, out: socket.socket, copies: int, clock_hz: int) -> None:
        self._out = out
        self.told = _Told()
        self._clock_hz = clock_hz
        self._earlier: deque[tuple[int, bytes]] = deque(maxlen=copies)
        self._has_copies = copies > 0
        self._sent: deque[rtp.Head] = deque(maxlen=_KEPT)
        self._count = self._again = self._octets = 0
        self._last = time.monotonic()
        self._reports = rtcp.Interval(0)
        self._other_left = False

    def report(self, timestamp: int, leaves: bool = False) -> None:
        """Reports if it is time, by the clock of the media: so reports are at the same places of any call."""
        if self._count and (self._reports.take(timestamp / self._clock_hz) or leaves):
            self._put(rtcp.of_sender(time.time_ns(), timestamp, self._count, self._octets, leaves))

    def _put(self, octets: bytes) -> None:
        with self.told.outlived():
            self._out.send(octets)

    def send(self, timestamp: int, frame: bytes) -> None:
        kind, payload = rtp.MEDIA, frame
        if self._has_copies:
            kind, payload = rtp.REDUNDANT, rtp.redundant(timestamp, frame, list(self._earlier))
            self._earlier.append((timestamp, frame))
        self._sent.append(rtp.Head(kind, self._count & 0xFFFF, timestamp, rtp.SSRC, payload))
        self._put(rtp.packet(kind, self._count, timestamp, payload, at_ns=time.monotonic_ns()))
        self._count += 1
        self._octets += len(payload)
        self._last = time.monotonic()

    def listen(self, seconds: float) -> None:
        """Answers for at most so long."""
        if not select.select((self._out,), (), (), seconds)[0]:
            return
        came = b""
        with self.told.outlived():
            came = self._out.recv(65_535)
        self._other_left |= rtcp.is_report(came) and rtcp.is_goodbye(came)
        for sequence in rtp.asked_for(came):
            back = self._count - 1 - sequence & 0xFFFF
            if back < len(self._sent):
                self._put(rtp.again(self._again, self._sent[-1 - back], time.monotonic_ns()))
                self._again += 1
                self._last = time.monotonic()

    def linger(self, round_s: float) -> None:
        while (left := self._last + _LINGER_S + round_s - time.monotonic()) > 0:
            self.listen(left)

    def leave(self, timestamp: int) -> None:
        """Says goodbye, and waits for that of the other end, which would find a closed port otherwise."""
        if not self._count:
            return
        self.report(timestamp, leaves=True)
        until = time.monotonic() + _AFTER_GOODBYE_S
        while not self._other_left and (left := until - time.monotonic()) > 0:
            self.listen(left)


def send(place: pacing.Place, copies: str, nack: str, clock: str) -> None:
    """Sends what the input has."""
    ticks, frame_ns, frames = pacing.frames_of(sys.stdin)
    with socket.socket(pacing.family(place.address), socket.SOCK_DGRAM) as out:
        _keep_whole(out)
        out.connect((place.address, place.port))
        sender, pace = _Sender(out, int(copies), int(clock)), pacing.Pace(frame_ns)
        for number, frame in enumerate(frames):
            pace.wait(sender.listen)
            if frame:
                sender.send(number * ticks, frame)
            sender.report(number * ticks)
        if nack == "1":
            sender.linger(place.round_s)
        sender.leave(len(frames) * ticks)
    pace.tell(sender.told.errors)


def _keep_whole(out: socket.socket) -> None:
    """Has the kernel fragment no datagram, as nothing is fragmented in the simulator."""
    if out.family == socket.AF_INET6:
        out.setsockopt(socket.IPPROTO_IPV6, _IPV6_MTU_DISCOVER, _ALWAYS)
    else:
        out.setsockopt(socket.IPPROTO_IP, _IP_MTU_DISCOVER, _ALWAYS)


class _Listener:
    def __init__(self, here: socket.socket, copies: int, asks: bool, clock_hz: int) -> None:
        self._here = here
        self._reception = rtcp.Reception(clock_hz)
        self._reports: rtcp.Interval | None = None
        self._has_copies = copies > 0
        self._missing = Missing() if asks else None
        self._speaker: Any = None
        self._left_at: float | None = None
        self.came: dict[int, tuple[int, str]] = {}

    def ends(self, count: int) -> float:
        """When it has heard all that will come of so many frames."""
        if self._left_at is None:
            return math.inf
        return self._left_at + (0.0 if len(self.came) == count else _AFTER_GOODBYE_S)

    def tell(self, now: float) -> float:
        """Asks for what is due, and reports; when to do so again."""
        if self._reports is None or self._left_at is not None:
            return math.inf
        if self._reports.take(now):
            self._here.sendto(rtcp.of_receiver(self._reception.block(int(now * 1e9))), self._speaker)
        if self._missing is None:
            return self._reports.due
        if lost := self._missing.due(now):
            self._here.sendto(rtp.nack(lost), self._speaker)
        again = self._missing.next()
        return self._reports.due if again is None else min(again, self._reports.due)

    def take(self) -> None:
        """A datagram that is there."""
        datagram, self._speaker = self._here.recvfrom(65_535)
        at_ns = time.monotonic_ns()
        if self._reports is None:
            self._reports = rtcp.Interval(at_ns / 1e9)
        if rtcp.is_report(datagram):
            self._reception.hear(at_ns, datagram)
            if rtcp.is_goodbye(datagram) and self._left_at is None:
                self._left_at = at_ns / 1e9
                self._here.sendto(rtcp.of_receiver(self._reception.block(at_ns), leaves=True), self._speaker)
            return
        if (head := rtp.head_of(datagram)) is None:
            return
        sequence, payload = head.sequence, head.payload
        if head.payload_type == rtp.RETRANSMISSION:
            if (original := rtp.original_of(head)) is None:
                return
            sequence, payload = original
        else:
            self._reception.take(at_ns, sequence, head.timestamp)
        if self._missing is not None:
            self._missing.take(at_ns / 1e9, sequence)
        frames = rtp.frames_in(head.timestamp, payload) if self._has_copies else [(head.timestamp, payload)]
        for timestamp, frame in frames:
            self.came.setdefault(timestamp, (at_ns, frame.hex()))


def receive(place: pacing.Place, count: int, copies: str, nack: str, clock: str) -> None:
    """Tells of each frame when it came, in whatever packet."""
    patience = pacing.Patience(True, place.patience_s)
    with socket.socket(pacing.family(place.address), socket.SOCK_DGRAM) as here:
        here.bind((place.address, place.port))
        patience.ready()
        listener = _Listener(here, int(copies), nack == "1", int(clock))
        while not patience.in_vain and (now := time.monotonic()) < listener.ends(count):
            until = min(listener.ends(count), listener.tell(now))
            if patience.wait(here, seconds=None if math.isinf(until) else max(0.0, until - now)):
                listener.take()
    pacing.tell([(timestamp, at, content) for timestamp, (at, content) in listener.came.items()])


if __name__ == "__main__":
    pacing.run(sys.argv[1:], __doc__, send, receive)
