"""Figures 4, 5 and 6, from our own runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from voxpath.document import Axis, Cloud, Curve, Plot, Scatter
from voxpath.studies.tran2018.printed import MOBILE, STATIONARY
from voxpath.studies.tran2018.questions import AS_TCP, DEFAULT, PUBLISHED, Cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voxpath.studies.tran2018.questions import Found

_DELAY = Axis("response delay", "ms", "log")
_SIGNAL = Axis("signal strength of the first network", "dBm")
_POINTS = 400
"""Of a cloud: more cannot be told apart."""


def _distribution(found: Found, cell: Cell) -> Curve:
    delay = np.sort(found.requests(cell).delay_s)
    whole = len(delay)
    shown = delay[np.isfinite(delay)]
    parts = [100 * (place + 1) / whole for place in range(len(shown))]
    return Curve(cell.name, [1e3 * float(value) for value in shown], parts, style="steps")


def distributions(found: Found, title: str, mobility: str, names: Sequence[str]) -> Plot:
    """The distribution of response delays; what has no answer keeps a curve below 100 %."""
    return Plot(
        f"{title}: response delay, {mobility} nodes",
        "A curve that ends below 100 % has requests that were not answered.",
        _DELAY,
        Axis("requests", "%", span=(0, 100)),
        [_distribution(found, Cell(mobility, name)) for name in names],
    )


def moving(found: Found) -> Plot:
    """TCP and Multipath TCP, those who move beside those who do not."""
    return Plot(
        "Figure 4: response delay, mobile beside stationary nodes",
        "A curve that ends below 100 % has requests that were not answered.",
        _DELAY,
        Axis("requests", "%", span=(0, 100)),
        [
            replace(_distribution(found, Cell(mobility, name)), name=f"{name}, {mobility}", group=name)
            for name in (AS_TCP, DEFAULT)
            for mobility in (MOBILE, STATIONARY)
        ],
    )


def figure4(found: Found, mobility: str) -> Plot:
    """TCP and Multipath TCP."""
    return distributions(found, "Figure 4", mobility, (AS_TCP, DEFAULT))


def figure6(found: Found, mobility: str) -> Plot:
    """All configurations."""
    return distributions(found, "Figure 6", mobility, PUBLISHED)


def figure5(found: Found, mobility: str) -> Scatter:
    """Delay over signal strength."""
    clouds = []
    for name in (AS_TCP, DEFAULT):
        requests = found.requests(Cell(mobility, name))
        answered = np.flatnonzero(requests.answered)
        step = max(1, len(answered) // _POINTS)
        points = [
            (float(requests.rssi_dbm[place]), float(np.log10(1e3 * requests.delay_s[place])))
            for place in answered[::step]
        ]
        details = [
            f"node {requests.node[place]}, {1e3 * requests.delay_s[place]:.0f} ms"
            for place in answered[::step]
        ]
        clouds.append(Cloud(name, points, details))
    return Scatter(
        f"Figure 5: response delay over signal strength, {mobility} nodes",
        "A point for each request that was answered, at most some hundreds. The delay is drawn by its "
        "logarithm: 2 is 100 ms, 3 is a second.",
        _SIGNAL,
        Axis("log10 of the response delay in ms"),
        clouds,
    )
