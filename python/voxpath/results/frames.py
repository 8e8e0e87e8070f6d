"""The engine's tables as polars frames, without a Python object per value where they are numbers."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from voxpath.results.summaries import summarised

if TYPE_CHECKING:
    from collections.abc import Sequence

_DTYPES = {"u64": "<u8", "f64": "<f8"}

RUN = "run"
"""A column for the run that a row is of; no metric is called so."""

_ROW = "_row"

Column = tuple[str, Any, Any]
"""Kind, values and extra of a column, as `crates/py/src/run.rs` tabulates them: of numbers their bytes and
which are there, of texts these, of labels the bytes of their indices and all labels."""

Tables = Mapping[str, Mapping[str, Column]]
"""The tables of a run as the engine gives them, column by column."""


def framed(tables: Tables) -> dict[str, pl.DataFrame]:
    """All tables of a run, the flows with their summaries."""
    return {name: frame.drop(RUN) for name, frame in together([tables]).items()}


def together(runs: Sequence[Tables]) -> dict[str, pl.DataFrame]:
    """All tables of runs of one shape; before each table's own columns stands the run's index, `RUN`.

    A frame costs by its columns what a thousand rows cost, so short runs are not framed one by one.
    """
    frames = {name: _joined([run[name] for run in runs]) for name in runs[0]}
    return frames | {"flows": _with_summaries(frames)}


def shape(tables: Tables) -> tuple[object, ...]:
    """What runs have in common whose frames have the same columns: tables, and the kinds of their flows."""
    # Not as frames: each would be a query.
    kinds = set(zip(*(_series(name, [tables["flows"][name]]) for name in ("app", "transport")), strict=True))
    columns = (
        (name, *((column, kind) for column, (kind, *_) in table.items())) for name, table in tables.items()
    )
    return (*columns, *sorted(kinds))


def frame(table: Mapping[str, Column]) -> pl.DataFrame:
    """A frame of a table of the engine."""
    return _joined([table]).drop(RUN)


def _joined(tables: Sequence[Mapping[str, Column]]) -> pl.DataFrame:
    """A frame of a table of several runs, and before its columns the run's index."""
    found = [_series(name, [table[name] for table in tables]) for name in tables[0]]
    heights = [_height(next(iter(table.values()))) for table in tables]
    return pl.DataFrame([pl.Series(RUN, np.repeat(np.arange(len(tables), dtype=np.uint32), heights)), *found])


_WIDTHS = {"u64": 8, "f64": 8, "label": 4}


def _height(column: Column) -> int:
    kind, values, _ = column
    return len(values) // _WIDTHS.get(kind, 1)


def _series(name: str, columns: Sequence[Column]) -> pl.Series:
    """A column of several runs, one after the other."""
    match columns[0][0]:
        case "u64" | "f64" as kind:
            series = pl.Series(
                name, np.frombuffer(b"".join(values for _, values, _ in columns), _DTYPES[kind])
            )
            if all(validity is None for _, _, validity in columns):
                return series
            present = b"".join(
                b"\1" * _height(column) if column[2] is None else column[2] for column in columns
            )
            # One null stands for all: `pl.repeat` would start a query for every column of every run.
            return series.zip_with(
                pl.Series(np.frombuffer(present, np.bool_)), pl.Series([None], dtype=series.dtype)
            )
        case "text":
            return pl.Series(name, [text for _, texts, _ in columns for text in texts], dtype=pl.String)
        case "label":
            names = [label for _, _, labels in columns for label in labels]
            offsets = np.cumsum([0, *(len(labels) for _, _, labels in columns[:-1])])
            indices = [
                np.frombuffer(indices, "<u4") + offset
                for (_, indices, _), offset in zip(columns, offsets, strict=True)
            ]
            # By index, not `gather`, which would start a query.
            return pl.Series(name, names, dtype=pl.String)[np.concatenate(indices)]
    raise ValueError(f"column {name!r} has the kind {columns[0][0]!r}, which is unknown here")


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


def parquet(data: pl.DataFrame) -> bytes:
    """A frame as a Parquet file; the same frame gives the same bytes."""
    buffer = io.BytesIO()
    data.write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()
