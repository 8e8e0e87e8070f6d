"""Normal delays."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from voxpath.scenario.elements.delays.table import RandomDelay
from voxpath.scenario.quantities import PositiveSpan, Span
from voxpath.scenario.table import Keys, Outside


class NormalDelay(RandomDelay):
    """A normal delay; what is below zero counts as none."""

    PLAN: ClassVar[Keys] = {"delay_ns": Outside("mean", lambda delay, _: delay.mean)}

    kind: Literal["normal"]
    mean: Span = Field(description="Its mean.")
    deviation: PositiveSpan = Field(description="Its standard deviation.")
