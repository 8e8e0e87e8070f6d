"""The download of the study, for a stack, a loss, and whatever is changed about them."""

from __future__ import annotations

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
    """

    tcp: Mapping[str, Any] = field(default_factory=dict)
    delay: str = "20 ms"
    both_ways: bool = True
    ethernet: bool = True
    lost: tuple[int, ...] = ()


AS_PUBLISHED = Change()


def scenario(variant: str, loss: str, change: Change = AS_PUBLISHED) -> dict[str, Any]:
    """The scenario of one cell, as a file would say it.

    client - 10 Mbit/s Ethernet - cloud: 20 ms each way, loss each way - 10 Mbit/s Ethernet - server.
    """
    stack = _STACKS[variant]
    if change.tcp:
        stack = {**stack, "tcp": {**stack.get("tcp", {}), **change.tcp}}
    cloud: dict[str, Any] = {"delay": change.delay}
    if change.lost:
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


def document(variant: str, loss: str, change: Change = AS_PUBLISHED) -> Document:
    """The same, ready to run."""
    return from_dict(scenario(variant, loss, change), f"sarkar2022/{variant}/{loss}")


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
