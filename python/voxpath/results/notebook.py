"""Answers in notebooks: tables as HTML, charts by Altair."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from voxpath.extras import install
from voxpath.names import did_you_mean
from voxpath.results.metrics import main_metric, shown
from voxpath.scenario.sweep import short_names, text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voxpath.results.rows import Row

_MOST_ROWS = 40


class _Line(Protocol):
    """A line of answers: `results.answers.Line`."""

    @property
    def row(self) -> Row:
        """The answer."""
        ...

    @property
    def value(self) -> str:
        """Its mean with its interval."""
        ...

    @property
    def variant(self) -> Any:
        """What it is of."""
        ...


class Drawn(Protocol):
    """What can be drawn: `results.answers.Answers`."""

    @property
    def lines(self) -> Sequence[_Line]:
        """Every answer."""
        ...

    @property
    def summary(self) -> pl.DataFrame:
        """The same as a frame."""
        ...

    axes: tuple[str, ...]


def table_html(answers: Drawn) -> str:
    """Means with intervals, a line each; of many lines the first."""
    heads = [*short_names(answers.axes), "flow", "metric", "estimator", "mean ± 95 %", "n"]
    lines = [line for line in answers.lines if line.row.value is not None]
    rows = [
        [
            *(text_of(line.variant.values[axis]) for axis in answers.axes),
            line.row.entity,
            shown(line.row.metric).title,
            line.row.estimator,
            line.value,
            str(line.row.n),
        ]
        for line in lines[:_MOST_ROWS]
    ]
    head = "".join(f"<th>{html.escape(name)}</th>" for name in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    left = len(lines) - len(rows)
    more = f"<p>{left} lines more in <code>.summary</code></p>" if left > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def chart(answers: Drawn, metric: str | None) -> Any:
    """An Altair chart of a metric over the first axis, the second one by colour; without axes by estimator.

    Raises:
        ImportError: Altair is missing.
        ValueError: No answer has such a metric.
    """
    try:
        import altair
    except ImportError:
        raise ImportError(f"altair is missing: {install('notebook')}") from None
    lines = [line for line in answers.lines if line.row.value is not None]
    known = list(dict.fromkeys(line.row.metric for line in lines))
    if metric is not None and metric not in known:
        raise ValueError(f"no answer has the metric {metric!r}; {did_you_mean(metric, known)}")
    chosen = main_metric(known, () if metric is None else (metric,))
    if chosen is None:
        raise ValueError("there is no answer to be drawn")
    read = shown(chosen)
    frame = answers.summary.filter((pl.col("metric") == chosen) & pl.col("mean").is_not_null())
    frame = frame.with_columns(pl.col("mean", "mean_low", "mean_high") * read.factor)
    axes = [_numeric(axis, frame) for axis in answers.axes]
    # The axis with numbers lies horizontally, as in reports.
    axes.sort(key=lambda axis: not axis[1])
    # In a field's name a point or a bracket would be a path.
    names = {name: re.sub(r"[.\[\]]", "_", name) for name in frame.columns}
    frame = frame.rename(names)
    (horizontal, is_number), *others = axes or [("estimator", False)]
    y = altair.Y("mean:Q", title=read.title, scale=altair.Scale(zero=False))
    x = altair.X(f"{names[horizontal]}:{'Q' if is_number else 'N'}", title=horizontal)
    encoding: dict[str, Any] = {"x": x, "y": y, "tooltip": [*names.values()][:8]}
    if others:
        encoding["color"] = altair.Color(f"{names[others[0][0]]}:N", title=others[0][0])
    if axes and frame.get_column("estimator").n_unique() > 1:
        encoding["strokeDash"] = altair.StrokeDash("estimator:N")
    base = altair.Chart(frame).encode(**encoding)
    ends = {"y": altair.Y("mean_low:Q", title=read.title), "y2": "mean_high:Q"}
    if is_number:
        drawn = base.mark_line(point=True) + base.mark_area(opacity=0.2).encode(**ends)
    else:
        drawn = base.mark_point(filled=True, size=60) + base.mark_rule().encode(**ends)
    if frame.get_column("flow").n_unique() > 1:
        return drawn.facet("flow:N", columns=2)
    return drawn.properties(title=str(frame.get_column("flow")[0]))


def _numeric(axis: str, frame: pl.DataFrame) -> tuple[str, bool]:
    """The column of an axis: its numbers where it has some; and whether these are such."""
    numbers = next((name for name in frame.columns if name.startswith(f"{axis} [")), None)
    if numbers is not None:
        return numbers, True
    return axis, frame.schema[axis].is_numeric()
