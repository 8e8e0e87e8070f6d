"""What came of a run, and what became of one that was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from voxpath.results.many import Made

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


@dataclass(frozen=True)
class Found:
    """What came of a run.

    Attributes:
        verdict: JSON.
        files: Its tables and whatever else it left, by name.
        environment: What may differ between two runs of one identity.
    """

    verdict: str
    files: Mapping[str, bytes]
    environment: dict[str, Any]


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


class Outcomes(Made[Outcome]):
    """What became of many runs: a byte each, but for what went otherwise than most do."""

    def __init__(self, count: int, run: Callable[[int], tuple[Path, int]]) -> None:
        """Of runs of which nothing is known yet.

        Args:
            count: How many.
            run: By its index, where a run is or would be, and its replication.
        """
        super().__init__(count, self._outcome)
        self._run = run
        self._kinds = bytearray(count)
        self._others: dict[int, Outcome] = {}

    def note(self, index: int, outcome: Outcome) -> None:
        """Keeps what became of a run."""
        kind = _KINDS.get((outcome.reused, outcome.packed), _OTHER)
        if not outcome.valid or outcome.rejected or outcome.damage is not None:
            kind = _OTHER
        self._kinds[index] = kind
        if kind == _OTHER:
            self._others[index] = outcome

    def known(self, index: int) -> bool:
        """Whether anything became of it."""
        return self._kinds[index] != 0

    def _outcome(self, index: int) -> Outcome:
        kind = self._kinds[index]
        if kind == _OTHER:
            return self._others[index]
        if kind == 0:
            raise LookupError(f"run {index} has not been made")
        reused, packed = _USUAL[kind - 1]
        folder, replication = self._run(index)
        return Outcome(folder, replication, reused=reused, valid=True, packed=packed)


_USUAL = [(reused, packed) for reused in (False, True) for packed in (False, True)]
_KINDS = {usual: number for number, usual in enumerate(_USUAL, start=1)}
_OTHER = len(_USUAL) + 1
