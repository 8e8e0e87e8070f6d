"""Flow queue CoDel (RFC 8290)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from voxpath.scenario.elements.queues.table import ECN, QueueRoom, QueueTable, Room
from voxpath.scenario.quantities import MS, Count, PositiveSize, PositiveSpan, Span


class FqCodelQueue(QueueTable):
    """Flow queue CoDel (RFC 8290): a queue for each hash of a flow, in turns, each under CoDel."""

    kind: Literal["fq_codel"]
    limit: Room = Field(
        QueueRoom(packets=10_240),
        json_schema_extra={"default": "10240 packets"},
        description="Room for all queues together; beyond it the longest loses its first packets.",
    )
    target: Span = Field(5 * MS, description="The wait that may stand; '5 ms' without it.")
    interval: PositiveSpan = Field(
        100 * MS, description="How long it may be longer, about a round-trip time; '100 ms' without it."
    )
    queues: Count = Field(1024, description="Among which flows are spread.")
    quantum: PositiveSize = Field(1514, description="Bytes of a queue's turn; 1514 B without it.")
    ecn: bool = Field(True, description=ECN)
