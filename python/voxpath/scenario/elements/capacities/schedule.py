"""Rates by a schedule."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from voxpath.scenario.elements.capacities.table import RateOrNone, RateTable
from voxpath.scenario.quantities import PositiveSpan, Span
from voxpath.scenario.table import Keys, Table


class RateStep(Table):
    """A rate from a moment on."""

    PLAN: ClassVar[Keys] = {0: "at", 1: "rate"}

    at: Span = Field(description="From the run's start, or that of the period.")
    rate: RateOrNone = Field(description="From then on; packets wait while it is '0 bit/s'.")


class ScheduledRate(RateTable):
    """Rates that hold each from its moment on."""

    PLAN: ClassVar[Keys] = {"period_ns": "every"}

    kind: Literal["schedule"]
    steps: tuple[RateStep, ...] = Field(
        strict=False, min_length=1, description="In order, the first at '0 s'."
    )
    every: PositiveSpan | None = Field(None, description="When the steps start over; never without it.")
