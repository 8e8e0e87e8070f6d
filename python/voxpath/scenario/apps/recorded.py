"""Datagrams as they were recorded."""

from __future__ import annotations

import re
from typing import ClassVar, Literal

from pydantic import Field

from voxpath.scenario.apps.summaries import DATAGRAMS, Datagrams
from voxpath.scenario.apps.table import AppTable
from voxpath.scenario.elements.from_files import by_line
from voxpath.scenario.table import Keys


def _datagram(line: str) -> list[tuple[int, int]]:
    found = re.fullmatch(r"([0-9]{1,9})(?:\.([0-9]{1,9}))?\s+([0-9]{1,9})", line)
    if found is None:
        raise ValueError(f"{line!r} is not a time in seconds and a size in bytes, such as 0.020 160")
    seconds, fraction, size = found.groups()
    return [(int(seconds) * 10**9 + int((fraction or "").ljust(9, "0")), int(size))]


class Recorded(AppTable):
    """`from` sends datagrams, each at its time and of its size; over UDP."""

    PLAN: ClassVar[Keys] = {"datagrams": by_line(_datagram)}
    SUMMARIES = (Datagrams(),)
    METRICS = DATAGRAMS

    kind: Literal["recorded"]
    file: str = Field(
        description="In each line when a datagram leaves, in seconds from the flow's start, and the bytes of "
        "its payload; below the scenario's directory."
    )
