"""client - server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath.scenario.network import BuiltLink, Network

if TYPE_CHECKING:
    from voxpath.scenario.topology import Pipe


def build_pipe(topology: Pipe) -> Network:
    """Two hosts and the link between them."""
    link = BuiltLink("link", "client", "server", topology.link, ("topology", "link"))
    return Network(hosts=["client", "server"], links=[link], pairs=[("client", "server")])
