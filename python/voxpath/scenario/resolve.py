"""From a scenario to a plan: names become indices, defaults values, counts copies.

The plan's contract is `crates/sim/src/plan.rs`. Its JSON is canonical (keys sorted, no white space, shortest
exact numbers), because it is part of a run's identity.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Literal

from voxpath import _engine
from voxpath.results.canonical import canonical
from voxpath.scenario.addresses import automatic, is_v6
from voxpath.scenario.builders import build
from voxpath.scenario.elements.traces import Traces
from voxpath.scenario.flows import Bulk, Cbr, Download, Tcp, Voice
from voxpath.scenario.links import Directions, planned
from voxpath.scenario.model import Host, Scenario
from voxpath.scenario.problems import Path, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Container

    from voxpath.scenario.flows import App, Flow
    from voxpath.scenario.network import Network
    from voxpath.scenario.tcp import Socket

_MAX_NS = 2**63 - 1
"""The latest start of a flow that a plan holds."""

_Faults = list[tuple[Path, str]]


_V4_HEADER, _V6_HEADER = 20, 40
"""Bytes (RFC 791 section 3.1 without options, RFC 8200 section 3)."""


@dataclass(frozen=True)
class Plan:
    """A resolved scenario.

    Attributes:
        data: The plan as plain values.
        json: Its canonical JSON.
        origins: For a place in the plan, where in the scenario it came from, the nearest source first.
        files: Contents of the files that the scenario refers to, by the names that it gives.
    """

    data: dict[str, Any]
    json: str
    origins: dict[Path, list[Path]] = field(compare=False, repr=False)
    files: dict[str, bytes] = field(compare=False, repr=False)


def resolve(scenario: Scenario, base: FilePath = FilePath()) -> tuple[Plan, _Faults]:
    """The plan of a scenario, and what keeps it from being one: place in the scenario, message.

    With problems the plan is not complete and must not be used. Files are looked for from `base`.
    """
    traces = Traces(base)
    network = build(scenario.topology)
    problems: _Faults = list(network.problems)
    origins: dict[Path, list[Path]] = {}
    data: dict[str, Any] = {
        "version": _engine.PLAN_VERSION,
        "name": scenario.name,
        "seed": scenario.seed,
        "duration_ns": scenario.duration,
        "nodes": _nodes(scenario, network, origins, problems),
    }
    indices = {node["name"]: index for index, node in enumerate(data["nodes"])}
    if problems:
        data |= {"links": [], "routes": []}
    else:
        data["links"] = _links(network, indices, origins, traces, problems)
        data["routes"] = _routes(network, indices, origins)
    data["flows"] = _flows(scenario, network, indices, origins, problems)
    data["programs"] = _programs(scenario, indices, origins)
    data["relays"] = _relays(scenario, network, indices, origins, problems)
    return Plan(data, canonical(data), origins, traces.files), problems


def origin_of(plan_path: str, plan: Plan, places: Container[Path]) -> Path:
    """Where in the scenario a place of the plan (`links[0].ab.loss.p`) comes from, as closely as it says."""
    parts: list[str | int] = [
        int(number) if number else name
        for name, number in re.findall(r"([A-Za-z_][A-Za-z0-9_]*)|\[(\d+)\]", plan_path)
    ]
    for end in range(len(parts), 0, -1):
        sources = plan.origins.get(tuple(parts[:end]))
        if sources is None:
            continue
        rest = [_scenario_key(part) for part in parts[end:]]
        for length in range(len(rest), 0, -1):
            for source in sources:
                if (*source, *rest[:length]) in places:
                    return (*source, *rest[:length])
        return sources[-1]
    return tuple(_scenario_key(part) for part in parts[:1])


_RENAMED = {"p": "probability", "request_bytes": "request", "response_bytes": "response", "bytes": "size"}


def _scenario_key(part: str | int) -> str | int:
    if isinstance(part, int):
        return part
    return _RENAMED.get(part) or re.sub(r"_(ns|bps|bytes|packets)$", "", part)


def _nodes(
    scenario: Scenario, network: Network, origins: dict[Path, list[Path]], problems: _Faults
) -> list[dict[str, Any]]:
    for name in scenario.hosts:
        if name in network.routers:
            problems.append(
                (("hosts", name), "is a router: routers have no stack; " + did_you_mean(name, network.hosts))
            )
        elif name not in network.hosts:
            problems.append(
                (("hosts", name), f"is no host of this topology; {did_you_mean(name, network.hosts)}")
            )
    taken: dict[str, str] = {}
    for name, host in scenario.hosts.items():
        for index, address in enumerate(host.addresses):
            if address in taken:
                problems.append(
                    (
                        ("hosts", name, "addresses", index),
                        f"{address} is an address of {taken[address]!r} already",
                    )
                )
            taken.setdefault(address, name)
    free = automatic(set(taken))
    nodes: list[dict[str, Any]] = []
    for name in network.hosts:
        host = scenario.hosts.get(name, Host())
        origins["nodes", len(nodes)] = [("hosts", name), ("topology",)]
        nodes.append(
            {
                "name": name,
                "kind": "host",
                "addresses": list(host.addresses) or [next(free)],
                "simulated": host.simulated,
                "real": host.real,
            }
        )
    for name in network.routers:
        origins["nodes", len(nodes)] = [("topology",)]
        nodes.append({"name": name, "kind": "router", "addresses": [], "simulated": False, "real": False})
    return nodes


def _links(
    network: Network,
    indices: dict[str, int],
    origins: dict[Path, list[Path]],
    traces: Traces,
    problems: _Faults,
) -> list[dict[str, Any]]:
    links = []
    directions: dict[int, Directions] = {}
    for index, link in enumerate(network.links):
        origins["links", index] = [link.origin]
        origins["links", index, "ab"] = [(*link.origin, "up"), link.origin]
        origins["links", index, "ba"] = [(*link.origin, "down"), link.origin]
        # Builders make thousands of links of the same values.
        if id(link.values) not in directions:
            directions[id(link.values)] = planned(link.values, traces)
            found = directions[id(link.values)].problems
            problems.extend(((*link.origin, *path), message) for path, message in found)
        both = directions[id(link.values)]
        links.append(
            {
                "name": link.name,
                "a": indices[link.a],
                "b": indices[link.b],
                "ab": both.up,
                "ba": both.down,
            }
        )
    return links


def _routes(
    network: Network, indices: dict[str, int], origins: dict[Path, list[Path]]
) -> list[dict[str, Any]]:
    links = {link.name: index for index, link in enumerate(network.links)}
    routes = []
    for index, route in enumerate(network.routes):
        origins["routes", index] = [route.origin]
        routes.append({"node": indices[route.at], "to": indices[route.to], "link": links[route.via]})
    return routes


def _flows(
    scenario: Scenario,
    network: Network,
    indices: dict[str, int],
    origins: dict[Path, list[Path]],
    problems: _Faults,
) -> list[dict[str, Any]]:
    flows: list[dict[str, Any]] = []
    names: dict[str, int] = {}
    turn = 0
    for index, flow in enumerate(scenario.flows):
        place: Path = ("flows", index)
        ends = _ends(flow, place, network, problems)
        if flow.is_endless and scenario.duration is None:
            problems.append(
                (
                    (*place, "app"),
                    f"this {flow.app.kind} never ends: say how much it sends, or give the run a duration",
                )
            )
        base = flow.name or f"flow{index + 1}"
        last_start = flow.start + (flow.stagger or 0) * (flow.count - 1)
        if last_start > _MAX_NS:
            problems.append(
                ((*place, "stagger"), "the last of these flows would start after the end of time")
            )
        if ends is None:
            names.update(dict.fromkeys(_copies(base, flow.count), index))
            continue
        transports = _Transports(flow, scenario)
        for copy, name in enumerate(_copies(base, flow.count)):
            if name in names and names[name] != index:
                problems.append(((*place, "name"), f"the name {name!r} is taken by flows[{names[name]}]"))
                break
            names[name] = index
            client, server = _pair(ends, network, turn)
            turn += None in ends
            origins["flows", len(flows)] = [place]
            for end, host in (("client", client), ("server", server)):
                origins["flows", len(flows), "transport", end] = [
                    (*place, "transport", end),
                    (*place, "transport"),
                    ("hosts", host, "tcp"),
                    ("hosts", host),
                    place,
                ]
            flows.append(
                {
                    "name": name,
                    "from": indices[client],
                    "to": indices[server],
                    "simulated": flow.simulated,
                    "start_ns": flow.start + copy * (flow.stagger or 0),
                    "transport": transports.between(client, server),
                    "app": _app(flow.app),
                }
            )
    return flows


def _programs(
    scenario: Scenario, indices: dict[str, int], origins: dict[Path, list[Path]]
) -> list[dict[str, Any]]:
    programs: list[dict[str, Any]] = []
    for name, host in scenario.hosts.items():
        if host.run is None or name not in indices:
            continue
        origins["programs", len(programs)] = [("hosts", name, "run"), ("hosts", name)]
        origins["programs", len(programs), "tcp"] = [("hosts", name, "tcp"), ("hosts", name)]
        programs.append(
            {
                "node": indices[name],
                "command": list(host.run),
                "listens": host.listens,
                "start_ns": host.start or 0,
                "tcp": _stack(host, [host.tcp], v6=is_v6(host.addresses, ())),
            }
        )
    return programs


def _relays(
    scenario: Scenario,
    network: Network,
    indices: dict[str, int],
    origins: dict[Path, list[Path]],
    problems: _Faults,
) -> list[dict[str, Any]]:
    relays: list[dict[str, Any]] = []
    for name, host in scenario.hosts.items():
        if name not in indices:
            continue
        for number, reached in enumerate(host.reach):
            origins["relays", len(relays)] = [("hosts", name, "reach", number)]
            relays.append({"kind": "reach", "node": indices[name], **asdict(reached)})
        for number, published in enumerate(host.publish):
            place: Path = ("hosts", name, "publish", number)
            if published.host not in network.hosts:
                hint = did_you_mean(published.host, network.hosts)
                problems.append((place, f"{published.host!r} is no host; {hint}"))
                continue
            origins["relays", len(relays)] = [place]
            ends = {"node": indices[name], "to": indices[published.host]}
            ports = {"port": published.port, "target": published.target}
            relays.append({"kind": "publish", "transport": published.transport, **ends, **ports})
    return relays


def _copies(base: str, count: int) -> list[str]:
    return [base] if count == 1 else [f"{base}-{number}" for number in range(1, count + 1)]


def _ends(
    flow: Flow, place: Path, network: Network, problems: _Faults
) -> tuple[str | None, str | None] | None:
    """The names given, or none where one of them is wrong."""
    before = len(problems)
    for key, name in (("from", flow.from_), ("to", flow.to)):
        if name is None:
            if not network.pairs:
                problems.append(
                    (
                        (*place, key),
                        f"is missing: an explicit topology has no pairs; {did_you_mean('', network.hosts)}",
                    )
                )
        elif name in network.routers:
            problems.append(
                (
                    (*place, key),
                    f"{name!r} is a router: flows are between hosts; {did_you_mean(name, network.hosts)}",
                )
            )
        elif name not in network.hosts:
            problems.append(((*place, key), f"{name!r} is no host; {did_you_mean(name, network.hosts)}"))
    return (flow.from_, flow.to) if len(problems) == before else None


def _pair(ends: tuple[str | None, str | None], network: Network, turn: int) -> tuple[str, str]:
    client, server = network.pairs[turn % len(network.pairs)] if network.pairs else ("", "")
    return ends[0] or client, ends[1] or server


class _Transports:
    """The transports of one flow's copies, which differ by their hosts alone."""

    def __init__(self, flow: Flow, scenario: Scenario) -> None:
        self._flow = flow
        self._hosts = scenario.hosts
        self._ends: dict[tuple[str | None, str, bool], dict[str, Any]] = {}

    def between(self, client: str, server: str) -> dict[str, Any]:
        """The plan's transport of a copy."""
        if isinstance(self._flow.app, Cbr):
            return {"kind": "udp"}
        v6 = is_v6(*(self._hosts.get(name, Host()).addresses for name in (client, server)))
        return {
            "kind": "tcp",
            "client": self._end(client, "client", v6=v6),
            "server": self._end(server, "server", v6=v6),
        }

    def _end(self, name: str, which: Literal["client", "server"], *, v6: bool) -> dict[str, Any]:
        # Hosts that the scenario does not mention are alike; there may be thousands.
        key = (name if name in self._hosts else None, which, v6)
        if key not in self._ends:
            host = self._hosts.get(name, Host())
            tcp = self._flow.transport if isinstance(self._flow.transport, Tcp) else None
            layers = [host.tcp, tcp, getattr(tcp, which) if tcp is not None else None]
            self._ends[key] = _stack(host, layers, v6=v6)
        return self._ends[key]


def _stack(host: Host, layers: list[Socket | None], *, v6: bool) -> dict[str, Any]:
    """A host's profile with what each layer says otherwise."""
    config: dict[str, Any] = json.loads(_engine.profile(host.profile))
    if v6:
        # Profiles say what a packet of Ethernet's size leaves over an IPv4 header.
        config["mss"] -= _V6_HEADER - _V4_HEADER
    for layer in layers:
        if layer is not None:
            config = _merged(config, layer.values())
    return config


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """`base` with the values of `over`, table by table."""
    return base | {
        key: _merged(base[key], value) if isinstance(value, dict) else value for key, value in over.items()
    }


def _app(app: App) -> dict[str, Any]:
    match app:
        case Bulk():
            return {"kind": "bulk", "bytes": app.size}
        case Download():
            return {
                "kind": "download",
                "request_bytes": app.request,
                "response_bytes": app.response,
                "requests": app.requests,
                "pause_ns": app.pause,
            }
        case Voice():
            return {
                "kind": "voice",
                "blocks": app.blocks,
                "block_bytes": app.block,
                "interval_ns": app.interval,
                "partial_bytes": app.partial,
                "answer_bytes": app.answer,
                "processing_ns": app.processing,
                "requests": app.requests,
                "pause_ns": app.pause,
            }
        case Cbr():
            return {
                "kind": "cbr",
                "packet_bytes": app.packet,
                "interval_ns": app.interval,
                "packets": app.packets,
            }
