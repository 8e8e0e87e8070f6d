"""Datagrams that come back."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from voxpath.scenario.apps.summaries import Datagrams
from voxpath.scenario.apps.table import AppTable, default
from voxpath.scenario.quantities import Packets, PositiveSize, PositiveSpan, Span
from voxpath.scenario.table import Keys


class Ping(AppTable):
    """`from` sends datagrams at a constant rate, `to` sends each of them back; over UDP.

    Its delays are round-trip times. Since both ends count, losses there and back are told apart.
    """

    PLAN: ClassVar[Keys] = {"packets": "packets"}
    SUMMARIES = (Datagrams(),)
    METRICS = (
        "delay_p50_ns",
        "delay_p95_ns",
        "delay_max_ns",
        "jitter_ns",
        "datagrams_lost",
        "datagrams_sent",
    )

    kind: Literal["ping"]
    packet: Annotated[PositiveSize, Field(le=65_507)] = default("64 B", "Payload of each datagram.")
    interval: PositiveSpan = default("1 s", "From one datagram to the next.")
    packets: Packets | None = Field(None, description="How many; until the run ends without it.")
    patience: Span = default("2 s", "How long an answer to the last one is awaited.")
