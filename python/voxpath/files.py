"""Frames as files, in the format that the name of the file says; reports as pages."""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import TYPE_CHECKING

from voxpath.scenario.problems import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import polars as pl

_WRITERS: dict[str, Callable[[pl.DataFrame, Path], object]] = {
    ".csv": lambda frame, path: frame.write_csv(path),
    ".json": lambda frame, path: frame.write_json(path),
    ".parquet": lambda frame, path: frame.write_parquet(path),
}


def check(path: Path) -> None:
    """Refuses a file that `save` could not write.

    Raises:
        ValueError: Its name says no format that is known, or its directory is not there.
    """
    if path.suffix not in _WRITERS:
        raise ValueError(f"{path.name!r} says no format; {did_you_mean(path.suffix, _WRITERS)}")
    if not path.parent.is_dir():
        raise ValueError(f"there is no directory {path.parent}")


def save(frame: pl.DataFrame, path: Path) -> None:
    """Writes a frame."""
    _WRITERS[path.suffix](frame, path)


def check_page(path: Path) -> None:
    """Refuses a page that `save_page` could not write, by writing beside it what it would.

    Raises:
        ValueError: Its name is no page's, or nothing can be written there.
    """
    if path.suffix != ".html":
        raise ValueError(f"{path.name!r} is no page: its name ends in .html")
    if path.is_dir():
        raise ValueError(f"{path} is a directory")
    if not path.parent.is_dir():
        raise ValueError(f"there is no directory {path.parent}")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise ValueError(f"cannot write to {path.parent}: {error.strerror or error}") from None


def save_page(text: str, path: Path) -> None:
    """Writes a page whole or not at all.

    Raises:
        ValueError: It cannot be written.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_text(text, "utf-8")
        partial.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise ValueError(f"cannot write {path}: {error.strerror or error}") from None
