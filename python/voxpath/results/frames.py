"""The engine's tables as polars frames, without a Python object per value where they are numbers."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from voxpath.results.kept import UNREADABLE, table
from voxpath.results.metrics import misfit
from voxpath.results.problems import StoreError
from voxpath.results.summaries import summarised

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voxpath.results.outcome import Outcome

_DTYPES = {"u64": "<u8", "f64": "<f8"}

_PATH = "_path"
"""A column for the file that a row comes from; no metric is called so."""

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
            # One null stands for all: `pl.repeat` would start a query for every column of every run.
            return series.zip_with(present, pl.Series([None], dtype=series.dtype))
        case ("text", list(values), None):
            return pl.Series(name, values, dtype=pl.String)
        case ("label", bytes(indices), list(names)):
            # By index, not `gather`, which would start a query.
            return pl.Series(name, names, dtype=pl.String)[np.frombuffer(indices, "<u4")]
    raise ValueError(f"column {name!r} has the kind {column[0]!r}, which is unknown here")


def framed(tables: Mapping[str, Mapping[str, Column]]) -> dict[str, pl.DataFrame]:
    """All tables of a run, the flows with their summaries."""
    frames = {name: frame(table) for name, table in tables.items()}
    return frames | {"flows": summarised(frames)}


def parquet(data: pl.DataFrame) -> bytes:
    """A frame as a Parquet file; the same frame gives the same bytes."""
    buffer = io.BytesIO()
    data.write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


def tables(asked: Sequence[Sequence[Outcome]], name: str) -> list[pl.DataFrame]:
    """A table of the runs of several questions, with the column `replication` before its own.

    All files are read by one query: opening a thousand small ones each by its own takes seconds.

    Raises:
        StoreError: A run cannot be read.
    """
    outcomes = list(dict.fromkeys(outcome for some in asked for outcome in some))
    if not outcomes:
        return [pl.DataFrame() for _ in asked]
    paths = [str(outcome.folder / f"{name}.parquet") for outcome in outcomes]
    try:
        whole = _read(paths)
        if wrong := misfit(name, whole.schema):
            raise pl.exceptions.SchemaError(wrong)
    except (*UNREADABLE, OSError) as error:
        # Which one is it?
        for outcome in outcomes:
            if wrong := misfit(name, table(outcome.folder, name).schema):
                raise StoreError(f"{outcome.folder} cannot be read: {wrong}") from None
        raise StoreError(f"the runs' {name} do not fit together: {error}") from None
    by_path = {str(path): rows for (path,), rows in whole.group_by(_PATH, maintain_order=True)}
    empty = whole.clear()
    rows = dict(zip(outcomes, (by_path.get(path, empty) for path in paths), strict=True))
    return [
        pl.concat(
            rows[outcome].select(
                pl.lit(outcome.replication, pl.Int64).alias("replication"), pl.exclude(_PATH)
            )
            for outcome in some
        )
        for some in asked
    ]


def _read(paths: list[str]) -> pl.DataFrame:
    """Several files of a table, with the column `_PATH`; a column that one lacks has no values there.

    What a flow has columns for depends on its application, so the files of a sweep may differ in them.
    """
    try:
        return pl.read_parquet(paths, glob=False, include_file_paths=_PATH)
    except (pl.exceptions.SchemaError, pl.exceptions.ColumnNotFoundError):
        each = (pl.read_parquet(path, glob=False, include_file_paths=_PATH) for path in paths)
        return pl.concat(each, how="diagonal")
