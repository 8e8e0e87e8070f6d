"""Controlled delay (RFC 8289)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from voxpath.scenario.elements.queues.table import ECN, QueueTable
from voxpath.scenario.quantities import MS, PositiveSpan, Span


class CodelQueue(QueueTable):
    """Controlled delay (RFC 8289): drops as packets leave, if all of an interval's have waited too long."""

    kind: Literal["codel"]
    target: Span = Field(5 * MS, description="The wait that may stand; '5 ms' without it.")
    interval: PositiveSpan = Field(
        100 * MS, description="How long it may be longer, about a round-trip time; '100 ms' without it."
    )
    ecn: bool = Field(True, description=ECN)
