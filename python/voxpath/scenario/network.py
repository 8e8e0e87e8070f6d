"""What a topology's builder makes: nodes, links and routes by name, with the place each came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from voxpath.scenario.links import Link
    from voxpath.scenario.problems import Path


@dataclass(frozen=True)
class BuiltLink:
    """A link between two nodes, up from `a` to `b`."""

    name: str
    a: str
    b: str
    values: Link
    origin: Path


@dataclass(frozen=True)
class BuiltRoute:
    """At node `at`, packets for `to` leave by link `via`."""

    at: str
    to: str
    via: str
    origin: Path


@dataclass
class Network:
    """A topology spelled out.

    Attributes:
        hosts: Names in the order in which addresses are given.
        routers: Names.
        links: Between them.
        routes: Static ones.
        interfaces: Links by which hosts have an address of their own, in their order.
        pairs: Client and server of flows that name no ends, taken in turn; empty where there are none.
        problems: What is wrong with the topology: place, message.
    """

    hosts: list[str] = field(default_factory=list)
    routers: list[str] = field(default_factory=list)
    links: list[BuiltLink] = field(default_factory=list)
    routes: list[BuiltRoute] = field(default_factory=list)
    interfaces: dict[str, list[str]] = field(default_factory=dict)
    pairs: list[tuple[str, str]] = field(default_factory=list)
    problems: list[tuple[Path, str]] = field(default_factory=list)
