"""Flows: who talks to whom, with which transport, about what."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from voxpath import _engine
from voxpath.scenario.apps import App
from voxpath.scenario.mptcp import Mptcp
from voxpath.scenario.quantities import Name, Span
from voxpath.scenario.table import Keys, Table, faults
from voxpath.scenario.tcp import Socket


class Tcp(Socket):
    """TCP; the keys beside `kind` hold for both ends, those of `client` and `server` for one."""

    kind: Literal["tcp"]
    client: Socket | None = Field(None, description="Of the end that opens.")
    server: Socket | None = Field(None, description="Of the end that answers.")


class Udp(Table):
    """UDP."""

    kind: Literal["udp"]


Transport = Annotated[Tcp | Mptcp | Udp, Field(discriminator="kind")]


class Flow(Table):
    """A conversation, or several alike."""

    PLAN: ClassVar[Keys] = {"from_address": "via", "to_address": "to_via"}

    name: Name | None = Field(None, description="Unique; flow1, flow2, ... by position without it.")
    from_: Name | None = Field(
        None,
        alias="from",
        description="The host that opens. Pipes and dumbbells take their clients in turn without it.",
    )
    to: Name | None = Field(
        None, description="The host that answers. Pipes and dumbbells take their servers in turn without it."
    )
    via: Name | None = Field(
        None, description="The link of the opening host whose address it uses; its first address without it."
    )
    to_via: Name | None = Field(None, description="The link of the answering host whose address it uses.")
    start: Span = Field(0, description="When the flow starts, from the run's start.")
    count: Annotated[int, Field(ge=1, le=100_000)] = Field(
        1, description="How many such flows; above one they are called name-1, name-2, ..."
    )
    stagger: Span | None = Field(None, description="From the start of one to the start of the next.")
    simulated: bool = Field(
        False, description="Stays simulated in the backend real, and shares the links with what is real."
    )
    through: tuple[Name, ...] = Field(
        (), strict=False, description="Processes that pass it on, such as proxies, in their order."
    )
    transport: Transport | None = Field(None, description="What the application needs without it.")
    app: App

    def called(self, index: int) -> str:
        """Its name, or the one that its place in the scenario gives it."""
        return self.name or f"flow{index + 1}"

    @property
    def is_of_datagrams(self) -> bool:
        """Whether it goes over UDP."""
        usual, *_ = _engine.transports(self.app.kind)
        return (usual if self.transport is None else self.transport.kind) == "udp"

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        found: list[tuple[tuple[str | int, ...], str]] = []
        if self.stagger is not None and self.count == 1:
            found.append((("stagger",), "has no effect on one flow: give a count above 1"))
        if self.from_ is not None and self.from_ == self.to:
            found.append((("to",), f"is {self.to!r}, where the flow comes from: two hosts are needed"))
        if found:
            raise faults(*found)
        return self
