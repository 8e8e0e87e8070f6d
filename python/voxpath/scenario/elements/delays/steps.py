"""Delays that hold each from its moment on, as they are written or as they were recorded."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from voxpath import _engine
from voxpath.scenario.elements.delays.table import DelayTable
from voxpath.scenario.elements.from_files import by_line
from voxpath.scenario.quantities import PositiveSpan, Span
from voxpath.scenario.table import From, Keys, Table


def _step(line: str) -> list[tuple[int, int]]:
    """A moment and the delay from then on."""
    texts = line.split(",")
    if len(texts) != 2:
        raise ValueError(f"{line!r} is not a moment and a delay, such as '1.5 s, 40 ms'")
    at, delay = (_engine.parse_span(text.strip()) for text in texts)
    return [(at, delay)]


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
        "steps": by_line(_step),
        "period_ns": "every",
    }

    kind: Literal["trace"]
    file: str = Field(
        description="A moment and the delay from then on in each line, such as '1.5 s, 40 ms'; below the "
        "scenario's directory."
    )
    every: PositiveSpan | None = Field(None, description="When it starts over; never without it.")
