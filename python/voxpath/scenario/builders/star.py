"""hosts around a hub."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath.names import did_you_mean
from voxpath.scenario.network import BuiltLink, Network

if TYPE_CHECKING:
    from voxpath.scenario.problems import Path
    from voxpath.scenario.topology import Star

_HUB = "hub"


def build_star(topology: Star) -> Network:
    """A link for each host; there are no pairs, so that flows name their ends."""
    network = Network(hosts=list(topology.names), routers=[_HUB])
    for index, host in enumerate(topology.names):
        if host == _HUB or host in topology.names[:index]:
            network.problems.append(
                (("topology", "hosts", index), f"the name {host!r} is taken by another node")
            )
        own = host in topology.own
        origin: Path = ("topology", "own", host) if own else ("topology", "link")
        network.links.append(BuiltLink(host, host, _HUB, topology.own.get(host, topology.link), origin))
    network.problems += [
        (("topology", "own", host), f"is no host; {did_you_mean(host, topology.names)}")
        for host in topology.own
        if host not in topology.names
    ]
    return network
