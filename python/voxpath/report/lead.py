"""What a report begins with: one sentence and one picture, chosen by what was asked.

Over two axes with values enough it is a map, over one a curve. A single cell has the distribution of what its
users wait for, else the time line of its busiest connection, else its network.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from voxpath.document import Lead, Map, Network, Plot
from voxpath.report.distribution import cdf
from voxpath.report.figures import SIMULATED, estimators_of, value_of
from voxpath.report.markup import readable
from voxpath.results.metrics import shown
from voxpath.scenario.sweep import short_names, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from voxpath.document import Part
    from voxpath.results.answers import Answers, Line

_NAMED_FLOWS = 3
"""In a sentence; of more their number."""


def lead_of(
    metric: str | None,
    lines: Sequence[Line],
    answers: Answers,
    figures: Mapping[str, Sequence[Part]],
    pictures: Iterable[Part],
) -> Lead:
    """The lead of a report.

    Args:
        metric: What it is led by.
        lines: What is known.
        answers: Whose lines these are.
        figures: By metric, where something is varied.
        pictures: Of a single cell, the most telling first.
    """
    main = [line for line in lines if line.row.metric == metric and line.row.value is not None]
    sentence = _sentence(main, answers) if main else _nothing(answers)
    drawn = [part for part in figures.get(metric or "", ()) if isinstance(part, (Plot, Map))]
    if drawn:
        return Lead(sentence, next((part for part in drawn if isinstance(part, Map)), drawn[0]))
    found = next(iter(pictures), None)
    if found is None or isinstance(found, Network):
        found = replications_of(main, answers) or found
    return Lead(sentence, found)


def _sentence(lines: Sequence[Line], answers: Answers) -> str:
    """Where the metric is least and most, in the words of people."""
    estimator = estimators_of(lines)[0]
    own = [line for line in lines if line.row.estimator == estimator]
    flows = list(dict.fromkeys(line.row.entity for line in own))
    whom = " and ".join(flows) if len(flows) <= _NAMED_FLOWS else f"{len(flows)} flows"
    least, most = min(own, key=value_of), max(own, key=value_of)
    how = "" if estimator == SIMULATED else f", by {estimator}"
    runs = own[0].row.n
    if estimator == SIMULATED and runs is not None and runs > 1:
        how = (
            f", mean of {runs} runs"
            if value_of(least) == value_of(most)
            else f", each the mean of {runs} runs"
        )
    what = f"The {called(own[0].row.metric)} of {whom}"
    several = len(flows) > 1
    if value_of(least) == value_of(most) or (ends := _value(least)) == _value(most):
        return f"{what} is {_value(least)}{how}."
    return (
        f"{what} goes from {ends}{_where(least, answers, several)} to {_value(most)}"
        f"{_where(most, answers, several)}{how}."
    )


def called(metric: str) -> str:
    """A metric in words: `response_p95_ns` is the 95th percentile of the response time."""
    name = shown(metric).name
    found = re.fullmatch(r"(?:(client|server) )?(.*?)(?: p([0-9]+))?", name)
    end, what, percent = found.groups() if found else (None, name, None)
    what = _WORDS.get(what, what)
    if percent is not None:
        what = f"median {what}" if percent == "50" else f"{percent}th percentile of the {what}"
    return f"{what} at the {end}" if end else what


_WORDS = {
    "completion": "completion time",
    "response": "response time",
    "partial": "time to a partial answer",
    "delivery": "delivery time",
}

_DIGITS = 3


def _value(line: Line) -> str:
    read = shown(line.row.metric)
    return f"{readable(value_of(line) * read.factor, _DIGITS)} {read.unit}".strip()


def _where(line: Line, answers: Answers, several: bool) -> str:
    names = short_names(answers.axes)
    parts = [line.row.entity] if several else []
    parts += [
        f"{name} {_short(line.variant.values[axis])}" for name, axis in zip(names, answers.axes, strict=True)
    ]
    return f" ({', '.join(parts)})" if parts else ""


def _short(value: Any) -> str:
    """A value of an axis; a table by its kind."""
    return str(value["kind"]) if isinstance(value, dict) and "kind" in value else text_of(value)


def _nothing(answers: Answers) -> str:
    if any(variant.rows for variant in answers.variants):
        return "No estimator has an answer; the reasons are below."
    return "No flow was asked for; how the programs ended is below."


def replications_of(lines: Sequence[Line], answers: Answers) -> Plot | None:
    """How a metric is spread over the replications of a single cell, flows as curves."""
    own = [line for line in lines if line.row.estimator == SIMULATED]
    if not own or len(answers.variants) != 1:
        return None
    metric = own[0].row.metric
    flows = answers.variants[0].flows
    if metric not in flows.columns:
        return None
    read = shown(metric)
    values = {
        line.row.entity: (
            flows.filter(flow=line.row.entity).get_column(metric).drop_nulls() * read.factor
        ).to_list()
        for line in own
    }
    caption = "Each step is one replication."
    return cdf(f"{read.name.capitalize()} over the replications", caption, values, read.name, read.unit)
