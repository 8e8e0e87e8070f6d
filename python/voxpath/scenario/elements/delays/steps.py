"""Delays that hold each from its moment on, as they are written or as they were recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from voxpath import _engine
from voxpath.scenario.elements.delays.table import DelayTable
from voxpath.scenario.quantities import PositiveSpan, Span
from voxpath.scenario.table import From, Keys, Table
from voxpath.scenario.traces import fault

if TYPE_CHECKING:
    from voxpath.scenario.traces import Traces


def delays(files: Traces, name: str) -> list[tuple[int, int]]:
    """A moment and the delay from then on in a line, such as `1.5 s, 40 ms`; ascending from zero.

    Raises:
        TraceError: It is none.
    """
    found: list[tuple[int, int]] = []
    for number, line in files.lines(name):
        texts = line.split(",")
        if len(texts) != 2:
            raise fault(name, number, f"{line!r} is not a moment and a delay, such as '1.5 s, 40 ms'")
        try:
            at, delay = (_engine.parse_span(text.strip()) for text in texts)
        except ValueError as error:
            raise fault(name, number, str(error)) from None
        if not found and at:
            raise fault(name, number, "the first moment is not zero")
        if found and at <= found[-1][0]:
            raise fault(name, number, f"{texts[0]} does not come after the line before")
        found.append((at, delay))
    return found


class DelayStep(Table):
    """A delay from a moment on."""

    PLAN: ClassVar[Keys] = {0: "at", 1: "delay"}

    at: Span = Field(description="From the run's start, or that of the period.")
    delay: Span = Field(description="Of what leaves the serialiser from then on.")


class SteppedDelay(DelayTable):
    """Delays that hold each from its moment on; packets do not overtake each other."""

    PLAN: ClassVar[Keys] = {"kind": From("kind", lambda *_: "steps"), "period_ns": "every"}

    kind: Literal["schedule"]
    steps: tuple[DelayStep, ...] = Field(
        strict=False, min_length=1, description="In order, the first at '0 s'."
    )
    every: PositiveSpan | None = Field(None, description="When the steps start over; never without it.")


class TracedDelay(DelayTable):
    """Delays as they were recorded; packets do not overtake each other."""

    PLAN: ClassVar[Keys] = {
        "kind": From("kind", lambda *_: "steps"),
        "steps": From("file", lambda delay, files: delays(files, delay.file)),
        "period_ns": "every",
    }

    kind: Literal["trace"]
    file: str = Field(
        description="A moment and the delay from then on in each line, such as '1.5 s, 40 ms'; below the "
        "scenario's directory."
    )
    every: PositiveSpan | None = Field(None, description="When it starts over; never without it.")
