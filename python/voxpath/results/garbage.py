"""What a store holds that no sweep will use again, and how it is given back."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from voxpath import files
from voxpath.results.problems import StoreError

if TYPE_CHECKING:
    from pathlib import Path

    from voxpath.results.store import Store

_AGAIN = "sim"
"""Runs of this backend can be made again; a run in real time cannot."""


def of_other_builds(build: str) -> pl.Expr:
    """Holds of packed runs that no sweep of this build finds; it is asked of their manifest."""
    return (pl.col("backend") == _AGAIN) & (pl.col("build") != build)


@dataclass(frozen=True)
class Collected:
    """What was done to a store.

    Attributes:
        left: Folders that killed processes left, removed.
        damaged: Packs that were set aside since they are not what was written, removed.
        runs: Simulated runs of other builds, removed.
        others: Those that are there still.
        unmerged: Why small packs are left as they are, if they are.
        before: Files before that, and their bytes.
        after: Files now, and their bytes.
    """

    left: int
    damaged: int
    runs: int
    others: int
    unmerged: str | None
    before: tuple[int, int]
    after: tuple[int, int]


def collect(store: Store, build: str, *, other_builds: bool) -> Collected:
    """Removes what is of no use from a store, and merges many small packs. Nobody else is disturbed.

    Args:
        store: Where.
        build: The engine whose runs stay.
        other_builds: Whether simulated runs of other builds go: no sweep of this build finds them.

    Raises:
        StoreError: The store cannot be read, or something cannot be removed.
    """
    before = _size(store.root)
    left = store.clean()
    # Packs of another version are refused before anything that is of use is removed.
    store.packs.names()
    damaged = store.packs.drop_damaged()
    dropped = 0
    packed = of_other_builds(build)
    folders = [name for name in store.names() if _is_other(store.root / name, build)]
    if other_builds:
        for name in folders:
            store.remove(name)
        dropped = len(folders) + store.packs.drop(packed)
    unmerged = None
    try:
        # Not sealed: of a sweep that is under way the last packs would hold other parts.
        store.packs.gather()
    except StoreError as error:
        # As on a full disk, where what was removed is of use all the same.
        unmerged = str(error)
    others = 0 if other_builds else len(folders) + store.packs.count(packed)
    return Collected(left, damaged, dropped, others, unmerged, before, _size(store.root))


def _is_other(folder: Path, build: str) -> bool:
    """Whether a folder is of a simulated run of another build."""
    try:
        told = json.loads(files.read(folder / "identity.json"))
    except (OSError, ValueError):
        # It is no run, or one that the next sweep makes again in its place.
        return False
    return isinstance(told, dict) and told.get("backend") == _AGAIN and told.get("build") != build


def _size(root: Path) -> tuple[int, int]:
    """Files below a directory, and their bytes. What another process removes meanwhile does not count.

    Raises:
        StoreError: It cannot be read.
    """
    count = total = 0

    def refuse(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise error

    try:
        for folder, _, names in os.walk(root, onerror=refuse):
            for name in names:
                with contextlib.suppress(FileNotFoundError):
                    total += os.lstat(f"{folder}/{name}").st_size
                    count += 1
    except OSError as error:
        raise StoreError(f"cannot read {root}: {error.strerror or error}") from error
    return count, total
