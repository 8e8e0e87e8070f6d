"""What a run observed over time, as plots."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from voxpath.document import Axis, Curve, Plot
from voxpath.results.metrics import dictionary, shown, which_subflow
from voxpath.results.tables import tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from voxpath.results.outcome import Outcome

_MOST_CURVES = 8
_MOST_POINTS = 3000
"""Of a curve; more could not be told apart on a screen."""


def series_plots(outcomes: Sequence[Outcome]) -> list[Plot]:
    """The series of the first run that has them: a plot per metric, its liveliest ends as curves."""
    # A run in a pack has recorded none.
    observed = [outcome for outcome in outcomes if (outcome.folder / "series.parquet").exists()][:1]
    (frame,) = tables([observed], "series")
    if frame.is_empty():
        return []
    return [
        plot
        for metric in dictionary()["series_metrics"]
        if (plot := _plot(metric, frame.filter(metric=metric), observed[0].replication)) is not None
    ]


def _plot(metric: str, frame: pl.DataFrame, replication: int) -> Plot | None:
    ends = frame.group_by("flow", "end", "subflow", maintain_order=True)
    changing = [(keys, rows) for keys, rows in ends if rows.get_column("value").n_unique() > 1]
    if not changing:
        return None
    read = shown(metric)
    curves, shortened = [], False
    changing.sort(key=lambda found: -found[1].height)
    for (flow, end, subflow), rows in changing[:_MOST_CURVES]:
        kept = thinned(rows.get_column("value").to_numpy())
        shortened |= len(kept) < rows.height
        times = (rows.get_column("time_ns").to_numpy()[kept] / 1e9).tolist()
        values = (rows.get_column("value").to_numpy()[kept] * read.factor).tolist()
        curves.append(Curve(f"{flow}, {end}{which_subflow(subflow)}", times, values, style="steps"))
    caption = f"{dictionary()['series_metrics'][metric].about} Replication {replication}."
    if shortened:
        caption += f" Of long series the extremes of {_MOST_POINTS // 2} parts are drawn."
    if len(changing) > _MOST_CURVES:
        caption += f" {len(changing) - _MOST_CURVES} ends of flows more are in series.parquet."
    return Plot(read.name, caption, Axis("time", "s"), Axis(read.name, read.unit), curves)


def thinned(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[int]:
    """Indices of the values that show the shape: all of few, the least and the largest of parts of many."""
    if len(values) <= _MOST_POINTS:
        return list(range(len(values)))
    edges = np.linspace(0, len(values), _MOST_POINTS // 2 + 1).astype(int)
    kept = {0, len(values) - 1}
    for begin, end in itertools.pairwise(edges.tolist()):
        part = values[begin:end]
        kept |= {int(begin + part.argmin()), int(begin + part.argmax())}
    return sorted(kept)
