"""The result store: runs below one directory, each there as a whole or not at all.

A run has a folder of its own (`folders.py`), or it lies in a pack together with others (`packs.py`). Either
way its place is the store's directory and its name, and it is read by that (`kept.py`).
"""

from __future__ import annotations

import contextlib
import json
from functools import cached_property
from typing import TYPE_CHECKING

from voxpath.results import digests
from voxpath.results.folders import Folders
from voxpath.results.packs import Packs
from voxpath.results.problems import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Store", "StoreError"]


class Store(Folders):
    """Runs below one directory, which is made when the first run is kept."""

    @cached_property
    def packs(self) -> Packs:
        """The runs that lie together."""
        return Packs(self.root)

    def find(self, name: str) -> Path | None:
        """The folder of a finished run that has one.

        An invalid run is kept, but it is not finished.

        Raises:
            DamagedError: Its files are not those that were written, as after a power failure.
            StoreError: The directory cannot be read.
        """
        folder = self.root / name
        try:
            digests.check(folder, "verdict.json")
            verdict = json.loads((folder / "verdict.json").read_bytes())
        except FileNotFoundError:
            return None
        except NotADirectoryError:
            place = self.root if not self.root.is_dir() else folder
            raise StoreError(f"{place} is not a directory") from None
        except OSError as error:
            raise StoreError(f"cannot read {folder}: {error.strerror or error}") from error
        return folder if verdict["valid"] is True else None

    def clean(self) -> int:
        """Removes what killed processes left; returns how many folders that were."""
        return super().clean() + self.packs.clean()

    @contextlib.contextmanager
    def marked(self) -> Iterator[Path]:
        """A folder with a name that nobody can guess, while the context lasts: who sees it sees this store.

        Raises:
            StoreError: The directory cannot be written to.
        """
        with contextlib.ExitStack() as stack:
            try:
                self.root.mkdir(parents=True, exist_ok=True)
                mark = stack.enter_context(self.partial("mark"))
            except OSError as error:
                raise StoreError(f"cannot write to {self.root}: {error.strerror or error}") from error
            yield mark
