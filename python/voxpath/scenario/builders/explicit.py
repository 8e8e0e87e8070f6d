"""Nodes and links as the scenario lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath.names import did_you_mean
from voxpath.scenario.network import BuiltLink, BuiltRoute, Network

if TYPE_CHECKING:
    from voxpath.scenario.problems import Path
    from voxpath.scenario.topology import Explicit


def build_explicit(topology: Explicit) -> Network:
    """Looks up every name; there are no pairs, so that flows name their ends."""
    network = Network(hosts=list(topology.hosts), routers=list(topology.routers))
    nodes = _unique_nodes(topology, network)
    labels: dict[str, int] = {}
    for index, link in enumerate(topology.links):
        origin: Path = ("topology", "links", index)
        for end, node in enumerate(link.ends):
            if node not in nodes:
                network.problems.append(
                    ((*origin, "ends", end), f"{node!r} is no node; {did_you_mean(node, nodes)}")
                )
        if link.ends[0] == link.ends[1]:
            network.problems.append(((*origin, "ends"), f"joins {link.ends[0]!r} with itself"))
        if link.label in labels:
            first = labels[link.label]
            network.problems.append(
                (
                    (*origin, "name") if link.name else origin,
                    f"the name {link.label!r} is taken by topology.links[{first}]: give this one another",
                )
            )
        labels.setdefault(link.label, index)
        network.links.append(BuiltLink(link.label, link.ends[0], link.ends[1], link, origin))
    _routes(topology, network, nodes)
    return network


def _unique_nodes(topology: Explicit, network: Network) -> list[str]:
    nodes: list[str] = []
    for key, names in (("hosts", topology.hosts), ("routers", topology.routers)):
        for index, name in enumerate(names):
            if name in nodes:
                network.problems.append(
                    (("topology", key, index), f"the name {name!r} is taken by another node")
                )
            nodes.append(name)
    return list(dict.fromkeys(nodes))


def _routes(topology: Explicit, network: Network, nodes: list[str]) -> None:
    links = {link.label: link for link in topology.links}
    seen: set[tuple[str, str]] = set()
    for index, route in enumerate(topology.routes):
        origin: Path = ("topology", "routes", index)
        faults: list[tuple[Path, str]] = []
        if route.at not in nodes:
            faults.append(((*origin, "at"), f"{route.at!r} is no node; {did_you_mean(route.at, nodes)}"))
        if route.to not in topology.hosts:
            faults.append(
                ((*origin, "to"), f"{route.to!r} is no host; {did_you_mean(route.to, topology.hosts)}")
            )
        if route.via not in links:
            faults.append(((*origin, "via"), f"{route.via!r} is no link; {did_you_mean(route.via, links)}"))
        elif route.at in nodes and route.at not in links[route.via].ends:
            faults.append(((*origin, "via"), f"{route.via!r} is no link of {route.at!r}"))
        if (route.at, route.to) in seen:
            faults.append((origin, f"{route.at!r} has a route to {route.to!r} already"))
        seen.add((route.at, route.to))
        network.problems.extend(faults)
        network.routes.append(BuiltRoute(route.at, route.to, route.via, origin))
