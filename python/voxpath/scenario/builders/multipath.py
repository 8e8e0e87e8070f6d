"""client =(paths)= core - server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath.scenario.network import BuiltLink, Network

if TYPE_CHECKING:
    from voxpath.scenario.topology import Multipath

_ACCESS = "access"


def build_multipath(topology: Multipath) -> Network:
    """An interface of the client for each path."""
    network = Network(hosts=["client", "server"], routers=["core"], pairs=[("client", "server")])
    for name, link in topology.paths.items():
        origin = ("topology", "paths", name)
        if name == _ACCESS:
            network.problems.append((origin, f"the name {name!r} is taken by the server's link"))
        network.links.append(BuiltLink(name, "client", "core", link, origin))
    network.links.append(BuiltLink(_ACCESS, "core", "server", topology.access, ("topology", _ACCESS)))
    network.interfaces["client"] = list(topology.paths)
    return network
