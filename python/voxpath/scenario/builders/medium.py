"""hosts that share one medium."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath.scenario.links import Link
from voxpath.scenario.network import BuiltLink, BuiltRoute, Network

if TYPE_CHECKING:
    from voxpath.scenario.topology import Medium

_SENT, _HEARD, _AIR = "sent", "heard", "air"
_TAKEN = {_SENT, _HEARD, _AIR}


def build_medium(topology: Medium) -> Network:
    """Host - sent = air = heard - host: whatever any host sends passes the same direction of one link."""
    network = Network(hosts=list(topology.names), routers=[_SENT, _HEARD])
    at = ("topology", "hosts")
    network.problems += [
        (("topology", "air", way), "the medium is one for both directions: give its values in air itself")
        for way in ("up", "down")
        if getattr(topology.air, way) is not None
    ]
    names = topology.names
    for index, host in enumerate(names):
        if host in _TAKEN or host in names[:index]:
            network.problems.append(((*at, index), f"the name {host!r} is taken by another node or link"))
        network.links.append(BuiltLink(f"{host}-sends", host, _SENT, Link(), at))
        network.links.append(BuiltLink(f"{host}-hears", _HEARD, host, Link(), at))
        network.routes += [BuiltRoute(host, other, f"{host}-sends", at) for other in names if other != host]
        network.routes.append(BuiltRoute(_SENT, host, _AIR, at))
    network.links.append(BuiltLink(_AIR, _SENT, _HEARD, topology.air, ("topology", "air")))
    return network
