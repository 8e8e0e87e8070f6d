"""Packs: runs of a sweep that lie together in a few files, not in a folder each.

A pack is a folder below `packs` in the store's directory. Its runs are sorted by cell and replication, so
whoever wants the runs of a cell reads a part of each file.

- `pack.json`: the format, and how many runs there are;
- `manifest.parquet`: a row for each run: its name, what it is (`Identity`) and its verdict;
- `scenarios.parquet`: which files the scenario of each run has, the plan among them, by digest;
- `contents.parquet`: these files, each once;
- `environment.parquet`: where, when and how fast each run was made;
- `tables/flows.parquet` and so on: the runs' tables, one below the other. Their column `run` is the row of
  the manifest.

The runs of a pack have tables of the same columns. A worker keeps each batch of runs as a *loose* pack. They
are gathered into larger ones from time to time, and at the end of a sweep into packs of up to `MOST_RUNS`.
This is done table by table of one such pack after the other: nobody holds all runs. What lies in these packs
depends on the runs alone and not on who made them, in which order, or how often it was interrupted.

Nothing is ever changed in a pack: another takes its place. Of a run that is in several of them, as after
`--force`, the youngest counts.

Packs hold valid runs that recorded nothing but their tables. Others have a folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import itertools
import json
import math
import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from voxpath import halts
from voxpath.canonical import canonical
from voxpath.results import digests
from voxpath.results.folders import Folders, locked
from voxpath.results.frames import RUN, parquet
from voxpath.results.index import Index
from voxpath.results.problems import DamagedError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from voxpath.results.identity import Identity

FORMAT = 2
"""Version of a pack's layout."""

MOST_RUNS = 1 << 14
"""Of a sealed pack: as many as can be sorted in some hundred megabytes, table by table."""

_GATHERED = 64
"""So many loose packs of about one size are gathered into one."""

NAME = re.compile(r"(loose-)?[0-9a-f]{16}-[0-9a-f]{16}")
"""What packs are called; whatever else lies beside them is somebody's own."""

_ASIDE = "damaged-"

_SET_ASIDE = re.compile(rf"{_ASIDE}{NAME.pattern}-[0-9a-f]{{8}}")
"""What a pack is called that is not what was written."""

DIRECTORY = "packs"
"""Below the store's; no run is called so."""

WHOSE = "_run"
"""A column for the name of a run; no metric is called so."""

_MERGES = 8
"""So often others may merge while one process reads, until it has them wait."""

_MANIFEST = "manifest.parquet"
_SCENARIOS = "scenarios.parquet"
_CONTENTS = "contents.parquet"
_HEAD = "pack.json"
_LOOSE = "loose-"
_TABLES = "tables"
_PLAN = "plan.json"
TEXT = "scenario.toml"
"""Of a scenario's files, what somebody wrote."""
_KEY = ["cell", "replication"]
"""What the runs of a pack are sorted by."""
_OLD = "_old"
_FROM = "_from"
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
    """What a pack holds, sorted by cell and replication.

    Attributes:
        shape: What the columns of its tables are called after.
        table: A table by its name; of a merge, read when it is asked for.
        tables: Their names.
    """

    manifest: pl.DataFrame
    scenarios: pl.DataFrame
    contents: pl.DataFrame
    environment: pl.DataFrame
    shape: str
    tables: Sequence[str]
    table: Callable[[str], pl.DataFrame]

    @classmethod
    def of(cls, runs: Sequence[Packable], tables: Mapping[str, pl.DataFrame]) -> _Contents:
        """Those of runs that were just made; in the tables they go by their index."""
        contents: dict[str, bytes] = {}
        scenarios: dict[str, dict[str, str]] = {}
        manifest = []
        for (plan, _), some in itertools.groupby(runs, lambda run: (run.identity.plan, id(run.scenario))):
            same = list(some)
            files = {}
            for path, data in {**same[0].scenario, _PLAN: plan.encode()}.items():
                files[path] = hashlib.sha256(data).hexdigest()
                contents[files[path]] = data
            scenario = _digest(files)
            scenarios[scenario] = files
            manifest += [_row(run, scenario) for run in same]
        listed = [(name, *file) for name, files in scenarios.items() for file in files.items()]
        known = pl.DataFrame(manifest)
        places = known.select(*_KEY).with_row_index(_OLD).unique(_KEY, keep="last").sort(_KEY)
        places = places.select(_OLD).with_row_index(RUN).with_columns(pl.col(_OLD, RUN).cast(pl.UInt32))
        order = places.get_column(_OLD).to_list()
        if order != list(range(len(runs))):
            tables = {name: _moved(rows, places) for name, rows in tables.items()}
        return cls(
            known[order],
            pl.DataFrame(listed, schema=_OF_SCENARIOS, orient="row").sort("scenario", "path"),
            pl.DataFrame(
                {"sha256": list(contents), "data": list(contents.values())}, schema=_OF_CONTENTS
            ).sort("sha256"),
            pl.DataFrame([{"name": run.identity.name, **run.environment} for run in runs])[order],
            _shape(tables),
            list(tables),
            lambda name: tables[name],
        )

    @property
    def name(self) -> str:
        """After the tables' columns, and the runs."""
        return f"{self.shape}-{_digest(self.manifest.get_column('name').to_list())}"

    def files(self) -> Iterator[tuple[str, bytes]]:
        """As they are written, one after the other."""
        environments = parquet(self.environment)
        yield _HEAD, canonical({"format": FORMAT, "runs": self.manifest.height}).encode()
        yield _MANIFEST, parquet(self.manifest)
        yield _SCENARIOS, parquet(self.scenarios)
        yield _CONTENTS, parquet(self.contents)
        yield digests.ENVIRONMENTS, environments
        yield digests.ENVIRONMENT, digests.sealing(environments)
        for name in self.tables:
            yield f"{_TABLES}/{name}.parquet", parquet(self.table(name), by=RUN)


def _row(run: Packable, scenario: str) -> dict[str, Any]:
    """A row of the manifest."""
    identity = run.identity
    told: dict[str, Any] = json.loads(identity.json)
    told |= {key: canonical(told[key]) for key in _NESTED}
    return {
        "name": identity.name,
        "cell": identity.cell,
        **told,
        "verdict": run.verdict,
        "scenario": scenario,
    }


def _shape(tables: Mapping[str, pl.DataFrame]) -> str:
    """After the tables' columns."""
    columns = {
        name: [(column, str(kind)) for column, kind in table.schema.items()]
        for name, table in sorted(tables.items())
    }
    return _digest(columns)


def _moved(rows: pl.DataFrame, places: pl.DataFrame) -> pl.DataFrame:
    """The rows of some runs in the order of their new numbers; `places` tells `RUN` by `_OLD`."""
    found = rows.rename({RUN: _OLD}).join(places, on=_OLD, maintain_order="left")
    return found.select(RUN, pl.exclude(RUN, _OLD)).sort(RUN, maintain_order=True)


class _Merge:
    """Packs of one shape as one sequence of runs, of which parts are read one after the other.

    Of a run that is in more than one of them the last counts. Runs of which `without` holds are left out.
    """

    def __init__(self, packs: Sequence[Path], without: pl.Expr | None = None) -> None:
        self._packs = packs
        asked = [] if without is None else without.meta.root_names()
        known = [
            _manifest(pack, *dict.fromkeys((*_KEY, *asked)))
            .with_row_index(_OLD)
            .with_columns(pl.lit(number, pl.UInt32).alias(_FROM))
            for number, pack in enumerate(packs)
        ]
        every = pl.concat(known)
        some = every if without is None else every.filter(~without)
        self.dropped = every.height - some.height
        order = some.unique(_KEY, keep="last", maintain_order=True).sort(_KEY)
        self._order = order.select(_FROM, pl.col(_OLD).cast(pl.UInt32))

    def parts(self) -> Iterator[_Contents]:
        """The packs that take their place."""
        for start in range(0, self._order.height, MOST_RUNS):
            yield self._part(self._order.slice(start, MOST_RUNS))

    def _part(self, order: pl.DataFrame) -> _Contents:
        numbered = order.with_row_index(RUN).with_columns(pl.col(RUN).cast(pl.UInt32))
        taken = [
            (self._packs[number], places.drop(_FROM))
            for (number,), places in numbered.partition_by(_FROM, as_dict=True, maintain_order=True).items()
        ]

        def table(name: str) -> pl.DataFrame:
            found = (_moved(_rows(pack, name, places.get_column(_OLD)), places) for pack, places in taken)
            return pl.concat(found).sort(RUN, maintain_order=True)

        def joined(name: str, by: str, among: pl.Series) -> pl.DataFrame:
            found = pl.concat((_read(pack, name) for pack, _ in taken), how="diagonal_relaxed")
            return found.filter(pl.col(by).is_in(among.implode()))

        manifest = pl.concat(
            _read(pack, _MANIFEST)[places.get_column(_OLD).to_list()].with_columns(places.get_column(RUN))
            for pack, places in taken
        ).sort(RUN)
        scenarios = joined(_SCENARIOS, "scenario", manifest.get_column("scenario")).unique()
        contents = joined(_CONTENTS, "sha256", scenarios.get_column("sha256"))
        made = joined(digests.ENVIRONMENTS, "name", manifest.get_column("name"))
        made = made.unique("name", keep="last", maintain_order=True)
        return _Contents(
            manifest.drop(RUN),
            scenarios.sort("scenario", "path"),
            contents.unique("sha256", keep="first").sort("sha256"),
            manifest.select("name").join(made, on="name", how="left", maintain_order="left"),
            self._packs[0].name.split("-")[-2],
            _tables(self._packs[0]),
            table,
        )


def _read(pack: Path, name: str) -> pl.DataFrame:
    return pl.read_parquet(pack / name, glob=False)


def _rows(pack: Path, table: str, runs: pl.Series) -> pl.DataFrame:
    """At least the rows of these runs of a table: of its file only the parts are read where they are."""
    within = pl.col(RUN).is_between(runs.min(), runs.max())
    return pl.scan_parquet(pack / _TABLES / f"{table}.parquet", glob=False).filter(within).collect()


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
        self.directory = root / DIRECTORY
        self._folders = Folders(self.directory)
        self._held: Index | None = None
        self._listed: list[str] = []
        self._sound: set[Path] = set()
        self._damaged: dict[Path, str] = {}
        self._merges = False

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

    def look_again(self) -> None:
        """Forgets what can be otherwise by now: that packs are sound, and which there are if others are."""
        self._sound.clear()
        if self._damaged or self._listed != self._folders.names():
            self._damaged.clear()
            self._held = None

    def names(self) -> list[str]:
        """Of all runs, in order.

        Raises:
            StoreError: A pack is of another version, or cannot be read.
        """
        return list(self._index().every())

    def find(self, name: str) -> Path | None:
        """The pack of a run.

        Raises:
            DamagedError: It is not what was written.
            StoreError: A pack is of another version, or cannot be read.
        """
        return self._retried(lambda: self._found(name))

    def _found(self, name: str) -> Path | None:
        """A pack that is found to be damaged is left out from then on; an older one may have the run, too."""
        while (pack := self._index().find(name)) is not None:
            if pack in self._sound:
                return pack
            try:
                digests.check(pack, _HEAD)
            except DamagedError as error:
                # A file may be missing because all of it is being removed.
                _age(pack)
                self._damaged[pack] = error.reason
                self._held = None
            else:
                self._sound.add(pack)
        if (lost := self._index().lost.get(name)) is not None:
            raise DamagedError(self.root / name, f"{lost.relative_to(self.root)}: {self._damaged[lost]}")
        return None

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
            rows = _rows(pack, table, known.get_column(RUN))
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
        (row,) = _manifest(pack).filter(name=name).drop("name", "cell").to_dicts()
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
            DamagedError: What is read of a pack is not what was written.
            StoreError: A pack is of another version, or cannot be read.
        """
        return self._retried(self._overview)

    def _overview(self) -> pl.DataFrame:
        columns = ["name", "backend", "build", "replication", "plan_sha256"]
        found = []
        for pack in self._index().packs:
            digests.check(pack, _HEAD, only={digests.ENVIRONMENT, digests.ENVIRONMENTS})
            made = pl.read_parquet(pack / digests.ENVIRONMENTS, glob=False, columns=["name", "started"])
            found.append(_manifest(pack, *columns).join(made, on="name", how="left"))
        if not found:
            return pl.DataFrame(schema=dict.fromkeys([*columns, "started"], pl.String))
        return pl.concat(found, how="diagonal_relaxed").unique("name", keep="last", maintain_order=True)

    def plans(self) -> pl.DataFrame:
        """Each plan of a run once: `plan_sha256`, `plan` and `text`, which is the scenario's.

        Raises:
            DamagedError: What is read of a pack is not what was written.
            StoreError: A pack is of another version, or cannot be read.
        """
        return self._retried(self._plans)

    def _plans(self) -> pl.DataFrame:
        found = []
        for pack in self._index().packs:
            digests.check(pack, _HEAD, only={_SCENARIOS, _CONTENTS})
            whose = _manifest(pack, "plan_sha256", "scenario").unique("plan_sha256", maintain_order=True)
            listed = pl.read_parquet(pack / _SCENARIOS, glob=False)
            contents = pl.read_parquet(pack / _CONTENTS, glob=False)
            for path, column in ((_PLAN, "plan"), (TEXT, "text")):
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
            for packs in self._there_by_shape(loose=True).values():
                # By size, so that a run is written anew a few times only.
                by_size: dict[int, list[Path]] = {}
                for pack in packs:
                    if (runs := _runs(pack)) < MOST_RUNS / 2:
                        by_size.setdefault(int(math.log(runs, _GATHERED)), []).append(pack)
                for some in by_size.values():
                    if len(some) >= _GATHERED:
                        self._replace(_intact(some), _LOOSE)

    def seal(self) -> None:
        """Makes packs of up to `MOST_RUNS` of all loose ones, and of small ones that are there.

        Raises:
            StoreError: They cannot be written.
        """
        with self._merging():
            packs = self._there_by_shape(loose=True)
            # Looked at only if there is something to merge: they may be large.
            sealed = self._there_by_shape(loose=False) if packs else {}
            for shape, loose in packs.items():
                runs = sum(map(_runs, loose))
                there = sealed.get(shape, [])
                # A merge that was killed while it removed what it had merged has left runs that are in both.
                own = {name for pack in loose for name in _names(pack)} if there else set()
                small = []
                # As few large packs as small ones take part in: each run is merged a few times only.
                for pack in sorted(there, key=_runs):
                    held = _runs(pack)
                    if (held < MOST_RUNS and held <= 2 * runs) or not own.isdisjoint(_names(pack)):
                        small.append(pack)
                        runs += held
                self._replace(_intact([*sorted(small, key=_age), *loose]), "")

    def set_aside(self) -> None:
        """Renames packs that are not what was written, so that nobody meets them again; nothing is removed.

        Raises:
            StoreError: They cannot be renamed.
        """
        self._index()
        damaged = list(self._damaged)
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

    def count(self, which: pl.Expr, files: Collection[str] | None = None) -> int:
        """How many runs there are.

        Args:
            which: Holds of them; it is asked of the columns of their manifest.
            files: The scenario of each has a file with one of these SHA-256, if they are given.

        Raises:
            StoreError: A pack is of another version, or cannot be read.
        """
        return self._retried(lambda: self._counted(which, files))

    def _counted(self, which: pl.Expr, files: Collection[str] | None) -> int:
        found = [pl.Series(dtype=pl.String)]
        for pack in self._index().packs:
            runs = _manifest(pack, *dict.fromkeys(["name", "scenario", *which.meta.root_names()]))
            if files is not None:
                listed = _read(pack, _SCENARIOS).filter(pl.col("sha256").is_in(files))
                runs = runs.filter(pl.col("scenario").is_in(listed.get_column("scenario").implode()))
            found.append(runs.filter(which).get_column("name"))
        return pl.concat(found).n_unique()

    def drop(self, which: pl.Expr) -> int:
        """Removes runs; what shares a pack with them moves into loose packs. Returns how many runs that were.

        Args:
            which: Holds of them; it is asked of the columns of their manifest.

        Raises:
            StoreError: They cannot be removed.
        """
        dropped, asked = 0, which.meta.root_names()
        with self._merging():
            for loose in (True, False):
                for packs in self._there_by_shape(loose=loose).values():
                    shared = []
                    for pack in packs:
                        runs = _manifest(pack, *asked)
                        going = runs.filter(which).height
                        if going == runs.height:
                            # First: what is to be written anew may need its room.
                            self._folders.remove(pack.name)
                            dropped += going
                        elif going:
                            shared.append(pack)
                    dropped += self._replace(_intact(shared), _LOOSE, which)
        return dropped

    def drop_damaged(self) -> int:
        """Removes packs that were set aside; returns how many that were.

        Raises:
            StoreError: One cannot be removed.
        """
        with self._merging():
            aside = [name for name in self._folders.names() if _SET_ASIDE.fullmatch(name)]
            for name in aside:
                self._folders.remove(name)
        return len(aside)

    def _replace(self, old: Sequence[Path], prefix: str, without: pl.Expr | None = None) -> int:
        """Puts packs in the place of others, of which the last counts; returns how many runs it left out."""
        if not old:
            return 0
        new = set()
        merge = _Merge(old, without)
        for part in merge.parts():
            new.add(prefix + part.name)
            self._folders.keep(prefix + part.name, part.files())
            halts.reached("packs.merged")
        for pack in old:
            if pack.name not in new:
                self._folders.remove(pack.name)
        return merge.dropped

    @contextlib.contextmanager
    def _merging(self) -> Iterator[None]:
        """One process merges at a time; others keep and read packs meanwhile."""
        if not self.directory.is_dir():
            yield
            return
        with locked(self.root, fcntl.LOCK_EX):
            self._merges = True
            try:
                yield
            finally:
                self._merges = False
                self._held = None
                self._sound.clear()
                self._damaged.clear()

    def _there_by_shape(self, *, loose: bool) -> dict[str, list[Path]]:
        """Loose packs, or sealed ones, by their shape, the oldest first."""
        there = [pack for pack in self._retried(self._there) if pack.name.startswith(_LOOSE) == loose]
        found: dict[str, list[Path]] = {}
        for pack in _intact(there, {_HEAD}):
            if _head(pack)["format"] == FORMAT:
                found.setdefault(pack.name.split("-")[-2], []).append(pack)
        return found

    def _there(self) -> list[Path]:
        """Directories that are called as packs are, the oldest first.

        Raises:
            FileNotFoundError: One was merged meanwhile.
        """
        called = (self.directory / name for name in self._folders.names() if NAME.fullmatch(name))
        return sorted((pack for pack in called if not pack.is_symlink()), key=_age)

    def _pack(self, name: str) -> Path:
        pack = self._found(name)
        if pack is None:
            raise StoreError(f"{self.root / name} is no run of {self.root}")
        return pack

    def _index(self) -> Index:
        if self._held is None:
            self._listed = self._folders.names()
            self._held = self._retried(self._indexed)
        return self._held

    def _indexed(self) -> Index:
        """The runs of all packs.

        Raises:
            FileNotFoundError: One was merged meanwhile.
        """
        packs: list[Path] = []
        names: list[pl.Series] = []
        lost: dict[str, Path] = {}
        for pack in self._there():
            try:
                if pack not in self._damaged:
                    digests.check(pack, _HEAD, only={_HEAD, _MANIFEST})
            except DamagedError as error:
                # A file may be missing because all of it is being removed.
                _age(pack)
                self._damaged[pack] = error.reason
            if pack in self._damaged:
                lost |= dict.fromkeys(_names(pack), pack)
                continue
            if (version := _head(pack)["format"]) != FORMAT:
                raise StoreError(
                    f"{pack} was kept by another version of voxpath (its format is {version}, not {FORMAT}): "
                    "use another directory, or that version"
                )
            packs.append(pack)
            names.append(_manifest(pack, "name").get_column("name"))
        return Index(packs, names, lost)

    def _retried(self, read: Callable[[], _T]) -> _T:
        """Reads again what another process merged meanwhile."""
        for _ in range(_MERGES):
            try:
                return read()
            except FileNotFoundError:
                before, self._held = self._held, None
                if before is not None and all(pack.is_dir() for pack in before.packs):
                    raise
        if self._merges:
            return read()
        with locked(self.root, fcntl.LOCK_SH):
            return read()


def _intact(packs: Iterable[Path], only: Collection[str] | None = None) -> list[Path]:
    """Those that are what was written; of some files, if these are named."""
    found = []
    for pack in packs:
        with contextlib.suppress(DamagedError, FileNotFoundError):
            digests.check(pack, _HEAD, only)
            found.append(pack)
    return found


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
