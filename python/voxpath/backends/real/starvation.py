"""What kept programs from working: waiting in run queues, and time that the machine below took."""

from __future__ import annotations

import os
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

_USED = 3
"""The first columns are what processes used: user time, that of nice ones, and the kernel's for them."""

_REAPED = slice(13, 15)
"""Where /proc/PID/stat has what children that ended have used (cutime, cstime), counted after the name."""

_TICK_NS = 10**9 // os.sysconf("SC_CLK_TCK")


@dataclass
class RunQueues:
    """How long threads of programs have waited for a processor, and how long they had one.

    Attributes:
        proc: Where processes are looked for.
    """

    proc: Path = Path("/proc")
    _most: dict[str, int] = field(default_factory=dict)
    _used: dict[int, int] = field(default_factory=dict)
    _before: dict[int, int] = field(default_factory=dict)
    _next: float = 0.0

    def begin(self, programs: Iterable[tuple[str, int]]) -> None:
        """Forgets what programs have waited so far: there was no network yet that it could have changed."""
        for _, process in programs:
            self._before |= {thread: waited for thread, waited, _ in self._threads(process)}

    def look(self, programs: Iterable[tuple[str, int]], now: float | None = None) -> None:
        """Looks at programs, each by its host and its first process, unless that was just done."""
        now = time.monotonic() if now is None else now
        if now < self._next:
            return
        self._next = now + _EVERY_S
        for host, process in programs:
            waited, used = 0, 0
            for thread, of_thread, had in self._threads(process):
                waited = max(waited, of_thread - self._before.get(thread, 0))
                used += had
            self._most[host] = max(self._most.get(host, 0), waited)
            self._used[process] = max(self._used.get(process, 0), used)

    @property
    def waited_ns(self) -> dict[str, int]:
        """By host, for how long the thread has waited that waited longest."""
        return dict(self._most)

    @property
    def used_ns(self) -> int:
        """For how long programs and all that they started had a processor, together."""
        return sum(self._used.values())

    def _threads(self, process: int) -> Iterator[tuple[int, int, int]]:
        """Each thread of a process and of all it started, how long it waited for a processor, and had one."""
        yield process, 0, self._reaped(process)
        for task in self._tasks(process):
            try:
                had, waited, *_ = (task / "schedstat").read_text().split()
                children = (task / "children").read_text().split()
            except (OSError, ValueError):
                continue
            yield int(task.name), int(waited), int(had)
            for child in children:
                yield from self._threads(int(child))

    def _reaped(self, process: int) -> int:
        """How long children of a process had a processor that have ended."""
        try:
            columns = (self.proc / str(process) / "stat").read_text().rpartition(")")[2].split()
            return sum(int(ticks) for ticks in columns[_REAPED]) * _TICK_NS
        except (OSError, ValueError):
            return 0

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
    used: int

    @classmethod
    def now(cls, stat: Path = Path("/proc/stat")) -> Processors | None:
        """As the kernel counts; none where it does not tell."""
        try:
            name, *columns = stat.read_text().splitlines()[0].split()
            ticks = [int(column) for column in columns[: _STEAL + 1]]
        except (OSError, ValueError, IndexError):
            return None
        if name != "cpu" or len(ticks) <= _STEAL:
            return None
        return cls(sum(ticks), ticks[_STEAL], sum(ticks[:_USED]))


def stolen_share(before: Processors | None, after: Processors | None) -> float | None:
    """Which share of the time between them was stolen; none where nobody knows."""
    if before is None or after is None or after.total <= before.total:
        return None
    return (after.stolen - before.stolen) / (after.total - before.total)


def others_share(before: Processors | None, after: Processors | None, own_ns: int) -> float | None:
    """Which share of the time between them others than a run's processes used; none where nobody knows.

    Args:
        before: When it began.
        after: When it was over.
        own_ns: For how long the run's own had a processor, all together.
    """
    if before is None or after is None or after.total <= before.total:
        return None
    others = after.used - before.used - own_ns / _TICK_NS
    return max(others, 0.0) / (after.total - before.total)
