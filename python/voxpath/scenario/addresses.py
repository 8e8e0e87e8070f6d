"""Addresses of hosts that name none."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

NETWORK = ipaddress.IPv4Network("10.0.0.0/8")
"""Where automatic addresses come from: the n-th of its hosts, n counted over the hosts in their order."""


def automatic(taken: set[str]) -> Iterator[str]:
    """10.0.0.1, 10.0.0.2, ... without those that the scenario gives itself."""
    for number in range(1, NETWORK.num_addresses - 1):
        address = str(NETWORK[number])
        if address not in taken:
            yield address
