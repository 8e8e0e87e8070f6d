"""Losses in bursts, by a chain of two states."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from voxpath.scenario.elements.losses.table import LossTable
from voxpath.scenario.quantities import Probability


class GilbertElliottLoss(LossTable):
    """Losses in bursts: a chain of a good and a bad state, a step with each packet (netem's `gemodel`)."""

    kind: Literal["gilbert_elliott"]
    to_bad: Probability = Field(description="Of a step from the good state to the bad one (p).")
    to_good: Probability = Field(description="Of a step back (r): bursts have 1/r packets on average.")
    loss_bad: Probability = Field(1.0, description="Of a loss in the bad state (1 - h); '100 %' without it.")
    loss_good: Probability = Field(0.0, description="Of a loss in the good state (1 - k); '0 %' without it.")
