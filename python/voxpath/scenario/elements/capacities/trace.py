"""Rates as they were recorded."""

from __future__ import annotations

import re
from typing import ClassVar, Literal

from pydantic import Field

from voxpath.scenario.elements.capacities.table import RateTable
from voxpath.scenario.elements.from_files import by_line
from voxpath.scenario.table import Keys


def _opportunity(line: str) -> list[int]:
    if not re.fullmatch(r"[0-9]{1,9}", line):
        raise ValueError(f"{line!r} is not a whole number of milliseconds")
    return [int(line)]


class TracedRate(RateTable):
    """Packets at the opportunities of a packet-delivery trace in Mahimahi's format, over and over."""

    PLAN: ClassVar[Keys] = {"opportunities_ms": by_line(_opportunity)}

    kind: Literal["trace"]
    file: str = Field(
        description="A millisecond in each line, at which 1500 bytes can be delivered; below the scenario's "
        "directory."
    )
