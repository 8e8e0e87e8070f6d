"""The result store: one folder per run, there as a whole or not at all.

A run is written to a folder with a temporary name, whose writer holds a lock on it, and then renamed. What a
killed process left has no lock and is removed by the next `clean`. The store guards against processes that
die, not against a machine that loses power.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shutil
from typing import TYPE_CHECKING

from voxpath import halts
from voxpath.results import digests
from voxpath.results.problems import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

__all__ = ["Store", "StoreError"]

_PARTIAL = ".partial-"


class Store:
    """Runs below one directory, which is made when the first run is kept."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def find(self, name: str) -> Path | None:
        """The folder of a finished run.

        An invalid run is kept, but it is not finished.

        Raises:
            DamagedError: Its files are not those that were written, as after a power failure.
            StoreError: The directory cannot be read.
        """
        folder = self.root / name
        try:
            digests.check(folder)
            verdict = json.loads((folder / "verdict.json").read_bytes())
        except FileNotFoundError:
            return None
        except NotADirectoryError:
            place = self.root if not self.root.is_dir() else folder
            raise StoreError(f"{place} is not a directory") from None
        except OSError as error:
            raise StoreError(f"cannot read {folder}: {error.strerror or error}") from error
        return folder if verdict["valid"] is True else None

    def keep(self, name: str, files: Mapping[str, bytes]) -> Path:
        """Keeps a run under its name, in place of what is there, and returns its folder.

        Args:
            name: The run's name.
            files: Contents by path inside the folder; their digests are kept with them.

        Raises:
            StoreError: The files cannot be written; nothing is left of them.
        """
        try:
            return self._keep(name, files)
        except OSError as error:
            raise StoreError(f"cannot write a run to {self.root}: {error.strerror or error}") from error

    def _keep(self, name: str, files: Mapping[str, bytes]) -> Path:
        self.root.mkdir(parents=True, exist_ok=True)
        folder = self.root / name
        with self._partial(name) as partial:
            for path, contents in {**files, digests.FILE: digests.of(files)}.items():
                target = partial / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(contents)
                halts.reached("store.half-written")
            halts.reached("store.written")
            # Writers of one name take turns: between the two renames the name is free.
            with _locked(self.root, fcntl.LOCK_EX):
                if folder.exists():
                    folder.rename(partial.with_name(f"{partial.name}-old"))
                    halts.reached("store.moved-away")
                partial.rename(folder)
        halts.reached("store.renamed")
        shutil.rmtree(partial.with_name(f"{partial.name}-old"), ignore_errors=True)
        return folder

    def clean(self) -> int:
        """Removes what killed processes left; returns how many folders that were."""
        if not self.root.is_dir():
            return 0
        removed = 0
        with _locked(self.root, fcntl.LOCK_EX):
            for partial in self.root.glob(f"{_PARTIAL}*"):
                with (
                    contextlib.suppress(BlockingIOError, FileNotFoundError),
                    _locked(partial, fcntl.LOCK_EX | fcntl.LOCK_NB),
                ):
                    shutil.rmtree(partial, ignore_errors=True)
                    removed += 1
        return removed

    @contextlib.contextmanager
    def marked(self) -> Iterator[Path]:
        """A folder with a name that nobody can guess, while the context lasts: who sees it sees this store.

        Raises:
            StoreError: The directory cannot be written to.
        """
        with contextlib.ExitStack() as stack:
            try:
                self.root.mkdir(parents=True, exist_ok=True)
                mark = stack.enter_context(self._partial("mark"))
            except OSError as error:
                raise StoreError(f"cannot write to {self.root}: {error.strerror or error}") from error
            yield mark

    @contextlib.contextmanager
    def _partial(self, name: str) -> Iterator[Path]:
        """A new folder, locked; removed at the end if it still has its temporary name."""
        partial = self.root / f"{_PARTIAL}{name}-{secrets.token_hex(4)}"
        with contextlib.ExitStack() as stack:
            # `clean` waits until the folder is made and locked.
            with _locked(self.root, fcntl.LOCK_SH):
                partial.mkdir()
                halts.reached("store.folder-made")
                stack.enter_context(_locked(partial, fcntl.LOCK_EX))
            try:
                yield partial
            finally:
                shutil.rmtree(partial, ignore_errors=True)


@contextlib.contextmanager
def _locked(directory: Path, operation: int) -> Iterator[None]:
    """Holds a lock on a directory; the kernel gives it back when the process ends, however it ends."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, operation)
        yield
    finally:
        os.close(descriptor)
