"""Proportional integral controller enhanced (RFC 8033)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from voxpath.scenario.elements.queues.table import ECN, QueueTable
from voxpath.scenario.quantities import MS, Number, PositiveSpan, Span


class PieQueue(QueueTable):
    """PIE (RFC 8033): drops as packets come, with a probability that a controller moves."""

    kind: Literal["pie"]
    target: PositiveSpan = Field(15 * MS, description="The wait that is to be; '15 ms' without it.")
    update: PositiveSpan = Field(
        15 * MS, description="From one update of the probability to the next; '15 ms' without it."
    )
    max_burst: Span = Field(150 * MS, description="The longest burst that passes; '150 ms' without it.")
    alpha: Number = Field(
        0.125, description="Change of the probability for each second by which the wait misses its target."
    )
    beta: Number = Field(
        1.25, description="Change of the probability for each second by which the wait has grown."
    )
    ecn: bool = Field(True, description=ECN)
