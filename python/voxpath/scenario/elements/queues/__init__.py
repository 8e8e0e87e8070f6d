"""The queue before a serialiser: its room, or a table of a kind that has its module here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from voxpath.scenario.elements.kinds import TextOrTable, tables_of
from voxpath.scenario.elements.queues.table import QueueRoom, QueueTable, Room

if TYPE_CHECKING:
    from voxpath.scenario.elements.kinds import Planned

TABLES = tables_of("queues", QueueTable)
"""Of every kind."""

Queue = Annotated[QueueRoom | QueueTable, TextOrTable(Room, TABLES)]


def room(queue: QueueRoom | QueueTable | None) -> QueueRoom:
    """How much may wait."""
    return queue.room if isinstance(queue, QueueTable) else queue or QueueRoom()


def discipline(queue: QueueRoom | QueueTable | None) -> Planned | QueueTable:
    """What a plan holds of a queue, but for its room."""
    return queue if isinstance(queue, QueueTable) else {"kind": "drop_tail"}
