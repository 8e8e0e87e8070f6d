"""client1..clientN - left = right - server1..serverN."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath.scenario.network import BuiltLink, Network

if TYPE_CHECKING:
    from voxpath.scenario.topology import Dumbbell


def build_dumbbell(topology: Dumbbell) -> Network:
    """The bottleneck, and for each pair the two links of its hosts.

    Up is the way from clients to servers on every link.
    """
    numbers = [""] if topology.pairs == 1 else [str(n) for n in range(1, topology.pairs + 1)]
    pairs = [(f"client{n}", f"server{n}") for n in numbers]
    origin = ("topology", "access")
    links = [BuiltLink("bottleneck", "left", "right", topology.bottleneck, ("topology", "bottleneck"))]
    for client, server in pairs:
        links.append(BuiltLink(f"{client}-left", client, "left", topology.access, origin))
        links.append(BuiltLink(f"right-{server}", "right", server, topology.access, origin))
    clients, servers = zip(*pairs, strict=True)
    return Network(hosts=[*clients, *servers], routers=["left", "right"], links=links, pairs=pairs)
