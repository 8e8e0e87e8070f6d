"""The workers that a master has, and who is waiting for one."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiohttp import web

EVENTS = 64
"""Results of a worker that its client has not taken yet; the worker's connection waits beyond that."""


@dataclass(eq=False)
class Link:
    """A worker's connection, for one session."""

    socket: web.WebSocketResponse
    acknowledges: bool
    """It answers message by message where it is asked to, as only our own workers do."""
    events: asyncio.Queue[str | None] = field(default_factory=lambda: asyncio.Queue(EVENTS))
    """What it says; none in the end."""
    has_closed: bool = False
    """It has ended as it should, and was not lost."""


@dataclass(eq=False)
class _Waiting:
    acknowledging: bool
    link: asyncio.Future[Link]


class Pool:
    """Free workers, first come first served, and clients that wait for one."""

    def __init__(self) -> None:
        self._free: deque[Link] = deque()
        self._waiting: deque[_Waiting] = deque()
        self.processed = 0
        """Sessions that have ended, whatever came of them."""
        self.changed = asyncio.Condition()

    @property
    def available(self) -> int:
        """Workers that are free."""
        return len(self._free)

    async def until_available(self, count: int) -> None:
        """Returns when so many workers are free."""
        async with self.changed:
            await self.changed.wait_for(lambda: self.available >= count)

    async def add(self, link: Link) -> None:
        """A worker is free."""
        for waiting in self._waiting:
            if not waiting.link.done() and (link.acknowledges or not waiting.acknowledging):
                waiting.link.set_result(link)
                return
        self._free.append(link)
        await self.tell()

    async def remove(self, link: Link) -> None:
        """A worker has gone; whether it was free or not."""
        if link in self._free:
            self._free.remove(link)
            await self.tell()

    async def take(self, patience_s: float, *, acknowledging: bool) -> Link | None:
        """A worker for a session; none if none is free for so long."""
        for link in self._free:
            if link.acknowledges or not acknowledging:
                self._free.remove(link)
                await self.tell()
                return link
        if patience_s <= 0:
            return None
        waiting = _Waiting(acknowledging, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        try:
            await asyncio.wait((waiting.link,), timeout=patience_s)
        except asyncio.CancelledError:
            if waiting.link.done():
                await self.add(waiting.link.result())
            raise
        finally:
            self._waiting.remove(waiting)
        # It may have come in the last moment, and is nobody else's then.
        return waiting.link.result() if waiting.link.done() else None

    async def done(self) -> None:
        """A session has ended."""
        self.processed += 1
        await self.tell()

    async def tell(self) -> None:
        """Wakes those who watch."""
        async with self.changed:
            self.changed.notify_all()
