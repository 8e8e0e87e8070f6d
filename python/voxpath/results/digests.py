"""Digests of the files of a run or a pack: a bit that flips on a disk is noticed and not taken for a result.

They guard against accidents. Whoever may write to a store may write the digests, too.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from typing import TYPE_CHECKING, Any

from voxpath.canonical import canonical
from voxpath.results.problems import DamagedError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

FILE = "digests.json"
"""The SHA-256 of every other file, by its path."""

ENVIRONMENT = "environment.json"
"""It differs between runs of one identity; so its own digest stands within it, and `FILE` does not differ."""

ENVIRONMENTS = "environment.parquet"
"""Of the runs of a pack, likewise; its digest stands in `ENVIRONMENT`."""

_DIFFERING = frozenset((ENVIRONMENT, ENVIRONMENTS))

_OWN = "sha256"
"""The key of that digest."""

_PIECE = 1 << 20
_READING = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def of(path: str, data: bytes) -> str | None:
    """What `FILE` says of a file."""
    return None if path in _DIFFERING else _hex(data)


def sealed(environment: Mapping[str, Any]) -> bytes:
    """The contents of `ENVIRONMENT`."""
    return json.dumps({**environment, _OWN: _hex(canonical(environment).encode())}, indent=2).encode()


def sealing(environments: bytes) -> bytes:
    """The contents of `ENVIRONMENT` in a pack, of those of `ENVIRONMENTS`."""
    return sealed({ENVIRONMENTS: _hex(environments)})


def check(folder: Path, needed: str, only: Collection[str] | None = None) -> None:
    """Checks that all files of a run or a pack are what was written.

    Args:
        folder: Where they are.
        needed: A file that it must have.
        only: Files that are looked at, where not all of them are.

    Raises:
        DamagedError: One is not.
        FileNotFoundError: There is no such folder.
        OSError: It cannot be read.
    """
    place = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for path, told in _told(folder, place, needed).items():
            if only is not None and path not in only:
                continue
            try:
                intact = _is_what_was_written(place, path, told)
            except FileNotFoundError:
                raise DamagedError(folder, f"{path} is missing") from None
            except _NotRegularError:
                intact = False
            if not intact:
                raise DamagedError(folder, f"{path} is not what was written")
    except OSError as error:
        # It was opened by its name within the folder, which says nothing of where that is.
        raise OSError(error.errno, error.strerror, str(folder / (error.filename or ""))) from None
    finally:
        os.close(place)


def sound(files: Mapping[str, bytes]) -> bool:
    """Whether files of a run or a pack that are held in memory, `FILE` among them, are what was written."""
    found = {path: of(path, data) for path, data in files.items() if path != FILE}
    if files.get(FILE) != canonical(found).encode():
        return False
    environment = _unsealed(files.get(ENVIRONMENT, b""))
    environments = files.get(ENVIRONMENTS)
    return environment is not None and (
        environments is None or environment.get(ENVIRONMENTS) == _hex(environments)
    )


class _NotRegularError(Exception):
    pass


def _is_what_was_written(place: int, path: str, told: str | None) -> bool:
    if path == ENVIRONMENT:
        return _environment(place) is not None
    if path == ENVIRONMENTS:
        environment = _environment(place)
        return environment is not None and environment.get(path) == _digest(place, path)
    return _digest(place, path) == told


def _told(folder: Path, place: int, needed: str) -> dict[str, str | None]:
    try:
        raw = _read(place, FILE)
        told = json.loads(raw)
        if canonical(told).encode() != raw:
            told = None
    except FileNotFoundError:
        raise DamagedError(folder, f"{FILE} is missing") from None
    except (ValueError, RecursionError, _NotRegularError):
        told = None
    if not isinstance(told, dict) or needed not in told or any("\0" in path for path in told):
        raise DamagedError(folder, f"{FILE} is not what was written")
    return told


def _environment(place: int) -> dict[str, Any] | None:
    """What `ENVIRONMENT` says, if it has its own digest within it."""
    try:
        return _unsealed(_read(place, ENVIRONMENT))
    except _NotRegularError:
        return None


def _unsealed(environment: bytes) -> dict[str, Any] | None:
    try:
        told: dict[str, Any] = json.loads(environment)
        return told if told.pop(_OWN) == _hex(canonical(told).encode()) else None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def _hex(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _digest(place: int, path: str) -> str:
    """Of a file, piece by piece: captures are large."""
    file, left = _open(place, path)
    try:
        digest = hashlib.sha256()
        while left > 0 and (piece := os.read(file, min(left, _PIECE))):
            digest.update(piece)
            left -= len(piece)
    finally:
        os.close(file)
    return digest.hexdigest()


def _read(place: int, path: str) -> bytes:
    file, size = _open(place, path)
    try:
        return os.read(file, size)
    finally:
        os.close(file)


def _open(place: int, path: str) -> tuple[int, int]:
    """A regular file and its size; in fewer calls than `files.regular`, as a sweep opens all of its runs'."""
    file = os.open(path, _READING, dir_fd=place)
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode):
        os.close(file)
        raise _NotRegularError
    return file, found.st_size
