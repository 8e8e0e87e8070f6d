"""Frames as files, in the format that the name of the file says."""

from __future__ import annotations

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
