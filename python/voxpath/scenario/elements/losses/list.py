"""Exactly these packets are lost."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from voxpath.scenario.elements.losses.table import LossTable
from voxpath.scenario.quantities import Index


class ListedLoss(LossTable):
    """Exactly these packets are lost, counted from 1 as they leave the serialiser."""

    kind: Literal["list"]
    packets: tuple[Index, ...] = Field(
        strict=False, min_length=1, description="Ascending, without repetition."
    )
