"""Reports of both ends of a voice's RTP (RFC 3550 section 6), as the engine's calls send them.

Who speaks tells what it sent, who listens what came of it; both say who they are, and goodbye in the end. The
engine has it in `crates/rtc/src/session`: `timing.rs`, `mod.rs`, `receive/statistics.rs`.
"""

from __future__ import annotations

import math
import random
import struct

from voxpath.voice.call.programs import rtp

LISTENER = rtp.SSRC ^ 1
"""The source of who listens."""
_VERSION = 0x80
_SENDER, _RECEIVER, _DESCRIPTION, _GOODBYE = 200, 201, 202, 203
_TYPES = range(192, 224)
"""By which RTCP is told from RTP at one port (RFC 5761)."""
_CNAME = 1
_HEAD = struct.Struct("!BBHI")
_SENT = struct.Struct("!QIII")
_BLOCK = struct.Struct("!IIIIII")
_UNIX_S = 2_208_988_800
"""From NTP's begin, 1900, to that of Unix."""
_EVERY_S = 1.0
"""The default of `rtcp_interval` of a scenario's call. The share of the bandwidth is never less."""
_COMPENSATION = math.e - 1.5
"""For reconsideration, which converges below the mean (RFC 3550 section 6.3.1)."""


def is_report(octets: bytes) -> bool:
    """Whether a datagram is RTCP, and no RTP."""
    return len(octets) >= _HEAD.size and octets[1] in _TYPES


class Interval:
    """When regular reports are due; times are of any clock, in seconds.

    Its random numbers are the same in each call, so that the same seed of a network loses the same packets.
    """

    def __init__(self, now: float) -> None:
        """The first one comes after half of an interval (RFC 3550 section 6.2)."""
        self._draws = random.Random(0)  # noqa: S311 - nothing is to be kept secret
        self.due = now + self._drawn() / 2

    def take(self, now: float) -> bool:
        """Whether a report is due; if so, the next one is later."""
        is_due = now >= self.due
        if is_due:
            self.due = now + self._drawn()
        return is_due

    def _drawn(self) -> float:
        return _EVERY_S * (0.5 + self._draws.random()) / _COMPENSATION


def of_sender(unix_ns: int, timestamp: int, packets: int, octets: int, leaves: bool = False) -> bytes:
    """A sender's report (section 6.4.1) and its name.

    Args:
        unix_ns: When, in nanoseconds since 1970.
        timestamp: The same moment by the media's clock.
        packets: That were sent so far.
        octets: Of their payloads.
        leaves: Whether it is the last one, which says goodbye.
    """
    ntp = (_UNIX_S << 32) + (unix_ns << 32) // 1_000_000_000
    body = _SENT.pack(ntp, timestamp & 0xFFFFFFFF, packets & 0xFFFFFFFF, octets & 0xFFFFFFFF)
    goodbye = _HEAD.pack(_VERSION | 1, _GOODBYE, 1, rtp.SSRC) if leaves else b""
    return _packet(_SENDER, 0, rtp.SSRC, body) + _described(rtp.SSRC, b"voice@client") + goodbye


def of_receiver(block: bytes | None, leaves: bool = False) -> bytes:
    """A receiver's report (section 6.4.2) and its name.

    Args:
        block: What it reports of a source; none if nothing came.
        leaves: Whether it is the last one, which says goodbye.
    """
    goodbye = _HEAD.pack(_VERSION | 1, _GOODBYE, 1, LISTENER) if leaves else b""
    report = _packet(_RECEIVER, 0 if block is None else 1, LISTENER, block or b"")
    return report + _described(LISTENER, b"voice@server") + goodbye


def is_goodbye(octets: bytes) -> bool:
    """Whether a report of the other end is its last one."""
    at = 0
    while at + 4 <= len(octets):
        if octets[at + 1] == _GOODBYE:
            return True
        at += 4 + 4 * int.from_bytes(octets[at + 2 : at + 4], "big")
    return False


def _packet(kind: int, count: int, ssrc: int, body: bytes) -> bytes:
    return _HEAD.pack(_VERSION | count, kind, 1 + len(body) // 4, ssrc) + body


def _described(ssrc: int, name: bytes) -> bytes:
    # At least one null octet ends the items.
    item = bytes([_CNAME, len(name)]) + name
    return _packet(_DESCRIPTION, 1, ssrc, item + bytes(4 - len(item) % 4))


class Reception:
    """What a listener reports of a source (sections A.1, A.3 and A.8); its sequence does not begin anew."""

    def __init__(self, ticks_per_s: float) -> None:
        """Nothing has come yet."""
        self._hz = ticks_per_s
        self._first: int | None = None
        self._highest = 0
        self._seen: set[int] = set()
        self._transit: int | None = None
        self._jitter = 0
        self._before = (0, 0)
        self._heard: tuple[int, int] | None = None

    def take(self, now_ns: int, sequence: int, timestamp: int) -> None:
        """A packet came."""
        if self._first is None:
            self._first = self._highest = sequence
        number = self._highest + ((sequence - self._highest + 0x8000 & 0xFFFF) - 0x8000)
        self._first = min(self._first, number)
        self._highest = max(self._highest, number)
        self._seen.add(number)
        transit = int(now_ns * self._hz / 1e9) - timestamp & 0xFFFFFFFF
        if self._transit is not None:
            moved = (transit - self._transit + 0x80000000 & 0xFFFFFFFF) - 0x80000000
            self._jitter += abs(moved) - (self._jitter + 8 >> 4)
        self._transit = transit

    def hear(self, now_ns: int, octets: bytes) -> None:
        """A sender's report came; other reports say nothing to a listener."""
        if octets[1] == _SENDER and len(octets) >= _HEAD.size + _SENT.size:
            (ntp, *_) = _SENT.unpack_from(octets, _HEAD.size)
            self._heard = (ntp >> 16 & 0xFFFFFFFF, now_ns)

    def block(self, now_ns: int) -> bytes | None:
        """What to report now; none if nothing has come."""
        if self._first is None:
            return None
        expected, received = self._highest - self._first + 1, len(self._seen)
        due, came = expected - self._before[0], received - self._before[1]
        self._before = (expected, received)
        share = min(255, 256 * max(0, due - came) // due) if due > 0 else 0
        last, since = (0, 0) if self._heard is None else (self._heard[0], now_ns - self._heard[1])
        return _BLOCK.pack(
            rtp.SSRC,
            share << 24 | min(expected - received, 0x7FFFFF),
            self._highest & 0xFFFFFFFF,
            self._jitter >> 4,
            last,
            (since << 16) // 1_000_000_000 & 0xFFFFFFFF,
        )
