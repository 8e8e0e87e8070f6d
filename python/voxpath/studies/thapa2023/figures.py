"""Figures 4 to 7, from our own runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath.document import Axis, Curve, Plot
from voxpath.studies.thapa2023.claims import header, seconds
from voxpath.studies.thapa2023.questions import ENDS, REAL, SIM, Cell
from voxpath.studies.thapa2023.scenario import INTERNET, LAN, SOURCES, WAYS, payloads

if TYPE_CHECKING:
    from collections.abc import Callable

    from voxpath.studies.thapa2023.claims import Value
    from voxpath.studies.thapa2023.questions import Found

_CAPTION = (
    "Means with 95 % t-intervals. A file and a sequence of bytes are the same data to the simulator, and "
    "are drawn apart where programs sent them."
)


def all_of_them(found: Found) -> list[Plot]:
    """In the order of the publication."""
    return [
        _plot(found, 4, LAN, "headers"),
        _plot(found, 5, LAN, "time"),
        _plot(found, 6, INTERNET, "headers"),
        _plot(found, 7, INTERNET, "time"),
    ]


def _plot(found: Found, number: int, network: str, what: str) -> Plot:
    if what == "headers":
        title, axis = "cumulative header size", Axis("headers of TCP", "B", "log")
        value: Callable[[str], Value] = header
    else:
        title, axis = "total time", Axis("time", "s", "log")
        value = seconds
    curves = []
    for way in WAYS:
        for end in ENDS:
            curves.append(_curve(found, Cell(network, way, ""), SIM, value(end), f"{way}, {end}", way))
            for source in SOURCES:
                cell = Cell(network, way, "", source)
                curve = _curve(found, cell, REAL, value(end), f"{way}, {end}, real hosts, {source}", way)
                curves += [curve] if curve.x else []
    return Plot(
        f"Figure {number}: {title} against payload, {network}",
        _CAPTION,
        Axis("payload", "B", "log"),
        axis,
        curves,
    )


def _curve(found: Found, cell: Cell, source: str, value: Value, name: str, group: str) -> Curve:
    x: list[float] = []
    means, low, high = [], [], []
    for payload, octets in payloads().items():
        mean = found.mean(cell._replace(payload=payload), value, source)
        if mean is None:
            continue
        x.append(octets)
        means.append(mean.mean)
        interval = mean.interval or (mean.mean, mean.mean)
        low.append(interval[0])
        high.append(interval[1])
    return Curve(name, x, means, low, high, style="line" if source == SIM else "points", group=group)
