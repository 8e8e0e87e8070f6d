"""Losses as they were recorded."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from voxpath.scenario.elements.losses.table import LossTable
from voxpath.scenario.table import From, Keys
from voxpath.scenario.traces import TraceError

if TYPE_CHECKING:
    from voxpath.scenario.traces import Traces


def losses(files: Traces, name: str) -> str:
    """A digit for each packet, `1` if it was lost; lines and blanks between them do not matter.

    Raises:
        TraceError: The file is no such trace.
    """
    found: list[str] = []
    for number, line in files.lines(name):
        digits = re.sub(r"\s+", "", line)
        if not re.fullmatch(r"[01]+", digits):
            raise TraceError(f"{name!r}, line {number}: {line!r} are not digits 0 and 1, one for each packet")
        found.append(digits)
    return "".join(found)


class TracedLoss(LossTable):
    """Losses as they were recorded, packet by packet, over and over."""

    PLAN: ClassVar[Keys] = {"lost": From("file", lambda loss, files: losses(files, loss.file))}

    kind: Literal["trace"]
    file: str = Field(
        description="A 1 for each packet that was lost, a 0 for each other; below the scenario's directory."
    )
