"""The report of a scenario or a sweep: what was asked, what every cell answered, drawn over the axes."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from voxpath import _engine
from voxpath.document import (
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
from voxpath.names import listed
from voxpath.real_tables import tables_of, told
from voxpath.report.connection import connections_of
from voxpath.report.directions import directions
from voxpath.report.figures import estimators_of, figures, value_of
from voxpath.report.latency import distributions
from voxpath.report.lead import lead_of
from voxpath.report.series import series_plots
from voxpath.report.topology import network_of
from voxpath.report.voices import voices_of
from voxpath.results.intervals import Summary, relative
from voxpath.results.metrics import main_metric, metric_of, shown
from voxpath.results.selection import chosen, declined, wanted
from voxpath.scenario.sweep import short_names, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from voxpath.document import Network, Part
    from voxpath.report.directions import Direction
    from voxpath.results.answers import Answers, Line
    from voxpath.results.outcome import Outcome
    from voxpath.scenario import Document

_TOLD_FLOWS = 3
"""Of each of which the answer has a sentence."""
_MOST_ROWS = 500
"""Of a table; the plots and their numbers hold every cell."""


def report_of(
    document: Document,
    answers: Answers,
    replications: int,
    metrics: Sequence[str],
    command: str,
    watched: Sequence[Outcome] = (),
) -> Report:
    """The report of a scenario's answers.

    Args:
        document: The scenario.
        answers: Of all its cells.
        replications: Of each cell.
        metrics: What to show; the main ones if none is named.
        command: What makes the report again.
        watched: Runs that recorded their connections, if the answers' did not.

    Raises:
        ValueError: No answer has such a metric.
    """
    lines = chosen(answers.lines, metrics)
    found = directions(document)
    sections: list[Section] = []
    drawn: dict[str, Sequence[Part]] = {}
    if found:
        for metric, group in itertools.groupby(lines, key=lambda line: line.row.metric):
            sections.append(_metric(metric, list(group), answers, found, replications))
            drawn[metric] = sections[-1].parts
    elif lines:
        sections.append(Section("What the flows get", [_table(lines, answers, "Every metric")]))
    runs = _runs(answers)
    if programs := list(tables_of(runs)):
        sections.append(Section("What the programs did", programs))
    single = len(answers.variants) == 1 and not answers.axes
    spread = list(distributions(answers.outcomes)) if single else []
    if spread:
        sections.append(Section("How long things took", spread))
    views = [*voices_of(answers.outcomes), *connections_of(watched or answers.outcomes)] if single else []
    plots = series_plots(answers.outcomes) if len(answers.variants) == 1 else []
    if views or plots:
        sections.append(Section("Over time", [*views, *plots]))
    if silent := [*_declining(answers), *_missing(answers, wanted(answers.lines, metrics))]:
        sections.append(Section("What has no answer", silent))
    if answers.outcomes:
        sections.append(Section("Are the runs right?", [_validity(answers)]))
    network = network_of(document.plan.data)
    sections.append(_set_up(document, answers, replications, network))
    pictures: list[Part] = [*spread[:1], *views[:1], *([network] if network else [])]
    lead = lead_of(main_metric([line.row.metric for line in lines], metrics), lines, answers, drawn, pictures)
    return Report(
        title=document.scenario.name,
        question=_question(document, answers, found),
        lead=lead,
        answer=[*_answer(lines), *filter(None, [told(runs)])] or [_no_answer(document)],
        sections=sections,
        origin=[("command", command), ("engine", _engine.BUILD), ("plan", f"version {_engine.PLAN_VERSION}")],
    )


def _no_answer(document: Document) -> str:
    if document.scenario.flows:
        return "No estimator has an answer; the reasons stand below."
    return "No flow was asked for; how the programs ended stands below."


def _runs(answers: Answers) -> list[tuple[str, Path]]:
    """What each run is called, where there are several, and its folder."""
    names = short_names(answers.axes)
    found = []
    for variant in answers.variants:
        values = [variant.values[axis] for axis in answers.axes]
        cell = [f"{name} {text_of(value)}" for name, value in zip(names, values, strict=True)]
        several = len(variant.outcomes) > 1
        for outcome in variant.outcomes:
            called = [*cell, *([f"replication {outcome.replication}"] if several else [])]
            found.append((", ".join(called), outcome.folder))
    return found


def _question(document: Document, answers: Answers, found: Sequence[Direction]) -> str:
    flows = list(dict.fromkeys(row.entity for variant in answers.variants for row in variant.rows))
    one = len(flows) == 1
    whom = listed([f"“{flow}”" for flow in flows]) if flows else _programs(document)
    if not found:
        return f"What {'does' if one else 'do'} {whom} get from this network?"
    names = listed([one.name for one in found])
    verb, whose = ("does" if len(found) == 1 else "do"), ("gets" if one else "get")
    return f"How {verb} {names} change what {whom} {whose}?"


def _programs(document: Document) -> str:
    """Who uses a network without flows."""
    hosts = [name for name, host in document.scenario.hosts.items() if host.run is not None]
    return f"the programs on {listed(hosts)}" if hosts else "the hosts"


def _answer(lines: Sequence[Line]) -> Iterator[str]:
    """Where each metric is least and most, and how far the closed forms lie from the simulator."""
    for metric, group in itertools.groupby(lines, key=lambda line: line.row.metric):
        of_metric = list(group)
        flows = list(dict.fromkeys(line.row.entity for line in of_metric))
        name = shown(metric).name.capitalize()
        if len(flows) > _TOLD_FLOWS:
            yield _ends(f"{name} of {len(flows)} flows", of_metric, of_flow=True)
            continue
        for flow in flows:
            mine = [line for line in of_metric if line.row.entity == flow]
            yield _ends(f"{name} of {flow}", mine, of_flow=False)


def _ends(what: str, lines: Sequence[Line], *, of_flow: bool) -> str:
    first = estimators_of(lines)[0]
    own = [line for line in lines if line.row.estimator == first]
    least, most = (pick(own, key=value_of) for pick in (min, max))
    ends = [_told(least, of_flow=of_flow), _told(most, of_flow=of_flow)]
    spread = ends[0] if value_of(least) == value_of(most) else f"from {ends[0]} to {ends[1]}"
    off: dict[str, list[float]] = {}
    for line in lines:
        if line.row.estimator != first and line.difference is not None:
            off.setdefault(line.row.estimator, []).append(line.difference.mean)
    beside = [f"{estimator} {_range(percents)}" for estimator, percents in off.items()]
    forms = f" Closed forms where they apply, against {first}: {'; '.join(beside)}." if beside else ""
    return f"{what}: {spread}.{forms}"


def _range(percents: Sequence[float]) -> str:
    ends = [relative(Summary(1, end, None)).replace("-", "−") for end in (min(percents), max(percents))]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _told(line: Line, *, of_flow: bool) -> str:
    read = shown(line.row.metric)
    unit = f" {read.unit}" if read.unit else ""
    keys = list(line.variant.values)
    told = [line.row.entity] if of_flow else []
    told += [
        f"{name} {text_of(line.variant.values[key])}"
        for name, key in zip(short_names(keys), keys, strict=True)
    ]
    return f"{line.value}{unit}" + (f" ({', '.join(told)})" if told else "")


# --- the set-up -----------------------------------------------------------------------------------------


def _set_up(document: Document, answers: Answers, replications: int, network: Network | None) -> Section:
    data = document.data
    facts = [(f"topology, {key}", _unbraced(value)) for key, value in data["topology"].items()]
    facts += [(f"host {name}", _unbraced(host)) for name, host in data.get("hosts", {}).items()]
    facts += [
        (
            f"flow {flow.called(index)}",
            _unbraced({key: value for key, value in written.items() if key != "name"}),
        )
        for index, (flow, written) in enumerate(
            zip(document.scenario.flows, data.get("flows", ()), strict=True)
        )
    ]
    facts += [("duration", data["duration"])] if "duration" in data else []
    asked = [
        # A run of a scenario with a sweep is one of its cells, or none: then no axis is answered.
        (f"{name} ({key})", ", ".join(map(text_of, document.axes[key])))
        for name, key in zip(short_names(answers.axes), answers.axes, strict=True)
    ]
    cells = len(answers.variants)
    asked += [("cells", str(cells))] if asked else []
    if answers.outcomes:
        asked += [("replications", f"{replications}" + (" of each cell" if cells > 1 else ""))]
    asked += [("seed", str(document.scenario.seed))]
    return Section(
        "Set-up",
        [
            *([network] if network else []),
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
    parts += figures(metric, lines, answers, found, replications)
    parts.append(_table(lines, answers, read.title))
    return Section(read.name.capitalize(), parts)


def _table(lines: Sequence[Line], answers: Answers, title: str) -> Table:
    rows = [_row(line, answers) for line in lines[:_MOST_ROWS]]
    several = len({line.row.metric for line in lines}) > 1
    heads = ["metric", *short_names(answers.axes), "flow", "estimator"]
    heads += ["mean ± 95 %", "median", "95th percentile", "n", "difference", "status"]
    used = [
        column
        for column in range(len(heads))
        if any(str(row[column]) not in {"", "ok"} for row in rows) and (column > 0 or several)
    ]
    notes = ["Intervals are of 95 %: t-intervals of means, order statistics of quantiles."]
    if heads.index("difference") in used:
        notes.append("Difference: a cell to the first one, a further estimator to the first in its own cell.")
    notes += _more(lines)
    shown_rows = [[row[column] for column in used] for row in rows]
    return Table(title, [heads[column] for column in used], shown_rows, notes)


def _row(line: Line, answers: Answers) -> list[str | Cell]:
    row, factor = line.row, shown(line.row.metric).factor
    status = row.status if row.status == "ok" else Cell(row.status, "open", row.reason)
    return [
        shown(line.row.metric).title,
        *_axes(line, answers),
        row.entity,
        row.estimator,
        line.value,
        *([str(quantile.scaled(factor)) for quantile in line.quantiles] or ["", ""]),
        str(row.n) if line.quantiles else "",
        "" if line.difference is None else relative(line.difference),
        status,
    ]


# --- what is said of the answers ------------------------------------------------------------------------


def _declining(answers: Answers) -> Iterator[Table]:
    rows = [[listed(estimators), listed(where), reason] for estimators, where, reason in declined(answers)]
    if rows:
        yield Table("Estimators that decline", ["estimator", "where", "why"], rows)


def _missing(answers: Answers, metrics: Sequence[str]) -> Iterator[Table]:
    rows = [
        [
            shown(line.row.metric).name,
            *_axes(line, answers),
            line.row.entity,
            line.row.estimator,
            line.row.reason,
        ]
        for line in answers.lines
        if line.row.value is None and line.row.status == "incomplete" and line.row.metric in metrics
    ]
    if rows:
        heads = ["metric", *short_names(answers.axes), "flow", "estimator", "why"]
        yield Table("Simulated, but without a value", heads, rows[:_MOST_ROWS], _more(rows))


def _more(rows: Sequence[object]) -> list[str]:
    left = len(rows) - _MOST_ROWS
    return [f"{left} rows more: voxpath compare --save FILE writes all of them."] if left > 0 else []


def _axes(line: Line, answers: Answers) -> list[str]:
    return [text_of(line.variant.values[axis]) for axis in answers.axes]


def _validity(answers: Answers) -> Checks:
    runs = answers.outcomes
    invalid = [outcome for outcome in runs if not outcome.valid]
    evidence = f"valid runs: {len(runs) - len(invalid)} of {len(runs)}"
    if invalid:
        evidence += f"; see verdict.json of {listed([outcome.folder.name for outcome in invalid])}"
    claim = "In every run each element conserved packets, and all data that arrived is what was sent."
    return Checks("Verdicts", [Check(claim, not invalid, evidence)])
