"""How long packets are on their way."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, Tag, model_validator

from voxpath.scenario.elements.kinds import BY_KIND, TEXT, Planned
from voxpath.scenario.elements.rates import check_steps
from voxpath.scenario.elements.traces import TraceError, Traces, delays
from voxpath.scenario.quantities import PositiveSpan, Probability, Span
from voxpath.scenario.table import Table


class RandomDelay(Table):
    """A delay with a distribution."""

    correlation: Probability = Field(0.0, description="From one packet to the next; '0 %' without it.")
    reorder: bool = Field(
        False, description="Whether packets may overtake each other; else one waits for the one before it."
    )


class NormalDelay(RandomDelay):
    """A normal delay; what is below zero counts as none."""

    kind: Literal["normal"]
    mean: Span = Field(description="Its mean.")
    deviation: PositiveSpan = Field(description="Its standard deviation.")

    def planned(self, _traces: Traces) -> tuple[int, Planned]:
        """The plan's delay and how it varies."""
        variation = {
            "kind": "normal",
            "deviation_ns": self.deviation,
            "correlation": self.correlation,
            "overtaking": self.reorder,
        }
        return self.mean, variation


class ParetoDelay(RandomDelay):
    """A Pareto delay: longer than d with probability (least / d)^shape."""

    kind: Literal["pareto"]
    least: PositiveSpan = Field(description="The shortest; the mean is shape / (shape - 1) times as long.")
    shape: float = Field(
        gt=0, allow_inf_nan=False, description="How fast long delays become rare: the mean exists above 1."
    )

    def planned(self, _traces: Traces) -> tuple[int, Planned]:
        """The plan's delay and how it varies."""
        variation = {
            "kind": "pareto",
            "shape": float(self.shape),
            "correlation": self.correlation,
            "overtaking": self.reorder,
        }
        return self.least, variation


class DelayStep(Table):
    """A delay from a moment on."""

    at: Span = Field(description="From the run's start, or that of the period.")
    delay: Span = Field(description="Of what leaves the serialiser from then on.")


class SteppedDelay(Table):
    """Delays that hold each from its moment on; packets do not overtake each other."""

    kind: Literal["schedule"]
    steps: tuple[DelayStep, ...] = Field(
        strict=False, min_length=1, description="In order, the first at '0 s'."
    )
    every: PositiveSpan | None = Field(None, description="When the steps start over; never without it.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        check_steps([step.at for step in self.steps], self.every)
        return self

    def planned(self, _traces: Traces) -> tuple[int, Planned]:
        """The plan's delay and how it varies."""
        steps = [[step.at, step.delay] for step in self.steps]
        return 0, {"kind": "steps", "steps": steps, "period_ns": self.every}


class TracedDelay(Table):
    """Delays as they were recorded; packets do not overtake each other."""

    kind: Literal["trace"]
    file: str = Field(
        description="A moment and the delay from then on in each line, such as '1.5 s, 40 ms'; below the "
        "scenario's directory."
    )
    every: PositiveSpan | None = Field(None, description="When it starts over; never without it.")

    def planned(self, traces: Traces) -> tuple[int, Planned]:
        """The plan's delay and how it varies.

        Raises:
            TraceError: The file is no such trace.
        """
        steps = delays(traces, self.file)
        if self.every is not None and self.every <= steps[-1][0]:
            raise TraceError(f"every must come after the last moment of {self.file!r}")
        return 0, {"kind": "steps", "steps": [list(step) for step in steps], "period_ns": self.every}


DelayTable = NormalDelay | ParetoDelay | SteppedDelay | TracedDelay

Delay = Annotated[
    Annotated[Span, Tag(TEXT)]
    | Annotated[NormalDelay, Tag("normal")]
    | Annotated[ParetoDelay, Tag("pareto")]
    | Annotated[SteppedDelay, Tag("schedule")]
    | Annotated[TracedDelay, Tag("trace")],
    BY_KIND,
]


def planned_delay(delay: int | DelayTable | None, traces: Traces) -> tuple[int, Planned | None]:
    """The plan's delay and how it varies.

    Raises:
        TraceError: A file is no such trace.
    """
    if delay is None or isinstance(delay, int):
        return delay or 0, None
    return delay.planned(traces)
