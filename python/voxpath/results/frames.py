"""The engine's tables as polars frames, taken over without a copy."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from voxpath.results.summaries import summarised

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voxpath import _engine

RUN = "run"
"""A column for the run that a row is of; no metric is called so."""

_ROW = "_row"
_OLD = "_old"

Tables = Mapping[str, "_engine.Columns"]
"""Tables as the engine gives them: Arrow record batches by name."""


def framed(tables: Tables) -> dict[str, pl.DataFrame]:
    """All tables of one run, the flows with their summaries."""
    frames = {name: _of_first(frame(columns)) for name, columns in tables.items()}
    return {name: rows.drop(RUN) for name, rows in _finished(frames).items()}


def together(tables: Tables) -> dict[str, pl.DataFrame]:
    """All tables of runs of one shape; before each table's own columns stands the run's index, `RUN`.

    A frame costs by its columns what a thousand rows cost, so short runs are not framed one by one.
    """
    return _finished({name: frame(columns) for name, columns in tables.items()})


def frame(columns: _engine.Columns) -> pl.DataFrame:
    """A frame of a table of the engine."""
    return pl.DataFrame(columns)


def of_runs(frames: Mapping[str, pl.DataFrame], runs: Sequence[int]) -> dict[str, pl.DataFrame]:
    """The tables of some of the runs that lie together, which are counted anew."""
    places = pl.DataFrame({_OLD: runs, RUN: range(len(runs))}, schema=dict.fromkeys((_OLD, RUN), pl.UInt32))
    return {
        name: rows.rename({RUN: _OLD})
        .join(places, on=_OLD, maintain_order="left")
        .select(RUN, pl.exclude(RUN, _OLD))
        for name, rows in frames.items()
    }


def of_run(frames: Mapping[str, pl.DataFrame], run: int) -> dict[str, pl.DataFrame]:
    """The tables of one run among several that lie together."""
    return {name: rows.filter(pl.col(RUN) == run).drop(RUN) for name, rows in frames.items()}


def _of_first(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select(pl.lit(0, pl.UInt32).alias(RUN), pl.all())


def _finished(frames: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    return frames | {"flows": _with_summaries(frames)}


def _with_summaries(frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """The flows of several runs with their summaries."""
    flows = frames["flows"]
    # The same name is another flow in another run, so flows go by their row here.
    rows = flows.select(RUN, "flow", pl.int_range(pl.len()).alias(_ROW))
    keyed = {
        name: table.join(rows, on=[RUN, "flow"], how="left", maintain_order="left")
        .with_columns(pl.col(_ROW).alias("flow"))
        .drop(RUN, _ROW)
        for name, table in frames.items()
        if "flow" in table.columns
    }
    return summarised(keyed).with_columns(flows.get_column("flow")).insert_column(0, flows.get_column(RUN))


def parquet(data: pl.DataFrame, by: str | None = None) -> bytes:
    """A frame as a Parquet file; the same frame gives the same bytes.

    Args:
        data: The frame.
        by: A column by which it is sorted: who wants some of its values reads only the groups of rows that
            have them.
    """
    buffer = io.BytesIO()
    # Each chunk that a frame happens to be of would be a group of rows.
    data = data.rechunk()
    if by is None:
        data.write_parquet(buffer, compression="zstd", statistics=False)
    else:
        data.write_parquet(buffer, compression="zstd", statistics=True, row_group_size=_ROWS)
    return buffer.getvalue()


_ROWS = 1 << 16
"""Of a group, which is read as a whole."""
