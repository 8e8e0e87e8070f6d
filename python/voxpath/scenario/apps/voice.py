"""Requests in blocks, as they are spoken, with partial answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from voxpath.scenario.apps.summaries import RESPONSES, TCP, Delays
from voxpath.scenario.apps.table import AppTable
from voxpath.scenario.quantities import PositiveSize, PositiveSpan, Several, Size, Span

if TYPE_CHECKING:
    from collections.abc import Mapping


_PARTIALS = Delays(
    "partial",
    "messages",
    "ready_ns",
    "received_ns",
    count="partials_received",
    counted="Partial answers delivered whole",
    what="delay of the partial answers: from the block's last byte, taken by the socket, to the last byte of "
    "its partial answer",
    always=False,
)


class Voice(AppTable):
    """`from` speaks in blocks, `to` answers each; after the last request `to` closes; over TCP."""

    SUMMARIES = (RESPONSES, _PARTIALS)
    METRICS = (
        "completion_s",
        "response_p50_ns",
        "response_p95_ns",
        "partial_p50_ns",
        "partial_p95_ns",
        *TCP,
    )

    kind: Literal["voice"]
    blocks: Several = Field(description="Of each request.")
    block: PositiveSize = Field(description="Of each block.")
    interval: PositiveSpan = Field(
        description="From one block to the next; a block that the socket cannot take yet waits, and the"
        " next ones behind it."
    )
    partial: Size = Field(0, description="Of the answer to each block but the last.")
    answer: PositiveSize = Field(description="Of the answer to the last block.")
    processing: Span = Field(0, description="Between reading the last byte of a request and answering it.")
    requests: Several = Field(1, description="How many.")
    pause: Span = Field(0, description="Between the end of an answer and the next request.")

    @classmethod
    def known(cls, app: Mapping[str, Any]) -> str:
        """Nothing."""
        del app
        return "a voice request is sent as it is spoken: the forms are of data that is there"
