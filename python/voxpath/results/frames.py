"""The engine's tables as polars frames, without a Python object per value where they are numbers."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

_DTYPES = {"u64": "<u8", "f64": "<f8"}

Column = tuple[str, "bytes | list[str]", "bytes | list[str] | None"]
"""Kind, values and extra of a column, as `crates/py/src/run.rs` tabulates them."""


def frame(table: Mapping[str, Column]) -> pl.DataFrame:
    """A frame of a table of the engine."""
    return pl.DataFrame([_series(name, column) for name, column in table.items()])


def _series(name: str, column: Column) -> pl.Series:
    match column:
        case ("u64" | "f64" as kind, bytes(values), None):
            return pl.Series(name, np.frombuffer(values, _DTYPES[kind]))
        case ("u64" | "f64" as kind, bytes(values), bytes(validity)):
            series = pl.Series(name, np.frombuffer(values, _DTYPES[kind]))
            present = pl.Series(np.frombuffer(validity, np.bool_))
            absent = pl.repeat(None, len(series), dtype=series.dtype, eager=True)
            return series.zip_with(present, absent).alias(name)
        case ("text", list(values), None):
            return pl.Series(name, values, dtype=pl.String)
        case ("label", bytes(indices), list(names)):
            labels = pl.Series(name, names, dtype=pl.String)
            return labels.gather(np.frombuffer(indices, "<u4"))
    raise ValueError(f"column {name!r} has the kind {column[0]!r}, which is unknown here")


def parquet(data: pl.DataFrame) -> bytes:
    """A frame as a Parquet file; the same frame gives the same bytes."""
    buffer = io.BytesIO()
    data.write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()
