"""Processes: what runs on a host with sockets of its own. Each kind has a file here and in the engine."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from voxpath.scenario.elements.kinds import OneOf, tables_in
from voxpath.scenario.processes.table import ProcessTable
from voxpath.scenario.quantities import Name
from voxpath.scenario.table import Table
from voxpath.scenario.tcp import Socket

PROCESSES = tables_in(__name__, "processes", ProcessTable)
"""The table of each process, by its kind, in the engine's order."""


class Process(Table):
    """A process on a host."""

    name: Name = Field(description="Unique.")
    host: Name = Field(description="Where it runs.")
    simulated: bool = Field(False, description="Stays simulated in the backend real.")
    tcp: Socket | None = Field(
        None, description="Parameters in which its sockets differ from its host's, such as `nagle`."
    )
    app: Annotated[ProcessTable, OneOf(tuple(PROCESSES.values()))] = Field(description="What it does.")
