"""Losses in bursts and one by one, by a chain of four states."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from voxpath.scenario.elements.losses.table import LossTable
from voxpath.scenario.quantities import Probability


class FourStateLoss(LossTable):
    """Losses in bursts and one by one: a chain of four states, a step with each packet (netem's `state`).

    1: received in a gap, 2: received in a burst, 3: lost in a burst, 4: lost in a gap, left for 1 at once.
    """

    kind: Literal["four_state"]
    p13: Probability = Field(description="Of a step from 1 to 3: a burst begins.")
    p31: Probability = Field(description="Of a step from 3 to 1: it ends.")
    p32: Probability = Field(0.0, description="Of a step from 3 to 2: a packet comes through in a burst.")
    p23: Probability = Field(1.0, description="Of a step from 2 to 3: losses go on.")
    p14: Probability = Field(0.0, description="Of a step from 1 to 4: a single packet is lost.")
