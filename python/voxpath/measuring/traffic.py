"""The traffic: what both ends agree on, and how its octets look.

Data is the octet `0`. The last octet of a burst's last packet says what the server answers, so packets that a
read cuts or joins are understood all the same: `2` the intermediate answer, `1` the answer. Handshakes of TLS
and what records add are octets alone, in their lengths; nothing is encrypted.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from random import Random

VERSION = 1
FILL, ANSWER, INTERMEDIATE = b"0", b"1", b"2"
MOST = 2**20
"""Bytes of an answer, or of a packet, at most."""


class TrafficError(ValueError):
    """What the other end says, or was asked for, cannot be."""


@dataclass(frozen=True)
class Tls:
    """Octets of TLS.

    Attributes:
        flights: Of the handshake, the client's first, then the server's, and so on.
        record: What a record adds to its data.
    """

    flights: tuple[int, ...]
    record: int


TLS: Mapping[str, Tls] = {"1.2": Tls((517, 3600, 126, 258), 29), "1.3": Tls((517, 3720, 80), 22)}
"""By version. A record of 1.2 with AES-GCM has 5 octets of header, 8 of nonce and 16 of tag; of 1.3 an octet
of its type in place
of the nonce. Handshakes are of a chain of two certificates: the client's hello as browsers pad it, and sizes
of ours."""


@dataclass(frozen=True)
class Traffic:
    """What is asked and answered. Sizes in bytes, times in seconds.

    Attributes:
        requests: How many.
        bursts: Of each request.
        packets: Of each burst; each is a write of its own.
        smallest: Of a packet's data; all sizes up to the largest are equally likely.
        largest: Of a packet's data.
        interval_s: From the last packet of a burst to the next burst.
        wait_s: From the last packet of a request to the next request, answered or not.
        intermediate: Of the answer to each burst but the last; 0 is none.
        answer: Of the answer to the last burst.
        tls: Version whose octets are sent; empty is none.
        persistent: One connection carries all requests; else each has its own.
        side: Connections that are opened beside the first request's, one after the other is answered.
        side_request: Of what such a connection sends.
        side_answer: Of what it gets.
        multipath: Sockets of Multipath TCP.
    """

    requests: int = 5
    bursts: int = 9
    packets: int = 9
    smallest: int = 50
    largest: int = 500
    interval_s: float = 0.3
    wait_s: float = 4.0
    intermediate: int = 100
    answer: int = 750
    tls: str = ""
    persistent: bool = True
    side: int = 0
    side_request: int = 500
    side_answer: int = 3000
    multipath: bool = False

    def __post_init__(self) -> None:
        """Checks.

        Raises:
            TrafficError: A value is out of its range.
        """
        for name in ("requests", "bursts", "packets", "smallest", "answer", "side_request", "side_answer"):
            self._need(name, getattr(self, name) >= 1, "1 at least")
        for name in ("smallest", "largest", "intermediate", "answer", "side_request", "side_answer"):
            self._need(name, getattr(self, name) <= MOST, f"{MOST} at most")
        self._need("largest", self.largest >= self.smallest, f"{self.smallest} at least, as the smallest")
        for name in ("interval_s", "wait_s", "intermediate", "side"):
            self._need(name, getattr(self, name) >= 0, "0 at least")
        self._need("tls", self.tls in {"", *TLS}, f"one of {', '.join(TLS)}, or empty")

    def _need(self, name: str, holds: bool, what: str) -> None:
        if not holds:
            raise TrafficError(f"{name} is {getattr(self, name)!r}: give {what}")

    @property
    def overhead(self) -> int:
        """Bytes that each write has beside its data."""
        return TLS[self.tls].record if self.tls else 0

    @property
    def flights(self) -> tuple[int, ...]:
        """Bytes of a handshake, the client's first."""
        return TLS[self.tls].flights if self.tls else ()

    def writes(self, draws: Random) -> Iterator[Iterator[bytes]]:
        """The packets of a request, burst by burst."""
        for burst in range(self.bursts):
            yield self._burst(draws, ANSWER if burst == self.bursts - 1 else INTERMEDIATE)

    def _burst(self, draws: Random, last: bytes) -> Iterator[bytes]:
        for packet in range(self.packets):
            size = self.overhead + draws.randint(self.smallest, self.largest)
            yield FILL * (size - 1) + (last if packet == self.packets - 1 else FILL)

    def message(self, size: int, last: bytes = FILL) -> bytes:
        """A message of so much data, as a record where there is TLS; nothing of nothing."""
        return FILL * (self.overhead + size - 1) + last if size else b""

    @property
    def before_answer(self) -> int:
        """Bytes of a request's intermediate answers."""
        return (self.bursts - 1) * len(self.message(self.intermediate))

    def line(self) -> bytes:
        """As it travels on the control channel."""
        return json.dumps({"voxpath": VERSION, "traffic": asdict(self)}).encode() + b"\n"


def read_line(line: bytes) -> Traffic:
    """What a client asks for on the control channel.

    Raises:
        TrafficError: It is no such line.
    """
    told = parsed(line)
    if told.get("voxpath") != VERSION:
        version = told.get("voxpath")
        raise TrafficError(f"it speaks version {version!r}, and this is {VERSION}: have both ends the same")
    given = told.get("traffic")
    kinds = {field.name: type(field.default) for field in fields(Traffic)}
    if not isinstance(given, dict) or set(given) != set(kinds):
        raise TrafficError("it does not say what to answer")
    for name, kind in kinds.items():
        if type(given[name]) is not kind and not (kind is float and type(given[name]) is int):
            raise TrafficError(f"{name} is {given[name]!r}")
    return Traffic(**given)


def parsed(line: bytes) -> dict[str, Any]:
    """A line of JSON.

    Raises:
        TrafficError: It is none, or no object.
    """
    try:
        told = json.loads(line)
    except ValueError:
        raise TrafficError("it is no line of JSON") from None
    if not isinstance(told, dict):
        raise TrafficError("it is no object of JSON")
    return told
