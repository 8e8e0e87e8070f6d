"""Joins segments."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from voxpath.scenario.elements.middleboxes.split import Data
from voxpath.scenario.elements.middleboxes.table import OneWayTable
from voxpath.scenario.quantities import PositiveSpan


class Coalesce(OneWayTable):
    """Joins segments that follow each other; of their options those of the first one stay."""

    kind: Literal["coalesce"]
    size: Data = Field(
        description="Data of a segment, at most. What is longer than the MTU of a link further on is refused "
        "there."
    )
    wait: PositiveSpan = Field(
        1_000_000, description="How long a segment waits for another one; '1 ms' without it."
    )
