"""A plan's network, to be drawn: what each link does to packets, in a few words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voxpath import _engine
from voxpath.document import Edge, Network, Node

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MOST_NODES = 60
"""More are no picture any more."""


def network_of(plan: Mapping[str, Any]) -> Network | None:
    """The network of a plan; none where it is too large to be drawn."""
    nodes: Sequence[Mapping[str, Any]] = plan["nodes"]
    if len(nodes) > _MOST_NODES or not plan["links"]:
        return None
    runs = {program["node"]: program["command"] for program in plan["programs"] if "node" in program}
    drawn = [
        Node(
            node["name"],
            node["kind"] == "host",
            ", ".join([*node["addresses"], *(["runs " + runs[index][0]] if index in runs else [])]),
        )
        for index, node in enumerate(nodes)
    ]
    edges = [Edge((link["a"], link["b"]), _label(link, nodes), link["name"]) for link in plan["links"]]
    return Network(
        "The network",
        "What each link does to packets; in both directions, unless it is said of each.",
        drawn,
        edges,
        _left(plan),
    )


def _left(plan: Mapping[str, Any]) -> list[int]:
    """Where flows come from; else the first host."""
    flows = [flow["from"] for flow in plan["flows"]]
    ends = {flow["to"] for flow in plan["flows"]}
    first = [node for node in dict.fromkeys(flows) if node not in ends]
    hosts = [index for index, node in enumerate(plan["nodes"]) if node["kind"] == "host"]
    return first or hosts[:1]


def _label(link: Mapping[str, Any], nodes: Sequence[Mapping[str, Any]]) -> list[str]:
    up, down = (_told(link[way]) for way in ("ab", "ba"))
    if up == down:
        return [up] if up else []
    ends = (nodes[link["a"]]["name"], nodes[link["b"]]["name"])
    return [f"to {ends[1]}: {up or 'no effect'}", f"to {ends[0]}: {down or 'no effect'}"]


def _told(way: Mapping[str, Any]) -> str:
    """What a direction does: rate, delay, queue, loss."""
    parts = []
    if way["rate_bps"] is not None:
        parts.append(_engine.format_rate(way["rate_bps"]))
    elif way["capacity"] is not None:
        parts.append(f"a rate by {way['capacity']['kind']}")
    if way["delay_ns"] or way["delay_variation"]:
        varies = way["delay_variation"]
        parts.append(
            _engine.format_span(way["delay_ns"]) + (f" and more ({varies['kind']})" if varies else "")
        )
    room = [f"{way['queue_packets']} packets"] if way["queue_packets"] is not None else []
    room += [_engine.format_size(way["queue_bytes"])] if way["queue_bytes"] is not None else []
    kind = way["queueing"]["kind"]
    if room or kind != "drop_tail":
        parts.append(" or ".join(room) + (f" {kind}" if kind != "drop_tail" else ""))
    for name, what in (("loss", "lost"), ("corruption", "damaged")):
        loss = way[name]
        if loss["kind"] == "bernoulli":
            parts.append(f"{_engine.format_prob(loss['p'])} {what}")
        elif loss["kind"] != "none":
            parts.append(f"{what} by {loss['kind']}")
    return ", ".join(part.strip() for part in parts)
