"""What goes wrong with kept runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class StoreError(Exception):
    """The store cannot be used, such as a directory without permission to write."""


class DamagedError(StoreError):
    """A run is not what was written."""

    def __init__(self, folder: Path, reason: str) -> None:
        super().__init__(f"{folder} is damaged: {reason}")
        self.folder = folder
        self.reason = reason
