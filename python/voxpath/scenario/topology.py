"""Topologies: which nodes there are, and which links join them."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from voxpath.scenario.links import Link
from voxpath.scenario.quantities import Name
from voxpath.scenario.table import Keys, Table


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


class Listed(Table):
    """Hosts that are listed or counted."""

    hosts: (
        Annotated[int, Field(ge=2, le=10_000)]
        | Annotated[tuple[Name, ...], Field(strict=False, min_length=2)]
    ) = Field(union_mode="left_to_right", description="Their names, or how many: host1, host2, ...")

    @property
    def names(self) -> tuple[str, ...]:
        """The hosts."""
        if isinstance(self.hosts, int):
            return tuple(f"host{number}" for number in range(1, self.hosts + 1))
        return self.hosts


class Star(Listed):
    """Hosts around one router, `hub`."""

    kind: Literal["star"]
    link: Link = Field(description="Of every host, called after it; up is the way from the host to the hub.")
    own: dict[Name, Link] = Field(
        default_factory=dict, description="Links of hosts that have another one, by the host's name."
    )


class Medium(Listed):
    """Hosts that share one medium, in both directions, as the stations of a wireless LAN do.

    One queue and one serialiser take what all of them send, so that one packet is on the air at a time. Where
    an access point repeats each packet, the medium carries half of its rate.
    """

    kind: Literal["medium"]
    air: Link = Field(description="The medium; `up` and `down` are not told apart.")


class Multipath(Table):
    """A client with several links to one router, behind which is the server.

    client =(each path)= core - server; the client has an address for each path, and what it sends from an
    address takes that path, as do answers to it.
    """

    kind: Literal["multipath"]
    paths: dict[Name, Link] = Field(
        min_length=1, max_length=64, description="Links by their names; up is the way from the client."
    )
    access: Link = Field(
        default_factory=Link, description="Of the server; up is the way to it. Without effect unless given."
    )


class ParkingLot(Table):
    """A row of routers, router0 = router1 = ..., with traffic along all of it and across each hop.

    `client` and `server` are at its ends; clientN is at the router before the N-th hop, serverN at the one
    behind it.
    """

    kind: Literal["parking_lot"]
    hops: Annotated[int, Field(ge=1, le=1000)] = Field(description="Links between routers: hop1, hop2, ...")
    hop: Link = Field(description="Of every hop; up is the way from client to server.")
    access: Link = Field(description="Of every host; up is the way from clients to servers.")


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

    PLAN: ClassVar[Keys] = {"node": "at", "link": "via"}

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


Topology = Annotated[
    Pipe | Dumbbell | Star | Medium | Multipath | ParkingLot | Explicit, Field(discriminator="kind")
]
