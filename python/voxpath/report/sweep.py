"""The report of a scenario or a sweep: what was asked, what every cell answered, drawn over the axes."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from voxpath import _engine
from voxpath.report.directions import Direction, directions, scale_of
from voxpath.report.document import (
    Axis,
    Cell,
    Check,
    Checks,
    Curve,
    Facts,
    Map,
    Panel,
    Plot,
    Report,
    Section,
    Table,
    Text,
    Verbatim,
)
from voxpath.report.markup import readable
from voxpath.report.series import series_plots
from voxpath.results.metrics import metric_of, shown
from voxpath.scenario.sweep import text_of
from voxpath.tables import chosen, declined, listed, short_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from voxpath.results.answers import Answers, Line
    from voxpath.scenario import Document

_MOST_ROWS = 500
"""Of a table; the plots and their numbers hold every cell."""
_MOST_FLOWS = 12
"""That are drawn."""
_MOST_CURVES = 8
"""Of several flows in one plot; there are as many colours."""
_MOST_PANELS = 12
"""Of a metric and flow."""
_LEAST_OF_A_MAP = 3
"""Values on either axis; fewer are read off curves."""


@dataclass(frozen=True)
class _Found:
    """The lines of one metric, by where they lie.

    Attributes:
        metric: Its name.
        flow: Whose.
        lines: By estimator and the cell's place on the directions.
    """

    metric: str
    flow: str
    lines: Mapping[tuple[str, tuple[int, ...]], Line]

    @property
    def estimators(self) -> list[str]:
        """In the order of the backends."""
        return list(dict.fromkeys(estimator for estimator, _ in self.lines))


def report_of(
    document: Document, answers: Answers, replications: int, metrics: Sequence[str], command: str
) -> Report:
    """The report of a scenario's answers.

    Args:
        document: The scenario.
        answers: Of all its cells.
        replications: Of each cell.
        metrics: What to show; the main ones if none is named.
        command: What makes the report again.

    Raises:
        ValueError: No answer has such a metric.
    """
    lines = chosen(answers.lines, metrics)
    found = directions(document)
    sections = [_set_up(document, answers, replications)]
    for metric, group in itertools.groupby(lines, key=lambda line: line.row.metric):
        sections.append(_metric(metric, list(group), answers, found, replications))
    if len(answers.variants) == 1 and (plots := series_plots(answers.outcomes)):
        sections.append(Section("Over time", plots))
    if silent := _silent(answers):
        sections.append(Section("What does not apply", [silent]))
    if answers.outcomes:
        sections.append(Section("Are the runs right?", [_validity(answers)]))
    return Report(
        title=document.scenario.name,
        question=_question(lines, found),
        answer=list(_answer(lines)),
        sections=sections,
        origin=[("command", command), ("engine", _engine.BUILD), ("plan", f"version {_engine.PLAN_VERSION}")],
    )


def _question(lines: Sequence[Line], found: Sequence[Direction]) -> str:
    flows = list(dict.fromkeys(line.row.entity for line in lines))
    whom = listed(flows) if flows else "the flows"
    if not found:
        return f"What does this network do to {whom}?"
    return f"What does this network do to {whom}, for which {listed([one.name for one in found])}?"


def _answer(lines: Sequence[Line]) -> Iterator[str]:
    """Where each metric is least and most, and how far the closed forms lie from the simulator."""
    for metric, of_metric in itertools.groupby(lines, key=lambda line: line.row.metric):
        for flow, of_flow in itertools.groupby(of_metric, key=lambda line: line.row.entity):
            every = list(of_flow)
            own = [line for line in every if line.row.estimator == every[0].row.estimator]
            what = f"{shown(metric).name.capitalize()} of {flow}"
            least, most = (pick(own, key=_value) for pick in (min, max))
            if _value(least) == _value(most):
                yield f"{what}: {_told(least)}."
            else:
                yield f"{what}: from {_told(least)} to {_told(most)}."
            for estimator in dict.fromkeys(line.row.estimator for line in every):
                off = [
                    line.difference.mean
                    for line in every
                    if line.row.estimator == estimator != own[0].row.estimator and line.difference is not None
                ]
                if off:
                    cells = f"{len(off)} cells" if len(off) > 1 else "one cell"
                    ends = sorted({readable(round(end, 1)) for end in (min(off), max(off))})
                    span = f"between {readable(round(min(off), 1))} % and {readable(round(max(off), 1))} %"
                    span = span if len(ends) > 1 else f"{ends[0]} %"
                    yield f"{estimator} lies {span} off {own[0].row.estimator}, where it applies ({cells})."


def _value(line: Line) -> float:
    assert line.row.value is not None, "chosen lines have a value"  # noqa: S101
    return line.row.value


def _told(line: Line) -> str:
    read = shown(line.row.metric)
    summary = line.row.summary
    assert summary is not None, "chosen lines have a value"  # noqa: S101
    unit = f" {read.unit}" if read.unit else ""
    keys = list(line.variant.values)
    where = ", ".join(
        f"{name} {text_of(line.variant.values[key])}"
        for name, key in zip(short_names(keys), keys, strict=True)
    )
    return f"{summary.scaled(read.factor)}{unit}" + (f" ({where})" if where else "")


# --- the set-up -----------------------------------------------------------------------------------------


def _set_up(document: Document, answers: Answers, replications: int) -> Section:
    data = document.data
    facts = [(f"topology, {key}", text_of(value)) for key, value in data["topology"].items()]
    facts += [(f"host {name}", text_of(host)) for name, host in data.get("hosts", {}).items()]
    facts += [
        (f"flow {flow['name']}", text_of({key: value for key, value in flow.items() if key != "name"}))
        for flow in data["flows"]
    ]
    facts += [("duration", data["duration"])] if "duration" in data else []
    asked = [
        (f"{name} ({key})", ", ".join(map(text_of, values)))
        for name, (key, values) in zip(short_names(answers.axes), document.axes.items(), strict=True)
    ]
    cells = len(answers.variants)
    asked += [("cells", str(cells))] if asked else []
    asked += [("replications", f"{replications}" + (" of each cell" if cells > 1 else ""))]
    asked += [("seed", str(document.scenario.seed))]
    return Section(
        "Set-up",
        [
            Facts("The scenario", facts),
            Facts("What was asked", asked),
            Verbatim("the scenario as it is written", document.text),
        ],
    )


# --- a metric -------------------------------------------------------------------------------------------


def _metric(
    metric: str, lines: Sequence[Line], answers: Answers, found: Sequence[Direction], replications: int
) -> Section:
    read = shown(metric)
    meaning = metric_of(metric)
    parts: list[Text | Plot | Map | Table] = []
    if meaning is not None:
        parts.append(Text([f"{meaning.about} Observed at: {meaning.where}."]))
    groups = _by_flow(metric, lines, answers, found)
    if found:
        parts += list(_plots(groups[:_MOST_FLOWS], found, replications))
        if len(groups) > _MOST_FLOWS:
            parts.append(Text([f"{len(groups) - _MOST_FLOWS} flows more stand in the table."]))
    parts.append(_table(lines, answers, read.title))
    return Section(read.name.capitalize(), parts)


def _by_flow(
    metric: str, lines: Sequence[Line], answers: Answers, found: Sequence[Direction]
) -> list[_Found]:
    number = {id(variant): index for index, variant in enumerate(answers.variants)}
    groups: dict[str, dict[tuple[str, tuple[int, ...]], Line]] = {}
    for line in lines:
        place = tuple(direction.places[number[id(line.variant)]] for direction in found)
        groups.setdefault(line.row.entity, {})[line.row.estimator, place] = line
    return [_Found(metric, flow, group) for flow, group in groups.items()]


def _plots(
    groups: Sequence[_Found], found: Sequence[Direction], replications: int
) -> Iterator[Plot | Map | Text]:
    """Over one axis the flows share a plot if they are few; over more each has its own, or several."""
    caption = _caption(groups, replications)
    if len(found) == 1:
        count = sum(len(group.estimators) for group in groups)
        for some in [groups] if count <= _MOST_CURVES else [[group] for group in groups]:
            curves = [
                _curve(
                    _named(group.flow, estimator, group, len(some) > 1),
                    group.flow,
                    group,
                    estimator,
                    found,
                    {},
                )
                for group in some
                for estimator in group.estimators
            ]
            title = "" if len(groups) == 1 or len(some) > 1 else some[0].flow
            yield _plot(some[0].metric, title, caption, found[0], curves)
        return
    x, by, *others = found
    places = list(itertools.product(*(range(len(other.texts)) for other in others)))
    for group in groups:
        for place in places[:_MOST_PANELS]:
            fixed = dict(zip(others, place, strict=True))
            names = [group.flow] if len(groups) > 1 else []
            names += [f"{other.name} {other.texts[index]}" for other, index in fixed.items()]
            curves = [
                _curve(
                    _named(f"{by.name} {text}", estimator, group, named=True),
                    text,
                    group,
                    estimator,
                    found,
                    {by: index, **fixed},
                )
                for index, text in enumerate(by.texts)
                for estimator in group.estimators
            ]
            yield _plot(group.metric, ", ".join(names), caption, x, curves)
        if len(places) > _MOST_PANELS:
            yield Text([f"{len(places) - _MOST_PANELS} panels more stand in the table."])
        if min(len(x.texts), len(by.texts)) >= _LEAST_OF_A_MAP:
            yield _map(group, found, places, several=len(groups) > 1)


def _named(name: str, estimator: str, group: _Found, named: bool) -> str:
    parts = [name] if named else []
    parts += [estimator] if len(group.estimators) > 1 or not parts else []
    return ", ".join(parts)


def _caption(groups: Sequence[_Found], replications: int) -> str:
    said = "One run of each cell." if replications == 1 else f"Means of {replications} replications."
    if any(line.row.interval for group in groups for line in group.lines.values()):
        said += " Bands and whiskers are the means' 95 % intervals."
    if any(len(group.estimators) > 1 for group in groups):
        said += f" Dashed: closed forms, beside {groups[0].estimators[0]}."
    return said


def _curve(
    name: str,
    colour: str,
    group: _Found,
    estimator: str,
    found: Sequence[Direction],
    fixed: Mapping[Direction, int],
) -> Curve:
    x = found[0]
    factor = shown(group.metric).factor
    order = sorted(range(len(x.texts)), key=x.numbers.__getitem__)
    lines = [group.lines.get((estimator, (index, *(fixed[other] for other in found[1:])))) for index in order]
    intervals = [None if line is None else line.row.interval for line in lines]
    low, high = (
        [None if interval is None else interval[end] * factor for interval in intervals] for end in (0, 1)
    )
    bounded = any(intervals)
    return Curve(
        name,
        [x.numbers[index] for index in order],
        [None if line is None else _value(line) * factor for line in lines],
        low if bounded else (),
        high if bounded else (),
        style="line" if x.ordered else "points",
        group=colour,
    )


def _plot(metric: str, title: str, caption: str, x: Direction, curves: Sequence[Curve]) -> Plot:
    read = shown(metric)
    kept = [curve for curve in curves if any(value is not None for value in curve.y)]
    scale = scale_of([value for curve in kept for value in curve.y if value is not None])
    over = f"{read.name.capitalize()} over {x.name}"
    spaced = " The values below are evenly spaced." if x.names and x.ordered else ""
    return Plot(
        title=f"{over}: {title}" if title else over,
        caption=caption + spaced,
        x=x.axis,
        y=Axis(read.name, read.unit, scale),
        curves=kept,
    )


def _map(
    group: _Found, found: Sequence[Direction], places: Sequence[tuple[int, ...]], *, several: bool
) -> Map:
    read = shown(group.metric)
    estimator = group.estimators[0]
    x, y, *others = found
    panels = []
    for place in places[:_MOST_PANELS]:
        lines = [
            [group.lines.get((estimator, (column, row, *place))) for column in range(len(x.texts))]
            for row in range(len(y.texts))
        ]
        name = ", ".join(f"{one.name} {one.texts[at]}" for one, at in zip(others, place, strict=True))
        values = [[None if line is None else _value(line) * read.factor for line in row] for row in lines]
        details = [[_detail(line, read.factor) for line in row] for row in lines]
        panels.append(Panel(name, values, details))
    shown_values = [value for panel in panels for row in panel.values for value in row if value is not None]
    return Map(
        title=f"{read.name.capitalize()}" + (f": {group.flow}" if several else ""),
        caption=f"Means by {estimator}.",
        x=Axis(x.name),
        y=Axis(y.name),
        value=Axis(read.name, read.unit, scale_of(shown_values)),
        xs=x.texts,
        ys=y.texts,
        panels=panels,
    )


def _detail(line: Line | None, factor: float) -> str:
    if line is None or line.row.interval is None:
        return ""
    low, high = (readable(end * factor) for end in line.row.interval)
    return f"95 % interval {low} to {high}, n = {line.row.n}"


def _table(lines: Sequence[Line], answers: Answers, title: str) -> Table:
    rows = [_row(line, answers) for line in lines[:_MOST_ROWS]]
    heads = [*short_names(answers.axes), "flow", "estimator"]
    heads += ["mean ± 95 %", "median", "95th percentile", "n", "difference", "status"]
    used = [
        column
        for column in range(len(heads))
        if any(cell not in {"", "ok"} for cell in (_text(row[column]) for row in rows))
    ]
    notes = ["Intervals are of 95 %: t-intervals of means, order statistics of quantiles."]
    if heads.index("difference") in used:
        notes.append("Difference: a cell to the first one, a closed form to the simulator in its own cell.")
    if len(lines) > len(rows):
        notes.append(f"{len(lines) - len(rows)} rows more: voxpath compare --save FILE writes all of them.")
    shown_rows = [[row[column] for column in used] for row in rows]
    return Table(title, [heads[column] for column in used], shown_rows, notes)


def _text(cell: str | Cell) -> str:
    return cell.text if isinstance(cell, Cell) else cell


def _row(line: Line, answers: Answers) -> list[str | Cell]:
    row, factor = line.row, shown(line.row.metric).factor
    status = row.status if row.status == "ok" else Cell(row.status, "open", row.reason)
    return [
        *(text_of(line.variant.values[axis]) for axis in answers.axes),
        row.entity,
        row.estimator,
        "" if row.summary is None else str(row.summary.scaled(factor)),
        *([str(quantile.scaled(factor)) for quantile in line.quantiles] or ["", ""]),
        str(row.n) if line.quantiles else "",
        "" if line.difference is None else f"{line.difference} %",
        status,
    ]


# --- what is said of the answers ------------------------------------------------------------------------


def _silent(answers: Answers) -> Table | None:
    rows = [[listed(estimators), listed(where), reason] for estimators, where, reason in declined(answers)]
    return Table("Estimators that decline", ["estimator", "where", "why"], rows) if rows else None


def _validity(answers: Answers) -> Checks:
    runs = answers.outcomes
    invalid = [outcome for outcome in runs if not outcome.valid]
    evidence = f"{len(runs) - len(invalid)} of {len(runs)} runs are valid"
    if invalid:
        evidence += f"; see verdict.json of {listed([outcome.folder.name for outcome in invalid])}"
    claim = "In every run each element conserved packets, and all data arrived as it was sent."
    return Checks("Verdicts", [Check(claim, not invalid, evidence)])
