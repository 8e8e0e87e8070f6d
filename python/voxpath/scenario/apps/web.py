"""A user of the web."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from voxpath.scenario.apps.summaries import RESPONSES, TCP, Delays
from voxpath.scenario.apps.table import AppTable, default
from voxpath.scenario.quantities import PositiveSize, Several, Size, Span
from voxpath.scenario.table import Keys, Outside, Table

if TYPE_CHECKING:
    from collections.abc import Mapping


class ObjectSize(Table):
    """A lognormal size, drawn again until it lies inside of its bounds."""

    mean: PositiveSize = Field(description="Before it is cut.")
    deviation: Size = Field(description="Standard deviation before it is cut.")
    least: Size = Field(description="The least that it is.")
    most: PositiveSize = Field(description="It is below.")


class ObjectCount(Table):
    """A Pareto number, drawn again until it lies below `bound`; the scale is taken away, and the fraction."""

    shape: float = Field(gt=0, allow_inf_nan=False, description="The tail's exponent.")
    scale: float = Field(gt=0, allow_inf_nan=False, description="The least value.")
    bound: float = Field(gt=0, le=1e6, allow_inf_nan=False, description="Every value is below.")


_PAGES = Delays(
    "page",
    "pages",
    "sent_ns",
    "completed_ns",
    count="pages_loaded",
    counted="Pages loaded whole",
    what="time of a page: from the request for its main object to the last byte of its last object, parsing "
    "included",
)


class Web(AppTable):
    """`from` loads pages from `to`: a main object, then embedded ones one after the other; over TCP.

    The values without keys are those of 3GPP's HTTP model as ns-3 has them (`ThreeGppHttpVariables`).
    """

    PLAN: ClassVar[Keys] = {
        "main": "main",
        "embedded": "embedded",
        "objects": "objects",
        # Each connection is a flow of the plan.
        "connections": Outside("connections", lambda app, _: app.connections),
    }
    SUMMARIES = (RESPONSES, _PAGES)
    METRICS = (
        "goodput_bps",
        "pages_loaded",
        "page_p50_ns",
        "page_p95_ns",
        "response_p50_ns",
        "response_p95_ns",
        *TCP,
    )

    kind: Literal["web"]
    connections: Annotated[int, Field(ge=1, le=10_000)] = Field(
        16, description="Of the source, each with a user of its own; they are called name.1, name.2, ..."
    )
    request: PositiveSize = default("328 B", "Of each request.")
    main: ObjectSize = default(
        {"mean": "10710 B", "deviation": "25032 B", "least": "100 B", "most": "2 MB"}, "Of main objects."
    )
    embedded: ObjectSize = default(
        {"mean": "7758 B", "deviation": "126168 B", "least": "50 B", "most": "2 MB"}, "Of embedded objects."
    )
    objects: ObjectCount = default(
        {"shape": 1.1, "scale": 2.0, "bound": 55.0}, "How many embedded objects a page has."
    )
    parsing: Span = default("130 ms", "Mean of the exponential time that a main object takes to parse.")
    reading: Span = default("30 s", "Mean of the exponential time from a page's end to the next page.")
    pages: Several | None = Field(None, description="How many; until the run ends without it.")

    @property
    def conversations(self) -> int:
        """One for each connection."""
        return self.connections

    @classmethod
    def known(cls, app: Mapping[str, Any]) -> str:
        """Nothing."""
        return f"{app['kind']} sends in bursts at random: the forms are of one transfer"
