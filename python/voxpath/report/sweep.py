"""The report of a scenario or a sweep: what was asked, what every cell answered, drawn over the axes."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from voxpath import _engine
from voxpath.report.directions import directions
from voxpath.report.document import (
    Cell,
    Check,
    Checks,
    Facts,
    Map,
    Plot,
    Report,
    Section,
    Table,
    Text,
    Verbatim,
)
from voxpath.report.figures import figures, value_of
from voxpath.report.series import series_plots
from voxpath.results.metrics import metric_of, shown
from voxpath.scenario.sweep import text_of
from voxpath.tables import chosen, declined, listed, short_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from voxpath.report.directions import Direction
    from voxpath.results.answers import Answers, Line
    from voxpath.scenario import Document

_MOST_ROWS = 500
"""Of a table; the plots and their numbers hold every cell."""


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
    whom = listed([f"“{flow}”" for flow in flows]) if flows else "each flow"
    if not found:
        return f"What does {whom} get from this network?"
    names = listed([one.name for one in found])
    verb, whose = ("does" if len(found) == 1 else "do"), ("gets" if len(flows) == 1 else "get")
    return f"How {verb} {names} change what {whom} {whose}?"


def _answer(lines: Sequence[Line]) -> Iterator[str]:
    """Where each metric is least and most, and how far the closed forms lie from the simulator."""
    for (metric, flow), group in itertools.groupby(
        lines, key=lambda line: (line.row.metric, line.row.entity)
    ):
        of_flow = list(group)
        first = of_flow[0].row.estimator
        own = [line for line in of_flow if line.row.estimator == first]
        what = f"{shown(metric).name.capitalize()} of {flow}"
        least, most = (pick(own, key=value_of) for pick in (min, max))
        spread = (
            _told(least) if value_of(least) == value_of(most) else f"from {_told(least)} to {_told(most)}"
        )
        off: dict[str, list[float]] = {}
        for line in of_flow:
            if line.row.estimator != first and line.difference is not None:
                off.setdefault(line.row.estimator, []).append(line.difference.mean)
        beside = [f"{estimator} {_range(ends)}" for estimator, ends in off.items()]
        forms = f" Closed forms where they apply, against {first}: {'; '.join(beside)}." if beside else ""
        yield f"{what}: {spread}.{forms}"


def _range(percents: Sequence[float]) -> str:
    ends = [f"{end:+.1f} %".replace("-", "−") for end in (min(percents), max(percents))]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


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
    facts = [(f"topology, {key}", _unbraced(value)) for key, value in data["topology"].items()]
    facts += [(f"host {name}", _unbraced(host)) for name, host in data.get("hosts", {}).items()]
    facts += [
        (f"flow {flow['name']}", _unbraced({key: value for key, value in flow.items() if key != "name"}))
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


def _unbraced(value: Any) -> str:
    """A value as people read it; the outermost table without its braces."""
    if isinstance(value, dict):
        return ", ".join(f"{key} = {text_of(inner)}" for key, inner in value.items())
    return text_of(value)


# --- a metric -------------------------------------------------------------------------------------------


def _metric(
    metric: str, lines: Sequence[Line], answers: Answers, found: Sequence[Direction], replications: int
) -> Section:
    read = shown(metric)
    meaning = metric_of(metric)
    parts: list[Text | Plot | Map | Table] = []
    if meaning is not None:
        parts.append(Text([f"{meaning.about} Observed at: {meaning.where}."]))
    if found:
        parts += figures(metric, lines, answers, found, replications)
    parts.append(_table(lines, answers, read.title))
    return Section(read.name.capitalize(), parts)


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
