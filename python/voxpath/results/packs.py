"""Packs: runs of a sweep that lie together in a few files, not in a folder each.

A pack is a folder below `packs` in the store's directory. Its files are sorted by the runs' names:

- `pack.json`: the format, and how many runs there are;
- `manifest.parquet`: a row for each run: its name, what it is (`Identity`) and its verdict;
- `scenarios.parquet`: which files the scenario of each run has, the plan among them, by digest;
- `contents.parquet`: these files, each once;
- `environment.parquet`: where, when and how fast each run was made;
- `tables/flows.parquet` and so on: the runs' tables, one below the other. Their column `run` is the row of
  the manifest.

The runs of a pack have tables of the same columns. A worker keeps each batch of runs as a *loose* pack. They
are gathered into larger ones from time to time, and at the end of a sweep into packs of up to `MOST_RUNS`.
What lies in these depends on the runs alone and not on who made them, in which order, or how often it was
interrupted. Nothing is ever changed in a pack: another takes its place. Of a run that is in several of them,
as after `--force`, the youngest counts.

Packs hold valid runs that recorded nothing but their tables. Others have a folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import math
import re
import secrets
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
"""Of a sealed pack."""

_GATHERED = 64
"""So many loose packs of about one size are gathered into one."""

_NAME = re.compile(r"(loose-)?[0-9a-f]{16}-[0-9a-f]{16}")
"""What packs are called; whatever else lies beside them is somebody's own."""

_ASIDE = "damaged-"

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
        contents: dict[str, bytes] = {}
        scenarios: dict[str, dict[str, str]] = {}
        for row, run in zip(manifest, runs, strict=True):
            row |= {key: canonical(row[key]) for key in _NESTED}
            files = {}
            for path, data in {**run.scenario, _PLAN: run.identity.plan.encode()}.items():
                files[path] = hashlib.sha256(data).hexdigest()
                contents[files[path]] = data
            row["scenario"] = _digest(files)
            scenarios[row["scenario"]] = files
        listed = [(name, *file) for name, files in scenarios.items() for file in files.items()]
        return cls(
            pl.DataFrame(manifest),
            pl.DataFrame(listed, schema=_OF_SCENARIOS, orient="row"),
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
            name: pl.read_parquet(folder / _TABLES / f"{name}.parquet", glob=False)
            for name in _tables(folder)
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
            scenarios=self.scenarios.unique().sort("scenario", "path"),
            contents=self.contents.unique("sha256", keep="first").sort("sha256"),
            environment=self.environment.unique("name", keep="last").sort("name"),
            tables=tables,
        )

    def part(self, start: int, runs: int) -> _Contents:
        """Some of the runs, one after the other."""
        manifest = self.manifest.slice(start, runs)
        within = pl.col(RUN).is_between(start, start + runs - 1)
        scenarios = self.scenarios.join(manifest, on="scenario", how="semi", maintain_order="left")
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


_OF_SCENARIOS = {"scenario": pl.String, "path": pl.String, "sha256": pl.String}
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
        self._held: _Index | None = None

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
        return sorted(self._index().found)

    def find(self, name: str) -> Path | None:
        """The pack of a run.

        Raises:
            DamagedError: It is not what was written.
            StoreError: A pack is of another version, or cannot be read.
        """
        index = self._index()
        if (pack := index.found.get(name)) is None and (lost := index.lost.get(name)) is not None:
            reason = index.damaged[lost]
            raise DamagedError(self.root / name, f"{lost.relative_to(self.root)}: {reason}")
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
            rows = pl.read_parquet(pack / _TABLES / f"{table}.parquet", glob=False)
            found.append(rows.join(known, on=RUN, maintain_order="left").drop(RUN))
        return pl.concat(found, how="diagonal_relaxed")

    def tables(self, name: str) -> list[str]:
        """Names of the tables of a run.

        Raises:
            StoreError: There is no such run.
        """
        return self._retried(lambda: _tables(self._pack(name)))

    def described(self, name: str) -> dict[str, bytes]:
        """The files of a run that are no tables, as its folder would have them.

        Raises:
            StoreError: There is no such run.
        """
        return self._retried(lambda: self._described(name))

    def _described(self, name: str) -> dict[str, bytes]:
        pack = self._pack(name)
        (row,) = _manifest(pack).filter(name=name).drop("name").to_dicts()
        verdict, scenario = row.pop("verdict"), row.pop("scenario")
        row |= {key: json.loads(row[key]) for key in _NESTED}
        files = pl.read_parquet(pack / _SCENARIOS, glob=False).filter(scenario=scenario)
        contents = pl.read_parquet(pack / _CONTENTS, glob=False)
        contents = files.join(contents, on="sha256", maintain_order="left")
        environments = pl.read_parquet(pack / digests.ENVIRONMENTS, glob=False)
        (environment,) = environments.filter(name=name).drop("name").to_dicts()
        return {
            **dict(contents.select("path", "data").iter_rows()),
            "identity.json": canonical(row).encode(),
            "verdict.json": verdict.encode(),
            digests.ENVIRONMENT: digests.sealed(environment),
        }

    def overview(self) -> pl.DataFrame:
        """What each run is: `name`, `backend`, `build`, `replication`, `plan_sha256` and `started`, in UTC.

        Raises:
            StoreError: A pack is of another version, or cannot be read.
        """
        return self._retried(self._overview)

    def _overview(self) -> pl.DataFrame:
        columns = ["name", "backend", "build", "replication", "plan_sha256"]
        found = []
        packs = dict.fromkeys(self._index().found.values())
        for pack in packs:
            made = pl.read_parquet(pack / digests.ENVIRONMENTS, glob=False, columns=["name", "started"])
            found.append(_manifest(pack, *columns).join(made, on="name", how="left"))
        if not found:
            return pl.DataFrame(schema=dict.fromkeys([*columns, "started"], pl.String))
        return pl.concat(found, how="diagonal_relaxed").unique("name", keep="last", maintain_order=True)

    def plans(self) -> pl.DataFrame:
        """Each plan of a run once: `plan_sha256`, `plan` and `text`, which is the scenario's.

        Raises:
            StoreError: A pack is of another version, or cannot be read.
        """
        return self._retried(self._plans)

    def _plans(self) -> pl.DataFrame:
        found = []
        for pack in dict.fromkeys(self._index().found.values()):
            whose = _manifest(pack, "plan_sha256", "scenario").unique("plan_sha256", maintain_order=True)
            listed = pl.read_parquet(pack / _SCENARIOS, glob=False)
            contents = pl.read_parquet(pack / _CONTENTS, glob=False)
            for path, column in ((_PLAN, "plan"), ("scenario.toml", "text")):
                mine = listed.filter(path=path).select("scenario", "sha256").unique("scenario")
                mine = mine.join(contents, on="sha256").select("scenario", pl.col("data").alias(column))
                whose = whose.join(mine, on="scenario", how="left", maintain_order="left")
            found.append(whose.drop("scenario"))
        if not found:
            return pl.DataFrame(schema={"plan_sha256": pl.String, "plan": pl.Binary, "text": pl.Binary})
        return pl.concat(found).unique("plan_sha256", maintain_order=True)

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
            for packs in self._intact(loose=True).values():
                # By size, so that a run is written anew a few times only.
                by_size: dict[int, list[Path]] = {}
                for pack in packs:
                    by_size.setdefault(int(math.log(_runs(pack), _GATHERED)), []).append(pack)
                for some in by_size.values():
                    if len(some) >= _GATHERED:
                        contents = _Contents.joined([_Contents.read(pack) for pack in some])
                        self._replace(some, {_LOOSE + contents.name: contents})

    def seal(self) -> None:
        """Makes packs of up to `MOST_RUNS` of all loose ones, and of small ones that are there.

        Raises:
            StoreError: They cannot be written.
        """
        with self._merging():
            packs = self._intact(loose=True)
            # Looked at only if there is something to merge: they may be large.
            sealed = self._intact(loose=False) if packs else {}
            for shape, loose in packs.items():
                contents = _Contents.joined([_Contents.read(pack) for pack in loose])
                runs = contents.manifest.height
                small = []
                # As few large packs as small ones take part in: each run is merged a few times only.
                for pack in sorted(sealed.get(shape, []), key=_runs):
                    if (held := _runs(pack)) < MOST_RUNS and held <= 2 * runs:
                        small.append(pack)
                        runs += held
                older = [_Contents.read(pack) for pack in sorted(small, key=_age)]
                contents = _Contents.joined([*older, contents])
                parts = [
                    contents.part(start, MOST_RUNS) for start in range(0, contents.manifest.height, MOST_RUNS)
                ]
                self._replace([*small, *loose], {part.name: part for part in parts})

    def set_aside(self) -> None:
        """Renames packs that are not what was written, so that nobody meets them again; nothing is removed.

        Raises:
            StoreError: They cannot be renamed.
        """
        damaged = self._index().damaged
        with self._merging():
            for pack in damaged:
                try:
                    # Somebody else may have put an intact one in its place.
                    digests.check(pack, _HEAD)
                except DamagedError:
                    try:
                        pack.rename(pack.with_name(f"{_ASIDE}{pack.name}-{secrets.token_hex(4)}"))
                    except FileNotFoundError:
                        continue
                    except OSError as error:
                        raise StoreError(f"cannot rename {pack}: {error.strerror or error}") from error
                except FileNotFoundError:
                    continue

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

    def _intact(self, *, loose: bool) -> dict[str, list[Path]]:
        """Packs that are what was written, by their shape, the oldest first: loose ones, or sealed ones."""
        found: dict[str, list[Path]] = {}
        for pack in self._retried(self._there):
            if pack.name.startswith(_LOOSE) == loose:
                with contextlib.suppress(DamagedError, FileNotFoundError):
                    digests.check(pack, _HEAD)
                    found.setdefault(pack.name.split("-")[-2], []).append(pack)
        return found

    def _there(self) -> list[Path]:
        """Directories that are called as packs are, the oldest first.

        Raises:
            FileNotFoundError: One was merged meanwhile.
        """
        called = (self.directory / name for name in self._folders.names() if _NAME.fullmatch(name))
        return sorted((pack for pack in called if not pack.is_symlink()), key=_age)

    def _pack(self, name: str) -> Path:
        pack = self._index().found.get(name)
        if pack is None:
            raise StoreError(f"{self.root / name} is no run of {self.root}")
        return pack

    def _index(self) -> _Index:
        if self._held is None:
            self._held = self._retried(self._indexed)
        return self._held

    def _indexed(self) -> _Index:
        """The runs of all packs.

        Raises:
            FileNotFoundError: One was merged meanwhile.
        """
        index = _Index({}, {}, {})
        for pack in self._there():
            try:
                digests.check(pack, _HEAD)
            except DamagedError as error:
                # A file may be missing because all of it is being removed.
                _age(pack)
                index.damaged[pack] = error.reason
                index.lost.update(dict.fromkeys(_names(pack), pack))
                continue
            if (version := _head(pack)["format"]) != FORMAT:
                raise StoreError(
                    f"{pack} was kept by another version of voxpath (its format is {version}, not {FORMAT}): "
                    "use another directory, or that version"
                )
            index.found.update(dict.fromkeys(_names(pack), pack))
        return index

    def _retried(self, read: Callable[[], _T]) -> _T:
        """Reads again what another process merged meanwhile."""
        for _ in range(_MERGES):
            try:
                return read()
            except FileNotFoundError:
                before, self._held = self._held, None
                if before is not None and all(pack.is_dir() for pack in set(before.found.values())):
                    raise
        return read()


@dataclass(frozen=True)
class _Index:
    """Which runs there are.

    Attributes:
        found: The pack of each.
        lost: Those of packs that are not what was written, as far as these can still be read.
        damaged: What is wrong with such packs.
    """

    found: dict[str, Path]
    lost: dict[str, Path]
    damaged: dict[Path, str]


def _names(pack: Path) -> list[str]:
    """Of a pack's runs, by whichever file of it can be read."""
    for file in (_MANIFEST, digests.ENVIRONMENTS):
        with contextlib.suppress(pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
            found = pl.read_parquet(pack / file, glob=False, columns=["name"])
            return [str(name) for name in found.get_column("name")]
    return []


def _tables(pack: Path) -> list[str]:
    """Names of a pack's tables."""
    prefix = f"{_TABLES}/"
    told = json.loads((pack / digests.FILE).read_bytes())
    return sorted(
        path.removeprefix(prefix).removesuffix(".parquet") for path in told if path.startswith(prefix)
    )


def _age(pack: Path) -> tuple[int, str]:
    """To sort by: packs that are younger come later."""
    return pack.stat().st_mtime_ns, pack.name


def _runs(pack: Path) -> int:
    return _head(pack)["runs"]


def _manifest(pack: Path, *columns: str) -> pl.DataFrame:
    return pl.read_parquet(pack / _MANIFEST, glob=False, columns=list(columns) or None)


def _head(pack: Path) -> dict[str, int]:
    told: dict[str, int] = json.loads((pack / _HEAD).read_bytes())
    return told
