"""Rates that change at random between states."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import Field, model_validator

from voxpath.scenario.elements.capacities.table import RateOrNone, RateTable
from voxpath.scenario.quantities import PositiveSpan, Probability
from voxpath.scenario.table import From, Keys, Table, faults

if TYPE_CHECKING:
    from voxpath.scenario.elements.kinds import Planned


class RateState(Table):
    """A state of a Markov chain."""

    rate: RateOrNone = Field(description="While it lasts; packets wait while it is '0 bit/s'.")
    dwell: PositiveSpan = Field(description="How long it lasts, or the mean of that.")
    probability: Probability | None = Field(
        None, description="That it comes next, whichever state ends; in every state, or in none."
    )
    next: tuple[Probability, ...] | None = Field(
        None, strict=False, description="Of each state to come next, in order; in every state, or in none."
    )


class MarkovRate(RateTable):
    """A rate that changes at random between states."""

    PLAN: ClassVar[Keys] = {
        "states": From("states", lambda chain, _: chain.planned(), also=("dwell",)),
        "start": From("start", lambda chain, _: chain.first()),
    }

    kind: Literal["markov"]
    states: tuple[RateState, ...] = Field(strict=False, min_length=2, description="With a rate each.")
    dwell: Literal["exponential", "constant"] = Field(
        "exponential",
        description="Whether times in a state are distributed exponentially, or always the same.",
    )
    start: Literal["first", "drawn"] = Field(
        "first",
        description="In which state it starts: the first, or one that is drawn by their probability.",
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        by_state = [state.next is not None for state in self.states]
        alike = [state.probability is not None for state in self.states]
        for index, (own, common) in enumerate(zip(by_state, alike, strict=True)):
            if own == common or own != by_state[0]:
                raise faults(
                    (("states", index), "needs either probability or next, the same as every other state")
                )
        if self.start == "drawn" and by_state[0]:
            raise faults((("start",), "the first state is drawn by its probability: give every state one"))
        return self

    def _rows(self) -> list[list[float]]:
        alike = [state.probability or 0.0 for state in self.states]
        return [alike if state.next is None else list(state.next) for state in self.states]

    def first(self) -> list[float] | None:
        """The plan's probabilities of the first state."""
        return [state.probability or 0.0 for state in self.states] if self.start == "drawn" else None

    def planned(self) -> list[Planned]:
        """The plan's states."""
        exponential = self.dwell == "exponential"
        return [
            {"rate_bps": state.rate, "dwell_ns": state.dwell, "exponential": exponential, "next": row}
            for state, row in zip(self.states, self._rows(), strict=True)
        ]
