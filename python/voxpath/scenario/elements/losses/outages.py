"""Everything is lost during an outage."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from voxpath.scenario.elements.losses.table import LossTable
from voxpath.scenario.quantities import PositiveSpan, Span
from voxpath.scenario.table import From, Keys, Table


class Outage(Table):
    """A while in which everything is lost."""

    PLAN: ClassVar[Keys] = {0: "start", 1: From("length", lambda outage, _: outage.start + outage.length)}

    start: Span = Field(description="From the run's start, or that of the period.")
    length: PositiveSpan = Field(description="How long it lasts.")


class OutageLoss(LossTable):
    """Everything is lost that leaves the serialiser during an outage."""

    PLAN: ClassVar[Keys] = {"period_ns": "every"}

    kind: Literal["outages"]
    outages: tuple[Outage, ...] = Field(
        strict=False, min_length=1, description="In order, none touching another."
    )
    every: PositiveSpan | None = Field(None, description="When they start over; never without it.")
