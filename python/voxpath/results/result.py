"""What runs of one scenario gave, as Python gets it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from voxpath.results.answers import Answers, Variant
from voxpath.results.kept import table
from voxpath.results.notebook import chart, table_html
from voxpath.results.problems import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from voxpath.results.rows import Row


@dataclass(frozen=True)
class Result:
    """What runs of a scenario gave.

    Attributes:
        flows: One row per replication and flow; columns as in the metric dictionary, and `backend` where
            more than one made runs.
        rows: Means and intervals of runs, and the formulas' estimates.
        folders: The runs, replication by replication, and those in virtual time before those in real time. Of
            many replications these are names, as `voxpath show` and `compare` take them.
    """

    flows: pl.DataFrame
    rows: Sequence[Row]
    folders: Sequence[Path]

    def table(self, name: str) -> pl.DataFrame:
        """A table of all runs, such as `requests`, `elements` or `series`: `run`, then its columns.

        Raises:
            StoreError: A run cannot be read, or has no such table; or there is no run.
        """
        if not self.folders:
            raise StoreError(f"there is no run that could have a table {name!r}: formulas make none")
        return pl.concat(
            [
                table(folder, name).select(pl.lit(folder.name).alias("run"), pl.all())
                for folder in self.folders
            ],
            how="diagonal_relaxed",
        )

    @cached_property
    def _answers(self) -> Answers:
        if "backend" in self.flows.columns:
            by_backend = self.flows.group_by("backend", maintain_order=True)
            frames = {str(name): rows.drop("backend") for (name,), rows in by_backend}
        else:
            frames = {row.estimator: self.flows for row in self.rows if row.metric in self.flows.columns}
        return Answers([Variant("", {}, self.rows, frames, ())])

    @property
    def summary(self) -> pl.DataFrame:
        """One row per flow, metric and estimator: mean, median and 95 % quantile with intervals."""
        return self._answers.summary.drop("source")

    def plot(self, metric: str | None = None) -> Any:
        """An Altair chart of a metric: each flow's mean by estimator, with its 95 % interval.

        Args:
            metric: Its name in the dictionary; without one what users wait for.

        Raises:
            ImportError: Altair is missing (extra `notebook`).
            ValueError: No answer has such a metric.
        """
        return chart(self._answers, metric)

    def _repr_html_(self) -> str:
        """The summary as a table, for notebooks."""
        return table_html(self._answers)
