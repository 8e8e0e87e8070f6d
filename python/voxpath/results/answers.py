"""What was answered, as frames: flows and summaries of every cell, and the differences between them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from voxpath.results.intervals import Quantile, Summary, paired, quantile
from voxpath.results.many import Joined
from voxpath.results.metrics import shown, unit_of
from voxpath.results.rows import Wholes
from voxpath.results.tables import tables
from voxpath.scenario.quantities import in_one_unit
from voxpath.scenario.sweep import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from voxpath.results.outcome import Outcome
    from voxpath.results.rows import Row

QUANTILES = (0.5, 0.95)
"""What stands beside every mean."""


@dataclass(frozen=True)
class Variant:
    """One scenario that was answered: a cell of a sweep, or a scenario or run among those compared.

    Attributes:
        source: The file or folder that it comes from.
        values: The value of each axis, by its key.
        rows: Means and estimates, backend by backend.
        frames: One row per replication and flow, by the backend that made the runs.
        outcomes: The runs.
    """

    source: str
    values: Mapping[str, Any]
    rows: Sequence[Row]
    frames: Mapping[str, pl.DataFrame]
    outcomes: Sequence[Outcome]

    @property
    def flows(self) -> pl.DataFrame:
        """The flows of all runs; with the column `backend` where there is more than one."""
        if len(self.frames) < 2:
            return next(iter(self.frames.values()), pl.DataFrame())
        named = [frame.select(pl.lit(name).alias("backend"), pl.all()) for name, frame in self.frames.items()]
        return pl.concat(named, how="vertical_relaxed")

    @cached_property
    def wholes(self) -> Wholes:
        """What counts of this variant are a part of."""
        return Wholes(self.rows)

    def samples(self, row: Row) -> pl.DataFrame:
        """The values behind a row, with their replications; none behind a closed form."""
        frame = self.frames.get(row.estimator)
        if frame is None or frame.is_empty():
            return _NO_SAMPLES
        return (
            frame.filter(pl.col("flow") == row.entity)
            .select("replication", pl.col(row.metric).cast(pl.Float64).alias("value"))
            .drop_nulls()
        )


_NO_SAMPLES = pl.DataFrame(schema={"replication": pl.Int64, "value": pl.Float64})


@dataclass(frozen=True)
class Line:
    """A row of one variant with everything that is said of it.

    Attributes:
        variant: Whose.
        row: Mean, interval and status.
        quantiles: Of the values behind the mean; empty where there are none.
        difference: To the reference in percent of it; the interval is that of paired differences where
            both come from the same replications. None where there is nothing to compare.
    """

    variant: Variant
    row: Row
    quantiles: tuple[Quantile, ...]
    difference: Summary | None = None

    @property
    def value(self) -> str:
        """The mean with its interval in the unit that people read; of a count, with its whole."""
        return self.variant.wholes.told(self.row, shown(self.row.metric).factor)


class Answers:
    """The answers to a sweep or to a comparison.

    Attributes:
        variants: The cells, in their order.
        axes: The keys that are varied.
    """

    def __init__(self, variants: Sequence[Variant]) -> None:
        self.variants = tuple(variants)
        self.axes = tuple(dict.fromkeys(key for variant in variants for key in variant.values))

    @property
    def outcomes(self) -> Sequence[Outcome]:
        """The runs, cell by cell and replication by replication."""
        return Joined([variant.outcomes for variant in self.variants])

    @property
    def folders(self) -> list[Path]:
        """Where these runs are: folders, or names of runs that lie in packs (`Outcome.folder`)."""
        return [outcome.folder for outcome in self.outcomes]

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row per cell, replication and flow; before the flow's columns those of each axis.

        Of an axis of quantities there are two: its texts, and numbers in the unit that its name ends in.
        """
        return self._joined([variant.flows for variant in self.variants])

    def table(self, name: str) -> pl.DataFrame:
        """`requests`, `elements`, `series` or `packets` of all runs, a column for each axis before them."""
        return self._joined(tables([variant.outcomes for variant in self.variants], name))

    @cached_property
    def lines(self) -> list[Line]:
        """Every row of every variant.

        The first runs of a variant are compared with the same of the first variant; what other runs and
        closed forms say of the variant, with these. Where there are no runs, the first closed form stands
        for them.
        """
        first: dict[tuple[str, str], tuple[Row, pl.DataFrame]] = {}
        lines = []
        for variant in self.variants:
            told = [(row, variant.samples(row)) for row in variant.rows]
            own = _references(told)
            for row, samples in told:
                values = samples.get_column("value").to_list()
                quantiles = tuple(quantile(values, p) for p in QUANTILES) if values else ()
                key = (row.entity, row.metric)
                reference = own.get(key)
                if reference is not None and reference[0] is row:
                    reference = first.get(key)
                difference = None if reference is None else _difference(row, samples, *reference)
                lines.append(Line(variant, row, quantiles, difference))
            first = own | first
        return lines

    def plot(self, metric: str | None = None) -> Any:
        """An Altair chart of a metric over the first axis, with 95 % intervals; the second one by colour.

        Args:
            metric: Its name in the dictionary; without one what users wait for.

        Raises:
            ImportError: Altair is missing (extra `notebook`).
            ValueError: No answer has such a metric.
        """
        from voxpath.results.notebook import chart

        return chart(self, metric)

    def _repr_html_(self) -> str:
        """The summary as a table, for notebooks."""
        from voxpath.results.notebook import table_html

        return table_html(self)

    @cached_property
    def summary(self) -> pl.DataFrame:
        """One row per cell, flow, metric and estimator: mean, median and 95 % quantile with intervals."""
        return pl.DataFrame(list(self._summaries()), schema=self._summary_schema(), orient="row")

    def _summary_schema(self) -> dict[str, Any]:
        numbers = ["mean", "mean_low", "mean_high", "median", "median_low", "median_high"]
        numbers += ["p95", "p95_low", "p95_high", "difference_percent", "difference_low", "difference_high"]
        return {
            "source": pl.String,
            **{name: _dtype(values) for name, values in self._columns().items()},
            **dict.fromkeys(("flow", "metric", "unit", "estimator"), pl.String),
            "n": pl.Int64,
            **dict.fromkeys(numbers, pl.Float64),
            "status": pl.String,
            "reason": pl.String,
        }

    def _summaries(self) -> Iterator[list[Any]]:
        columns = self._columns()
        number = {id(variant): index for index, variant in enumerate(self.variants)}
        for line in self.lines:
            row = line.row
            yield [
                line.variant.source,
                *(values[number[id(line.variant)]] for values in columns.values()),
                *(row.entity, row.metric, unit_of(row.metric), row.estimator, row.n),
                *(row.value, *(row.interval or (None, None))),
                *(end for found in line.quantiles for end in (found.value, found.low, found.high)),
                *([None] * 6 if not line.quantiles else []),
                *_ends(line.difference),
                *(row.status, row.reason),
            ]

    def _columns(self) -> dict[str, list[Any]]:
        """The values of the axes, cell by cell: as they are if they are alike, else as texts.

        Behind texts of quantities stand their numbers, in one unit, which the column's name ends in.
        """
        columns: dict[str, list[Any]] = {}
        for axis in self.axes:
            values = [variant.values.get(axis) for variant in self.variants]
            kinds = {type(value) for value in values if value is not None}
            if len(kinds) != 1 or not kinds <= {str, bool, int, float}:
                values = [None if value is None else text_of(value) for value in values]
            columns[axis] = values
            told = [value for value in values if value is not None]
            found = in_one_unit(told) if kinds == {str} else None
            if found is not None and found[1]:
                numbers, unit = iter(found[0]), found[1]
                columns[f"{axis} [{unit}]"] = [None if value is None else next(numbers) for value in values]
        return columns

    def _joined(self, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
        columns = self._columns()
        sources = len({variant.source for variant in self.variants}) > 1
        joined = []
        for index, (variant, frame) in enumerate(zip(self.variants, frames, strict=True)):
            if frame.is_empty() and not frame.columns:
                continue
            own = [pl.lit(variant.source).alias("source")] if sources else []
            own += [
                pl.lit(values[index], dtype=_dtype(values)).alias(name) for name, values in columns.items()
            ]
            joined.append(frame.select(*own, pl.all()))
        return pl.concat(joined, how="diagonal_relaxed") if joined else pl.DataFrame()


def _references(
    told: Sequence[tuple[Row, pl.DataFrame]],
) -> dict[tuple[str, str], tuple[Row, pl.DataFrame]]:
    """What the rows of a variant are compared with, by entity and metric."""
    answered = [(row, samples) for row, samples in told if row.value is not None]
    # Runs come first; among them, and among closed forms, who was asked first.
    answered.sort(key=lambda one: one[1].is_empty())
    found: dict[tuple[str, str], tuple[Row, pl.DataFrame]] = {}
    for row, samples in answered:
        found.setdefault((row.entity, row.metric), (row, samples))
    return found


def _dtype(values: Sequence[Any]) -> Any:
    kinds = {type(value) for value in values if value is not None}
    return {bool: pl.Boolean, int: pl.Int64, float: pl.Float64}.get(kinds.pop() if kinds else str, pl.String)


def _difference(row: Row, samples: pl.DataFrame, other: Row, others: pl.DataFrame) -> Summary | None:
    """How far a row is from the reference, in percent of it."""
    if row.value is None or other.value is None or other.value == 0:
        return None
    scale = 100 / other.value
    both = samples.join(others, on="replication", suffix="_other")
    if not both.is_empty() and both.height == samples.height == others.height:
        values = both.get_column("value").to_list()
        return paired(values, both.get_column("value_other").to_list()).scaled(scale)
    difference = row.value - other.value
    if samples.is_empty() and other.interval is not None:
        # A closed form is a number: what is uncertain is the reference.
        return Summary(other.n, difference * scale, (other.interval[1] - other.interval[0]) / 2 * abs(scale))
    if others.is_empty() and row.interval is not None:
        return Summary(row.n, difference * scale, (row.interval[1] - row.interval[0]) / 2 * abs(scale))
    if row.interval is None or other.interval is None:
        return Summary(1, difference * scale, None)
    widths = [(interval[1] - interval[0]) / 2 for interval in (row.interval, other.interval)]
    return Summary(min(row.n, other.n), difference * scale, math.hypot(*widths) * abs(scale))


def _ends(summary: Summary | None) -> tuple[float | None, float | None, float | None]:
    if summary is None:
        return (None, None, None)
    return (summary.mean, *(summary.interval or (None, None)))
