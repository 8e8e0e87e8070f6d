"""How long packets are on their way: a constant delay, or a table of a kind that has its module here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from voxpath.scenario.elements.delays.table import DelayTable
from voxpath.scenario.elements.kinds import TextOrTable, tables_of
from voxpath.scenario.planning import outside
from voxpath.scenario.quantities import Span

if TYPE_CHECKING:
    from voxpath.scenario.traces import Traces

Delay = Annotated[int | DelayTable, TextOrTable(Span, tables_of("delays", DelayTable))]


def least(delay: int | DelayTable | None, files: Traces) -> int:
    """The plan's delay, which may vary from there."""
    if isinstance(delay, DelayTable):
        return int(outside(delay, "delay_ns", files, 0))
    return delay or 0


def variation(delay: int | DelayTable | None) -> DelayTable | None:
    """How the plan's delay varies, where it does."""
    return delay if isinstance(delay, DelayTable) else None
