"""A TCP connection over time: window, flight, round trip and retransmissions on one axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from voxpath.document import Axis, Curve, Plot, Together
from voxpath.report.series import thinned
from voxpath.results.metrics import shown, which_subflow
from voxpath.results.tables import tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voxpath.results.outcome import Outcome

_PLOTS: Sequence[tuple[str, Sequence[tuple[str, str]]]] = (
    (
        "bytes",
        (("cwnd_bytes", "congestion window"), ("flight_bytes", "in flight"), ("ssthresh_bytes", "ssthresh")),
    ),
    ("round trip", (("srtt_ns", "smoothed round trip"), ("rto_ns", "retransmission timeout"))),
    ("retransmitted", (("retransmissions", "segments retransmitted so far"),)),
)
"""From the top: what a plot shows, and its series with their names."""

_UNBOUNDED = 2.0**31
"""A slow start threshold from here on is none yet."""


def connections(series: pl.DataFrame, most: int = 3) -> list[Together]:
    """The liveliest ends of TCP connections, each with all of its series together.

    Args:
        series: The table of a run.
        most: How many ends.
    """
    if series.is_empty():
        return []
    wanted = [name for _, names in _PLOTS for name, _ in names]
    known = series.filter(series.get_column("metric").is_in(wanted))
    # An end that sends data has a flight; the other one has little to show.
    lively = (
        known.filter(metric="cwnd_bytes")
        .group_by("flow", "end", "subflow", maintain_order=True)
        .len()
        .sort("len", descending=True, maintain_order=True)
        .head(most)
    )
    found = []
    for flow, end, subflow, count in lively.iter_rows():
        if count < 2:
            continue
        mine = known.filter(pl.col("subflow").eq_missing(pl.lit(subflow)), flow=flow, end=end)
        made = _together(mine, flow, f"{end}{which_subflow(subflow)}")
        if made is not None:
            found.append(made)
    return found


def connections_of(outcomes: Sequence[Outcome]) -> list[Together]:
    """The connections of the first run that recorded them."""
    observed = [outcome for outcome in outcomes if (outcome.folder / "series.parquet").exists()][:1]
    (frame,) = tables([observed], "series")
    return connections(frame) if not frame.is_empty() else []


def _together(rows: pl.DataFrame, flow: str, seen_by: str) -> Together | None:
    times = rows.get_column("time_ns") / 1e9
    span = (float(times.min() or 0.0), float(times.max() or 0.0))  # type: ignore[arg-type]
    plots = []
    for title, names in _PLOTS:
        curves = [
            curve for metric, name in names if (curve := _curve(rows, metric, name, span[1])) is not None
        ]
        if curves:
            read = shown(names[0][0])
            factor = ("kB", 1e-3) if read.unit == "B" else (read.unit, 1.0)
            scaled = [_scaled(curve, factor[1]) for curve in curves]
            plots.append(Plot(title, "", Axis("time", "s", span=span), Axis(title, factor[0]), scaled))
    if not plots:
        return None
    title = f"The connection of {flow}, as its {seen_by} sees it"
    return Together(title, "One axis of time: what is read or zoomed in one plot is so in all.", plots)


def _curve(rows: pl.DataFrame, metric: str, name: str, until: float) -> Curve | None:
    mine = rows.filter(metric=metric)
    if metric == "ssthresh_bytes":
        mine = mine.filter(mine.get_column("value") < _UNBOUNDED)
    if mine.is_empty():
        return None
    read = shown(metric)
    kept = thinned(mine.get_column("value").to_numpy())
    times = (mine.get_column("time_ns").to_numpy()[kept] / 1e9).tolist()
    values = (mine.get_column("value").to_numpy()[kept] * read.factor).tolist()
    if times[-1] < until:
        # A series holds its changes: the last value stays.
        times, values = [*times, until], [*values, values[-1]]
    return Curve(name, times, values, style="steps")


def _scaled(curve: Curve, factor: float) -> Curve:
    return Curve(curve.name, curve.x, [None if y is None else y * factor for y in curve.y], style=curve.style)
