"""What conversations a capture has: read by tshark, which knows every format and link layer."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from voxpath.packages import missing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SUFFIXES = (".pcap", ".pcapng", ".cap")
"""Of captures."""

_FIELDS = (
    "frame.time_epoch", "ip.src", "ip.dst", "ipv6.src", "ipv6.dst",
    "udp.srcport", "udp.dstport", "udp.length",
    "tcp.srcport", "tcp.dstport", "tcp.len", "tcp.stream",
)  # fmt: skip
_WANTED = "(udp or tcp) and not icmp and not icmpv6 and not tcp.analysis.retransmission"
"""An ICMP error quotes what it is about."""

_UDP_HEADER = 8


class CaptureError(ValueError):
    """A capture cannot be read."""


@dataclass(frozen=True)
class End:
    """An end of a conversation."""

    address: str
    port: int


@dataclass
class Datagrams:
    """Datagrams from one end to another.

    Attributes:
        source: Who sent them.
        target: To whom.
        sent: Of each the time in nanoseconds, as the capture has it, and its payload in bytes.
    """

    source: End
    target: End
    sent: list[tuple[int, int]] = field(default_factory=list)


@dataclass
class Connection:
    """A TCP connection.

    Attributes:
        client: Who sent first.
        server: The other end.
        opened_ns: When its first segment was seen.
        sent: Payload of each end in bytes, retransmissions left out.
    """

    client: End
    server: End
    opened_ns: int
    sent: dict[End, int]


@dataclass
class Captured:
    """What a capture has.

    Attributes:
        began_ns: When its first packet was seen.
        datagrams: By their ends, each direction by itself, in the order of their first.
        connections: In the order in which they were seen.
    """

    began_ns: int
    datagrams: list[Datagrams]
    connections: list[Connection]


def read(path: Path) -> Captured:
    """Reads a capture.

    Raises:
        CaptureError: It is none, or there is no tshark.
    """
    if problem := missing("tshark"):
        raise CaptureError(f"captures are read by tshark: {problem}")
    flows: dict[tuple[End, End], Datagrams] = {}
    connections: dict[str, Connection] = {}
    began: int | None = None
    for at, source, target, size, stream in _packets(path):
        began = at if began is None else min(began, at)
        if stream is None:
            flows.setdefault((source, target), Datagrams(source, target)).sent.append((at, size))
        else:
            fresh = Connection(source, target, at, {source: 0, target: 0})
            connections.setdefault(stream, fresh).sent[source] += size
    for flow in flows.values():
        # Those of several interfaces may be out of order.
        flow.sent.sort()
    return Captured(began or 0, list(flows.values()), list(connections.values()))


def _packets(path: Path) -> Iterator[tuple[int, End, End, int, str | None]]:
    """Of each packet when it was seen, its ends, its payload and its TCP connection, if it has one."""
    fields = [word for name in _FIELDS for word in ("-e", name)]
    command = ["tshark", "-n", "-r", str(path), "-Y", _WANTED, "-T", "fields", "-E", "occurrence=f", *fields]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - as above
    except subprocess.CalledProcessError as error:
        told = error.stderr.strip().rpartition("\n")[2]
        raise CaptureError(f"{path} cannot be read: {told.removeprefix('tshark: ')}") from None
    for line in done.stdout.splitlines():
        time, *addresses, uport, uto, ulength, tport, tto, tlength, stream = line.split("\t")
        source, target = (one or other for one, other in zip(addresses[:2], addresses[2:], strict=True))
        ends = [End(address, int(port)) for address, port in ((source, tport or uport), (target, tto or uto))]
        size = int(tlength or 0) if stream else int(ulength) - _UDP_HEADER
        yield int(Decimal(time) * 10**9), ends[0], ends[1], size, stream or None
