"""How long packets are on their way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import Field, Tag, model_validator

from voxpath.scenario.elements.kinds import BY_KIND, TEXT
from voxpath.scenario.elements.rates import check_steps
from voxpath.scenario.elements.traces import TraceError, delays
from voxpath.scenario.planning import outside
from voxpath.scenario.quantities import PositiveSpan, Probability, Span
from voxpath.scenario.table import From, Keys, Outside, Table

if TYPE_CHECKING:
    from voxpath.scenario.elements.traces import Traces


class RandomDelay(Table):
    """A delay with a distribution."""

    PLAN: ClassVar[Keys] = {"overtaking": "reorder"}

    correlation: Probability = Field(0.0, description="From one packet to the next; '0 %' without it.")
    reorder: bool = Field(
        False, description="Whether packets may overtake each other; else one waits for the one before it."
    )


class NormalDelay(RandomDelay):
    """A normal delay; what is below zero counts as none."""

    PLAN: ClassVar[Keys] = {"delay_ns": Outside("mean", lambda delay, _: delay.mean)}

    kind: Literal["normal"]
    mean: Span = Field(description="Its mean.")
    deviation: PositiveSpan = Field(description="Its standard deviation.")


class ParetoDelay(RandomDelay):
    """A Pareto delay: longer than d with probability (least / d)^shape."""

    PLAN: ClassVar[Keys] = {"delay_ns": Outside("least", lambda delay, _: delay.least)}

    kind: Literal["pareto"]
    least: PositiveSpan = Field(description="The shortest; the mean is shape / (shape - 1) times as long.")
    shape: float = Field(
        gt=0, allow_inf_nan=False, description="How fast long delays become rare: the mean exists above 1."
    )


class DelayStep(Table):
    """A delay from a moment on."""

    PLAN: ClassVar[Keys] = {0: "at", 1: "delay"}

    at: Span = Field(description="From the run's start, or that of the period.")
    delay: Span = Field(description="Of what leaves the serialiser from then on.")


class SteppedDelay(Table):
    """Delays that hold each from its moment on; packets do not overtake each other."""

    PLAN: ClassVar[Keys] = {"kind": From("kind", lambda *_: "steps"), "period_ns": "every"}

    kind: Literal["schedule"]
    steps: tuple[DelayStep, ...] = Field(
        strict=False, min_length=1, description="In order, the first at '0 s'."
    )
    every: PositiveSpan | None = Field(None, description="When the steps start over; never without it.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        check_steps([step.at for step in self.steps], self.every)
        return self


class TracedDelay(Table):
    """Delays as they were recorded; packets do not overtake each other."""

    PLAN: ClassVar[Keys] = {
        "kind": From("kind", lambda *_: "steps"),
        "steps": From("file", lambda delay, files: delay.recorded(files)),
        "period_ns": "every",
    }

    kind: Literal["trace"]
    file: str = Field(
        description="A moment and the delay from then on in each line, such as '1.5 s, 40 ms'; below the "
        "scenario's directory."
    )
    every: PositiveSpan | None = Field(None, description="When it starts over; never without it.")

    def recorded(self, files: Traces) -> list[tuple[int, int]]:
        """The steps in the file.

        Raises:
            TraceError: The file is no such trace.
        """
        steps = delays(files, self.file)
        if self.every is not None and self.every <= steps[-1][0]:
            raise TraceError(f"every must come after the last moment of {self.file!r}")
        return steps


DelayTable = NormalDelay | ParetoDelay | SteppedDelay | TracedDelay

Delay = Annotated[
    Annotated[Span, Tag(TEXT)]
    | Annotated[NormalDelay, Tag("normal")]
    | Annotated[ParetoDelay, Tag("pareto")]
    | Annotated[SteppedDelay, Tag("schedule")]
    | Annotated[TracedDelay, Tag("trace")],
    BY_KIND,
]


def least(delay: int | DelayTable | None, files: Traces) -> int:
    """The plan's delay, which may vary from there."""
    if isinstance(delay, Table):
        return int(outside(delay, "delay_ns", files, 0))
    return delay or 0


def variation(delay: int | DelayTable | None) -> DelayTable | None:
    """How the plan's delay varies, where it does."""
    return delay if isinstance(delay, Table) else None
