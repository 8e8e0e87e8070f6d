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
        folder: Where it is.
        replication: From 0.
        reused: Whether it was there already.
        valid: Whether its verdict says so.
        rejected: What was wrong with attempts that came before it, each in a text.
        damage: What was wrong with the run that was there, and that it replaces.
    """

    folder: Path
    replication: int
    reused: bool
    valid: bool
    rejected: tuple[str, ...] = ()
    damage: str | None = None
