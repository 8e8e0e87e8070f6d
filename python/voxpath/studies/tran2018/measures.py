"""Statistics of requests, with intervals: nodes are drawn again, each with all its requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voxpath.results.intervals import Summary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from voxpath.studies.tran2018.questions import Requests

_DRAWS = 300

LATE_S = 10.0
"""What a request without an answer counts for: it was not answered within this time."""

SLOW = 70
"""From this percentile on differences are looked for; the publication sees none below."""


def percentile(requests: Requests, percent: float) -> float:
    """Of the delays; what takes longer than 10 s, or has no answer, counts for 10 s."""
    ranked = np.sort(np.minimum(requests.delay_s, LATE_S))
    return float(ranked[min(len(ranked) - 1, int(len(ranked) * percent / 100))])


def mean(requests: Requests) -> float:
    """Of the delays of requests that were answered."""
    return float(requests.delay_s[requests.answered].mean())


def slowest(requests: Requests) -> float:
    """Mean delay of the slowest 30 %; what takes longer than 10 s, or has no answer, counts for 10 s."""
    ranked = np.sort(np.minimum(requests.delay_s, LATE_S))
    return float(ranked[int(len(ranked) * SLOW / 100) :].mean())


def in_time(requests: Requests, limit_s: float) -> float:
    """Availability: which part of the requests is answered within a time."""
    return float(np.mean(requests.delay_s <= limit_s))


def correlation(requests: Requests) -> float:
    """Pearson's, of delay and signal strength, over the requests that were answered."""
    answered = requests.answered
    delay, rssi = requests.delay_s[answered], requests.rssi_dbm[answered]
    return float(np.corrcoef(delay, rssi)[0, 1])


def rank_correlation(requests: Requests) -> float:
    """Spearman's: a few very late answers do not decide it."""
    answered = requests.answered
    delay, rssi = (
        np.argsort(np.argsort(values[answered])) for values in (requests.delay_s, requests.rssi_dbm)
    )
    return float(np.corrcoef(delay, rssi)[0, 1])


def bootstrap(cells: Sequence[Requests], statistic: Callable[[Sequence[Requests]], float]) -> Summary | None:
    """A statistic of cells that met the same nodes, with its 95 % interval; none where one has no requests.

    Nodes are drawn with replacement, the same for all cells. The interval is as wide as the middle 95 % of
    what they give, and stands around the value itself.
    """
    if any(not len(cell.delay_s) for cell in cells):
        return None
    draws = np.random.default_rng(2018)
    places = [_places(cell.node) for cell in cells]
    nodes = sorted(places[0])
    values = []
    for _ in range(_DRAWS):
        drawn = draws.choice(nodes, len(nodes))
        again = [
            _take(cell, np.concatenate([own[number] for number in drawn if number in own]))
            for cell, own in zip(cells, places, strict=True)
        ]
        values.append(statistic(again))
    low, high = np.nanquantile(values, [0.025, 0.975])
    return Summary(1, statistic(cells), float(high - low) / 2)


def _places(nodes: NDArray[np.int64]) -> dict[int, NDArray[np.int64]]:
    return {int(number): np.flatnonzero(nodes == number) for number in np.unique(nodes)}


def _take(requests: Requests, places: NDArray[np.int64]) -> Requests:
    return type(requests)(requests.delay_s[places], requests.rssi_dbm[places], requests.node[places])


def of_one(cell: Requests, statistic: Callable[[Requests], float]) -> Summary | None:
    """A statistic of one cell."""
    return bootstrap([cell], lambda cells: statistic(cells[0]))


def ratio(one: Requests, other: Requests, statistic: Callable[[Requests], float]) -> Summary | None:
    """A statistic of a cell in parts of another cell's."""
    return bootstrap([one, other], lambda cells: statistic(cells[0]) / statistic(cells[1]))
