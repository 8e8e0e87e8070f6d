"""A recording: results as values, in one file that another build's results are compared with.

It is a zip archive: `recording.json` says where it comes from, `plans.jsonl` holds the random plans, so that another
build runs the same ones, and `tables/NAME.parquet` the results. A row of a table says first what it belongs to
(`OWNER`), then what the engine says, each column by its name.
"""
# SPDX-License-Identifier: Apache-2.0

import io
import json
import zipfile
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import polars as pl

OWNER: Mapping[str, pl.DataType] = {"subject": pl.String(), "cell": pl.Int64(), "replication": pl.Int64()}
"""What a row belongs to: a scenario, study or plan, a cell of its sweep, a replication."""

_FORMAT = 1


class RecordingError(Exception):
    """A file is no recording, or one of another format."""


@dataclass(frozen=True)
class Recording:
    """Results as values.

    Attributes:
        origin: The engine's build and the commit.
        plans: Random plans, as JSON.
        tables: By name; the columns of `OWNER` come first.
    """

    origin: Mapping[str, str]
    plans: Sequence[str]
    tables: Mapping[str, pl.DataFrame]

    @property
    def subjects(self) -> set[str]:
        """What was recorded."""
        return {subject for table in self.tables.values() for subject in table["subject"].unique()}

    def of(self, subjects: Set[str]) -> dict[str, pl.DataFrame]:
        """The tables with the rows of some subjects; those that have some."""
        kept = {name: table.filter(pl.col("subject").is_in(subjects)) for name, table in self.tables.items()}
        return {name: table for name, table in kept.items() if not table.is_empty()}

    def save(self, path: Path) -> None:
        """Writes the file."""
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("recording.json", json.dumps({"format": _FORMAT, **self.origin}, indent=2))
            archive.writestr("plans.jsonl", "".join(f"{plan}\n" for plan in self.plans), zipfile.ZIP_DEFLATED)
            for name, table in self.tables.items():
                buffer = io.BytesIO()
                table.write_parquet(buffer, compression="zstd")
                archive.writestr(f"tables/{name}.parquet", buffer.getvalue())

    @classmethod
    def load(cls, path: Path) -> Self:
        """Reads a file.

        Raises:
            RecordingError: It is none.
        """
        try:
            with zipfile.ZipFile(path) as archive:
                origin = json.loads(archive.read("recording.json"))
                found = origin.pop("format")
                if found != _FORMAT:
                    raise RecordingError(f"{path} has format {found}; this program reads {_FORMAT}")
                plans = archive.read("plans.jsonl").decode().splitlines()
                tables = {
                    Path(name).stem: pl.read_parquet(archive.read(name))
                    for name in archive.namelist()
                    if name.startswith("tables/")
                }
        except (OSError, zipfile.BadZipFile, KeyError, ValueError) as error:
            raise RecordingError(f"{path} is no recording: {error}") from None
        return cls(origin, plans, tables)


class Builder:
    """Collects rows of many subjects into tables."""

    def __init__(self) -> None:
        self._tables: dict[str, list[pl.DataFrame]] = {}

    def add(self, table: str, subject: str, frame: pl.DataFrame, cell: int = 0, replication: int = 0) -> None:
        """Adds rows; columns that a frame has itself are not replaced, and the owner's others are put before them."""
        owner = {"subject": subject, "cell": cell, "replication": replication}
        missing = [
            pl.lit(owner[name], dtype).alias(name) for name, dtype in OWNER.items() if name not in frame
        ]
        rows = frame.with_columns(missing).select(*OWNER, pl.exclude(*OWNER))
        self._tables.setdefault(table, []).append(rows)

    def tables(self) -> dict[str, pl.DataFrame]:
        """Each table as a whole; where a subject has no such column, its values are null."""
        return {
            name: pl.concat(frames, how="diagonal_relaxed") for name, frames in sorted(self._tables.items())
        }
