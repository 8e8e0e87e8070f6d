"""What the links do while a run in real time goes on, for the terminal."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from voxpath import _engine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voxpath import terminal
    from voxpath.backends.real.network import Network

EVERY_S = 0.25

_SHOWN = 16
"""Directions of links, the busiest first."""

_COLUMNS = ("link", "Mbit/s", "waiting", "delay ms", "no room", "lost")

Links = Sequence[tuple[int, ...]]
"""Directions of links, each as `RealRun.links` tells of it."""


class View:
    """Shows the links of the network that is looked at, four times a second; of several only their number."""

    def __init__(self, progress: terminal.Progress) -> None:
        self._progress = progress
        self._next = 0.0
        self._network: Network | None = None
        self._before: tuple[int, Links] | None = None

    def look(self, networks: Sequence[Network]) -> None:
        """Takes a look, if it is time."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + EVERY_S
        if len(networks) > 1:
            longest = max(network.session.look()[0] for network in networks)
            self._progress.look(f"{len(networks)} under way, up to {longest / 1e9:.1f} s", (), [])
            return
        (network,) = networks
        if network is not self._network:
            self._network, self._before = network, None
        seen = network.session.links()
        if seen is None:
            return
        plan = network.plan
        duration = plan["duration_ns"]
        of = "" if duration is None else f" of {_engine.format_span(duration)}"
        rows = link_rows(plan, self._before, seen) if self._before is not None else []
        self._progress.look(f"{seen[0] / 1e9:.1f} s{of}", _COLUMNS, rows)
        self._before = seen


def link_rows(
    plan: Mapping[str, Any], before: tuple[int, Links], seen: tuple[int, Links]
) -> list[tuple[str, ...]]:
    """What each direction did between two looks; those that are the busiest, in the plan's order."""
    span = max(1, seen[0] - before[0])
    found = []
    for name, old, new in zip(names(plan), before[1], seen[1], strict=True):
        _, served, dropped, lost, queued, delay = new
        bits = (served - old[1]) * 8 * 1e9 / span
        cells = (f"{bits / 1e6:.2f}", str(queued), f"{delay / 1e6:.1f}", str(dropped), str(lost))
        found.append((bits, (name, *cells)))
    busiest = sorted(range(len(found)), key=lambda index: -found[index][0])[:_SHOWN]
    return [found[index][1] for index in sorted(busiest)]


def names(plan: Mapping[str, Any]) -> list[str]:
    """What the directions of links are called, in the order in which they are looked at."""
    nodes, links = plan["nodes"], plan["links"]
    ends = [(link["name"], nodes[link["a"]]["name"], nodes[link["b"]]["name"]) for link in links]
    return [f"{name}: {a} → {b}" for name, one, other in ends for a, b in ((one, other), (other, one))]
