"""client - router0 = router1 = ... - server, and a pair of hosts across each hop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath.scenario.network import BuiltLink, Network

if TYPE_CHECKING:
    from voxpath.scenario.topology import ParkingLot


def build_parking_lot(topology: ParkingLot) -> Network:
    """The pair along all hops comes first, then those across one hop each."""
    last = topology.hops
    routers = [f"router{number}" for number in range(last + 1)]
    homes = [("client", "server", 0, last)]
    homes += [(f"client{hop}", f"server{hop}", hop - 1, hop) for hop in range(1, last + 1)]
    links = [
        BuiltLink(f"hop{hop}", routers[hop - 1], routers[hop], topology.hop, ("topology", "hop"))
        for hop in range(1, last + 1)
    ]
    origin = ("topology", "access")
    for client, server, here, there in homes:
        links.append(BuiltLink(client, client, routers[here], topology.access, origin))
        links.append(BuiltLink(server, routers[there], server, topology.access, origin))
    pairs = [(client, server) for client, server, _, _ in homes]
    return Network(hosts=[host for pair in pairs for host in pair], routers=routers, links=links, pairs=pairs)
