"""A source that is on and off in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from voxpath.scenario.apps.summaries import DATAGRAMS, Datagrams
from voxpath.scenario.apps.table import AppTable, default
from voxpath.scenario.quantities import Packets, PositiveSize, PositiveSpan, Rate, Span
from voxpath.scenario.table import From, Keys, faults

if TYPE_CHECKING:
    from collections.abc import Mapping
_PARETO_SHAPE = 1.5


class OnOff(AppTable):
    """`from` is on and off in turn, and sends at a constant rate while on; over TCP, or UDP if it says so."""

    PLAN: ClassVar[Keys] = {
        "interval_ns": From("rate", lambda app, _: max(1, round(8_000_000_000 * app.packet / app.rate))),
        "on": From("on", lambda app, _: app.law_of(app.on), also=("law", "shape")),
        "off": From("off", lambda app, _: app.law_of(app.off)),
        "packets": "packets",
    }
    SUMMARIES = (Datagrams(),)
    METRICS = (*DATAGRAMS, "server_retransmissions", "client_retransmissions")

    kind: Literal["onoff"]
    rate: Rate = Field(description="Of the payload while it is on.")
    packet: Annotated[PositiveSize, Field(le=65_507)] = default(
        "1000 B", "Payload of each datagram, or of each piece that is written to the stream."
    )
    on: PositiveSpan = Field(description="Mean time that it is on; it begins so.")
    off: Span = Field(description="Mean time that it is off.")
    law: Literal["constant", "exponential", "pareto"] = Field("exponential", description="Of both times.")
    shape: float | None = Field(
        None,
        gt=1,
        allow_inf_nan=False,
        description="The tail's exponent of the law pareto, 1.5 without it; below 2 many sources together are"
        " self-similar.",
    )
    packets: Packets | None = Field(None, description="How many; until the run ends without it.")

    def law_of(self, mean: int) -> dict[str, Any]:
        """The plan's law of a time with this mean."""
        law: dict[str, Any] = {"kind": self.law, "mean_ns": mean}
        return law | ({"shape": float(self.shape or _PARETO_SHAPE)} if self.law == "pareto" else {})

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.shape is not None and self.law != "pareto":
            raise faults((("shape",), f"has no effect on the law {self.law}: it is pareto's"))
        return self

    @classmethod
    def known(cls, app: Mapping[str, Any]) -> str:
        """Nothing."""
        return f"{app['kind']} sends in bursts at random: the forms are of one transfer"
