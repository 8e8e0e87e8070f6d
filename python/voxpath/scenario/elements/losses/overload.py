"""What is offered above a rate is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from voxpath.scenario.elements.capacities.markov import MarkovRate
from voxpath.scenario.elements.capacities.schedule import ScheduledRate
from voxpath.scenario.elements.kinds import TextOrTable
from voxpath.scenario.elements.losses.table import LossTable
from voxpath.scenario.quantities import PositiveSpan, Rate
from voxpath.scenario.table import From, Keys

if TYPE_CHECKING:
    from voxpath.scenario.elements.capacities.table import RateTable
    from voxpath.scenario.elements.kinds import Planned


def _capacity(rate: int | RateTable) -> Planned | RateTable:
    """What a plan holds of a rate: a constant one is a schedule of one step."""
    if isinstance(rate, int):
        return {"kind": "schedule", "steps": [[0, rate]], "period_ns": None}
    return rate


class OverloadLoss(LossTable):
    """What is offered above a rate is lost: a packet with the probability 1 - rate / offered."""

    PLAN: ClassVar[Keys] = {"capacity": From("rate", lambda loss, _: _capacity(loss.rate))}

    kind: Literal["overload"]
    rate: Annotated[int | ScheduledRate | MarkovRate, TextOrTable(Rate, (ScheduledRate, MarkovRate))] = Field(
        description="That is available; a text, or a table of kind schedule or markov."
    )
    window: PositiveSpan = Field(
        100_000_000,
        description="Over how long what is offered is measured, with the packet itself; '100 ms' without it.",
    )
