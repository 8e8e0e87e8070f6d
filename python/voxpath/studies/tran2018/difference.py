"""Beyond the publication: which scheduler keeps slow answers fast, by the paths' differences.

Two stationary paths of the same rates. The second one is longer by the first axis; the second axis says by
how much more the first one loses: below zero it is the second one that does. All schedulers meet the same
losses on a path, as far as they send the same. Subflows are not coupled: a request is too short for that to
matter, and so the kernel can be asked for the same.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from voxpath.backends.base import Question
from voxpath.backends.real.problems import RealError
from voxpath.document import Axis, Check, Checks, Cloud, Map, Panel, Scatter, Section, Table, Text
from voxpath.document import Cell as Shown
from voxpath.results.tables import tables
from voxpath.scenario import from_dict
from voxpath.studies.tran2018.measures import LATE_S
from voxpath.studies.tran2018.printed import setting
from voxpath.studies.tran2018.scenario import FLOW, TCP, application, mptcp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from voxpath.results.answers import Variant
    from voxpath.studies.base import Ask

DELAYS_MS = (0, 25, 50, 100, 200)
"""By how much the second path is longer, one way."""
LOSSES = (-5, -2, -1, 0, 1, 2, 5)
"""By how much more the first path loses, in percent."""
BASE_DELAY_MS, BASE_LOSS = 25, 0.5
DOWN_MBPS, UP_MBPS = 10, 3

LINUX = "linux"
_AS_KERNEL: Mapping[str, Any] = {
    "opportunistic_retransmission": False,
    "penalisation": False,
    "retry": "0 s",
}
AS_TCP = "TCP"
TRANSPORTS: Mapping[str, Mapping[str, Any]] = {
    AS_TCP: {**TCP, "congestion": "reno"},
    **{
        name: mptcp(name, coupling=None)
        for name in ("lowest_rtt", "round_robin", "redundant", "blest", "ecf", "server")
    },
    LINUX: mptcp(LINUX, coupling=None, **_AS_KERNEL),
}
"""TCP goes over the first path alone."""

REDUNDANT = "redundant"
REQUESTS = 5
WAIT_S = 1.5
PERCENT = 95
DRAWS = 200

CHECKED = ((0, 0), (100, 0), (100, 2), (0, 5))
"""Where the kernel is asked too: differences of delay and loss."""
NEAR = 0.15
"""The kernel's median agrees if it is so near to ours: runs in real time are too few for a percentile."""
WORTH = 0.9
"""Redundant is worth its octets where its 95th percentile is below this part of the best one without
copies."""

SIM, REAL = "sim", "real"


class Place(NamedTuple):
    """Two paths, and who carries the requests."""

    delay_ms: int
    loss: int
    name: str


class Effort(NamedTuple):
    """How many runs a place has, and how many of the kernel."""

    runs: int
    real: int
    delays: Sequence[int] = DELAYS_MS
    losses: Sequence[int] = LOSSES
    checked: Sequence[tuple[int, int]] = CHECKED


FULL = Effort(40, 6)
QUICK = Effort(4, 1, (0, 100), (-5, 0, 5), ((100, 0),))


@cache
def _document(place: Place) -> Any:
    host = {"profile": "linux", "tcp": {"congestion": "reno"}}
    losses = BASE_LOSS + max(place.loss, 0), BASE_LOSS + max(-place.loss, 0)
    delays = BASE_DELAY_MS, BASE_DELAY_MS + place.delay_ms
    paths = {
        path: {
            "delay": f"{delay} ms",
            "loss": f"{loss} %",
            "up": {"rate": f"{UP_MBPS} Mbit/s", "queue": "100 packets"},
            "down": {"rate": f"{DOWN_MBPS} Mbit/s", "queue": "300 packets"},
        }
        for path, delay, loss in zip(("first", "second"), delays, losses, strict=True)
    }
    spoken_s = (setting("bursts") - 1) * setting("interval_ms") / 1e3
    return from_dict(
        {
            "name": f"tran2018: {place.name}, {place.delay_ms} ms and {place.loss} % apart",
            "seed": 2018,
            "topology": {
                "kind": "multipath",
                "paths": paths,
                "access": {"rate": "1 Gbit/s", "delay": "1 ms"},
            },
            "hosts": {"client": host, "server": host},
            "flows": [
                {
                    "name": FLOW,
                    "transport": {**TRANSPORTS[place.name]},
                    "app": application(requests=REQUESTS, wait=f"{WAIT_S} s"),
                }
            ],
            "duration": f"{REQUESTS * (spoken_s + WAIT_S) + LATE_S:.1f} s",
        }
    )


def places(effort: Effort) -> list[Place]:
    """All of the map."""
    return [
        Place(delay, loss, name) for delay in effort.delays for loss in effort.losses for name in TRANSPORTS
    ]


class Answers(NamedTuple):
    """What a place's runs gave.

    Attributes:
        delay_s: Response delay of each request of each run, infinite without an answer; shape (runs,
            requests).
        octets: Data octets that subflows brought in each run, those of both ends, copies counted as often as
            they came; shape (runs,).
    """

    delay_s: NDArray[np.float64]
    octets: NDArray[np.float64]

    def late_s(self, runs: NDArray[np.int64] | None = None) -> float:
        """The percentile that is asked for, of these runs or of all; at most 10 s."""
        delay = self.delay_s if runs is None else self.delay_s[runs]
        ranked = np.sort(np.minimum(delay, LATE_S), axis=None)
        return float(ranked[min(len(ranked) - 1, int(len(ranked) * PERCENT / 100))])


class Regions:
    """What came back.

    Attributes:
        effort: What was asked.
        without: Why there is nothing of the kernel; empty where there is.
    """

    def __init__(
        self,
        effort: Effort,
        simulated: Mapping[Place, Variant],
        real: Mapping[Place, Variant],
        without: str = "",
    ) -> None:
        """Takes the answers, and reads their tables at once."""
        self.effort = effort
        self.without = without
        self._simulated, self._real = _answers(simulated), _answers(real)
        self.runs = sum(len(found.octets) for found in self._simulated.values())

    def at(self, place: Place) -> Answers:
        """Of the simulator."""
        return self._simulated[place]

    def kernel(self, place: Place) -> Answers | None:
        """Of the kernel; none where it was not asked."""
        return self._real.get(place)


def _answers(variants: Mapping[Place, Variant]) -> dict[Place, Answers]:
    places = list(variants)
    outcomes = [[one for one in variants[place].outcomes if one.valid] for place in places]
    found = {}
    for place, some, requests, connections in zip(
        places, outcomes, tables(outcomes, "requests"), tables(outcomes, "connections"), strict=True
    ):
        if not some:
            continue
        delay = [
            [
                np.inf if done is None or sent is None else (done - sent) / 1e9
                for sent, done in rows.select("last_byte_sent_ns", "completed_ns").iter_rows()
            ]
            for _, rows in requests.group_by("replication", maintain_order=True)
        ]
        octets = [
            float(rows["bytes_delivered"].sum())
            for _, rows in connections.group_by("replication", maintain_order=True)
        ]
        found[place] = Answers(np.array(delay, float), np.array(octets))
    return found


def ask_all(ask: Ask, effort: Effort) -> Regions:
    """Asks everything; a machine that can have no real hosts answers without them."""
    asked = places(effort)
    tested = [Place(*apart, LINUX) for apart in effort.checked] if effort.real else []
    answers = ask([Question(_document(place), range(effort.runs)) for place in asked], (SIM,))
    without = "the backend real was not asked"
    try:
        real = ask([Question(_document(place), range(effort.real)) for place in tested], (REAL,))
    except RealError as error:
        real, without = [], str(error)
    kernel = dict(zip(tested, real, strict=False))
    found = Regions(effort, dict(zip(asked, answers, strict=True)), kernel, without)
    if any(found.kernel(place) for place in tested):
        found.without = ""
    return found


class Best(NamedTuple):
    """Who is best at a place.

    Attributes:
        name: The scheduler with the lowest percentile.
        beside: Those that the runs do not tell apart from it: drawn again, they are better in one of forty
            draws at least.
    """

    name: str
    beside: Sequence[str]


MULTIPATH = tuple(name for name in TRANSPORTS if name != AS_TCP)


def best(found: Regions, delay_ms: int, loss: int, names: Sequence[str] = MULTIPATH) -> Best:
    """Who keeps the percentile lowest, and who cannot be told apart: the same runs are drawn for all."""
    cells = {name: found.at(Place(delay_ms, loss, name)) for name in names}
    first = min(cells, key=lambda name: cells[name].late_s())
    draws = np.random.default_rng(2018)
    runs = [draws.integers(0, found.effort.runs, found.effort.runs) for _ in range(DRAWS)]
    ours = np.array([cells[first].late_s(some) for some in runs])
    beside = [
        name
        for name, cell in cells.items()
        if name != first and np.mean([cell.late_s(some) for some in runs] <= ours) >= 0.025
    ]
    return Best(first, beside)


def sections(found: Regions) -> list[Section]:
    """The map, what copies are worth, and the kernel beside it."""
    return [
        Section(
            "Which scheduler for which two paths",
            [
                Text(
                    [
                        (
                            f"Two stationary paths of {DOWN_MBPS} and {UP_MBPS} Mbit/s, down and up. The "
                            f"first one has {BASE_DELAY_MS} ms one way; each loses {BASE_LOSS} % at least. "
                            f"{found.runs} runs of {REQUESTS} requests, the same seeds for all."
                        )
                    ]
                ),
                _map(found),
                _winners(found),
            ],
        ),
        Section("Is redundant worth its octets for voice?", [_copies(found), _worth(found)]),
        Section("The kernel at points of the map", list(_kernel(found))),
    ]


def answer(found: Regions) -> list[str]:
    """Sentences for the top of the report."""
    return [_winner_told(found), _worth_told(found)]


def _grid(found: Regions, of: Any) -> list[list[Any]]:
    return [[of(delay, loss) for delay in found.effort.delays] for loss in found.effort.losses]


def _axes(found: Regions) -> tuple[Axis, Axis, list[str], list[str]]:
    return (
        Axis("by which the second path is longer, one way"),
        Axis("by which the first path loses more"),
        [f"{delay} ms" for delay in found.effort.delays],
        [f"{loss:+d} %" if loss else "0 %" for loss in found.effort.losses],
    )


def _map(found: Regions) -> Map:
    x, y, xs, ys = _axes(found)

    def panel(name: str) -> Panel:
        return Panel(
            name, _grid(found, lambda delay, loss: 1e3 * found.at(Place(delay, loss, name)).late_s())
        )

    return Map(
        f"{PERCENT}th percentile of response delay",
        (
            "A panel for each scheduler, and TCP over the first path alone. An answer that takes more than "
            "10 s, or none, counts for 10 s."
        ),
        x,
        y,
        Axis("response delay", "ms", "log"),
        xs,
        ys,
        [panel(name) for name in TRANSPORTS],
    )


def _winners(found: Regions) -> Table:
    _, _, xs, ys = _axes(found)

    def told(delay: int, loss: int) -> str:
        first, beside = best(found, delay, loss)
        late = 1e3 * found.at(Place(delay, loss, first)).late_s()
        return f"{first}, {late:.0f} ms" + (f" (also {', '.join(beside)})" if beside else "")

    rows: list[list[str | Shown]] = [[name, *row] for name, row in zip(ys, _grid(found, told), strict=True)]
    return Table(
        f"Who has the lowest {PERCENT}th percentile",
        ["the first path loses more by", *(f"second longer by {one}" for one in xs)],
        rows,
        ["Also: those that the runs do not tell apart from it."],
    )


def _everywhere(found: Regions) -> list[tuple[int, int]]:
    return [(delay, loss) for delay in found.effort.delays for loss in found.effort.losses]


def _winner_told(found: Regions) -> str:
    apart = _everywhere(found)
    shares: dict[str, int] = dict.fromkeys(MULTIPATH, 0)
    for place in apart:
        first, beside = best(found, *place)
        for name in (first, *beside):
            shares[name] += 1
    ranked = sorted(shares.items(), key=lambda item: -item[1])
    told = ", ".join(f"{name} at {count}" for name, count in ranked)
    return (
        f"Of {len(apart)} pairs of paths, these schedulers have the lowest {PERCENT}th percentile of "
        "response delay, or cannot be told "
        f"apart from the one that has: {told}."
    )


class Worth(NamedTuple):
    """What copies bring at a place: percentile and octets in parts of the best scheduler's without copies."""

    place: tuple[int, int]
    other: str
    delay: float
    octets: float
    saved_ms: float


def worth(found: Regions) -> list[Worth]:
    """Of every place."""
    single = [name for name in MULTIPATH if name != REDUNDANT]
    rows = []
    for place in _everywhere(found):
        other = best(found, *place, single).name
        theirs, ours = (found.at(Place(*place, name)) for name in (other, REDUNDANT))
        late, early = theirs.late_s(), ours.late_s()
        octets = ours.octets.mean() / theirs.octets.mean()
        rows.append(Worth(place, other, early / late, float(octets), 1e3 * (late - early)))
    return rows


def _sooner_or_later(saved_ms: float) -> str:
    """By how much an answer comes sooner, or later where that is below zero."""
    return f"{abs(saved_ms):.0f} ms {'sooner' if saved_ms >= 0 else 'later'}"


def _copies(found: Regions) -> Scatter:
    rows = worth(found)
    return Scatter(
        "What copies bring",
        (
            "A point for each pair of paths: redundant in parts of the best scheduler there that sends no "
            "copies. Below 1 it answers sooner."
        ),
        Axis("octets, in parts of the other's"),
        Axis(f"{PERCENT}th percentile, in parts of the other's"),
        [
            Cloud(
                REDUNDANT,
                [(row.octets, row.delay) for row in rows],
                [
                    f"second path {delay} ms longer, first loses {loss:+d} %: beside {row.other}, "
                    f"{_sooner_or_later(row.saved_ms)}"
                    for row in rows
                    for delay, loss in (row.place,)
                ],
            )
        ],
    )


def _worth_told(found: Regions) -> str:
    rows = worth(found)
    good = [row for row in rows if row.delay < WORTH]
    octets = float(np.median([row.octets for row in rows]))
    saved = float(np.median([row.saved_ms for row in rows]))
    most = max(rows, key=lambda row: row.saved_ms)
    return (
        f"Redundant is worth its octets at {len(good)} of {len(rows)} pairs of paths: there it keeps the "
        f"{PERCENT}th percentile more than "
        f"{1 - WORTH:.0%} below the best scheduler without copies. It takes {octets:.2f} times the octets "
        f"(median), and answers {_sooner_or_later(saved)} in "
        f"the median, {_sooner_or_later(most.saved_ms)} at best (second path {most.place[0]} ms longer, "
        f"first loses {most.place[1]:+d} %)."
    )


def _worth(found: Regions) -> Text:
    return Text([_worth_told(found)])


def _kernel(found: Regions) -> list[Table | Checks | Text]:
    if found.without:
        return [Text([f"The kernel was not asked: {found.without}."])]
    rows: list[list[str | Shown]] = []
    checks = []
    for delay, loss in found.effort.checked:
        place = Place(delay, loss, LINUX)
        ours, theirs = found.at(place), found.kernel(place)
        if theirs is None:
            continue
        medians = [1e3 * float(np.median(one.delay_s)) for one in (ours, theirs)]
        late = [1e3 * one.late_s() for one in (ours, theirs)]
        where = f"second path {delay} ms longer, first loses {loss:+d} %"
        told = [f"{value:.0f}" for value in (*medians, *late)]
        rows.append([where, *told, str(theirs.delay_s.size)])
        apart = abs(medians[0] / medians[1] - 1)
        checks.append(
            Check(
                f"At the {where}, our `linux` answers in the median within {NEAR:.0%} of the kernel.",
                apart <= NEAR,
                f"{medians[0]:.0f} ms against {medians[1]:.0f} ms",
            )
        )
    table = Table(
        "The scheduler `linux` and the kernel, response delay in ms",
        [
            "paths",
            *(f"{which}, {whose}" for which in ("median", f"{PERCENT}th") for whose in ("ours", "kernel")),
            "requests of the kernel",
        ],
        rows,
        [f"The kernel's {PERCENT}th percentile is of few requests."],
    )
    return [table, Checks("Ours beside the kernel", checks)]
