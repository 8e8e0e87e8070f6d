"""Limits of a run: what ends it before its time, so that one scenario cannot take the machine with it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from voxpath.scenario.quantities import PositiveSize, PositiveSpan
from voxpath.scenario.table import Table


class Limits(Table):
    """A run that reaches one ends there, is kept, and is not valid."""

    events: Annotated[int, Field(ge=1, le=2**40 - 2**33)] | None = Field(
        None, description="Events that are processed, about one for each packet and link."
    )
    time: PositiveSpan | None = Field(
        None, description="Virtual time. A run that is to end then has a duration instead, and is valid."
    )
    memory: PositiveSize | None = Field(
        None,
        description="Of packets, events, observations and what applications note; looked at now and then.",
    )
