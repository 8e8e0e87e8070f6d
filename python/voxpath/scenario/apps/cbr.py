"""Datagrams at a constant rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from voxpath.scenario.apps.summaries import DATAGRAMS, Datagrams
from voxpath.scenario.apps.table import AppTable, ConstantRate
from voxpath.scenario.quantities import Packets, PositiveSize, PositiveSpan
from voxpath.scenario.table import Keys

if TYPE_CHECKING:
    from collections.abc import Mapping


class Cbr(AppTable):
    """`from` sends datagrams at a constant rate; over UDP."""

    PLAN: ClassVar[Keys] = {"packets": "packets"}
    SUMMARIES = (Datagrams(),)
    METRICS = DATAGRAMS

    kind: Literal["cbr"]
    packet: Annotated[PositiveSize, Field(le=65_507)] = Field(description="Payload of each datagram.")
    interval: PositiveSpan = Field(description="From one datagram to the next.")
    packets: Packets | None = Field(None, description="How many; until the run ends without it.")

    @classmethod
    def known(cls, app: Mapping[str, Any]) -> ConstantRate:
        """All of it."""
        return ConstantRate(app["packet_bytes"], app["interval_ns"], app["packets"])
