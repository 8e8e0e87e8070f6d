"""From a plan's relays to sockets: where it is listened, and where that leads.

The machine is whatever this process sees as such. That may be a real host itself, where a command of voxpath
was started by another one: then what that host reaches of the machine is reached from here too, and what is
published is published at that host's own addresses. Whether it is one the namespace says (`MARK`), never a
variable of the environment: anybody can set those.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from voxpath.backends.real import multipath
from voxpath.backends.real.problems import RealError

if TYPE_CHECKING:
    from collections.abc import Mapping

LOOPBACK = "127.0.0.1"

HOST = "VOXPATH_HOST"
"""Tells a program on which host it runs."""

REACH = "VOXPATH_REACH"
"""Tells a program where it reaches ports of the machine: `8000/tcp=10.0.0.2`, with blanks between."""


MARK = "voxpath"
"""The alias of the loopback device in a real host's network namespace; only who administers it can set it."""


@dataclass(frozen=True)
class Relay:
    """A relay to be started.

    Attributes:
        host: Index of the host on whose side of it the network lies.
        to_machine: Whether it listens on the host; else it listens on the machine.
        transport: `tcp` or `udp`.
        place: Where it listens.
        target: Where it leads.
        multipath: Whether who comes by TCP may come by Multipath TCP too: where a host has several
            interfaces.
    """

    host: int
    to_machine: bool
    transport: str
    place: tuple[str, int]
    target: tuple[str, int]
    multipath: bool = False


def relays(plan: Mapping[str, Any]) -> list[Relay]:
    """The relays of a plan."""
    nodes = plan["nodes"]
    outer = reached()
    found: list[Relay] = []
    for relay in plan["relays"]:
        if relay["kind"] == "internet":
            continue
        transport, host = relay["transport"], relay["node"]
        if relay["kind"] == "reach":
            target = (outer.get((relay["target"], transport), LOOPBACK), relay["target"])
            several = transport == "tcp" and multipath.joins(plan)
            found += [
                Relay(host, True, transport, (address, relay["port"]), target, several)
                for address in nodes[host]["addresses"]
            ]
        else:
            address = _counterpart(nodes[host]["addresses"], nodes[relay["to"]]["addresses"])
            place = ("0.0.0.0" if in_a_host() else LOOPBACK, relay["port"])  # noqa: S104 - of a namespace
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


@cache
def in_a_host() -> bool:
    """Whether this process runs on a real host of voxpath."""
    command = ["ip", "-json", "link", "show", "dev", "lo"]
    try:
        done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - nothing of anybody's
        (device,) = json.loads(done.stdout)
    except (OSError, ValueError):
        # Without iproute2 there are no hosts.
        return False
    return bool(device.get("ifalias") == MARK)


def reached() -> dict[tuple[int, str], str]:
    """Addresses at which this process reaches ports of the machine: by port and transport.

    Raises:
        RealError: The variable that says so has been changed.
    """
    found: dict[tuple[int, str], str] = {}
    told = os.environ.get(REACH, "").split()
    for entry in told if told and in_a_host() else ():
        if (match := re.fullmatch(r"([0-9]{1,5})/(tcp|udp)=([0-9a-f.:]+)", entry)) is None:
            raise RealError(
                f"the variable {REACH} says {entry!r}, which is no port of the machine: start voxpath with "
                "the environment that this host gave"
            )
        port, transport, address = match.groups()
        found.setdefault((int(port), transport), address)
    return found


def _counterpart(ours: list[str], theirs: list[str]) -> str:
    """The first of their addresses that one of ours can talk to; the first at all where there is none."""
    families = {":" in address for address in ours}
    return next((address for address in theirs if (":" in address) in families), theirs[0])
