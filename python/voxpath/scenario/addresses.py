"""Addresses of hosts that name none."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NETWORK = ipaddress.IPv4Network("10.0.0.0/8")
"""Where automatic addresses come from: the n-th of its hosts, n counted over the hosts in their order."""


def automatic(taken: set[str]) -> Iterator[str]:
    """10.0.0.1, 10.0.0.2, ... without those that the scenario gives itself."""
    for number in range(1, NETWORK.num_addresses - 1):
        address = str(NETWORK[number])
        if address not in taken:
            yield address


def is_v6(client: Sequence[str], server: Sequence[str]) -> bool:
    """Whether a flow between hosts with these addresses is IPv6.

    It uses the client's first address that has a counterpart, as the engine chooses (`common_family` in
    `crates/sim/src/check.rs`); the engine refuses hosts without one.
    """
    families = [":" in address for address in client]
    return next((family for family in families if family in {":" in address for address in server}), False)
