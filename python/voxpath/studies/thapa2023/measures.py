"""What a packet logger at a host sees of one transfer, as the publication measures it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from voxpath.studies.thapa2023.scenario import RECEIVER, SENDER, SOCKET, TOPIC, links

if TYPE_CHECKING:
    from collections.abc import Iterator

_IP = 20
"""Octets of an IPv4 header; the publication sums those of TCP."""

_SYN, _FIN = 2, 1

MSS = 1448
"""Data of a full segment: 1500 octets without the headers of IPv4 and TCP and the timestamps."""

AGGREGATE_NS = 5_484_000
"""The longest PPDU of IEEE 802.11n (aPPDUMaxTime): what arrives within it may be one packet to a capture."""

_LARGEST = 65_535 - _IP - 32
"""Data of the largest packet that a host hands to a capture before segmentation or after coalescing."""


@dataclass(frozen=True)
class Capture:
    """The packets of one host, both ways, in their order.

    Attributes:
        host: Where.
        began_ns: When the sender's first SYN left.
        packets: `time_ns`, `out` (whether the host sent it), `header` and `data` (octets), flags, `seq`.
    """

    host: str
    began_ns: int
    packets: pl.DataFrame

    @property
    def header_bytes(self) -> int:
        """Headers of TCP of all packets: the publication's cumulative header size."""
        return int(self.packets.get_column("header").sum())

    def one_way_bytes(self, *, out: bool) -> int:
        """The same of one direction."""
        return int(self.packets.filter(pl.col("out") == out).get_column("header").sum())

    @property
    def offloaded_bytes(self) -> int:
        """The same where one packet is captured of the data, or the acknowledgments, of an aggregate."""
        total, last = 0, dict.fromkeys((True, False), (0, -1, 0))
        rows = self.packets.select("time_ns", "out", "header", "data", "tcp_flags", "seq")
        for at, out, header, data, flags, seq in rows.iter_rows():
            since, following, held = last[out]
            alone = bool(flags & (_SYN | _FIN))
            # Contiguous data joins data; acknowledgments, which have none, join these.
            joins = not alone and seq == following and at - since <= AGGREGATE_NS
            joins = joins and (held > 0) == (data > 0) and held + data <= _LARGEST
            if joins:
                last[out] = (since, seq + data, held + data)
            else:
                total += header
                last[out] = (at, -1 if alone else seq + data, data)
        return total

    @property
    def seconds(self) -> float:
        """The transfer: from the sender's SYN to its last packet, or to the receiver's last data."""
        kept = self.packets
        if self.host == RECEIVER:
            kept = kept.filter(~pl.col("out") & (pl.col("data") > 0))
        last = kept.get_column("time_ns").max()
        return (int(last) - self.began_ns) / 1e9  # type: ignore[arg-type]

    @property
    def data_segments(self) -> int:
        """Segments with data, both ways."""
        return int((self.packets.get_column("data") > 0).sum())

    @property
    def stream_bytes(self) -> int:
        """Data without what was sent again: payload and, by MQTT, its packets, both ways."""
        once = self.packets.filter(pl.col("data") > 0).unique(["out", "seq"])
        return int(once.get_column("data").sum())


def captures(packets: pl.DataFrame, network: str) -> Iterator[Capture]:
    """The sender's and the receiver's; from the table of all packets at all links."""
    began: int | None = None
    for host in (SENDER, RECEIVER):
        out, into = links(network, host)
        link, action = pl.col("link").cast(pl.String), pl.col("action").cast(pl.String)
        sent, came = (link == out) & (action == "enqueued"), (link == into) & (action == "delivered")
        own = packets.filter(sent | came).select(
            "time_ns",
            (link == out).alias("out"),
            (pl.col("ip_bytes") - pl.col("payload_bytes") - _IP).cast(pl.Int64).alias("header"),
            pl.col("payload_bytes").cast(pl.Int64).alias("data"),
            pl.col("tcp_flags").cast(pl.Int64),
            pl.col("seq").cast(pl.Int64),
        )
        if began is None:
            began = int(own.get_column("time_ns").min())  # type: ignore[arg-type]
        yield Capture(host, began, own)


def mqtt_packets(payload: int, host: str, qos: int = 0) -> list[int]:
    """Octets of the MQTT 3.1.1 packets of one message at one end, both ways: the closed form.

    A client connects, publishes or subscribes and receives, and disconnects (sections 3.1 to 3.14).
    """
    connect, connack, disconnect = 14 + len(host), 4, 2
    remaining = 2 + len(TOPIC) + (2 if qos else 0) + payload
    publish = 1 + length_octets(remaining) + remaining
    subscribes = [7 + len(TOPIC), 5] if host == RECEIVER else []
    return [connect, connack, *subscribes, publish, *[4] * (0, 1, 3)[qos], disconnect]


def length_octets(remaining: int) -> int:
    """Octets of the remaining length (MQTT 3.1.1 section 2.2.3)."""
    octets = 1
    while remaining >= 128:
        remaining //= 128
        octets += 1
    return octets


def stream_bytes(way: str, payload: int, host: str) -> int:
    """What TCP carries of a transfer in all, by the closed form."""
    return payload if way == SOCKET else sum(mqtt_packets(payload, host))


def data_segments(way: str, payload: int, host: str) -> int:
    """In how many segments, where each is as full as it can be.

    Our publisher writes a message of QoS 0 and DISCONNECT at once; mosquitto_pub does not.
    """
    parts = [payload] if way == SOCKET else mqtt_packets(payload, host)
    if way != SOCKET and host == SENDER:
        *parts, publish, disconnect = parts
        parts.append(publish + disconnect)
    return sum(-(-part // MSS) for part in parts)
