"""Each packet is lost independently."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from voxpath.scenario.elements.losses.table import LossTable
from voxpath.scenario.quantities import Probability
from voxpath.scenario.table import Keys


class BernoulliLoss(LossTable):
    """Each packet is lost independently; `loss = "0.3 %"` says the same."""

    PLAN: ClassVar[Keys] = {"p": "probability"}

    kind: Literal["bernoulli"]
    probability: Probability = Field(description="That a packet is lost.")
