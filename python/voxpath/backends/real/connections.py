"""TCP connections of programs, as time series beside those of flows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping


def joined(series: pl.DataFrame, watched: pl.DataFrame, plan: Mapping[str, Any]) -> pl.DataFrame:
    """The series of flows and those of programs' connections, in the order of time.

    A connection is called by its client's and its server's host and port: `client:43210 > server:5201`.

    Args:
        series: Columns time_ns, flow, end, metric, value.
        watched: Columns time_ns, node, local, remote, accepted, metric, value, of each socket of a host.
        plan: In which the addresses of hosts stand.
    """
    if watched.is_empty():
        return series
    names = {address: node["name"] for node in plan["nodes"] for address in node["addresses"]}
    sockets = watched.group_by("local", "remote", maintain_order=True).agg(pl.col("accepted").max())
    accepted = {(local, remote): bool(flag) for local, remote, flag in sockets.iter_rows()}
    called = [
        {"local": local, "remote": remote, **_called(local, remote, accepted, names)}
        for local, remote in accepted
    ]
    rows = watched.join(pl.DataFrame(called), on=["local", "remote"], maintain_order="left")
    return pl.concat([series, rows.select(series.columns)]).sort("time_ns", maintain_order=True)


def _called(
    local: str, remote: str, accepted: Mapping[tuple[str, str], bool], names: Mapping[str, str]
) -> dict[str, str]:
    """What a socket's connection is called, and which end of it this is."""
    is_server = accepted[local, remote]
    if not is_server and not accepted.get((remote, local), False):
        # Nobody listens any more at either end: a server's port is chosen, so mostly the smaller one.
        is_server = (remote, local) in accepted and _split(local)[1] < _split(remote)[1]
    client, server = (remote, local) if is_server else (local, remote)
    flow = " > ".join(f"{names.get(host, host)}:{port}" for host, port in map(_split, (client, server)))
    return {"flow": flow, "end": "server" if is_server else "client"}


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)
