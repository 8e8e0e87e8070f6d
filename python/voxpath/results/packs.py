"""Packs: runs of a sweep that lie together in a few files, not in a folder each.

A pack is a folder below `packs` in the store's directory. Its files are sorted by the runs' names:

- `pack.json`: the format, and how many runs there are;
- `manifest.parquet`: a row for each run: its name, what it is (`Identity`) and its verdict;
- `scenarios.parquet`: which files the scenario of each plan has, the plan among them, by digest;
- `contents.parquet`: these files, each once;
- `environment.parquet`: where, when and how fast each run was made;
- `tables/flows.parquet` and so on: the runs' tables, one below the other. Their column `run` is the row of
  the manifest.

The runs of a pack have tables of the same columns. A worker keeps each batch of runs as a *loose* pack. They
are gathered into larger ones from time to time, and at the end of a sweep into packs of up to `MOST_RUNS`.
What lies in these depends on the runs alone and not on who made them, in which order, or how often it was
interrupted. Nothing is ever changed in a pack: another takes its place.

Packs hold valid runs that recorded nothing but their tables. Others have a folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from voxpath import halts
from voxpath.canonical import canonical
from voxpath.results import digests
from voxpath.results.folders import Folders, locked
from voxpath.results.frames import RUN, parquet
from voxpath.results.problems import DamagedError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from voxpath.results.identity import Identity

FORMAT = 1
"""Version of a pack's layout."""

MOST_RUNS = 1 << 16
"""Of a pack: a merge holds twice as many in memory."""

_GATHERED = 64
"""So many loose packs are gathered into one."""

_DIRECTORY = "packs"
"""Below the store's; no run is called so."""

WHOSE = "_run"
"""A column for the name of a run; no metric is called so."""

_MERGES = 8
"""So often others may merge while one process reads."""

_MANIFEST = "manifest.parquet"
_SCENARIOS = "scenarios.parquet"
_CONTENTS = "contents.parquet"
_HEAD = "pack.json"
_LOOSE = "loose-"
_TABLES = "tables"
_PLAN = "plan.json"
_NESTED = ("files", "observe")
"""Of an identity; in a manifest they are JSON."""

_T = TypeVar("_T")


@dataclass(frozen=True)
class Packable:
    """A run that may be packed, but for its tables.

    Attributes:
        identity: What it is.
        scenario: Files of the scenario, by name.
        verdict: JSON.
        environment: What may differ between two runs of one identity.
    """

    identity: Identity
    scenario: Mapping[str, bytes]
    verdict: str
    environment: Mapping[str, Any]


@dataclass(frozen=True)
class _Contents:
    """What a pack holds, sorted by the runs' names."""

    manifest: pl.DataFrame
    scenarios: pl.DataFrame
    contents: pl.DataFrame
    environment: pl.DataFrame
    tables: Mapping[str, pl.DataFrame]

    @classmethod
    def of(cls, runs: Sequence[Packable], tables: Mapping[str, pl.DataFrame]) -> _Contents:
        """Those of runs that were just made; in the tables they go by their index."""
        manifest = [
            {"name": run.identity.name, **json.loads(run.identity.json), "verdict": run.verdict}
            for run in runs
        ]
        for row in manifest:
            row |= {key: canonical(row[key]) for key in _NESTED}
        plans = {row["plan_sha256"]: run for row, run in zip(manifest, runs, strict=True)}
        files = {plan: {**run.scenario, _PLAN: run.identity.plan.encode()} for plan, run in plans.items()}
        scenarios = [
            (plan, path, hashlib.sha256(data).hexdigest())
            for plan, some in files.items()
            for path, data in some.items()
        ]
        contents = {
            hashlib.sha256(data).hexdigest(): data for some in files.values() for data in some.values()
        }
        return cls(
            pl.DataFrame(manifest),
            pl.DataFrame(scenarios, schema=_OF_SCENARIOS, orient="row"),
            pl.DataFrame({"sha256": list(contents), "data": list(contents.values())}, schema=_OF_CONTENTS),
            pl.DataFrame([{"name": run.identity.name, **run.environment} for run in runs]),
            tables,
        ).sorted()

    @classmethod
    def read(cls, folder: Path) -> _Contents:
        """Those of a pack."""
        manifest, scenarios, contents, environment = (
            pl.read_parquet(folder / name, glob=False)
            for name in (_MANIFEST, _SCENARIOS, _CONTENTS, digests.ENVIRONMENTS)
        )
        tables = {
            path.stem: pl.read_parquet(path, glob=False)
            for path in sorted((folder / _TABLES).glob("*.parquet"))
        }
        return cls(manifest, scenarios, contents, environment, tables)

    @classmethod
    def joined(cls, some: Sequence[_Contents]) -> _Contents:
        """Those of several packs; of a run that is in more than one of them the last counts."""
        offsets = [0]
        for one in some:
            offsets.append(offsets[-1] + one.manifest.height)

        def rows(name: str) -> pl.DataFrame:
            moved = (
                one.tables[name].with_columns(pl.col(RUN) + offset)
                for one, offset in zip(some, offsets, strict=False)
            )
            return pl.concat(moved)

        return cls(
            pl.concat(one.manifest for one in some),
            pl.concat(one.scenarios for one in some),
            pl.concat(one.contents for one in some),
            pl.concat((one.environment for one in some), how="diagonal_relaxed"),
            {name: rows(name) for name in some[0].tables},
        ).sorted()

    def sorted(self) -> _Contents:
        """The same in order, each run and each file once."""
        places = self.manifest.select("name").with_row_index("_old").unique("name", keep="last").sort("name")
        moved = places.with_row_index(RUN).with_columns(pl.col("_old", RUN).cast(pl.UInt32))
        tables = {
            name: table.rename({RUN: "_old"})
            .join(moved.select("_old", RUN), on="_old", maintain_order="left")
            .drop("_old")
            .select(RUN, pl.exclude(RUN))
            .sort(RUN, maintain_order=True)
            for name, table in self.tables.items()
        }
        return replace(
            self,
            manifest=self.manifest[moved.get_column("_old").to_list()],
            scenarios=self.scenarios.sort("plan_sha256", "path", "sha256").unique(
                ["plan_sha256", "path"], keep="first", maintain_order=True
            ),
            contents=self.contents.unique("sha256", keep="first").sort("sha256"),
            environment=self.environment.unique("name", keep="last").sort("name"),
            tables=tables,
        )

    def part(self, start: int, runs: int) -> _Contents:
        """Some of the runs, one after the other."""
        manifest = self.manifest.slice(start, runs)
        within = pl.col(RUN).is_between(start, start + runs - 1)
        scenarios = self.scenarios.join(manifest, on="plan_sha256", how="semi", maintain_order="left")
        return _Contents(
            manifest,
            scenarios,
            self.contents.join(scenarios, on="sha256", how="semi", maintain_order="left"),
            self.environment.join(manifest, on="name", how="semi", maintain_order="left"),
            {
                name: table.filter(within).with_columns(pl.col(RUN) - start)
                for name, table in self.tables.items()
            },
        )

    @cached_property
    def name(self) -> str:
        """After the tables' columns, and the runs."""
        return f"{self.shape}-{_digest(self.manifest.get_column('name').to_list())}"

    @cached_property
    def shape(self) -> str:
        """After the tables' columns."""
        return _digest(
            {
                name: [(column, str(kind)) for column, kind in table.schema.items()]
                for name, table in sorted(self.tables.items())
            }
        )

    def files(self) -> dict[str, bytes]:
        """As they are written."""
        environments = parquet(self.environment)
        return {
            _HEAD: canonical({"format": FORMAT, "runs": self.manifest.height}).encode(),
            _MANIFEST: parquet(self.manifest),
            _SCENARIOS: parquet(self.scenarios),
            _CONTENTS: parquet(self.contents),
            digests.ENVIRONMENTS: environments,
            digests.ENVIRONMENT: digests.sealing(environments),
            **{f"{_TABLES}/{name}.parquet": parquet(table) for name, table in self.tables.items()},
        }


_OF_SCENARIOS = {"plan_sha256": pl.String, "path": pl.String, "sha256": pl.String}
_OF_CONTENTS = {"sha256": pl.String, "data": pl.Binary}


def _digest(what: object) -> str:
    return hashlib.sha256(canonical(what).encode()).hexdigest()[:16]


class Packs:
    """The runs of a store that lie together.

    Attributes:
        root: The store's directory.
        directory: Where the packs are, if there are any.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.directory = root / _DIRECTORY
        self._folders = Folders(self.directory)
        self._damaged: dict[Path, str] = {}
        self._checked: set[Path] = set()
        self._held: dict[str, Path] | None = None

    def keep(self, runs: Sequence[Packable], tables: Mapping[str, pl.DataFrame]) -> None:
        """Keeps runs of one shape as a loose pack.

        Args:
            runs: What they are.
            tables: Of all of them; `run` is the index in `runs`.

        Raises:
            StoreError: They cannot be written; nothing is left of them.
        """
        contents = _Contents.of(runs, tables)
        self._folders.keep(_LOOSE + contents.name, contents.files())

    def clean(self) -> int:
        """Removes what killed processes left; returns how many folders that were."""
        return self._folders.clean()

    def names(self) -> list[str]:
        """Of all runs, in order.

        Raises:
            StoreError: A pack is of another version, or cannot be read.
        """
        return sorted(self._index())

    def find(self, name: str) -> Path | None:
        """The pack of a run.

        Raises:
            DamagedError: It is not what was written.
            StoreError: A pack is of another version, or cannot be read.
        """
        pack = self._index().get(name)
        if pack is not None and pack not in self._checked:
            try:
                digests.check(pack, _HEAD)
                self._checked.add(pack)
            except DamagedError as error:
                self._damaged[pack] = error.reason
        damaged = self._damaged if pack is None else {pack: self._damaged.get(pack)}
        for place, reason in damaged.items():
            if reason is not None:
                # Where a manifest cannot be read, any run may be in it.
                raise DamagedError(self.root / name, f"{place.relative_to(self.root)}: {reason}")
        return pack

    def table(self, names: Sequence[str], table: str) -> pl.DataFrame:
        """A table of some runs; the column `WHOSE` tells the name of the run that a row is of.

        Raises:
            StoreError: There is no such run.
            OSError: It has no such table.
        """
        return self._retried(lambda: self._table(names, table))

    def _table(self, names: Sequence[str], table: str) -> pl.DataFrame:
        by_pack: dict[Path, list[str]] = {}
        for name in names:
            by_pack.setdefault(self._pack(name), []).append(name)
        found = []
        for pack, wanted in by_pack.items():
            known = _manifest(pack, "name").rename({"name": WHOSE}).with_row_index(RUN)
            known = known.with_columns(pl.col(RUN).cast(pl.UInt32))
            if len(wanted) < known.height:
                known = known.filter(pl.col(WHOSE).is_in(wanted))
            path = pack / _TABLES / f"{table}.parquet"
            rows = pl.read_parquet(path, glob=False)
            found.append(rows.join(known, on=RUN, maintain_order="left").drop(RUN))
        return pl.concat(found, how="diagonal_relaxed")

    def tables(self, name: str) -> list[str]:
        """Names of the tables of a run.

        Raises:
            StoreError: There is no such run.
        """
        return self._retried(lambda: sorted(path.stem for path in (self._pack(name) / _TABLES).iterdir()))

    def described(self, name: str) -> dict[str, bytes]:
        """The files of a run that are no tables, as its folder would have them.

        Raises:
            StoreError: There is no such run.
        """
        return self._retried(lambda: self._described(name))

    def _described(self, name: str) -> dict[str, bytes]:
        pack = self._pack(name)
        (row,) = _manifest(pack).filter(name=name).drop("name").to_dicts()
        verdict = row.pop("verdict")
        row |= {key: json.loads(row[key]) for key in _NESTED}
        files = pl.read_parquet(pack / _SCENARIOS, glob=False).filter(plan_sha256=row["plan_sha256"])
        contents = files.join(
            pl.read_parquet(pack / _CONTENTS, glob=False), on="sha256", maintain_order="left"
        )
        environments = pl.read_parquet(pack / digests.ENVIRONMENTS, glob=False)
        (environment,) = environments.filter(name=name).drop("name").to_dicts()
        return {
            **dict(contents.select("path", "data").iter_rows()),
            "identity.json": canonical(row).encode(),
            "verdict.json": verdict.encode(),
            digests.ENVIRONMENT: digests.sealed(environment),
        }

    def files(self, name: str) -> dict[str, bytes]:
        """The files of a run, as its folder would have them.

        Raises:
            StoreError: There is no such run.
        """
        tables = {
            f"{table}.parquet": parquet(self.table([name], table).drop(WHOSE)) for table in self.tables(name)
        }
        return self.described(name) | tables

    def gather(self) -> None:
        """Makes one loose pack of many, so that a long sweep does not leave thousands of files.

        Raises:
            StoreError: It cannot be written.
        """
        with self._merging():
            for packs in self._loose().values():
                if len(packs) >= _GATHERED:
                    contents = _Contents.joined([_Contents.read(pack) for pack in packs])
                    self._replace(packs, {_LOOSE + contents.name: contents})

    def seal(self) -> None:
        """Makes packs of up to `MOST_RUNS` of all loose ones, and of small ones that are there.

        Those that were found damaged are removed: what was asked for of them has been made again.

        Raises:
            StoreError: They cannot be written.
        """
        with self._merging():
            for pack in self._damaged:
                self._folders.remove(pack.name)
            self._damaged.clear()
            for shape, loose in self._loose().items():
                contents = _Contents.joined([_Contents.read(pack) for pack in loose])
                runs = contents.manifest.height
                small = []
                # As few large packs as small ones take part in: each run is merged a few times only.
                for pack, held in sorted(self._sealed(shape).items(), key=lambda one: one[1]):
                    if held < MOST_RUNS and held <= 2 * runs:
                        small.append(pack)
                        runs += held
                contents = _Contents.joined([*map(_Contents.read, small), contents])
                parts = [
                    contents.part(start, MOST_RUNS) for start in range(0, contents.manifest.height, MOST_RUNS)
                ]
                self._replace([*small, *loose], {part.name: part for part in parts})

    def _replace(self, old: Iterable[Path], new: Mapping[str, _Contents]) -> None:
        for name, contents in new.items():
            self._folders.keep(name, contents.files())
            halts.reached("packs.merged")
        for pack in old:
            if pack.name not in new:
                self._folders.remove(pack.name)

    @contextlib.contextmanager
    def _merging(self) -> Iterator[None]:
        """One process merges at a time; others keep and read packs meanwhile."""
        if not self.directory.is_dir():
            yield
            return
        with locked(self.root, fcntl.LOCK_EX):
            try:
                yield
            finally:
                self._held = None
                self._checked.clear()

    def _loose(self) -> dict[str, list[Path]]:
        """Loose packs that are what was written, by their shape."""
        found: dict[str, list[Path]] = {}
        for name in self._folders.names():
            if name.startswith(_LOOSE):
                pack = self.directory / name
                try:
                    digests.check(pack, _HEAD)
                except DamagedError:
                    continue
                found.setdefault(name.removeprefix(_LOOSE).partition("-")[0], []).append(pack)
        return found

    def _sealed(self, shape: str) -> dict[Path, int]:
        """Sealed packs of a shape that are what was written, and how many runs each has."""
        found = {}
        for name in self._folders.names():
            if name.startswith(f"{shape}-"):
                pack = self.directory / name
                try:
                    digests.check(pack, _HEAD)
                except DamagedError:
                    continue
                found[pack] = _head(pack)["runs"]
        return found

    def _pack(self, name: str) -> Path:
        pack = self._index().get(name)
        if pack is None:
            raise StoreError(f"{self.root / name} is no run of {self.root}")
        return pack

    def _index(self) -> dict[str, Path]:
        """The pack of each run. Loose ones come last: they are younger."""
        if self._held is None:
            self._held = self._retried(self._indexed)
        return self._held

    def _indexed(self) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for folder in self._folders.names():
            pack = self.directory / folder
            if not (pack / digests.FILE).exists() and not (pack / _HEAD).exists():
                # Somebody's own.
                continue
            try:
                digests.check(pack, _HEAD, among={_HEAD, _MANIFEST})
            except DamagedError as error:
                self._damaged[pack] = error.reason
                continue
            if (version := _head(pack)["format"]) != FORMAT:
                raise StoreError(
                    f"{pack} was kept by another version of voxpath (its format is {version}, not {FORMAT}): "
                    "use another directory, or that version"
                )
            found.update(dict.fromkeys(_manifest(pack, "name").get_column("name").to_list(), pack))
        return found

    def _retried(self, read: Callable[[], _T]) -> _T:
        """Reads again what another process merged meanwhile."""
        for _ in range(_MERGES):
            try:
                return read()
            except FileNotFoundError:
                before, self._held = self._held, None
                if before is not None and all(pack.is_dir() for pack in set(before.values())):
                    raise
        return read()


def _manifest(pack: Path, *columns: str) -> pl.DataFrame:
    return pl.read_parquet(pack / _MANIFEST, glob=False, columns=list(columns) or None)


def _head(pack: Path) -> dict[str, int]:
    told: dict[str, int] = json.loads((pack / _HEAD).read_bytes())
    return told
