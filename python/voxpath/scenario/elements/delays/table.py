"""What tables of delays that vary have in common."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from voxpath.scenario.quantities import Probability
from voxpath.scenario.table import Keys, Table


class DelayTable(Table):
    """A delay that varies."""

    kind: str


class RandomDelay(DelayTable):
    """A delay with a distribution."""

    PLAN: ClassVar[Keys] = {"overtaking": "reorder"}

    correlation: Probability = Field(0.0, description="From one packet to the next; '0 %' without it.")
    reorder: bool = Field(
        False, description="Whether packets may overtake each other; else one waits for the one before it."
    )
