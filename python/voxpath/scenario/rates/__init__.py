"""Rate controls of calls. Each has a file here, and one in `crates/rtc/src/rate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from voxpath import _engine
from voxpath.scenario.elements.kinds import TextOrTable, tables_in
from voxpath.scenario.rates.table import RateTable

if TYPE_CHECKING:
    from collections.abc import Mapping

RATES: Mapping[str, type[RateTable]] = tables_in(__name__, "rates", RateTable)
"""The table of each rate control, by its kind, in the engine's order."""

Rates = Annotated[RateTable | str, TextOrTable(Literal[tuple(_engine.kinds("rates"))], tuple(RATES.values()))]
"""A rate control by its name, or with its settings."""


def control_of(written: RateTable | str) -> RateTable:
    """The table of a rate control, which a name stands for too."""
    return RATES[written](kind=written) if isinstance(written, str) else written
