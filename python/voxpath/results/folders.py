"""Folders that are there as a whole or not at all.

A folder is written under a temporary name, whose writer holds a lock on it, and then renamed. What a killed
process left has no lock and is removed by the next `clean`; what it had written in full, in place of a folder
that was out of the way already, is put there. This guards against processes that die, not
against a machine that loses power.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING

from voxpath import halts, interrupts
from voxpath.canonical import canonical
from voxpath.results import digests
from voxpath.results.problems import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_PARTIAL = ".partial-"
_OLD = "-old"
"""Behind the temporary name of what takes a folder's place: what was there."""


class Folders:
    """Folders below one directory, which is made when the first of them is kept."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def names(self) -> list[str]:
        """Of the folders that are there, in order."""
        try:
            return sorted(entry.name for entry in os.scandir(self.root) if not entry.name.startswith("."))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise StoreError(f"cannot read {self.root}: {error.strerror or error}") from error

    def keep(self, name: str, files: Mapping[str, bytes] | Iterable[tuple[str, bytes]]) -> Path:
        """Keeps a folder under its name, in place of what is there, and returns it.

        Args:
            name: The folder's name.
            files: Contents by path inside the folder; their digests are kept with them. Of an iterator
                one file is held at a time.

        Raises:
            StoreError: The files cannot be written; nothing is left of them.
        """
        try:
            return self._keep(name, files.items() if isinstance(files, Mapping) else files)
        except OSError as error:
            raise StoreError(f"cannot write a run to {self.root}: {error.strerror or error}") from error

    def _keep(self, name: str, files: Iterable[tuple[str, bytes]]) -> Path:
        self.root.mkdir(parents=True, exist_ok=True)
        folder = self.root / name
        with self.partial(name) as partial:
            old = partial.with_name(partial.name + _OLD)
            written: dict[str, str | None] = {}
            for path, contents in files:
                _write(partial / path, contents)
                written[path] = digests.of(path, contents)
            _write(partial / digests.FILE, canonical(written).encode())
            halts.reached("store.written")
            # Writers of one name take turns: between the two renames the name is free.
            with locked(self.root, fcntl.LOCK_EX):
                if folder.exists():
                    with interrupts.deferred():
                        folder.rename(old)
                        halts.reached("store.moved-away")
                        partial.rename(folder)
                else:
                    partial.rename(folder)
        halts.reached("store.renamed")
        shutil.rmtree(old, ignore_errors=True)
        return folder

    def check_writable(self) -> None:
        """Writes a folder as `keep` would, which leaves nothing.

        Where the directory is not there yet, to where it would be made: making it and removing it again would
        take it from under another process that has just begun to use it.

        Raises:
            StoreError: Nothing can be written there.
        """
        there = next(folder for folder in (self.root, *self.root.absolute().parents) if folder.exists())
        try:
            # What a killed process leaves of this is removed with what it leaves of folders.
            with tempfile.TemporaryDirectory(prefix=f"{_PARTIAL}check-", dir=there):
                pass
        except OSError as error:
            raise StoreError(f"cannot write a run to {self.root}: {error.strerror or error}") from None

    def remove(self, name: str) -> None:
        """Removes a folder, if it is there; whoever is killed meanwhile leaves all of it or nothing.

        Raises:
            StoreError: It cannot be removed.
        """
        going = self.root / f"{_PARTIAL}{name}-{secrets.token_hex(4)}"
        try:
            (self.root / name).rename(going)
        except FileNotFoundError:
            return
        except OSError as error:
            raise StoreError(f"cannot remove {self.root / name}: {error.strerror or error}") from error
        shutil.rmtree(going, ignore_errors=True)

    def clean(self) -> int:
        """Removes what killed processes left; returns how many folders that were.

        Of whom was killed between the two renames of `keep`, the second one is made up for.
        """
        if not self.root.is_dir():
            return 0
        removed = 0
        with locked(self.root, fcntl.LOCK_EX):
            for old in self.root.glob(f"{_PARTIAL}*{_OLD}"):
                new = old.with_name(old.name.removesuffix(_OLD))
                folder = self.root / new.name.removeprefix(_PARTIAL).rpartition("-")[0]
                if not folder.exists():
                    with contextlib.suppress(OSError):
                        new.rename(folder)
            for partial in self.root.glob(f"{_PARTIAL}*"):
                with (
                    contextlib.suppress(BlockingIOError, FileNotFoundError),
                    locked(partial, fcntl.LOCK_EX | fcntl.LOCK_NB),
                ):
                    shutil.rmtree(partial, ignore_errors=True)
                    # From a disk that is read-only nothing goes.
                    removed += not partial.exists()
        return removed

    @contextlib.contextmanager
    def partial(self, name: str) -> Iterator[Path]:
        """A new folder, locked; removed at the end if it still has its temporary name."""
        partial = self.root / f"{_PARTIAL}{name}-{secrets.token_hex(4)}"
        with contextlib.ExitStack() as stack:
            # `clean` waits until the folder is made and locked.
            with locked(self.root, fcntl.LOCK_SH):
                partial.mkdir()
                halts.reached("store.folder-made")
                stack.enter_context(locked(partial, fcntl.LOCK_EX))
            try:
                yield partial
            finally:
                shutil.rmtree(partial, ignore_errors=True)


def _write(path: Path, contents: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(contents)
    halts.reached("store.half-written")


@contextlib.contextmanager
def locked(directory: Path, operation: int) -> Iterator[None]:
    """Holds a lock on a directory; the kernel gives it back when the process ends, however it ends."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, operation)
        yield
    finally:
        os.close(descriptor)
