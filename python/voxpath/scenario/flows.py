"""Flows: who talks to whom, with which transport, about what."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from voxpath.scenario.quantities import Name, Packets, PositiveSize, PositiveSpan, Size, Span
from voxpath.scenario.table import Table, faults
from voxpath.scenario.tcp import Socket


class Tcp(Socket):
    """TCP; the keys beside `kind` hold for both ends, those of `client` and `server` for one."""

    kind: Literal["tcp"]
    client: Socket | None = Field(None, description="Of the end that opens.")
    server: Socket | None = Field(None, description="Of the end that answers.")


class Udp(Table):
    """UDP."""

    kind: Literal["udp"]


Transport = Annotated[Tcp | Udp, Field(discriminator="kind")]


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


App = Annotated[Bulk | Download | Voice | Cbr, Field(discriminator="kind")]


class Flow(Table):
    """A conversation, or several alike."""

    name: Name | None = Field(None, description="Unique; flow1, flow2, ... by position without it.")
    from_: Name | None = Field(
        None,
        alias="from",
        description="The host that opens. Pipes and dumbbells take their clients in turn without it.",
    )
    to: Name | None = Field(
        None, description="The host that answers. Pipes and dumbbells take their servers in turn without it."
    )
    start: Span = Field(0, description="When the flow starts, from the run's start.")
    count: Annotated[int, Field(ge=1, le=100_000)] = Field(
        1, description="How many such flows; above one they are called name-1, name-2, ..."
    )
    stagger: Span | None = Field(None, description="From the start of one to the start of the next.")
    simulated: bool = Field(
        False, description="Stays simulated in the backend real, and shares the links with what is real."
    )
    transport: Transport | None = Field(None, description="What the application needs without it.")
    app: App

    @property
    def is_endless(self) -> bool:
        """Whether nothing but the end of the run stops it."""
        match self.app:
            case Bulk():
                return self.app.size is None
            case Cbr():
                return self.app.packets is None
            case Download() | Voice():
                return False

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        found: list[tuple[tuple[str | int, ...], str]] = []
        needed = "udp" if isinstance(self.app, Cbr) else "tcp"
        if self.transport is not None and self.transport.kind != needed:
            found.append(
                (("transport", "kind"), f"is {self.transport.kind}, but {self.app.kind} needs {needed}")
            )
        if self.stagger is not None and self.count == 1:
            found.append((("stagger",), "has no effect on one flow: give a count above 1"))
        if self.from_ is not None and self.from_ == self.to:
            found.append((("to",), f"is {self.to!r}, where the flow comes from: two hosts are needed"))
        if found:
            raise faults(*found)
        return self
