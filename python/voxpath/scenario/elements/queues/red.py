"""Random early detection (Floyd and Jacobson 1993)."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from voxpath.scenario.elements.queues.table import ECN, QueueTable
from voxpath.scenario.quantities import Number, Packets, PositiveSize, Probability
from voxpath.scenario.table import From, Keys


class RedQueue(QueueTable):
    """Random early detection (Floyd and Jacobson 1993), by the average of waiting packets."""

    PLAN: ClassVar[Keys] = {
        "min_packets": From("min", lambda red, _: float(red.min)),
        "max_packets": From("max", lambda red, _: float(red.max)),
    }

    kind: Literal["red"]
    min: Packets = Field(description="The average from which packets are dropped (min_th).")
    max: Packets = Field(description="The average at which that has the probability max_p (max_th).")
    max_p: Probability = Field(0.1, description="That probability; '10 %' without it.")
    weight: Number = Field(0.002, description="Of the queue that a packet finds in the average (w_q).")
    gentle: bool = Field(
        True, description="Whether the probability rises to one between max and twice that, or jumps at max."
    )
    mean_packet: PositiveSize = Field(
        500, description="By which the average of an idle link fades; 500 B without it."
    )
    ecn: bool = Field(True, description=ECN)
