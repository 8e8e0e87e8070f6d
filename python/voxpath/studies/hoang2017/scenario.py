"""The scenarios of the study: a call over the network of Table 8, and one beside five TCP flows (Table 3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from voxpath.scenario import Document, from_dict
from voxpath.studies.hoang2017.printed import probabilities, published, setting, statuses

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SEED = 2017
PACKET = 1200
"""Octets of an RTP packet; the publication has packets of one size and does not print it."""

REPORTS = 40
"""Of a session; the printed number of packets gives less than one (`misprints.py`)."""

UDP: Mapping[str, Any] = {"kind": "none"}
VARIANT: Mapping[str, Any] = {"kind": "hoang2017"}
"""RRTCC as the publication has it: every deviation from the draft on."""

SENDER: Mapping[str, Any] = {"kind": "gcc", "side": "sender"}
RECEIVER: Mapping[str, Any] = {"kind": "gcc", "side": "receiver"}
"""The two deployments of draft-ietf-rmcat-gcc-02, sections 2.2.2.2 and 5.2."""


def report_s() -> float:
    """From one report to the next, in seconds (Table 7)."""
    return setting("table7", "RTCP interval")


def length_s() -> int:
    """Of a session, in seconds."""
    return round(REPORTS * report_s())


@dataclass(frozen=True)
class Reading:
    """What the publication leaves open, each as we chose it.

    Attributes:
        first: Which part of the 25 % of both cross-traffic statuses the first of them has.
        deviation_s: Standard deviation of the delay: what Table 7 calls its variance.
        window: Over how long the network measures the incoming bit rate.
        reports_lost: Whether reports meet the network too; else they only take its delay.
    """

    first: float = 0.5
    deviation_s: float = field(default_factory=lambda: setting("table7", "Variance of network delay"))
    window: str = "100 ms"
    reports_lost: bool = False


AS_READ = Reading()


def network(rates: Sequence[int], reading: Reading) -> dict[str, Any]:
    """The link of section 3.4.2: what exceeds the available rate is lost, the rest has a normal delay."""
    chances = probabilities(reading.first)
    every = f"{setting('table7', 'Network updating interval time'):g} s"
    loss = {
        "kind": "overload",
        "window": reading.window,
        "rate": {
            "kind": "markov",
            "dwell": "constant",
            "start": "drawn",
            "states": [
                {"rate": f"{rate} bit/s", "dwell": every, "probability": f"{100 * chances[name]:g} %"}
                for name, rate in zip(statuses(), rates, strict=True)
            ],
        },
    }
    delay = {
        "kind": "normal",
        "mean": f"{1e3 * setting('table7', 'Mean of network delay'):g} ms",
        "deviation": f"{1e3 * reading.deviation_s:g} ms",
    }
    return {
        "delay": delay,
        "up": {"loss": loss},
        **({"down": {"loss": loss}} if reading.reports_lost else {}),
    }


def one_way(
    control: Mapping[str, Any],
    least: float,
    start: float,
    most: float,
    *,
    length: str,
    rtcp: str | None = None,
    limit: str | None = None,
) -> dict[str, Any]:
    """Packets of one size from `from` to `to`, as fast as a control says, as the publication's sender.

    Args:
        control: As a scenario writes it.
        least: Rate in bit/s.
        start: The first one.
        most: The largest.
        length: How long.
        rtcp: Interval of reports; that of Table 7 without it.
        limit: How late a packet may be; RFC 3550's receiver takes all without it.
    """
    return {
        "kind": "call",
        "back": "none",
        "duration": length,
        "rtcp_interval": rtcp or f"{report_s():g} s",
        "control": dict(control),
        # As many frames a second as there can be, all alike: so packets leave evenly.
        "video": {"fps": 240, "key_size": 1, "size_spread": 0, "deviation": 0, "reaction": "0 s"},
        "rate": {"min": f"{least:.0f} bit/s", "start": f"{start:.0f} bit/s", "max": f"{most:.0f} bit/s"},
        "packet": f"{PACKET} B",
        **({"buffer": {"kind": "fixed", "delay": limit}} if limit else {}),
    }


def random_network(control: Mapping[str, Any], rates: Sequence[int], reading: Reading = AS_READ) -> Document:
    """A sender over the network of Tables 8 and 9.

    Args:
        control: The sender's rate control.
        rates: What is available in each status, in bit/s.
        reading: What is left open.
    """
    return from_dict(
        {
            "name": f"hoang2017: {control['kind']} over a network whose status is redrawn",
            "seed": SEED,
            "duration": f"{length_s() + 1} s",
            "topology": {"kind": "pipe", "link": network(rates, reading)},
            "flows": [{"name": "media", "app": one_way(control, *bounds(), length=f"{length_s()} s")}],
        },
        "hoang2017/random",
    )


def bounds() -> tuple[float, float, float]:
    """Table 7: least, initial and largest rate, in bit/s."""
    least, start, most = (
        setting("table7", f"{name} sending rate") for name in ("Minimum", "Initial", "Maximum")
    )
    return least, start, most


DELAYS = ("50 ms", "100 ms")
LONG, ON_OFF = "endless", "on and off"
"""What the five TCP flows may have been; Table 3 speaks of an ON time."""

SHARED_S = 120
_TCP: Mapping[str, Mapping[str, Any]] = {
    LONG: {"kind": "bulk"},
    # On for a file, off for ten seconds on average: RFC 8868's model, its files ten times as large.
    ON_OFF: {
        "kind": "web",
        "connections": 1,
        "main": {"mean": "400 kB", "deviation": "600 kB", "least": "300 kB", "most": "500 kB"},
        "objects": {"shape": 1.1, "scale": 1.0, "bound": 1.5},
        "parsing": "0 s",
        "reading": "10 s",
    },
}


def shared(control: Mapping[str, Any], delay: str, tcp: str) -> Document:
    """A media flow and five TCP flows across 5 Mbit/s, with the settings of Table 2.

    Args:
        control: The media flow's rate control.
        delay: One-way, of the bottleneck.
        tcp: What the TCP flows do.
    """
    made = published()["table3"]
    count = int(made["tcp_flows"])
    queue = f"{setting('table2', 'Default queue size'):.0f} packets"
    start = 1e3 * setting("table2", "Codec start rate")
    # The one that asks gets the data: the five receive what goes the same way as the media.
    ends = {"from": "server{}", "to": "client{}"} if tcp == LONG else {"from": "client{}", "to": "server{}"}
    flows = [
        {
            "name": f"tcp{index}",
            **{key: name.format(index + 1) for key, name in ends.items()},
            "start": f"{100 * index} ms",
            "transport": {"kind": "tcp", "congestion": "reno"},
            "app": _TCP[tcp],
        }
        for index in range(1, count + 1)
    ]
    return from_dict(
        {
            "name": f"hoang2017: {control['kind']} beside five TCP flows, {tcp}, {delay}",
            "seed": SEED,
            "duration": f"{SHARED_S + 1} s",
            "topology": {
                "kind": "dumbbell",
                "pairs": count + 1,
                "bottleneck": {"rate": f"{made['bottleneck_bps']} bit/s", "delay": delay, "queue": queue},
                "access": {"delay": "1 ms"},
            },
            "flows": [
                {
                    "name": "media",
                    "from": "server1",
                    "to": "client1",
                    "app": one_way(
                        control,
                        start,
                        start,
                        made["bottleneck_bps"],
                        length=f"{SHARED_S} s",
                        rtcp=f"{setting('table2', 'RTCP interval'):g} s",
                        limit=f"{setting('table2', 'Max. end-to-end delay'):g} ms",
                    ),
                },
                *flows,
            ],
        },
        "hoang2017/shared",
    )
