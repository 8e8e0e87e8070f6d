"""The working region: where recognition over TCP is in real time, over delay, loss and more."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from voxpath.backends.base import Question
from voxpath.document import Axis, Cell, Curve, Map, Panel, Plot, Table
from voxpath.results.intervals import quantile, summarise
from voxpath.studies.ramli2018 import machine
from voxpath.studies.ramli2018.contours import crossing
from voxpath.studies.ramli2018.measured import of_flows, of_programs
from voxpath.studies.ramli2018.scenario import FASTER, Network, real, simulated
from voxpath.voice.speech.samples import GROWING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from voxpath.results.answers import Variant
    from voxpath.scenario import Document

FACTOR_LIMIT = 1.0
"""Real-time factor."""

WAIT_LIMIT_S = 1.0
"""Of the 95th percentile of the wait for the final result after the last audio, live."""

MIDDLE = GROWING[5]
"""The utterance of the map, 10.5 s."""

_P = 0.95


@dataclass(frozen=True)
class Change:
    """What is not as in the map itself.

    Attributes:
        utterance: Which.
        rate: Of the link.
        tcp: Keys of the client's and the server's stacks.
        nagle: Whether small segments wait (without NODELAY).
        block_ms: Audio in each message.
        faster: How many times as fast as the recorded recogniser the server decodes.
    """

    utterance: str = MIDDLE
    rate: str = "10 Mbit/s"
    tcp: Mapping[str, Any] = field(default_factory=dict)
    nagle: bool = False
    block_ms: int = 250
    faster: float = FASTER


BASE = "the recorded decoder"
FAST = f"a decoder {FASTER:g} times as fast"
CHANGES: Mapping[str, Change] = {
    BASE: Change(faster=1.0),
    FAST: Change(),
    "2.2 s of speech": Change(utterance=GROWING[0]),
    "30 s of speech": Change(utterance=GROWING[-1]),
    "Reno": Change(tcp={"congestion": "reno"}),
    "BBR": Change(tcp={"congestion": "bbr"}),
    "1 Mbit/s": Change(rate="1 Mbit/s"),
    "384 kbit/s": Change(rate="384 kbit/s"),
    "Nagle": Change(nagle=True),
    "Nagle, blocks of 40 ms": Change(nagle=True, block_ms=40),
    "blocks of 40 ms": Change(block_ms=40),
    "blocks of 1 s": Change(block_ms=1000),
}
"""What is changed; all but the first with the fast decoder, so that the limits are the network's."""

MAPPED = (BASE, FAST)
"""Those whose whole map is drawn."""


class Point(NamedTuple):
    """A run of the region.

    Attributes:
        change: A name of `CHANGES`.
        round_trip_ms: Of propagation.
        loss: Of packets towards the server.
        paced: Live, or a file.
    """

    change: str
    round_trip_ms: int
    loss: str
    paced: bool


@dataclass(frozen=True)
class Effort:
    """How much is run.

    Attributes:
        round_trips: Columns of the map, in milliseconds.
        losses: Rows of the map.
        replications: Of each of its cells.
        changes: Whose contours are drawn beside the map's.
        change_round_trips: Where along these.
        change_replications: Of each of their cells.
        real: Cells of the map that are run on real hosts too.
        real_replications: Of each of these.
    """

    round_trips: Sequence[int]
    losses: Sequence[str]
    replications: int
    changes: Sequence[str]
    change_round_trips: Sequence[int]
    change_replications: int
    real: Sequence[tuple[int, str, bool]]
    real_replications: int


_LOSSES = ("0 %", "0.1 %", "0.3 %", "0.5 %", "1 %", "2 %", "5 %", "10 %")
FULL = Effort(
    (10, 25, 50, 120, 200, 300, 450, 600),
    _LOSSES,
    60,
    tuple(CHANGES)[2:],
    (10, 50, 120, 300, 600),
    20,
    (
        (120, "0.5 %", False),
        (120, "5 %", False),
        (300, "2 %", False),
        (120, "0.5 %", True),
        (300, "2 %", True),
    ),
    3,
)
QUICK = Effort((10, 50, 120, 300), ("0 %", "0.5 %", "2 %", "10 %"), 10, (), (), 0, ((120, "2 %", False),), 1)


def network(round_trip_ms: float, loss: str, rate: str) -> Network:
    """The dumbbell without background; access links of 2 ms."""
    access = 2
    return Network(round_trip_ms / 2 - 2 * access, access, loss, rate=rate)


def _asked(effort: Effort) -> dict[Point, int]:
    """Points with their replications."""
    many = dict.fromkeys(MAPPED, effort.replications) | dict.fromkeys(
        effort.changes, effort.change_replications
    )
    return {
        Point(change, round_trip, loss, paced): replications
        for change, replications in many.items()
        for round_trip in _along(effort, change)
        for loss in effort.losses
        for paced in (False, True)
    }


def _along(effort: Effort, change: str) -> Sequence[int]:
    return effort.round_trips if change in MAPPED else effort.change_round_trips


def questions(effort: Effort) -> dict[Point, Question]:
    """For the simulator."""
    return {
        point: Question(_simulated(point), range(replications))
        for point, replications in _asked(effort).items()
    }


def real_questions(effort: Effort) -> dict[Point, Question]:
    """For real hosts."""
    asked = {}
    for round_trip, loss, paced in effort.real:
        change = CHANGES[BASE]
        name = f"{round_trip} ms, {loss}, {'live' if paced else 'a file'}"
        asked[Point(BASE, round_trip, loss, paced)] = Question(
            real(
                name,
                network(round_trip, loss, change.rate),
                [change.utterance],
                paced=paced,
                edge="tun",
            ),
            range(effort.real_replications),
        )
    return asked


def _simulated(point: Point) -> Document:
    change = CHANGES[point.change]
    return simulated(
        f"{point.round_trip_ms} ms, {point.loss}, {point.change}",
        network(point.round_trip_ms, point.loss, change.rate),
        change.utterance,
        paced=point.paced,
        nagle=change.nagle,
        block_ms=change.block_ms,
        faster=change.faster,
        tcp=change.tcp,
    )


class Found:
    """What came back, point by point."""

    def __init__(
        self, effort: Effort, simulated_: Mapping[Point, Variant], made: Mapping[Point, Variant]
    ) -> None:
        """Takes what the simulator and real hosts said."""
        self.effort = effort
        self.runs = sum(len(variant.outcomes) for variant in simulated_.values())
        self._simulated = {
            point: list(of_flows(CHANGES[point.change].utterance, variant.flows))
            for point, variant in simulated_.items()
        }
        self.real = {point: list(of_programs(variant.outcomes)) for point, variant in made.items()}
        self.outcomes = {point: variant.outcomes for point, variant in made.items()}

    @property
    def simulated(self) -> bool:
        """Whether the simulator was asked."""
        return any(self._simulated.values())

    def factors(self, point: Point) -> list[float]:
        """Real-time factors, run by run."""
        return [one.total_factor for one in self._simulated.get(point, ())]

    def waits(self, point: Point) -> list[float]:
        """Seconds from the last audio to the final result, run by run."""
        return [one.response_s for one in self._simulated.get(point, ())]


def _factor(found: Found, point: Point) -> tuple[float, float | None, float | None] | None:
    """The mean of the real-time factor with its interval's ends."""
    values = found.factors(point)
    if not values:
        return None
    summary = summarise(values)
    return (summary.mean, *(summary.interval or (None, None)))


def _wait(found: Found, point: Point) -> tuple[float, float | None, float | None] | None:
    """The 95th percentile of the wait with its interval's ends."""
    values = found.waits(point)
    if not values:
        return None
    found_ = quantile(values, _P)
    return (found_.value, found_.low, found_.high)


@dataclass(frozen=True)
class Measure:
    """What the region is the region of.

    Attributes:
        title: Of its map.
        caption: Of its map.
        axis: Of its values.
        paced: In which kind of runs it is measured.
        limit: Below it is good.
        of: Value, and ends of its interval, at a point.
    """

    title: str
    caption: str
    axis: Axis
    paced: bool
    limit: float
    of: Callable[[Found, Point], tuple[float, float | None, float | None] | None]


FACTOR = Measure(
    "Real-time factor of a file",
    "Total, unpaced; means. Below 1 is real time.",
    Axis("real-time factor", "", "log"),
    False,
    FACTOR_LIMIT,
    _factor,
)
WAIT = Measure(
    "Wait for the final result, live",
    "95th percentile of the time from the last audio to the final result.",
    Axis("wait", "s", "log"),
    True,
    WAIT_LIMIT_S,
    _wait,
)


def map_of(found: Found, measure: Measure) -> Map:
    """A measure over delay and loss."""
    effort = found.effort

    def panel(change: str) -> Panel:
        told = [
            [
                measure.of(found, Point(change, round_trip, loss, measure.paced))
                for round_trip in effort.round_trips
            ]
            for loss in effort.losses
        ]
        return Panel(
            change,
            [[None if cell is None else cell[0] for cell in row] for row in told],
            [["" if cell is None else _ends(cell) for cell in row] for row in told],
        )

    return Map(
        measure.title,
        f"{measure.caption} {effort.replications} simulated runs a cell of 10.5 s of speech, CUBIC, "
        f"10 Mbit/s, NODELAY, blocks of 250 ms; a line parts cells on both sides of {measure.limit:g}.",
        Axis("propagation both ways"),
        Axis("loss towards the server"),
        measure.axis,
        [f"{round_trip} ms" for round_trip in effort.round_trips],
        list(effort.losses),
        [panel(change) for change in MAPPED],
        measure.limit,
    )


def _ends(cell: tuple[float, float | None, float | None]) -> str:
    low, high = ("…" if end is None else f"{end:.3g}" for end in cell[1:])
    return f"95 % interval [{low}, {high}]"


def contours(found: Found, measure: Measure) -> Plot:
    """The loss at which a measure passes its limit, over delay."""
    effort = found.effort
    return Plot(
        f"Where it passes {measure.limit:g}: {measure.title.lower()}",
        "Loss up to which it is good, interpolated between the cells; the band is where the ends of the "
        "cells' intervals pass. A curve ends where a delay is too long without loss, or no loss of the map "
        "is too much. All but the first have the fast decoder.",
        Axis("propagation both ways", "ms", "log"),
        Axis("loss", "%", "log"),
        [
            Curve(change, list(_along(effort, change)), *_critical(found, measure, change))
            for change in (*MAPPED, *effort.changes)
        ],
    )


def _critical(
    found: Found, measure: Measure, change: str
) -> tuple[list[float | None], list[float | None], list[float | None]]:
    """The contour, and those of the intervals' upper and lower ends: the upper ones pass first."""
    along = _along(found.effort, change)
    values, high, low = (
        [critical(found, measure, change, round_trip, end) for round_trip in along] for end in (0, 2, 1)
    )
    return values, high, low


def critical(found: Found, measure: Measure, change: str, round_trip_ms: int, end: int = 0) -> float | None:
    """The loss in per cent at which a measure, or an end of its interval, passes the limit."""
    cells = [
        measure.of(found, Point(change, round_trip_ms, loss, measure.paced)) for loss in found.effort.losses
    ]
    values = [None if cell is None else cell[end] for cell in cells]
    return crossing([float(loss.removesuffix("%")) for loss in found.effort.losses], values, measure.limit)


def up_to(found: Found, measure: Measure, change: str, round_trip_ms: int) -> str:
    """The loss up to which a measure is good, in words."""
    loss = critical(found, measure, change, round_trip_ms)
    if loss is not None:
        return f"up to a loss of {loss:.2g} %"
    least, most = found.effort.losses[0], found.effort.losses[-1]
    without = measure.of(found, Point(change, round_trip_ms, least, measure.paced))
    late = without is None or without[0] > measure.limit
    return "not even without loss" if late else f"up to a loss of {most} and more"


def check_points(found: Found) -> Table | None:
    """Real runs on the map."""
    rows: list[list[str | Cell]] = []
    for point, made in found.real.items():
        measure = WAIT if point.paced else FACTOR
        simulated_ = found.waits(point) if point.paced else found.factors(point)
        ours = [one.response_s if point.paced else one.total_factor for one in made]
        if not ours or not simulated_:
            continue
        low, high = _span(simulated_)
        inside = sum(low <= value <= high for value in ours)
        doubt = machine.doubt_of(found.outcomes[point])
        rows.append(
            [
                f"{point.round_trip_ms} ms",
                point.loss,
                measure.title,
                f"{quantile(simulated_, 0.5)}",
                f"{low:.3g} to {high:.3g}",
                ", ".join(f"{value:.3g}" for value in sorted(ours)),
                Cell(
                    f"{inside} of {len(ours)}",
                    "open" if doubt else "good" if inside == len(ours) else "bad",
                    f"not counted: {doubt}" if doubt else "",
                ),
            ]
        )
    if not rows:
        return None
    return Table(
        "Real runs on the map",
        (
            "round trip",
            "loss",
            "measure",
            "median, simulated",
            "all simulated",
            "real",
            "real within",
        ),
        rows,
    )


def _span(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)
