"""Which packets a wire loses or damages: a probability, or a table of a kind that has its module here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from voxpath.scenario.elements.kinds import TextOrTable, tables_of
from voxpath.scenario.elements.losses.table import LossTable
from voxpath.scenario.quantities import Probability

if TYPE_CHECKING:
    from voxpath.scenario.elements.kinds import Planned

Loss = Annotated[float | LossTable, TextOrTable(Probability, tables_of("losses", LossTable))]


def model(loss: float | LossTable | None) -> Planned | LossTable:
    """What a plan holds of a loss."""
    match loss:
        case None:
            return {"kind": "none"}
        case float():
            return {"kind": "bernoulli", "p": loss}
        case table:
            return table
