"""Requests and answers in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from voxpath.scenario.apps.summaries import RESPONSES, TCP
from voxpath.scenario.apps.table import AppTable, OneTransfer
from voxpath.scenario.quantities import PositiveSize, Several, Span

if TYPE_CHECKING:
    from collections.abc import Mapping


class Download(AppTable):
    """`from` asks and `to` answers, one request after the other; then `to` closes; over TCP."""

    SUMMARIES = (RESPONSES,)
    METRICS = ("completion_s", "goodput_bps", *TCP)
    SENDER = "server"

    kind: Literal["download"]
    request: PositiveSize = Field(description="Of each request.")
    response: PositiveSize = Field(description="Of each response.")
    requests: Several = Field(1, description="How many.")
    pause: Span = Field(0, description="Between the end of a response and the next request.")

    @classmethod
    def known(cls, app: Mapping[str, Any]) -> OneTransfer | str:
        """One transfer, if there is one request."""
        if app["requests"] > 1:
            return "more than one request: what the window does in the pauses is not covered"
        return OneTransfer(app["response_bytes"], asked=True)
