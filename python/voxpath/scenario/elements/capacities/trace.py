"""Rates as they were recorded."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from voxpath.scenario.elements.capacities.table import RateTable
from voxpath.scenario.table import From, Keys
from voxpath.scenario.traces import TraceError, fault

if TYPE_CHECKING:
    from voxpath.scenario.traces import Traces


def opportunities(files: Traces, name: str) -> list[int]:
    """A packet-delivery trace in Mahimahi's format: a millisecond a line, not descending.

    Raises:
        TraceError: It is none.
    """
    found: list[int] = []
    for number, line in files.lines(name):
        if not re.fullmatch(r"[0-9]{1,9}", line):
            raise fault(name, number, f"{line!r} is not a whole number of milliseconds")
        found.append(int(line))
        if len(found) > 1 and found[-1] < found[-2]:
            raise fault(name, number, f"{line} comes after {found[-2]}: times do not descend")
    if found[-1] == 0:
        raise TraceError(f"{name!r} takes no time: its last opportunity is above zero")
    return found


class TracedRate(RateTable):
    """Packets at the opportunities of a packet-delivery trace in Mahimahi's format, over and over."""

    PLAN: ClassVar[Keys] = {
        "opportunities_ms": From("file", lambda rate, files: opportunities(files, rate.file))
    }

    kind: Literal["trace"]
    file: str = Field(
        description="A millisecond in each line, at which 1500 bytes can be delivered; below the scenario's "
        "directory."
    )
