"""Cuts segments."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from voxpath.scenario.elements.middleboxes.table import OneWayTable
from voxpath.scenario.quantities import PositiveSize

Data = Annotated[PositiveSize, Field(le=60_000)]
"""Octets of data in a segment."""


class Split(OneWayTable):
    """Cuts segments whose data is longer than `size`, as segmentation offload behind a proxy does."""

    kind: Literal["split"]
    size: Data = Field(description="Data of a piece, at most.")
    options: Literal["each", "first"] = Field(
        "each",
        description="Which pieces have the options that plain TCP does not know: each, as of segmentation "
        "offload, or the first one alone.",
    )
