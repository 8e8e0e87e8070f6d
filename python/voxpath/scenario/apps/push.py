"""Updates that a server has for a client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from voxpath.scenario.apps.summaries import TCP, Delays
from voxpath.scenario.apps.table import AppTable, default
from voxpath.scenario.quantities import PositiveSize, PositiveSpan, Span
from voxpath.scenario.table import From, Keys, faults
from voxpath.scenario.tcp import Socket

if TYPE_CHECKING:
    from collections.abc import Mapping

_Update = Annotated[tuple[Span, PositiveSize], Field(strict=False)]
_EVENT = 8
_KEY_OF_WAY = {"event": "streaming", "every": "polling"}


_UPDATES = Delays(
    "update",
    "messages",
    "ready_ns",
    "received_ns",
    count="updates_received",
    counted="Updates that came whole",
    what="delay of the updates that came: from when the server had one to its last byte at the client",
)


class Push(AppTable):
    """`to` has updates for `from` and tells them by one of HTTP's ways (RFC 6202), then closes; over TCP."""

    PLAN: ClassVar[Keys] = {
        "way": From("way", lambda app, _: app.told(), also=("event", "every")),
        "updates": "updates",
    }
    SUMMARIES = (_UPDATES,)
    METRICS = ("updates_received", "update_p50_ns", "update_p95_ns", "update_max_ns", *TCP)
    SOCKET = Socket(nagle=False)

    kind: Literal["push"]
    way: Literal["streaming", "long_polling", "polling"] = Field(
        description="The answer to one request never ends; it is held back until there is an update, and then"
        " `from` asks again; or `from` asks every so often, and is answered at once."
    )
    updates: tuple[_Update, ...] = Field(
        min_length=1,
        max_length=1_000_000,
        strict=False,
        description="When `to` has each, from the flow's start, and its size, in order.",
    )
    request: PositiveSize = default("400 B", "Of each request.")
    head: PositiveSize = default("200 B", "Of the head of each answer.")
    event: PositiveSize | None = Field(
        None,
        description="Around each update that is streamed, 8 B without it: `data: ` and two line ends, as a"
        " server-sent event has them (chunks of HTTP/1.1 would add theirs).",
    )
    every: PositiveSpan | None = Field(None, description="From one poll to the next; needed by polling.")

    def told(self) -> dict[str, Any]:
        """The plan's way."""
        match self.way:
            case "streaming":
                return {"kind": "streaming", "event_bytes": _EVENT if self.event is None else self.event}
            case "polling":
                return {"kind": "polling", "every_ns": self.every}
            case _:
                return {"kind": self.way}

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        found: list[tuple[tuple[str | int, ...], str]] = [
            ((key,), f"has no effect on {self.way}: it is of {way}")
            for key, way in _KEY_OF_WAY.items()
            if getattr(self, key) is not None and self.way != way
        ]
        if self.way == "polling" and self.every is None:
            found.append((("every",), "is missing: how often polling asks"))
        if found:
            raise faults(*found)
        return self

    @classmethod
    def known(cls, app: Mapping[str, Any]) -> str:
        """Nothing."""
        del app
        return "updates are told when they are there: the forms are of data that is there"
