"""What a serialiser carries: a constant rate, a schedule, a Markov chain, a trace."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, Tag, WithJsonSchema, model_validator

from voxpath import _engine
from voxpath.scenario.elements.kinds import BY_KIND, TEXT, Planned
from voxpath.scenario.elements.traces import opportunities
from voxpath.scenario.quantities import PositiveSpan, Probability, Rate, Span, Unit
from voxpath.scenario.table import From, Keys, Table, faults


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


class RateStep(Table):
    """A rate from a moment on."""

    PLAN: ClassVar[Keys] = {0: "at", 1: "rate"}

    at: Span = Field(description="From the run's start, or that of the period.")
    rate: RateOrNone = Field(description="From then on; packets wait while it is '0 bit/s'.")


class ScheduledRate(Table):
    """Rates that hold each from its moment on."""

    PLAN: ClassVar[Keys] = {"period_ns": "every"}

    kind: Literal["schedule"]
    steps: tuple[RateStep, ...] = Field(
        strict=False, min_length=1, description="In order, the first at '0 s'."
    )
    every: PositiveSpan | None = Field(None, description="When the steps start over; never without it.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        check_steps([step.at for step in self.steps], self.every)
        if not any(step.rate for step in self.steps):
            raise faults((("steps",), "nothing ever passes: one rate is above zero"))
        return self


def check_steps(moments: list[int], every: int | None) -> None:
    """Raises where steps are not in order, or outlast their period."""
    if moments[0] != 0:
        raise faults((("steps", 0, "at"), "must be '0 s': something holds from the start"))
    for index in range(1, len(moments)):
        if moments[index] <= moments[index - 1]:
            raise faults((("steps", index, "at"), "does not come after the step before"))
    if every is not None and every <= moments[-1]:
        raise faults((("every",), "must come after the last step"))


_SHORTEST_DWELL = 1_000
"""Nanoseconds; a chain of shorter states would keep a run from getting on."""


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


class MarkovRate(Table):
    """A rate that changes at random between states; it starts in the first."""

    PLAN: ClassVar[Keys] = {"states": From("states", lambda chain, _: chain.planned(), also=("dwell",))}

    kind: Literal["markov"]
    states: tuple[RateState, ...] = Field(strict=False, min_length=2, description="With a rate each.")
    dwell: Literal["exponential", "constant"] = Field(
        "exponential",
        description="Whether times in a state are distributed exponentially, or always the same.",
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
            if own and len(self.states[index].next or ()) != len(self.states):
                raise faults((("states", index, "next"), f"must have {len(self.states)} probabilities"))
        for index, state in enumerate(self.states):
            if state.dwell < _SHORTEST_DWELL:
                raise faults((("states", index, "dwell"), "is too short: a state lasts 1 us at least"))
        for index, row in enumerate(self._rows()):
            if abs(sum(row) - 1) > 1e-9:
                place = ("states", index, "next") if by_state[0] else ("states",)
                raise faults((place, f"the probabilities sum up to {100 * sum(row):g} %, not 100 %"))
        if not any(state.rate for state in self.states):
            raise faults((("states",), "nothing ever passes: one rate is above zero"))
        return self

    def _rows(self) -> list[list[float]]:
        alike = [state.probability or 0.0 for state in self.states]
        return [alike if state.next is None else list(state.next) for state in self.states]

    def planned(self) -> list[Planned]:
        """The plan's states."""
        exponential = self.dwell == "exponential"
        return [
            {"rate_bps": state.rate, "dwell_ns": state.dwell, "exponential": exponential, "next": row}
            for state, row in zip(self.states, self._rows(), strict=True)
        ]


class TracedRate(Table):
    """Packets at the opportunities of a packet-delivery trace in Mahimahi's format, over and over."""

    PLAN: ClassVar[Keys] = {
        "opportunities_ms": From("file", lambda rate, files: opportunities(files, rate.file))
    }

    kind: Literal["trace"]
    file: str = Field(
        description="A millisecond in each line, at which 1500 bytes can be delivered; below the scenario's "
        "directory."
    )


VaryingRate = ScheduledRate | MarkovRate | TracedRate


def constant(rate: int | VaryingRate | None) -> int | None:
    """The plan's constant rate."""
    return None if isinstance(rate, Table) else rate


def varying(rate: int | VaryingRate | None) -> VaryingRate | None:
    """The plan's capacity, where it varies."""
    return rate if isinstance(rate, Table) else None


LinkRate = Annotated[
    Annotated[Rate, Tag(TEXT)]
    | Annotated[ScheduledRate, Tag("schedule")]
    | Annotated[MarkovRate, Tag("markov")]
    | Annotated[TracedRate, Tag("trace")],
    BY_KIND,
]
