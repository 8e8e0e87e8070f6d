"""What runs of one scenario gave, as Python gets it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import polars as pl

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
