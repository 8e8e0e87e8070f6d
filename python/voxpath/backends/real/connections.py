"""TCP connections of programs: what came of each, and their time series beside those of flows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Container, Mapping


def named(seen: pl.DataFrame, plan: Mapping[str, Any], subflows: pl.DataFrame | None = None) -> pl.DataFrame:
    """The rows of programs' connections, by the names of hosts where addresses stand.

    Args:
        seen: What the engine knows: the table `connections`, in which ends are called by their addresses.
        plan: In which the addresses of hosts stand.
        subflows: Columns ends, number, flow, connection, of each subflow of Multipath TCP: what it is a part
            of, a flow by its name, or else a connection by its ends.
    """
    names = _names(plan)
    parts = _parts(subflows, names)
    return seen.with_columns(
        pl.Series(
            "flow",
            [parts[flow][0] if flow in parts else _title(*_ends(flow), names) for flow in seen["flow"]],
            pl.String,
        ),
        pl.Series("host", [names.get(host, host) for host in seen["host"]], pl.String),
    )


def joined(
    series: pl.DataFrame,
    watched: pl.DataFrame,
    seen: pl.DataFrame,
    plan: Mapping[str, Any],
    subflows: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """The series of flows and those of programs' connections, in the order of time.

    A connection is called by its client's and its server's host and port: `client:43210 > server:5201`.

    Args:
        series: Columns time_ns, flow, end, subflow, metric, value.
        watched: Columns time_ns, node, local, remote, accepted, metric, value, of each socket of a host.
        seen: Connections that the network saw, as `named` takes them.
        plan: In which the addresses of hosts stand.
        subflows: As `named` takes them.
    """
    if watched.is_empty():
        return series
    names = _names(plan)
    opened = {_ends(flow) for flow in seen["flow"]}
    sockets = watched.group_by("local", "remote", maintain_order=True).agg(pl.col("accepted").max())
    accepted = {(local, remote): bool(flag) for local, remote, flag in sockets.iter_rows()}
    parts = _parts(subflows, names)
    called = [
        {"local": local, "remote": remote, **_called(local, remote, opened, accepted, names, parts)}
        for local, remote in accepted
    ]
    schema = {"subflow": series.schema["subflow"]}
    rows = watched.join(
        pl.DataFrame(called, schema_overrides=schema), on=["local", "remote"], maintain_order="left"
    )
    return pl.concat([series, rows.select(series.columns)]).sort("time_ns", maintain_order=True)


def _names(plan: Mapping[str, Any]) -> dict[str, str]:
    return {address: node["name"] for node in plan["nodes"] for address in node["addresses"]}


def _called(
    local: str,
    remote: str,
    opened: Container[tuple[str, str]],
    accepted: Mapping[tuple[str, str], bool],
    names: Mapping[str, str],
    parts: Mapping[str, tuple[str, int]],
) -> dict[str, str | int | None]:
    """What a socket's connection is called, which subflow it is, and which end this is."""
    is_server = (remote, local) in opened
    if not is_server and (local, remote) not in opened:
        # It did not leave its host, so that nobody saw who opened it. Somebody listens at a server's port;
        # where nobody does any more, the port was chosen, so mostly the smaller one.
        is_server = accepted[local, remote]
        if not is_server and not accepted.get((remote, local), False):
            is_server = (remote, local) in accepted and _split(local)[1] < _split(remote)[1]
    client, server = (remote, local) if is_server else (local, remote)
    flow, number = parts.get(f"{client} > {server}", (_title(client, server, names), None))
    return {"flow": flow, "end": "server" if is_server else "client", "subflow": number}


def _parts(subflows: pl.DataFrame | None, names: Mapping[str, str]) -> dict[str, tuple[str, int]]:
    """What each subflow is a part of, and its number, by its ends."""
    if subflows is None:
        return {}
    return {
        ends: (flow or _title(*_ends(connection), names), number)
        for ends, number, flow, connection in subflows.iter_rows()
    }


def _title(client: str, server: str, names: Mapping[str, str]) -> str:
    return " > ".join(f"{names.get(host, host)}:{port}" for host, port in map(_split, (client, server)))


def _ends(flow: str) -> tuple[str, str]:
    """The addresses of client and server."""
    client, _, server = flow.partition(" > ")
    return client, server


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)
