"""Addresses of nodes that name none, and which ones a flow goes between."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

Family = Literal["ipv4", "ipv6"]

NETWORKS: Mapping[Family, ipaddress.IPv4Network | ipaddress.IPv6Network] = {
    "ipv4": ipaddress.IPv4Network("10.0.0.0/8"),
    # A unique local prefix (RFC 4193), its global identifier "vox" in ASCII and zeros.
    "ipv6": ipaddress.IPv6Network("fd76:6f78::/32"),
}
"""Where automatic addresses come from: of each family the n-th, counted over hosts and then routers."""

_MOST = 2**24 - 2


class Addresses:
    """Gives addresses that nobody has: 10.0.0.1, 10.0.0.2, ..., fd76:6f78::1, ..."""

    def __init__(self, taken: Collection[str]) -> None:
        """`taken` are those that the scenario gives itself."""
        self._free = {family: _free(network, taken) for family, network in NETWORKS.items()}

    def next(self, families: Sequence[Family]) -> list[str]:
        """One of each family."""
        return [next(self._free[family]) for family in families]


def _free(network: ipaddress.IPv4Network | ipaddress.IPv6Network, taken: Collection[str]) -> Iterator[str]:
    for number in range(1, _MOST):
        address = str(network[number])
        if address not in taken:
            yield address


def family(address: str) -> Family:
    """The family of an address."""
    return "ipv6" if ":" in address else "ipv4"


def ends(nodes: Sequence[Mapping[str, Any]], flow: Mapping[str, Any]) -> tuple[str, str] | None:
    """The addresses between which a plan's flow goes, as the engine chooses them (`crates/sim/src/ways.rs`).

    The named ones, else the client's first that has a counterpart; none where it has none, which the engine
    refuses.
    """
    named = ((flow["from"], flow["from_address"]), (flow["to"], flow["to_address"]))
    client, server = (
        nodes[node]["addresses"] if index is None else nodes[node]["addresses"][index : index + 1]
        for node, index in named
    )
    return next(((one, other) for one in client for other in server if family(one) == family(other)), None)


def is_v6(nodes: Sequence[Mapping[str, Any]], flow: Mapping[str, Any]) -> bool:
    """Whether a plan's flow is IPv6."""
    found = ends(nodes, flow)
    return found is not None and family(found[0]) == "ipv6"
