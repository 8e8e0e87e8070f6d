"""How far a session has come, as its master counts it."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field


class Arrivals:
    """When a client's messages came: the last ones, so that many small ones cost no more memory than few."""

    _MOST = 65_536

    def __init__(self) -> None:
        """None has come."""
        self._kept = deque[float](maxlen=self._MOST)
        self._came = 0

    def note(self, now: float) -> None:
        """The next one comes."""
        self._kept.append(now)
        self._came += 1

    def of(self, message: int) -> float | None:
        """When one came, counted from 1; none where that is forgotten.

        Raises:
            LookupError: None of that number has come.
        """
        if not 1 <= message <= self._came:
            raise LookupError(f"message {message} of {self._came}")
        place = message - 1 - (self._came - len(self._kept))
        return self._kept[place] if place >= 0 else None


class Unheard:
    """What a worker was sent, and has not said that it has heard."""

    def __init__(self) -> None:
        """Nothing."""
        self._sizes = deque[int]()
        self.octets = 0

    def add(self, octets: int) -> None:
        """A message is sent."""
        self._sizes.append(octets)
        self.octets += octets

    def heard(self) -> None:
        """The next one was heard.

        Raises:
            LookupError: There is none.
        """
        self.octets -= self._sizes.popleft()


@dataclass
class Course:
    """How far a session has come."""

    arrivals: Arrivals | None
    """Where somebody asks for times."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """The client has said all of its audio."""
    unheard: Unheard = field(default_factory=Unheard)
