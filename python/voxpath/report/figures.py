"""The answers of a sweep as plots and maps over what was varied."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from voxpath.document import Axis, Curve, Map, Panel, Plot, Text
from voxpath.report.directions import Direction, scale_of
from voxpath.report.markup import readable
from voxpath.results.metrics import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from voxpath.results.answers import Answers, Line

SIMULATED = "sim"
"""The estimator that is no closed form."""
_MOST_FLOWS = 12
"""That are drawn."""
_MOST_CURVES = 8
"""Of several flows in one plot; there are as many colours."""
_MOST_PANELS = 12
"""Of a metric and flow."""
_LEAST_OF_A_MAP = 3
"""Values on either axis; fewer are read off curves."""


def value_of(line: Line) -> float:
    """The value of a line that was chosen because it has one."""
    assert line.row.value is not None  # noqa: S101
    return line.row.value


def estimators_of(lines: Iterable[Line]) -> list[str]:
    """Who answered, the simulator before the closed forms."""
    found = dict.fromkeys(line.row.estimator for line in lines)
    return sorted(found, key=lambda estimator: estimator != SIMULATED)


@dataclass(frozen=True)
class _Answered:
    """What is known of a metric of a flow.

    Attributes:
        metric: Its name.
        flow: Whose.
        directions: What is varied; the first lies horizontally, the second is told by colours.
        lines: By estimator and place on the directions.
    """

    metric: str
    flow: str
    directions: Sequence[Direction]
    lines: Mapping[tuple[str, tuple[int, ...]], Line]

    @property
    def estimators(self) -> list[str]:
        """Who answered."""
        return estimators_of(self.lines.values())

    @property
    def panels(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Name and place of each combination of what neither the axis nor a colour tells."""
        others = self.directions[2:]
        for place in itertools.product(*(range(len(other.texts)) for other in others)):
            yield (
                ", ".join(f"{other.name} {other.texts[at]}" for other, at in zip(others, place, strict=True)),
                place,
            )

    def y(self, *, span: bool) -> Axis:
        """The axis of the values, alike in every panel."""
        read = shown(self.metric)
        means = [value_of(line) * read.factor for line in self.lines.values()]
        scale = scale_of(means)
        ends = [
            end * read.factor
            for line in self.lines.values()
            for end in line.row.interval or ()
            if scale == "linear" or end > 0
        ]
        return Axis(
            read.name, read.unit, scale, span=(min(means + ends), max(means + ends)) if span else None
        )

    def curve(self, name: str, estimator: str, place: tuple[int, ...], colour: str) -> Curve:
        """What an estimator says along the horizontal axis, the other directions held at a place."""
        x, factor = self.directions[0], shown(self.metric).factor
        order = sorted(range(len(x.texts)), key=x.numbers.__getitem__)
        lines = [self.lines.get((estimator, (index, *place))) for index in order]
        intervals = [None if line is None else line.row.interval for line in lines]
        low, high = (
            [None if interval is None else interval[end] * factor for interval in intervals] for end in (0, 1)
        )
        bounded = any(intervals)
        return Curve(
            name,
            [x.numbers[index] for index in order],
            [None if line is None else value_of(line) * factor for line in lines],
            low if bounded else (),
            high if bounded else (),
            style="line" if x.ordered else "points",
            group=colour,
        )


def figures(
    metric: str, lines: Sequence[Line], answers: Answers, found: Sequence[Direction], replications: int
) -> list[Text | Plot | Map]:
    """The figures of a metric.

    Args:
        metric: Which.
        lines: What is known of it.
        answers: Whose lines these are.
        found: What is varied, at least one direction.
        replications: Of each cell.
    """
    known = _by_flow(metric, lines, answers, found)
    drawn = known[:_MOST_FLOWS]
    plots = list(_over_one(drawn) if len(found) == 1 else _over_more(drawn))
    parts: list[Text | Plot | Map] = [Text([_reading(drawn, replications)]), *plots]
    if len(known) > len(drawn):
        parts.append(Text([f"{len(known) - len(drawn)} flows more stand in the table."]))
    return parts


def _by_flow(
    metric: str, lines: Sequence[Line], answers: Answers, found: Sequence[Direction]
) -> list[_Answered]:
    number = {id(variant): index for index, variant in enumerate(answers.variants)}
    groups: dict[str, dict[tuple[str, tuple[int, ...]], Line]] = {}
    for line in lines:
        place = tuple(direction.places[number[id(line.variant)]] for direction in found)
        groups.setdefault(line.row.entity, {})[line.row.estimator, place] = line
    return [_Answered(metric, flow, found, group) for flow, group in groups.items()]


def _reading(known: Sequence[_Answered], replications: int) -> str:
    """How the figures are read."""
    x = known[0].directions[0]
    if not any(SIMULATED in one.estimators for one in known):
        said = "Closed forms alone: nothing was simulated."
    elif replications == 1:
        said = "One run of each cell."
    else:
        said = f"Means of {replications} replications."
    if any(line.row.interval for one in known for line in one.lines.values()):
        said += f" {'Bands' if x.ordered else 'Whiskers'} are the means' 95 % intervals."
    if x.ordered and x.axis.names:
        said += f" The values of {x.name} are evenly spaced."
    return said


def _over_one(known: Sequence[_Answered]) -> Iterator[Plot]:
    """Flows share a plot if they are few; alone in one, a flow's estimators have colours of their own."""
    few = sum(len(one.estimators) for one in known) <= _MOST_CURVES
    for some in [known] if few else [[one] for one in known]:
        alone = len(some) == 1
        curves = [
            one.curve(
                estimator if alone else _named(one.flow, estimator, one),
                estimator,
                (),
                "" if alone else one.flow,
            )
            for one in some
            for estimator in one.estimators
        ]
        yield _plot(some[0], some[0].flow if alone and len(known) > 1 else "", curves, span=False)


def _over_more(known: Sequence[_Answered]) -> Iterator[Text | Plot | Map]:
    """A plot for each flow and panel, and a map where there are values enough."""
    for one in known:
        x, by = one.directions[:2]
        panels = list(one.panels)
        for name, place in panels[:_MOST_PANELS]:
            title = ", ".join(filter(None, [one.flow if len(known) > 1 else "", name]))
            curves = [
                one.curve(_named(f"{by.name} {text}", estimator, one), estimator, (index, *place), text)
                for index, text in enumerate(by.texts)
                for estimator in one.estimators
            ]
            yield _plot(one, title, curves, span=len(panels) > 1)
        if len(panels) > _MOST_PANELS:
            yield Text([f"{len(panels) - _MOST_PANELS} panels more stand in the table."])
        if min(len(x.texts), len(by.texts)) >= _LEAST_OF_A_MAP:
            yield _map(one, panels[:_MOST_PANELS], one.flow if len(known) > 1 else "")


def _named(name: str, estimator: str, one: _Answered) -> str:
    return f"{name}, {estimator}" if len(one.estimators) > 1 else name


def _plot(one: _Answered, title: str, curves: Sequence[Curve], *, span: bool) -> Plot:
    over = f"{shown(one.metric).name.capitalize()} over {one.directions[0].name}"
    return Plot(
        title=f"{over}: {title}" if title else over,
        caption="",
        x=one.directions[0].axis,
        y=one.y(span=span),
        curves=[curve for curve in curves if any(value is not None for value in curve.y)],
    )


def _map(one: _Answered, panels: Sequence[tuple[str, tuple[int, ...]]], title: str) -> Map:
    read, estimator = shown(one.metric), one.estimators[0]
    x, y = one.directions[:2]

    def panel(name: str, place: tuple[int, ...]) -> Panel:
        rows = [
            [one.lines.get((estimator, (column, row, *place))) for column in range(len(x.texts))]
            for row in range(len(y.texts))
        ]
        return Panel(
            name,
            [[None if line is None else value_of(line) * read.factor for line in row] for row in rows],
            [["" if line is None else _detail(line, read.factor) for line in row] for row in rows],
            [[None if line is None else _half_width(line, read.factor) for line in row] for row in rows],
        )

    over = f"{read.name.capitalize()} over {x.name} and {y.name}"
    return Map(
        title=f"{over}: {title}" if title else over,
        caption=f"Means, by {estimator}, with 95 % t-intervals.",
        x=Axis(x.name),
        y=Axis(y.name),
        value=one.y(span=False),
        xs=x.texts,
        ys=y.texts,
        panels=[panel(name, place) for name, place in panels],
    )


def _half_width(line: Line, factor: float) -> float | None:
    if line.row.interval is None:
        return None
    low, high = line.row.interval
    return (high - low) / 2 * factor


def _detail(line: Line, factor: float) -> str:
    if line.row.interval is None:
        return ""
    low, high = (readable(end * factor) for end in line.row.interval)
    return f"95 % interval {low} to {high}, n = {line.row.n}"
