"""The metric dictionary: unit, clock and place of observation of every column.

The engine tells those of its tables, each from where the column is made; summaries tell theirs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import polars as pl

from voxpath import _engine
from voxpath.results import browser_columns
from voxpath.results.summaries import COMPLETION, KINDS, of_kinds
from voxpath.scenario.metric import Metric

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Shown:
    """How people read a metric.

    Attributes:
        name: Without its unit.
        unit: Empty for a pure number.
        factor: From the metric's unit to this one.
    """

    name: str
    unit: str
    factor: float

    @property
    def title(self) -> str:
        """Name and unit."""
        return f"{self.name}, {self.unit}" if self.unit else self.name


_SHOWN = {"ns": ("ms", 1e-6), "bit/s": ("Mbit/s", 1e-6), "1": ("", 1.0)}
"""Units that people read otherwise."""


@cache
def dictionary() -> dict[str, dict[str, Metric]]:
    """Every table's columns; `series_metrics` has what the column `metric` of `series` can be."""
    told = {
        table: {name: Metric(unit, where, about, clock=clock) for name, unit, clock, where, about in columns}
        for table, _, columns in _engine.tables()
    }
    told[browser_columns.TABLE] = dict(browser_columns.COLUMNS)
    summaries = of_kinds(KINDS)
    for summary in summaries:
        told["flows"] |= summary.metrics
    # A session is one row, whose columns are the flow's.
    told["flows"] |= {name: told["sessions"][name] for name in told["sessions"] if name != "flow"}
    told["flows"]["completion_s"] = COMPLETION
    return told


def misfit(table: str, schema: Mapping[str, pl.DataType]) -> str | None:
    """What is wrong with the columns of a table as somebody kept it; nothing of those that nobody knows."""
    for name, metric in dictionary().get(table, {}).items():
        kind = schema.get(name)
        if kind is None or kind == pl.Null or (kind.is_numeric() if metric.unit else kind == pl.String):
            continue
        return f"the column {name} of {table} holds {kind}, and no {'numbers' if metric.unit else 'text'}"
    return None


def metric_of(name: str) -> Metric | None:
    """The meaning of a metric of flows, or of a series."""
    known = dictionary()
    return {**known["series_metrics"], **COMPUTED, **known["flows"]}.get(name)


COMPUTED: Mapping[str, Metric] = {
    "window_recovery_s": Metric(
        "s",
        "sending TCP",
        "From the end of a loss's repair until the congestion window is again what it was at the loss.",
        clock="run",
    )
}
"""What formulas alone tell."""


def part_of(metric: str) -> str:
    """The metric that a count is a part of; empty for what is no part."""
    found = metric_of(metric)
    return found.of if found else ""


@cache
def wholes() -> frozenset[str]:
    """Metrics that others are a part of."""
    return frozenset(metric.of for table in dictionary().values() for metric in table.values() if metric.of)


def unit_of(metric: str) -> str:
    """The unit of such a metric; empty for what is none."""
    found = metric_of(metric)
    return found.unit if found else ""


def shown(metric: str) -> Shown:
    """How people read such a metric."""
    unit = unit_of(metric)
    name = re.sub(r"_(ns|bps|bytes|s)$", "", metric).replace("_", " ")
    return Shown(name, *_SHOWN.get(unit, (unit, 1.0)))


_TELLING = (
    "response_p50_ns",
    "final_latency_s",
    "client_video_delay_p95_ns",
    "server_video_delay_p95_ns",
    "delivery_p50_ns",
    "latency_p50_ns",
    "delay_p95_ns",
    "completion_s",
)
"""What users wait for, the most telling first."""


def main_metric(known: Sequence[str], asked: Sequence[str]) -> str | None:
    """The metric of some that is shown first: what is asked for, else what users wait for."""
    return next((metric for metric in (*asked, *_TELLING) if metric in known), known[0] if known else None)


def which_subflow(subflow: object) -> str:
    """How a title of a series goes on that may be of a subflow."""
    return "" if subflow is None else f", subflow {subflow}"
