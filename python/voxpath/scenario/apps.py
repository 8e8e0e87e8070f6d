"""Applications: what the two ends of a flow do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from voxpath.scenario.quantities import Packets, PositiveSize, PositiveSpan, Rate, Size, Span
from voxpath.scenario.speech import Speech
from voxpath.scenario.speech import planned as planned_speech
from voxpath.scenario.table import Table, faults

if TYPE_CHECKING:
    from voxpath.scenario.elements.traces import Traces

_PARETO_SHAPE = 1.5


class Bulk(Table):
    """`from` sends to `to`, then closes; over TCP."""

    kind: Literal["bulk"]
    size: PositiveSize | None = Field(None, description="How much; until the run ends without it.")


_Count = Annotated[int, Field(ge=1, le=2**32 - 1)]


class Download(Table):
    """`from` asks and `to` answers, one request after the other; then `to` closes; over TCP."""

    kind: Literal["download"]
    request: PositiveSize = Field(description="Of each request.")
    response: PositiveSize = Field(description="Of each response.")
    requests: _Count = Field(1, description="How many.")
    pause: Span = Field(0, description="Between the end of a response and the next request.")


class Voice(Table):
    """`from` speaks in blocks, `to` answers each; after the last request `to` closes; over TCP."""

    kind: Literal["voice"]
    blocks: _Count = Field(description="Of each request.")
    block: PositiveSize = Field(description="Of each block.")
    interval: PositiveSpan = Field(
        description="From one block to the next; a block that the socket cannot take yet waits, and the"
        " next ones behind it."
    )
    partial: Size = Field(0, description="Of the answer to each block but the last.")
    answer: PositiveSize = Field(description="Of the answer to the last block.")
    processing: Span = Field(0, description="Between reading the last byte of a request and answering it.")
    requests: _Count = Field(1, description="How many.")
    pause: Span = Field(0, description="Between the end of an answer and the next request.")


class Cbr(Table):
    """`from` sends datagrams at a constant rate; over UDP."""

    kind: Literal["cbr"]
    packet: Annotated[PositiveSize, Field(le=65_507)] = Field(description="Payload of each datagram.")
    interval: PositiveSpan = Field(description="From one datagram to the next.")
    packets: Packets | None = Field(None, description="How many; until the run ends without it.")


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


def _default(value: object, description: str) -> Any:
    """A field whose default is written as in a scenario."""
    return Field(value, validate_default=True, description=description)


class Web(Table):
    """`from` loads pages from `to`: a main object, then embedded ones one after the other; over TCP.

    The values without keys are those of 3GPP's HTTP model as ns-3 has them (`ThreeGppHttpVariables`).
    """

    kind: Literal["web"]
    connections: Annotated[int, Field(ge=1, le=10_000)] = Field(
        16, description="Of the source, each with a user of its own; they are called name.1, name.2, ..."
    )
    request: PositiveSize = _default("328 B", "Of each request.")
    main: ObjectSize = _default(
        {"mean": "10710 B", "deviation": "25032 B", "least": "100 B", "most": "2 MB"}, "Of main objects."
    )
    embedded: ObjectSize = _default(
        {"mean": "7758 B", "deviation": "126168 B", "least": "50 B", "most": "2 MB"}, "Of embedded objects."
    )
    objects: ObjectCount = _default(
        {"shape": 1.1, "scale": 2.0, "bound": 55.0}, "How many embedded objects a page has."
    )
    parsing: Span = _default("130 ms", "Mean of the exponential time that a main object takes to parse.")
    reading: Span = _default("30 s", "Mean of the exponential time from a page's end to the next page.")
    pages: _Count | None = Field(None, description="How many; until the run ends without it.")


class OnOff(Table):
    """`from` is on and off in turn, and sends at a constant rate while on; over TCP, or UDP if it says so."""

    kind: Literal["onoff"]
    rate: Rate = Field(description="Of the payload while it is on.")
    packet: Annotated[PositiveSize, Field(le=65_507)] = _default(
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

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.shape is not None and self.law != "pareto":
            raise faults((("shape",), f"has no effect on the law {self.law}: it is pareto's"))
        return self


_LENGTH = 4
"""Bytes that say how long an answer is; the engine's `push::LENGTH`."""
_MOST = 2**26
_Around = Annotated[PositiveSize, Field(ge=_LENGTH, le=_MOST)]
_Update = Annotated[tuple[Span, Annotated[PositiveSize, Field(le=_MOST)]], Field(strict=False)]
_EVENT = 8
_KEY_OF_WAY = {"event": "streaming", "every": "polling"}


class Push(Table):
    """`to` has updates for `from` and tells them by one of HTTP's ways (RFC 6202), then closes; over TCP."""

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
    request: Annotated[PositiveSize, Field(le=_MOST)] = _default("400 B", "Of each request.")
    head: _Around = _default("200 B", "Of the head of each answer.")
    event: _Around | None = Field(
        None,
        description="Around each update that is streamed, 8 B without it: `data: ` and two line ends, as a"
        " server-sent event has them (chunks of HTTP/1.1 would add theirs).",
    )
    every: PositiveSpan | None = Field(None, description="From one poll to the next; needed by polling.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        found: list[tuple[tuple[str | int, ...], str]] = [
            ((key,), f"has no effect on {self.way}: it is of {way}")
            for key, way in _KEY_OF_WAY.items()
            if getattr(self, key) is not None and self.way != way
        ]
        if self.way == "polling" and self.every is None:
            found.append((("every",), "is missing: how often polling asks"))
        found.extend(
            (("updates", index), "comes before the one before it")
            for index in range(1, len(self.updates))
            if self.updates[index][0] < self.updates[index - 1][0]
        )
        if sum(size for _, size in self.updates) > _MOST:
            found.append((("updates",), "have 64 MiB together at most"))
        if found:
            raise faults(*found)
        return self


App = Annotated[Bulk | Download | Voice | Cbr | Web | OnOff | Push | Speech, Field(discriminator="kind")]


def planned(app: App, files: Traces) -> dict[str, Any]:
    """An application as a plan holds it.

    Raises:
        SpeechError: What it refers to cannot be read, or does not fit.
    """
    match app:
        case Speech():
            return planned_speech(app, files)
        case Bulk():
            return {"kind": "bulk", "bytes": app.size}
        case Download():
            return {
                "kind": "download",
                "request_bytes": app.request,
                "response_bytes": app.response,
                "requests": app.requests,
                "pause_ns": app.pause,
            }
        case Voice():
            return {
                "kind": "voice",
                "blocks": app.blocks,
                "block_bytes": app.block,
                "interval_ns": app.interval,
                "partial_bytes": app.partial,
                "answer_bytes": app.answer,
                "processing_ns": app.processing,
                "requests": app.requests,
                "pause_ns": app.pause,
            }
        case Cbr():
            return {
                "kind": "cbr",
                "packet_bytes": app.packet,
                "interval_ns": app.interval,
                "packets": app.packets,
            }
        case Web():
            return {
                "kind": "web",
                "request_bytes": app.request,
                "main": _planned_size(app.main),
                "embedded": _planned_size(app.embedded),
                "objects": {key: float(getattr(app.objects, key)) for key in ObjectCount.model_fields},
                "parsing_ns": app.parsing,
                "reading_ns": app.reading,
                "pages": app.pages,
            }
        case OnOff():
            return {
                "kind": "onoff",
                "packet_bytes": app.packet,
                "interval_ns": max(1, round(8_000_000_000 * app.packet / app.rate)),
                "on": _planned_law(app, app.on),
                "off": _planned_law(app, app.off),
                "packets": app.packets,
            }
        case Push():
            return {
                "kind": "push",
                "way": _planned_way(app),
                "request_bytes": app.request,
                "head_bytes": app.head,
                "updates": [list(update) for update in app.updates],
            }


def _planned_way(app: Push) -> dict[str, Any]:
    match app.way:
        case "streaming":
            return {"kind": "streaming", "event_bytes": _EVENT if app.event is None else app.event}
        case "polling":
            return {"kind": "polling", "every_ns": app.every}
        case _:
            return {"kind": app.way}


def _planned_size(size: ObjectSize) -> dict[str, int]:
    return {f"{key}_bytes": getattr(size, key) for key in ObjectSize.model_fields}


def _planned_law(app: OnOff, mean: int) -> dict[str, Any]:
    law: dict[str, Any] = {"kind": app.law, "mean_ns": mean}
    return law | ({"shape": float(app.shape or _PARETO_SHAPE)} if app.law == "pareto" else {})
