"""Losses as they were recorded."""

from __future__ import annotations

import re
from typing import ClassVar, Literal

from pydantic import Field

from voxpath.scenario.elements.from_files import by_line
from voxpath.scenario.elements.losses.table import LossTable
from voxpath.scenario.table import Keys


def _digits(line: str) -> str:
    """A digit for each packet; blanks between them do not matter."""
    return re.sub(r"\s+", "", line)


class TracedLoss(LossTable):
    """Losses as they were recorded, packet by packet, over and over."""

    PLAN: ClassVar[Keys] = {"lost": by_line(_digits, is_text=True)}

    kind: Literal["trace"]
    file: str = Field(
        description="A 1 for each packet that was lost, a 0 for each other; below the scenario's directory."
    )
