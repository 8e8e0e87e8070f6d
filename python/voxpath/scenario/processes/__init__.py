"""Processes: what runs on a host with sockets of its own. Each kind has a file here and in the engine."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from voxpath.scenario.elements.kinds import OneOf, tables_in
from voxpath.scenario.mptcp import Mptcp
from voxpath.scenario.processes.table import ProcessTable
from voxpath.scenario.quantities import Name, Span
from voxpath.scenario.table import Table, faults
from voxpath.scenario.tcp import Socket

PROCESSES = tables_in(__name__, "processes", ProcessTable)
"""The table of each process, by its kind, in the engine's order."""


class ProcessTcp(Table):
    """TCP; its parameters are in `tcp`."""

    kind: Literal["tcp"]


class Process(Table):
    """A process on a host."""

    name: Name = Field(description="Unique.")
    host: Name = Field(description="Where it runs.")
    simulated: bool = Field(False, description="Stays simulated in the backend real.")
    tcp: Socket | None = Field(
        None, description="Parameters in which its sockets differ from its host's, such as `nagle`."
    )
    transport: Annotated[ProcessTcp | Mptcp, Field(discriminator="kind")] | None = Field(
        None,
        description="What its connections go over, TCP without it: `client` is those that it opens, "
        "`server` those that it accepts.",
    )
    wake: Span = Field(
        0,
        description="How long it takes from what happens at one of its sockets until it runs, in `sim`; "
        "some 50 us to 150 us of a program on Linux.",
    )
    app: Annotated[ProcessTable, OneOf(tuple(PROCESSES.values()))] = Field(description="What it does.")

    @model_validator(mode="after")
    def _over_connections(self) -> Self:
        if self.transport is not None and not self.app.CONNECTS:
            raise faults((("transport",), f"has no effect: a {self.app.kind} sends datagrams"))
        return self
