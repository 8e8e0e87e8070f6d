"""What kept programs from working: waiting in run queues, and time that the machine below took."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_EVERY_S = 0.5
"""How often run queues are looked at: threads that end take what they waited since with them."""

_STEAL = 7
"""The column of stolen time in /proc/stat, counted from user time; guests' time is part of the first two."""


@dataclass
class RunQueues:
    """How long threads of programs have waited for a processor.

    Attributes:
        proc: Where processes are looked for.
    """

    proc: Path = Path("/proc")
    _most: dict[str, int] = field(default_factory=dict)
    _next: float = 0.0

    def look(self, programs: Iterable[tuple[str, int]], now: float | None = None) -> None:
        """Looks at programs, each by its host and its first process, unless that was just done."""
        now = time.monotonic() if now is None else now
        if now < self._next:
            return
        self._next = now + _EVERY_S
        for host, process in programs:
            waited = max(self._waited(process), default=0)
            self._most[host] = max(self._most.get(host, 0), waited)

    @property
    def waited_ns(self) -> dict[str, int]:
        """By host, for how long the thread has waited that waited longest."""
        return dict(self._most)

    def _waited(self, process: int) -> Iterator[int]:
        """Of each thread of a process and of all that it started; what ends meanwhile is left out."""
        for task in self._tasks(process):
            try:
                _, waited, *_ = (task / "schedstat").read_text().split()
                children = (task / "children").read_text().split()
            except (OSError, ValueError):
                continue
            yield int(waited)
            for child in children:
                yield from self._waited(int(child))

    def _tasks(self, process: int) -> list[Path]:
        try:
            return list((self.proc / str(process) / "task").iterdir())
        except OSError:
            return []


@dataclass(frozen=True)
class Processors:
    """What all processors together have done since the machine's start, in ticks."""

    total: int
    stolen: int

    @classmethod
    def now(cls, stat: Path = Path("/proc/stat")) -> Processors | None:
        """As the kernel counts; none where it does not tell."""
        try:
            name, *columns = stat.read_text().splitlines()[0].split()
            ticks = [int(column) for column in columns[: _STEAL + 1]]
        except (OSError, ValueError, IndexError):
            return None
        return cls(sum(ticks), ticks[_STEAL]) if name == "cpu" and len(ticks) > _STEAL else None


def stolen_share(before: Processors | None, after: Processors | None) -> float | None:
    """Which share of the time between them was stolen; none where nobody knows."""
    if before is None or after is None or after.total <= before.total:
        return None
    return (after.stolen - before.stolen) / (after.total - before.total)
