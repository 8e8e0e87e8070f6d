"""Files that people name: how they are opened, and how frames and pages are written.

Only regular files are opened: a FIFO would wait for somebody who writes, for ever and deaf to Ctrl-C, and a
device may do anything.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable
    from io import BufferedWriter
    from pathlib import PurePath

    import polars as pl

_WRITERS: dict[str, Callable[[pl.DataFrame, BufferedWriter], object]] = {
    ".csv": lambda frame, file: frame.write_csv(file),
    ".json": lambda frame, file: frame.write_json(file),
    ".parquet": lambda frame, file: frame.write_parquet(file),
}

FORMATS = tuple(_WRITERS)
"""Endings of files with a frame."""


class WriteError(ValueError):
    """A file that cannot be written."""


def regular(path: Path | str) -> BinaryIO:
    """Opens a regular file for reading.

    Raises:
        OSError: It cannot be read, or is none.
        ValueError: The name has a zero byte, which no file's has.
    """
    # Before it is opened, which may already do something to a device, and after: it may be another one then.
    _check_regular(os.stat(path).st_mode, path)  # noqa: PTH116 - of a text, too
    return _opened(os.open(path, _READING), path)


def read(path: Path | str) -> bytes:
    """The contents of a regular file.

    Raises:
        OSError: As `regular`.
        ValueError: As `regular`.
    """
    with regular(path) as file:
        return file.read()


def regular_below(directory: Path, name: PurePath | str) -> BinaryIO:
    """Opens a regular file that lies below a directory, whatever symbolic links are on the way.

    Raises:
        OSError: It cannot be read, is none, or lies elsewhere.
        ValueError: As `regular`.
    """
    root = directory.resolve()
    try:
        whole = (directory / name).resolve(strict=True)
    except RuntimeError:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(name)) from None
    if not whole.is_relative_to(root):
        raise OSError(errno.EXDEV, f"lies outside of {directory}, where a symbolic link leads", str(name))
    # Whoever may write there may put other links in their places meanwhile: none of these is followed.
    *folders, last = whole.relative_to(root).parts or (".",)
    with contextlib.ExitStack() as opened:

        def enter(place: PurePath | str, above: int | None = None) -> int:
            found = os.open(place, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
            opened.callback(os.close, found)
            return found

        place = enter(root)
        for folder in folders:
            place = enter(folder, place)
        _check_regular(os.stat(last, dir_fd=place, follow_symlinks=False).st_mode, name)
        return _opened(os.open(last, _READING | os.O_NOFOLLOW, dir_fd=place), name)


_READING = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def _opened(descriptor: int, path: PurePath | str) -> BinaryIO:
    try:
        _check_regular(os.fstat(descriptor).st_mode, path)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _check_regular(mode: int, path: PurePath | str) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "is no regular file", str(path))


def examples() -> dict[str, Path]:
    """The scenarios that are shipped, by name; they lie in the package."""
    folder = Path(__file__).parent / "examples"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def check(path: Path) -> None:
    """Refuses a file that `save` could not write, by writing beside it what it would.

    Raises:
        ValueError: Its name says no format that is known, or nothing can be written there.
    """
    from voxpath.names import did_you_mean

    if path.suffix not in _WRITERS:
        raise ValueError(f"{path.name!r} says no format; {did_you_mean(path.suffix, _WRITERS)}")
    _check_place(path)


def save(frame: pl.DataFrame, path: Path) -> None:
    """Writes a frame whole or not at all.

    Raises:
        WriteError: It cannot be written, or not in this format.
    """
    from polars.exceptions import PolarsError

    try:
        _write(path, lambda file: _WRITERS[path.suffix](frame, file))
    except PolarsError as error:
        raise WriteError(f"cannot write {path}: {error}") from None


def check_page(path: Path) -> None:
    """Refuses a page that `save_page` could not write, likewise.

    Raises:
        ValueError: Its name is no page's, or nothing can be written there.
    """
    if path.suffix != ".html":
        raise ValueError(f"{path.name!r} is no page: its name ends in .html")
    _check_place(path)


def save_page(text: str, path: Path) -> None:
    """Writes a page whole or not at all.

    Raises:
        WriteError: It cannot be written.
    """
    _write(path, lambda file: file.write(text.encode()))


def _check_place(path: Path) -> None:
    if path.is_dir():
        raise ValueError(f"{path} is a directory")
    if not path.parent.is_dir():
        raise ValueError(f"there is no directory {path.parent}")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise ValueError(f"cannot write to {path.parent}: {error.strerror or error}") from None


def _write(path: Path, write: Callable[[BufferedWriter], object]) -> None:
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        # A new file: others may have put a link there, where the directory is everybody's.
        with partial.open("xb") as file:
            write(file)
        partial.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        if isinstance(error, OSError):
            raise WriteError(f"cannot write {path}: {error.strerror or error}") from None
        raise
