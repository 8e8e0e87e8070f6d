"""Calls and voice requests over time: what became of each frame, and of each block and its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from voxpath.document import Axis, Curve, Plot, Together
from voxpath.report.series import thinned
from voxpath.results.kept import table, tables_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from voxpath.results.outcome import Outcome

_MOST_VIEWS = 4
"""Ways of media, and flows with messages, that are drawn; all are in the run's tables."""


class _Kind(NamedTuple):
    """Frames of one end.

    Attributes:
        name: In the legend.
        of: Which rows of the table of frames these are.
    """

    name: str
    of: pl.Expr


_FATE = pl.col("fate").cast(pl.String)
_KINDS = (
    _Kind("complete in time", (_FATE == "complete") & (pl.col("repaired") == 0)),
    _Kind("repaired in time", (_FATE == "complete") & (pl.col("repaired") > 0)),
    _Kind("late", _FATE == "late"),
    _Kind("frozen", _FATE == "frozen"),
)
_MISSING = ("late", "lost", "frozen", "dropped")
"""What is not shown or heard when it is due; of sound this is concealed."""


def voices_of(outcomes: Sequence[Outcome]) -> list[Together]:
    """Of the first run: ways of media, and requests with their partial answers."""
    return voices_in(outcomes[0].folder) if outcomes else []


def voices_in(folder: Path) -> list[Together]:
    """Of a run that is kept in a folder.

    Raises:
        StoreError: Its tables cannot be read.
    """
    there = set(tables_of(folder))
    found: list[Together] = []
    if "frames" in there:
        found += _media(table(folder, "frames"))
    if "messages" in there:
        requests = table(folder, "requests") if "requests" in there else None
        found += _answers(table(folder, "messages"), requests)
    return found


def _media(frames: pl.DataFrame) -> Iterator[Together]:
    ways = frames.group_by("flow", "end", "media", maintain_order=True)
    for number, ((flow, end, media), rows) in enumerate(ways):
        if number == _MOST_VIEWS:
            return
        plots = [_delays(rows), *([_missing(rows)] if rows.filter(_FATE.is_in(_MISSING)).height else [])]
        if (depth := _depth(rows)) is not None:
            plots.append(depth)
        span = (0.0, float(np.max(_seconds(rows, "captured_ns"), initial=0.0)))
        yield Together(
            f"{media} of {flow}, from its {end}: each frame",
            "A frame stands where it was captured. What is late, lost, frozen or dropped is not there when "
            "it is due; of sound it is concealed.",
            [_over(plot, span) for plot in plots],
        )


def _over(plot: Plot, span: tuple[float, float]) -> Plot:
    return Plot(plot.title, plot.caption, Axis("time", "s", span=span), plot.y, plot.curves)


def _seconds(rows: pl.DataFrame, column: str) -> NDArray[np.float64]:
    return rows.get_column(column).cast(pl.Float64).to_numpy() / 1e9


def _took(rows: pl.DataFrame, begin: str, end: str) -> NDArray[np.float64]:
    """Milliseconds from one column to the other."""
    return 1000 * (_seconds(rows, end) - _seconds(rows, begin))


def _curve(name: str, times: NDArray[np.float64], values: NDArray[np.float64], style: str) -> Curve:
    kept = thinned(values)
    made = Curve(name, times[kept].tolist(), values[kept].tolist())
    return Curve(made.name, made.x, made.y, style="points" if style == "points" else "steps")


def _delays(rows: pl.DataFrame) -> Plot:
    curves = []
    for kind in _KINDS:
        mine = rows.filter(kind.of & pl.col("frame_complete_ns").is_not_null())
        if mine.height:
            delays = _took(mine, "captured_ns", "frame_complete_ns")
            curves.append(_curve(kind.name, _seconds(mine, "captured_ns"), delays, "points"))
    for name in ("lost", "dropped"):
        mine = rows.filter(_FATE.eq(name))
        if mine.height:
            curves.append(_curve(name, _seconds(mine, "captured_ns"), np.zeros(mine.height), "points"))
    played = rows.filter(pl.col("played_ns").is_not_null())
    if played.height:
        waits = _took(played, "captured_ns", "played_ns")
        curves.append(_curve("capture to playout", _seconds(played, "captured_ns"), waits, "steps"))
    return Plot("delay", "", Axis("time", "s"), Axis("from capture", "ms"), curves)


def _missing(rows: pl.DataFrame) -> Plot:
    ordered = rows.sort("captured_ns", maintain_order=True)
    times = _seconds(ordered, "captured_ns")
    curves = []
    for name in _MISSING:
        so_far = ordered.select(_FATE.eq(name).cum_sum()).to_series().cast(pl.Float64).to_numpy()
        if so_far[-1] > 0:
            curves.append(_curve(name, times, so_far, "steps"))
    return Plot("missing so far", "", Axis("time", "s"), Axis("frames", ""), curves)


def _depth(rows: pl.DataFrame) -> Plot | None:
    played = rows.filter(pl.col("played_ns").is_not_null() & pl.col("frame_complete_ns").is_not_null())
    if played.is_empty():
        return None
    waited = np.maximum(_took(played, "frame_complete_ns", "played_ns"), 0.0)
    curve = _curve("time in the jitter buffer", _seconds(played, "captured_ns"), waited, "steps")
    return Plot("jitter buffer", "", Axis("time", "s"), Axis("waits", "ms"), [curve])


def _answers(messages: pl.DataFrame, requests: pl.DataFrame | None) -> Iterator[Together]:
    flows = messages.group_by("flow", maintain_order=True)
    for number, ((flow,), rows) in enumerate(flows):
        if number == _MOST_VIEWS:
            return
        mine = None if requests is None else requests.filter(pl.col("flow") == flow)
        asked = mine is not None and not mine.is_empty()
        plots = [_staircase(rows, mine if asked else None)]
        came = rows.filter(pl.col("received_ns").is_not_null())
        took = (
            []
            if came.is_empty()
            else [_curve("partial answers" if asked else "messages", *_of(came), "points")]
        )
        if asked and mine is not None and (done := _done(mine)).height:
            delays = _took(done, "last_byte_sent_ns", "completed_ns")
            took.append(_curve("answers", _seconds(done, "last_byte_sent_ns"), delays, "points"))
        if took:
            plots.append(Plot("delay", "", Axis("time", "s"), Axis("delay", "ms"), took))
        span = (
            0.0,
            max((float(max(curve.x, default=0.0)) for plot in plots for curve in plot.curves), default=0.0),
        )
        yield Together(
            f"{flow}: each block and its answer" if asked else f"{flow}: each message",
            "A block that is spoken is answered in part; the last one of a request is answered for good."
            if asked
            else "From when it was there to be sent, to when it was received.",
            [_over(plot, span) for plot in plots],
        )


def _of(came: pl.DataFrame) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return _seconds(came, "ready_ns"), _took(came, "ready_ns", "received_ns")


def _done(requests: pl.DataFrame) -> pl.DataFrame:
    return requests.filter(pl.col("completed_ns").is_not_null() & pl.col("last_byte_sent_ns").is_not_null())


def _staircase(rows: pl.DataFrame, requests: pl.DataFrame | None) -> Plot:
    """What was there to be sent so far, and what was answered."""
    spoken = [_seconds(rows, "ready_ns")]
    answered = [_seconds(rows.filter(pl.col("received_ns").is_not_null()), "received_ns")]
    if requests is not None:
        spoken.append(
            _seconds(requests.filter(pl.col("last_byte_sent_ns").is_not_null()), "last_byte_sent_ns")
        )
        answered.append(_seconds(_done(requests), "completed_ns"))
    names = ("sent", "received") if requests is None else ("spoken", "answered")
    curves = []
    for name, parts in zip(names, (spoken, answered), strict=True):
        times = np.sort(np.concatenate(parts))
        if len(times):
            curves.append(_curve(name, times, np.arange(1.0, len(times) + 1), "steps"))
    return Plot(
        "messages so far" if requests is None else "blocks so far",
        "",
        Axis("time", "s"),
        Axis("messages" if requests is None else "blocks", ""),
        curves,
    )
