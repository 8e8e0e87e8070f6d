"""Topologies: which nodes there are, and which links join them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from voxpath.scenario.links import Link
from voxpath.scenario.quantities import Name
from voxpath.scenario.table import Table


class Pipe(Table):
    """Two hosts, `client` and `server`, joined by one link."""

    kind: Literal["pipe"]
    link: Link = Field(description="From client (up) to server (down).")


class Dumbbell(Table):
    """Clients and servers on two sides of one link.

    client1..clientN - left = right - server1..serverN, where `=` is the bottleneck; with one pair the hosts
    are called `client` and `server`.
    """

    kind: Literal["dumbbell"]
    bottleneck: Link = Field(description="From left (up) to right.")
    access: Link = Field(description="Of every host; up is the way from clients to servers.")
    pairs: Annotated[int, Field(ge=1, le=10_000)] = Field(1, description="Hosts on each side.")


class NamedLink(Link):
    """A link of an explicit topology."""

    ends: tuple[Name, ...] = Field(
        strict=False, min_length=2, max_length=2, description="Two nodes; up is from the first to the second."
    )
    name: Name | None = Field(None, description="Unique; the two ends joined by '-' without it.")

    @property
    def label(self) -> str:
        """The link's name, given or derived."""
        return self.name or "-".join(self.ends)


class StaticRoute(Table):
    """A route that replaces the shortest path."""

    at: Name = Field(description="The node that sends or forwards.")
    to: Name = Field(description="The destination host.")
    via: Name = Field(description="The link to use, by its name.")


class Explicit(Table):
    """A list of nodes and links."""

    kind: Literal["explicit"]
    hosts: tuple[Name, ...] = Field(strict=False, min_length=1, description="Nodes that run applications.")
    routers: tuple[Name, ...] = Field((), strict=False, description="Nodes that forward.")
    links: tuple[NamedLink, ...] = Field(strict=False, min_length=1, description="Between two nodes each.")
    routes: tuple[StaticRoute, ...] = Field((), strict=False, description="Where not the shortest path.")


Topology = Annotated[Pipe | Dumbbell | Explicit, Field(discriminator="kind")]
