"""From a plan's relays to sockets: where it is listened, and where that leads.

The machine is whatever this process sees as such. That may be a real host itself, where a command of voxpath
was started by another one: then what that host reaches of the machine is reached from here too, and what is
published is published at that host's own addresses.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

LOOPBACK = "127.0.0.1"

HOST = "VOXPATH_HOST"
"""Tells a program on which host it runs."""

REACH = "VOXPATH_REACH"
"""Tells a program where it reaches ports of the machine: `8000/tcp=10.0.0.2`, with blanks between."""


@dataclass(frozen=True)
class Relay:
    """A relay to be started.

    Attributes:
        host: Index of the host on whose side of it the network lies.
        to_machine: Whether it listens on the host; else it listens on the machine.
        transport: `tcp` or `udp`.
        place: Where it listens.
        target: Where it leads.
    """

    host: int
    to_machine: bool
    transport: str
    place: tuple[str, int]
    target: tuple[str, int]


def relays(plan: Mapping[str, Any]) -> list[Relay]:
    """The relays of a plan."""
    nodes = plan["nodes"]
    outer = reached()
    found: list[Relay] = []
    for relay in plan["relays"]:
        transport, host = relay["transport"], relay["node"]
        if relay["kind"] == "reach":
            target = (outer.get((relay["target"], transport), LOOPBACK), relay["target"])
            found += [
                Relay(host, True, transport, (address, relay["port"]), target)
                for address in nodes[host]["addresses"]
            ]
        else:
            address = _counterpart(nodes[host]["addresses"], nodes[relay["to"]]["addresses"])
            place = ("0.0.0.0" if HOST in os.environ else LOOPBACK, relay["port"])  # noqa: S104 - of a namespace
            found.append(Relay(host, False, transport, place, (address, relay["target"])))
    return found


def environment(plan: Mapping[str, Any], host: int) -> dict[str, str]:
    """What programs on a host are told of where they are."""
    told = [
        f"{relay.place[1]}/{relay.transport}={relay.place[0]}"
        for relay in relays(plan)
        if relay.to_machine and relay.host != host
    ]
    return {HOST: plan["nodes"][host]["name"], REACH: " ".join(told)}


def reached() -> dict[tuple[int, str], str]:
    """Addresses at which this process reaches ports of the machine: by port and transport."""
    found: dict[tuple[int, str], str] = {}
    for told in os.environ.get(REACH, "").split():
        place, address = told.split("=")
        port, transport = place.split("/")
        found.setdefault((int(port), transport), address)
    return found


def _counterpart(ours: list[str], theirs: list[str]) -> str:
    """The first of their addresses that one of ours can talk to; the first at all where there is none."""
    families = {":" in address for address in ours}
    return next((address for address in theirs if (":" in address) in families), theirs[0])
