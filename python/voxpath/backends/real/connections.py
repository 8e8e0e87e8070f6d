"""TCP connections of programs: what came of each, and their time series beside those of flows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Container, Mapping


def named(seen: pl.DataFrame, plan: Mapping[str, Any]) -> pl.DataFrame:
    """The rows of programs' connections, by the names of hosts where addresses stand.

    Args:
        seen: What the engine knows: the table `connections`, in which ends are called by their addresses.
        plan: In which the addresses of hosts stand.
    """
    names = _names(plan)
    return seen.with_columns(
        pl.Series("flow", [_title(*_ends(flow), names) for flow in seen["flow"]], pl.String),
        pl.Series("host", [names.get(host, host) for host in seen["host"]], pl.String),
    )


def joined(
    series: pl.DataFrame, watched: pl.DataFrame, seen: pl.DataFrame, plan: Mapping[str, Any]
) -> pl.DataFrame:
    """The series of flows and those of programs' connections, in the order of time.

    A connection is called by its client's and its server's host and port: `client:43210 > server:5201`.

    Args:
        series: Columns time_ns, flow, end, subflow, metric, value.
        watched: Columns time_ns, node, local, remote, accepted, metric, value, of each socket of a host.
        seen: Connections that the network saw, as `named` takes them.
        plan: In which the addresses of hosts stand.
    """
    if watched.is_empty():
        return series
    names = _names(plan)
    opened = {_ends(flow) for flow in seen["flow"]}
    sockets = watched.group_by("local", "remote", maintain_order=True).agg(pl.col("accepted").max())
    accepted = {(local, remote): bool(flag) for local, remote, flag in sockets.iter_rows()}
    called = [
        {"local": local, "remote": remote, **_called(local, remote, opened, accepted, names)}
        for local, remote in accepted
    ]
    rows = watched.join(pl.DataFrame(called), on=["local", "remote"], maintain_order="left")
    rows = rows.with_columns(subflow=pl.lit(None, series.schema["subflow"]))
    return pl.concat([series, rows.select(series.columns)]).sort("time_ns", maintain_order=True)


def _names(plan: Mapping[str, Any]) -> dict[str, str]:
    return {address: node["name"] for node in plan["nodes"] for address in node["addresses"]}


def _called(
    local: str,
    remote: str,
    opened: Container[tuple[str, str]],
    accepted: Mapping[tuple[str, str], bool],
    names: Mapping[str, str],
) -> dict[str, str]:
    """What a socket's connection is called, and which end of it this is."""
    is_server = (remote, local) in opened
    if not is_server and (local, remote) not in opened:
        # It did not leave its host, so that nobody saw who opened it. Somebody listens at a server's port;
        # where nobody does any more, the port was chosen, so mostly the smaller one.
        is_server = accepted[local, remote]
        if not is_server and not accepted.get((remote, local), False):
            is_server = (remote, local) in accepted and _split(local)[1] < _split(remote)[1]
    client, server = (remote, local) if is_server else (local, remote)
    return {"flow": _title(client, server, names), "end": "server" if is_server else "client"}


def _title(client: str, server: str, names: Mapping[str, str]) -> str:
    return " > ".join(f"{names.get(host, host)}:{port}" for host, port in map(_split, (client, server)))


def _ends(flow: str) -> tuple[str, str]:
    """The addresses of client and server."""
    client, _, server = flow.partition(" > ")
    return client, server


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)
