"""What became of a run that was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Outcome:
    """A run that was made or found.

    Attributes:
        folder: Where it is: the store's directory and the run's name, also of a run that has no folder.
        replication: From 0.
        reused: Whether it was there already.
        valid: Whether its verdict says so.
        rejected: What was wrong with attempts that came before it, each in a text.
        damage: What was wrong with the run that was there, and that it replaces.
        packed: Whether it lies in a pack, together with others, and not in a folder.
    """

    folder: Path
    replication: int
    reused: bool
    valid: bool
    rejected: tuple[str, ...] = ()
    damage: str | None = None
    packed: bool = False
