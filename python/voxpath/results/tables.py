"""Tables of kept runs, however they are kept: of a thousand runs as fast as of one."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import polars as pl

from voxpath.results.kept import UNREADABLE, table
from voxpath.results.many import Made
from voxpath.results.metrics import misfit
from voxpath.results.packs import WHOSE, Packs
from voxpath.results.problems import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from voxpath.results.outcome import Outcome

_PATH = "_path"
"""A column for the run that a row comes from; no metric is called so."""

_QUESTION = "_question"


def tables(asked: Sequence[Sequence[Outcome]], name: str) -> Sequence[pl.DataFrame]:
    """A table of the runs of several questions, with the column `replication` before its own.

    Those of few runs are read at once and held. Of many they are read again as they are asked for, so whoever
    looks through all of them one by one holds some of them at a time.

    Raises:
        StoreError: A run cannot be read; of many, when its table is asked for.
    """
    if sum(map(len, asked)) <= _HELD_RUNS:
        return _tables(asked, name)
    return Made(len(asked), _Parts(asked, name).table)


_HELD_RUNS = 20_000
"""Of so many the tables are held."""


class _Parts:
    """Tables of neighbouring questions, of up to `_HELD_RUNS` runs together or of one question."""

    def __init__(self, asked: Sequence[Sequence[Outcome]], name: str) -> None:
        self._asked = asked
        self._name = name
        self._starts = [0]
        runs = 0
        for index, some in enumerate(asked):
            if runs and runs + len(some) > _HELD_RUNS:
                self._starts.append(index)
                runs = 0
            runs += len(some)
        self._held: tuple[int, list[pl.DataFrame]] = (-1, [])

    def table(self, index: int) -> pl.DataFrame:
        part = bisect_right(self._starts, index) - 1
        start, *_ = bounds = (*self._starts, len(self._asked))[part : part + 2]
        if self._held[0] != part:
            # What was held goes before others come.
            self._held = (-1, [])
            self._held = (part, _tables(self._asked[slice(*bounds)], self._name))
        return self._held[1][index - start]


def _tables(asked: Sequence[Sequence[Outcome]], name: str) -> list[pl.DataFrame]:
    """All files are read by one query: opening a thousand small ones each by its own takes seconds."""
    # Each is made when it is asked for.
    asked = [list(some) for some in asked]
    outcomes = list(dict.fromkeys(outcome for some in asked for outcome in some))
    if not outcomes:
        return [pl.DataFrame() for _ in asked]
    try:
        whole = _read(outcomes, name)
        if wrong := misfit(name, whole.schema):
            raise pl.exceptions.SchemaError(wrong)
    except (*UNREADABLE, OSError) as error:
        # Which one is it?
        for outcome in outcomes:
            if wrong := misfit(name, table(outcome.folder, name).schema):
                raise StoreError(f"{outcome.folder} cannot be read: {wrong}") from None
        raise StoreError(f"the runs' {name} do not fit together: {error}") from None
    wanted = pl.DataFrame(
        [
            (question, str(outcome.folder), outcome.replication)
            for question, some in enumerate(asked)
            for outcome in some
        ],
        schema={_QUESTION: pl.Int64, _PATH: pl.String, "replication": pl.Int64},
        orient="row",
    )
    rows = wanted.join(whole, on=_PATH, how="inner", maintain_order="left_right").drop(_PATH)
    by_question = rows.partition_by(_QUESTION, maintain_order=True, include_key=False, as_dict=True)
    empty = rows.clear().drop(_QUESTION)
    return [
        by_question.get((question,), empty if some else pl.DataFrame()) for question, some in enumerate(asked)
    ]


def _read(outcomes: Sequence[Outcome], name: str) -> pl.DataFrame:
    """A table of some runs, with the column `_PATH`; a column that one lacks has no values there."""
    alone = [str(outcome.folder / f"{name}.parquet") for outcome in outcomes if not outcome.packed]
    packed: dict[Path, dict[str, str]] = {}
    for outcome in outcomes:
        if outcome.packed:
            packed.setdefault(outcome.folder.parent, {})[outcome.folder.name] = str(outcome.folder)
    # Of a folder the path is its own, not that of the file in it.
    place = pl.col(_PATH).str.strip_suffix(f"/{name}.parquet")
    found = [_of_files(alone).with_columns(place)] if alone else []
    for root, of_names in packed.items():
        paths = pl.DataFrame({WHOSE: list(of_names), _PATH: list(of_names.values())})
        rows = Packs(root).table(list(of_names), name)
        found.append(rows.join(paths, on=WHOSE, maintain_order="left").drop(WHOSE))
    return found[0] if len(found) == 1 else pl.concat(found, how="diagonal_relaxed")


def _of_files(paths: list[str]) -> pl.DataFrame:
    """Several files of a table, with the column `_PATH`; a column that one lacks has no values there.

    What a flow has columns for depends on its application, so the files of a sweep may differ in them.
    """
    try:
        return pl.read_parquet(paths, glob=False, include_file_paths=_PATH)
    except (pl.exceptions.SchemaError, pl.exceptions.ColumnNotFoundError):
        each = (pl.read_parquet(path, glob=False, include_file_paths=_PATH) for path in paths)
        return pl.concat(each, how="diagonal")
