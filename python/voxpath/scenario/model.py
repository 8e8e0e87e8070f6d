"""The whole scenario. Read this first: the tables that it names are each in a module of their own."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from voxpath.scenario.flows import Flow
from voxpath.scenario.quantities import Address, Name, PositiveSpan
from voxpath.scenario.sweep import Sweep
from voxpath.scenario.table import Table
from voxpath.scenario.tcp import Profile, Stack
from voxpath.scenario.topology import Topology

DEFAULT_PROFILE = "rfc"
"""The stack of a host that names none."""


class Host(Table):
    """A host that the topology has already: its addresses and its stack."""

    profile: Profile = Field(DEFAULT_PROFILE, description="Stack profile.")
    addresses: tuple[Address, ...] = Field(
        (), strict=False, description="IPv4 or IPv6; one of 10.0.0.0/8 by position without them."
    )
    tcp: Stack | None = Field(None, description="Parameters in which the host differs from its profile.")


def _printable(name: str) -> str:
    if not name.isprintable():
        raise ValueError(f"{name!r} has characters that cannot be printed")
    return name


class Scenario(Table):
    """A network, the hosts on it, and what they do."""

    name: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_printable)] = Field(
        description="For people."
    )
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = Field(
        1, description="Root of every random stream, together with the replication."
    )
    duration: PositiveSpan | None = Field(
        None,
        description="When the run ends, whatever is still going on; when every flow has ended without it.",
    )
    topology: Topology
    hosts: dict[Name, Host] = Field(default_factory=dict, description="Hosts that differ from the default.")
    flows: tuple[Flow, ...] = Field(strict=False, min_length=1)
    sweep: Sweep | None = None
