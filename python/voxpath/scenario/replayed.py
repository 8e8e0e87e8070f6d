"""What programs did in a run on real hosts, as flows of a scenario over the same network."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_ENDS = re.compile(r"(?P<client>[^:\s]+):\d+ > (?P<server>[^:\s]+):\d+")
_OF_MACHINES = ("run", "listens", "start", "ends", "real", "edge", "reach", "publish")
"""Keys of hosts that only real ones can have."""


class NothingError(ValueError):
    """There is nothing to be replayed."""


def replayed(data: Mapping[str, Any], connections: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """A scenario in which each TCP connection of a run's programs is a flow.

    A connection in which both ends sent is a download: what the client sent is the request. Its flow starts
    when the connection was opened. How programs waited in between is not known, and not replayed.

    Args:
        data: The run's scenario as plain values.
        connections: Rows of its table, those of programs.

    Raises:
        NothingError: The programs had no connection over which data went.
    """
    ends: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in connections:
        if row.get("opened_ns") is not None:
            ends.setdefault(row["flow"], {})[row["end"]] = row
    flows: list[dict[str, Any]] = []
    for name, both in ends.items():
        found = _ENDS.fullmatch(name)
        sent = {end: int(row["bytes_delivered"] or 0) for end, row in both.items()}
        if found is None or not any(sent.values()):
            continue
        there, back = sent.get("client", 0), sent.get("server", 0)
        if there and back:
            app = {"kind": "download", "request": f"{there} B", "response": f"{back} B"}
            client, server = found["client"], found["server"]
        else:
            app = {"kind": "bulk", "size": f"{there or back} B"}
            # A bulk transfer goes from its first end to the second.
            first, second = ("client", "server") if there else ("server", "client")
            client, server = found[first], found[second]
        start = min(int(row["opened_ns"]) for row in both.values())
        flows.append(
            {
                "name": f"connection-{len(flows) + 1}",
                "from": client,
                "to": server,
                "start": f"{start} ns",
                "transport": {"kind": "tcp", "congestion": "cubic"},
                "app": app,
            }
        )
    if not flows:
        raise NothingError("its programs had no TCP connection over which data went")
    hosts = {
        name: {key: value for key, value in host.items() if key not in _OF_MACHINES}
        for name, host in data.get("hosts", {}).items()
    }
    kept = {key: value for key, value in data.items() if key not in {"flows", "hosts", "name"}}
    return {"name": f"{data['name']}, replayed", **kept, "hosts": hosts, "flows": flows}
