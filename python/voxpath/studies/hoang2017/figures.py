"""Figures 16 to 20 and 5, from our own runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from voxpath.document import Axis, Curve, Plot
from voxpath.studies.hoang2017.printed import mean_available, published, statuses
from voxpath.studies.hoang2017.questions import (
    AS_UDP,
    RRTCC,
    SEEN,
    TABLE8,
    Cell,
    configurations,
)
from voxpath.studies.hoang2017.scenario import AS_READ, DELAYS, LONG, SHARED_S, length_s, report_s
from voxpath.studies.hoang2017.session import goodput, loss, losses, mean_sent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from voxpath.results.intervals import Summary
    from voxpath.studies.hoang2017.questions import Found
    from voxpath.studies.media import Media

_TIME = Axis("time", "s")
_RATE = Axis("rate", "Mbit/s")


def figure16(found: Found) -> Plot:
    """The estimates of one session over what was available."""
    cell = Cell(TABLE8, RRTCC, SEEN)
    (signals,), (capacity,) = found.table(cell, "signals"), found.table(cell, "capacities")
    curves = [
        _signal(signals, "delay_based_bps", "Ar: delay-based"),
        _signal(signals, "loss_based_bps", "As: loss-based"),
        _signal(signals, "target_bps", "A: final"),
        Curve("A of UDP", [0.0, float(length_s())], [published()["section4_1"]["udp_bps"] / 1e6] * 2),
        Curve(
            "real bandwidth",
            [at / 1e9 for at in capacity.get_column("time_ns")],
            [rate / 1e6 for rate in capacity.get_column("rate_bps")],
            style="steps",
        ),
    ]
    return Plot(
        "Figure 16: estimated bandwidths of a sender that has RRTCC",
        "One session over the network of Table 8. UDP is drawn as a line: it has no estimate.",
        _TIME,
        _RATE,
        curves,
    )


def _signal(signals: pl.DataFrame, name: str, called: str) -> Curve:
    own = signals.filter(pl.col("signal").cast(pl.String) == name).drop_nulls("number")
    at, values = own.get_column("time_ns").to_list(), own.get_column("number").to_list()
    return Curve(called, [one / 1e9 for one in at], [value / 1e6 for value in values], style="steps")


def figure17(found: Found) -> Plot:
    """The loss ratios that senders compute from each report."""
    interval = round(report_s())
    curves = []
    for name in (RRTCC, AS_UDP):
        (media,) = found.media(Cell(TABLE8, name, SEEN))
        ratios = losses(media, interval)
        at = [float(interval * (index + 1)) for index in range(len(ratios))]
        curves.append(Curve(name, at, [100 * float(ratio) for ratio in ratios], style="steps"))
    return Plot(
        "Figure 17: loss ratio of both senders",
        "The same session, and UDP over the same network: the same statuses at the same times.",
        _TIME,
        Axis("loss", "%"),
        curves,
    )


def _by_network(
    found: Found,
    title: str,
    caption: str,
    y: Axis,
    lines: Sequence[tuple[str, str, Callable[[Media], float], float]],
) -> Plot:
    """Values of the networks of Table 9, over the mean of what is available."""
    networks = configurations()
    x = [
        mean_available(AS_READ.first, dict(zip(statuses(), rates, strict=True))) / 1e6
        for rates in networks.values()
    ]
    curves = []
    for called, sender, value, scale in lines:
        means: list[Summary | None] = [found.mean(Cell(network, sender), value) for network in networks]
        scaled = [None if mean is None else mean.scaled(scale) for mean in means]
        ends = [None if one is None else one.interval for one in scaled]
        curves.append(
            Curve(
                called,
                x,
                [None if one is None else one.mean for one in scaled],
                [None if end is None else end[0] for end in ends],
                [None if end is None else end[1] for end in ends],
            )
        )
    return Plot(title, caption, Axis("mean available rate", "Mbit/s"), y, curves)


def figure18(found: Found) -> Plot:
    """Loss over the networks of Table 9."""
    return _by_network(
        found,
        "Figure 18: average loss ratio",
        "The four networks of Table 9, by the mean of what they have available; means with 95 % intervals.",
        Axis("loss", "%"),
        [(f"{name} loss ratio", name, loss, 100.0) for name in (RRTCC, AS_UDP)],
    )


def figure19(found: Found) -> Plot:
    """Sending rates over them."""
    return _by_network(
        found,
        "Figure 19: average sending bitrate",
        "As Figure 18.",
        _RATE,
        [(f"{name} sending rate", name, mean_sent, 1e-6) for name in (RRTCC, AS_UDP)],
    )


def figure20(found: Found) -> Plot:
    """Sending rates and goodputs."""
    lines = [(f"{name} sending rate", name, mean_sent, 1e-6) for name in (RRTCC, AS_UDP)]
    lines += [(f"{name} goodput", name, goodput, 1e-6) for name in (RRTCC, AS_UDP)]
    return _by_network(found, "Figure 20: average sending bitrate and goodput", "As Figure 18.", _RATE, lines)


def figure5(found: Found, sender: str) -> Plot:
    """Throughput over time of a media flow beside five endless TCP flows."""
    cell = Cell(DELAYS[0], sender, LONG)
    (first, *_) = found.media(cell)
    seconds = [float(second) for second in range(SHARED_S)]
    tcp = found.tcp(cell)
    return Plot(
        f"Figure 5: a media flow with {sender} and five TCP flows at 5 Mbit/s, 50 ms",
        f"One run. A TCP flow has {np.mean(tcp) / 1e6:.2f} Mbit/s on average over the runs, drawn as a line.",
        _TIME,
        _RATE,
        [
            Curve("media", seconds, [float(rate) / 1e6 for rate in first.received], style="steps"),
            Curve("a TCP flow, mean", [0.0, float(SHARED_S)], [float(np.mean(tcp)) / 1e6] * 2),
        ],
    )
