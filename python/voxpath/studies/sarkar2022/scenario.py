"""The download of the study, for a stack, a loss, and whatever is changed about them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from voxpath.scenario import Document, from_dict

if TYPE_CHECKING:
    from collections.abc import Mapping

LOSSES = ("0 %", "0.01 %", "0.1 %", "1 %", "10 %")
"""Table 3: the five channel conditions."""

VARIANTS = ("riverbed16", "linux")
"""The simulation of section 2.3, and the testbed of section 4.4."""

FILE = 10_000_000
"""Bytes of the file (section 2.3)."""

SEGMENT = 1460
"""Bytes of data in a full segment (section 4.1)."""

WINDOW = 8760
"""Bytes of the receive buffer (Table 2)."""

_STACKS: dict[str, dict[str, Any]] = {
    "riverbed16": {"profile": "riverbed16"},
    # The testbed's window is the simulation's, so that the two can be compared (section 5.1, Figure 10).
    "linux": {
        "profile": "linux",
        "tcp": {
            "receive_buffer": f"{WINDOW} B",
            "window_scaling": False,
            "sack": False,
            "timestamps": False,
            "congestion": "reno",
        },
    },
    # The defaults of Linux: CUBIC, SACK, timestamps, window scaling.
    "today": {"profile": "linux"},
    "bbr": {"profile": "linux", "tcp": {"congestion": "bbr"}},
}


@dataclass(frozen=True)
class Change:
    """What is different from the published set-up.

    Attributes:
        tcp: Keys of both hosts' stacks.
        delay: One-way, of the cloud.
        both_ways: Whether the cloud discards acknowledgments too.
        ethernet: Whether the hosts are on 10 Mbit/s Ethernet; else their links take no time.
        lost: In place of chance, which packets from the server are lost, counted from 1.
        bits: Whether the cloud makes wrong bits, as often as loses so many of the longest packets, in place
            of discarding packets of any length.
    """

    tcp: Mapping[str, Any] = field(default_factory=dict)
    delay: str = "20 ms"
    both_ways: bool = True
    ethernet: bool = True
    lost: tuple[int, ...] = ()
    bits: bool = False


AS_PUBLISHED = Change()


def scenario(variant: str, loss: str, change: Change = AS_PUBLISHED) -> dict[str, Any]:
    """The scenario of one cell, as a file would say it.

    client - 10 Mbit/s Ethernet - cloud: 20 ms each way, loss each way - 10 Mbit/s Ethernet - server.
    """
    stack = _STACKS[variant]
    if change.tcp:
        stack = {**stack, "tcp": {**stack.get("tcp", {}), **change.tcp}}
    cloud: dict[str, Any] = {"delay": change.delay}
    if change.bits:
        cloud["loss"] = {"kind": "bit_errors", "rate": bit_error_rate(loss)}
    elif change.lost:
        cloud["down"] = {"loss": {"kind": "list", "packets": list(change.lost)}}
    elif change.both_ways:
        cloud["loss"] = loss
    else:
        cloud["down"] = {"loss": loss}
    access = {"rate": "10 Mbit/s", "framing": "ethernet"} if change.ethernet else {}
    return {
        "name": f"sarkar2022: {variant}, {loss} loss",
        "seed": 2022,
        "topology": {"kind": "dumbbell", "bottleneck": cloud, "access": access},
        "hosts": {"client": stack, "server": stack},
        "flows": [
            {
                "name": "download",
                "from": "client",
                "to": "server",
                "app": {"kind": "download", "request": "100 B", "response": "10 MB"},
            }
        ],
    }


LONGEST = 1500
"""Bytes of the longest IP packet (section 2.1)."""


def probability(loss: str) -> float:
    """A loss as a number."""
    return float(loss.removesuffix("%")) / 100


def bit_error_rate(loss: str, size: int = LONGEST) -> float:
    """At which packets of a size in bytes are lost so often: the inverse of 1 - (1 - BER)^(8 L)."""
    return -math.expm1(math.log1p(-probability(loss)) / (8 * size))


def document(variant: str, loss: str, change: Change = AS_PUBLISHED) -> Document:
    """The same, ready to run."""
    return from_dict(scenario(variant, loss, change), f"sarkar2022/{variant}/{loss}")


COAP = "coap"
"""The flow that puts the file over UDP."""


def over_udp(loss: str) -> Document:
    """The same file over UDP, its reliability left to CoAP: blocks of 1024 bytes, each acknowledged.

    RFC 7959. The server puts, so that the file goes the same way. A block is sent again after 0.1 to 0.15 s,
    where RFC 7252 has 2 to 3 s, and as often as it can be: the best that CoAP does here.
    """
    made = scenario("today", loss)
    made["name"] = f"sarkar2022: CoAP, {loss} loss"
    del made["flows"]
    put = {
        "kind": "coap_client",
        "server": "client",
        "size": "10 MB",
        "messages": 1,
        "ack_timeout": "100 ms",
        "max_retransmit": 20,
    }
    made["processes"] = [
        {"name": "store", "host": "client", "app": {"kind": "coap_server"}},
        {"name": COAP, "host": "server", "app": put},
    ]
    return from_dict(made, f"sarkar2022/coap/{loss}")


NOISE = 1e-4
"""The bit error rate at which the publication loses every packet (section 2.1)."""

DATAGRAMS = 1000
"""Of a stream that meets it."""


def noise(size: int) -> Document:
    """A stream of IP packets of one size across a link with that bit error rate."""
    return from_dict(
        {
            "name": f"sarkar2022: packets of {size} bytes at a bit error rate of {NOISE:g}",
            "seed": 2022,
            "topology": {
                "kind": "pipe",
                "link": {"delay": "20 ms", "loss": {"kind": "bit_errors", "rate": NOISE}},
            },
            "flows": [
                {
                    # 20 bytes of IP and 8 of UDP header stand before the data.
                    "app": {
                        "kind": "cbr",
                        "packet": f"{size - 28} B",
                        "interval": "1 ms",
                        "packets": f"{DATAGRAMS} packets",
                    }
                }
            ],
        },
        f"sarkar2022/noise/{size}",
    )
