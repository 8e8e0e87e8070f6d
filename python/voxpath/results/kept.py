"""A run as anybody may hand it over, by its folder or its name in a store: read, or refused by that name."""

from __future__ import annotations

import contextlib
import json
import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from voxpath import files
from voxpath.names import did_you_mean
from voxpath.results import digests
from voxpath.results.identity import FORMAT
from voxpath.results.packs import WHOSE, Packs
from voxpath.results.problems import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_IDENTITY = {"format": int, "replication": int, "backend": str, "build": str, "plan_sha256": str}
_VERDICT = {"valid": bool}
_PLAN = {"name": str, "seed": int}


@dataclass(frozen=True)
class Kept:
    """A run that was kept.

    Attributes:
        folder: Where; a run in a pack has none of this name.
        identity: What it is.
        verdict: Whether it is worth anything.
        plan: What was run.
    """

    folder: Path
    identity: Mapping[str, Any]
    verdict: Mapping[str, Any]
    plan: Mapping[str, Any]

    @classmethod
    def read(cls, folder: Path) -> Kept:
        """Reads the small files of a run, and checks that all of them are what was written.

        Raises:
            StoreError: They are not, or this is no run.
        """
        packed = in_pack(folder)
        described = None if packed is None else packed.described(folder.name)
        # First of all: digests, tables and columns of other versions are others.
        identity = _object(folder, described, "identity.json", _IDENTITY)
        if identity["format"] != FORMAT:
            raise StoreError(
                f"{folder} was kept by another version of voxpath: run its scenario again, or read it by"
                " that version"
            )
        try:
            if packed is None:
                digests.check(folder, "verdict.json")
        except OSError as error:
            raise StoreError(f"{folder} cannot be read: {error.strerror or error}") from None
        verdict = _object(folder, described, "verdict.json", _VERDICT)
        plan = _object(folder, described, "plan.json", _PLAN)
        return cls(folder, identity, verdict, plan)

    @property
    def packed(self) -> bool:
        """Whether it lies in a pack, and not in a folder."""
        return not self.folder.is_dir()


def in_pack(folder: Path) -> Packs | None:
    """The packs in which a run lies that has no folder.

    Raises:
        StoreError: Its pack is not what was written, or of another version.
    """
    if folder.exists():
        return None
    packs = _packs(folder.parent, Path.cwd(), threading.get_ident())
    packs.look_again()
    return None if packs.find(folder.name) is None else packs


@lru_cache(maxsize=4)
def _packs(root: Path, _directory: Path, _thread: int) -> Packs:
    """Those of a store. Each reading of a run asks for them, and which runs there are is read once.

    Args:
        root: The store's directory.
        _directory: From which it is told.
        _thread: Who reads; what one thread has looked at, no other one changes.
    """
    return Packs(root)


def is_run(place: Path) -> bool:
    """Whether a run is kept there, in a folder or in a pack.

    Raises:
        StoreError: As `in_pack`.
    """
    return (place / "verdict.json").is_file() or in_pack(place) is not None


def tables_of(folder: Path) -> list[str]:
    """Names of the tables of a run."""
    packed = in_pack(folder)
    return (
        sorted(path.stem for path in folder.glob("*.parquet"))
        if packed is None
        else packed.tables(folder.name)
    )


def table(folder: Path, name: str) -> pl.DataFrame:
    """A table of a run.

    Raises:
        StoreError: It cannot be read.
    """
    try:
        packed = in_pack(folder)
        with readable(folder):
            if packed is not None:
                return packed.table([folder.name], name).drop(WHOSE)
            return pl.read_parquet(folder / f"{name}.parquet", glob=False)
    except FileNotFoundError:
        known = tables_of(folder)
        told = f"it has no table {name!r}; {did_you_mean(name, known)}"
        raise StoreError(f"{folder} cannot be read: {told}") from None
    except OSError as error:
        raise StoreError(f"{folder} cannot be read: {error}") from None


UNREADABLE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, LookupError)
"""What is raised where a table is none, or has not what is looked for in it."""


@contextlib.contextmanager
def readable(folder: Path) -> Iterator[None]:
    """What is found wrong with a run's tables, by panics of polars too, is a fault of the run.

    Raises:
        StoreError: It found something.
    """
    try:
        yield
    except UNREADABLE as error:
        said = str(error).splitlines()
        raise StoreError(f"{folder} cannot be read: {said[0] if said else type(error).__name__}") from None


def _object(
    folder: Path, described: Mapping[str, bytes] | None, name: str, keys: Mapping[str, type]
) -> dict[str, Any]:
    try:
        found: Any = json.loads(files.read(folder / name) if described is None else described[name])
    except OSError as error:
        raise StoreError(f"{folder} is no run: {name}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{folder} is no run: {name} is no JSON: {error}") from None
    for key, kind in keys.items():
        if not isinstance(found, dict) or not isinstance(found.get(key), kind):
            raise StoreError(f"{folder} is no run: {name} has no {key!r}, {_KINDS[kind]}")
    return dict(found)


_KINDS = {int: "a whole number", str: "a text", bool: "true or false"}
