"""The traffic of iperf-siri, with which Tran et al. 2018 measure voice requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, model_validator

from voxpath.scenario.apps.summaries import RESPONSES, TCP
from voxpath.scenario.apps.table import AppTable, default
from voxpath.scenario.quantities import PositiveSize, PositiveSpan, Several, Size
from voxpath.scenario.table import faults
from voxpath.scenario.tcp import Socket

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from voxpath.scenario.metric import Metric


@dataclass(frozen=True)
class Flaws:
    """What the published tool's rules do: the columns of the table as they are."""

    table: str = "flaws"
    transport: str = "tcp"
    counts: tuple[str, ...] = ()

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """None beside those of the table."""
        return {}

    def frame(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows."""
        return rows


class IperfSiri(AppTable):
    """`from` speaks in bursts of small packets, `to` answers each; over TCP. Defaults are iperf-siri's."""

    SUMMARIES = (RESPONSES, Flaws())
    METRICS = ("response_p50_ns", "response_p95_ns", "requests_answered", *TCP)
    SOCKET = Socket(nagle=False)

    kind: Literal["iperf_siri"]
    bursts: Several = Field(9, description="Of each request.")
    packets: Several = Field(9, description="Of each burst; each is written by itself.")
    smallest: PositiveSize = default(
        "50 B", "Of the packets; all sizes up to the largest are equally likely."
    )
    largest: PositiveSize = default("500 B", "Of the packets.")
    spacing: PositiveSpan = default("10 us", "From one packet of a burst to the next: a system call.")
    interval: PositiveSpan = default("300 ms", "From the last packet of a burst to the next burst.")
    intermediate: Size = default(
        "100 B", "Of the answer to each burst but the last: 100 Continue. `0 B` is none."
    )
    answer: PositiveSize = default("750 B", "Of the answer to the last burst.")
    requests: Several = Field(1, description="How many.")
    wait: PositiveSpan = default(
        "4 s", "From the last packet of a request to the next request, answered or not."
    )
    answer_each_read: bool = Field(
        False,
        description="`to` answers each read of up to 5000 bytes that has a part of a burst's last packet, as "
        "iperf-siri does: twice where that packet comes in two reads, once where two come in one.",
    )
    answer_in_one_read: bool = Field(
        False,
        description="`from` takes for the answer what comes in one read that is at most 50 bytes shorter, as "
        "iperf-siri does: it misses an answer in two reads.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.largest < self.smallest:
            raise faults((("largest",), f"is smaller than the smallest packet: at least {self.smallest} B"))
        return self

    @classmethod
    def known(cls, app: Mapping[str, Any]) -> str:
        """Nothing."""
        del app
        return "a voice request is sent as it is spoken: the forms are of data that is there"
