"""What programs did in a run on real hosts, as flows of a scenario over the same network."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_ENDS = re.compile(r"(?P<client>[^:\s]+):\d+ > (?P<server>[^:\s]+):\d+")
_OF_PROGRAMS = ("run", "listens", "start", "ends")
"""Keys of hosts on which programs run."""

_OF_MACHINES = (*_OF_PROGRAMS, "real", "edge", "reach", "publish", "internet")
"""Keys of hosts that only real ones can have."""


@dataclass(frozen=True)
class Sent:
    """Datagrams that a host sent to another.

    Attributes:
        source: The host.
        target: The other one.
        datagrams: Of each when it left in nanoseconds, and its payload in bytes; in the order of time.
    """

    source: str
    target: str
    datagrams: Sequence[tuple[int, int]]


class NothingError(ValueError):
    """There is nothing to be replayed."""


@dataclass(frozen=True)
class Replayed:
    """A scenario, and the files that it refers to.

    Attributes:
        data: The scenario as plain values.
        files: Contents by name.
    """

    data: dict[str, Any]
    files: Mapping[str, bytes]

    @property
    def flows(self) -> list[dict[str, Any]]:
        """What is replayed."""
        flows: list[dict[str, Any]] = self.data.get("flows", [])
        return flows


def replayed(
    data: Mapping[str, Any], connections: Iterable[Mapping[str, Any]], sent: Iterable[Sent], prefix: str
) -> Replayed:
    """A scenario in which each TCP connection of a run's programs is a flow, and what they sent as datagrams.

    A connection in which both ends sent is a download: what the client sent is the request. Its flow starts
    when the connection was opened. How programs waited in between is not known, and not replayed. Datagrams
    leave one by one when they did. What was changed by hand stands among the events, and happens again.

    Args:
        data: The run's scenario as plain values.
        connections: Rows of its table, those of programs.
        sent: Datagrams of programs.
        prefix: Of the names of files.

    Raises:
        NothingError: The programs sent nothing.
    """
    flows = _of_connections(connections)
    files: dict[str, bytes] = {}
    for number, one in enumerate(sent, 1):
        name = f"{prefix}-{number}.datagrams"
        start = one.datagrams[0][0]
        lines = [f"{_seconds(at - start)} {size}\n" for at, size in one.datagrams]
        files[name] = "".join(lines).encode()
        app = {"kind": "recorded", "file": name}
        ends = {"from": one.source, "to": one.target, "start": f"{start} ns"}
        flows.append({"name": f"datagrams-{number}", **ends, "app": app})
    if not flows:
        raise NothingError(
            "its programs had no TCP connection over which data went, and no datagrams were captured"
        )
    hosts = _hosts(data, _OF_MACHINES)
    kept = {key: value for key, value in data.items() if key not in {"flows", "hosts", "name", "processes"}}
    # What flows and processes did is replayed as it was.
    if "events" in kept:
        kept["events"] = [one for one in kept["events"] if not one.keys() & {"flow", "process"}]
    return Replayed({"name": f"{data['name']}, replayed", **kept, "hosts": hosts, "flows": flows}, files)


def network(data: Mapping[str, Any]) -> Replayed:
    """A scenario of a run's network alone, for other programs: what was changed by hand happens again.

    Args:
        data: The run's scenario as plain values.
    """
    kept = {key: value for key, value in data.items() if key not in {"hosts", "name"}}
    return Replayed({"name": f"{data['name']}, its network", **kept, "hosts": _hosts(data, _OF_PROGRAMS)}, {})


def _hosts(data: Mapping[str, Any], without: Sequence[str]) -> dict[str, dict[str, Any]]:
    return {
        name: {key: value for key, value in host.items() if key not in without}
        for name, host in data.get("hosts", {}).items()
    }


def _seconds(nanoseconds: int) -> str:
    return f"{nanoseconds // 10**9}.{nanoseconds % 10**9:09d}"


def _of_connections(connections: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
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
    return flows
