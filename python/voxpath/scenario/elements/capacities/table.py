"""What tables of rates that vary have in common."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

from voxpath import _engine
from voxpath.scenario.quantities import Unit
from voxpath.scenario.table import Table


class RateTable(Table):
    """A rate that varies."""

    kind: str


def _rate_or_none(value: object) -> int:
    if not isinstance(value, str):
        raise ValueError(
            "must be a rate, written as text with its unit, such as '5 Mbit/s'; '0 bit/s' for none"
        )
    if re.fullmatch(r"\s*0+(\.0*)?\s*[kMGT]?bit/s\s*", value):
        return 0
    return int(_engine.parse_rate(value))


RateOrNone = Annotated[
    int,
    BeforeValidator(_rate_or_none),
    WithJsonSchema({"type": "string", "examples": ["5 Mbit/s", "0 bit/s"]}),
    Unit("bps"),
]
"""Bits per second, zero where nothing passes."""
