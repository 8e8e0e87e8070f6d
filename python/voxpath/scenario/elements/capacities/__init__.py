"""What a serialiser carries: a constant rate, or a table of a kind that has its module here."""

from __future__ import annotations

from typing import Annotated

from voxpath.scenario.elements.capacities.table import RateTable
from voxpath.scenario.elements.kinds import TextOrTable, tables_of
from voxpath.scenario.quantities import Rate

LinkRate = Annotated[int | RateTable, TextOrTable(Rate, tables_of("capacities", RateTable))]


def constant(rate: int | RateTable | None) -> int | None:
    """The plan's constant rate."""
    return None if isinstance(rate, RateTable) else rate


def varying(rate: int | RateTable | None) -> RateTable | None:
    """The plan's capacity, where it varies."""
    return rate if isinstance(rate, RateTable) else None
