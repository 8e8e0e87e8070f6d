"""Pareto delays."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from voxpath.scenario.elements.delays.table import RandomDelay
from voxpath.scenario.quantities import PositiveSpan
from voxpath.scenario.table import Keys, Outside


class ParetoDelay(RandomDelay):
    """A Pareto delay: longer than d with probability (least / d)^shape."""

    PLAN: ClassVar[Keys] = {"delay_ns": Outside("least", lambda delay, _: delay.least)}

    kind: Literal["pareto"]
    least: PositiveSpan = Field(description="The shortest; the mean is shape / (shape - 1) times as long.")
    shape: float = Field(
        gt=0, allow_inf_nan=False, description="How fast long delays become rare: the mean exists above 1."
    )
