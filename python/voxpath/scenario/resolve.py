"""From a scenario to a plan: names become indices, defaults values, counts copies.

The plan's contract is `crates/sim/src/plan/`. Its JSON is canonical (keys sorted, no white space, shortest
exact numbers), because it is part of a run's identity.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Literal

from voxpath import _engine
from voxpath.canonical import canonical
from voxpath.names import did_you_mean
from voxpath.scenario import mptcp
from voxpath.scenario.addresses import Addresses, Family, family, is_v6
from voxpath.scenario.builders import build
from voxpath.scenario.flows import Tcp
from voxpath.scenario.links import Directions
from voxpath.scenario.links import planned as planned_link
from voxpath.scenario.model import Host, Scenario
from voxpath.scenario.mptcp import Mptcp, MptcpSocket
from voxpath.scenario.planning import Origin, Origins, outside, plan
from voxpath.scenario.problems import Path
from voxpath.scenario.processes.table import Among, Passed
from voxpath.scenario.tcp import LEAST_SEGMENT
from voxpath.scenario.timeline import Timeline, new_addresses, times
from voxpath.scenario.traces import Traces

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from voxpath.scenario.flows import Flow
    from voxpath.scenario.network import Network
    from voxpath.scenario.tcp import Socket

_MAX_NS = 2**63 - 1
"""The latest start of a flow that a plan holds."""

_Faults = list[tuple[Path, str]]

_Homes = dict[tuple[str, str], list[int]]
"""The addresses of a host at one of its links, by their index."""

_V4_HEADER, _V6_HEADER, _TCP_HEADER = 20, 40, 20
"""Bytes (RFC 791 section 3.1 and RFC 9293 section 3.1 without options, RFC 8200 section 3)."""


@dataclass(frozen=True)
class Plan:
    """A resolved scenario.

    Attributes:
        data: The plan as plain values.
        json: Its canonical JSON.
        origins: Where in the scenario the parts of the plan come from.
        files: Contents of the files that the scenario refers to, by the names that it gives.
    """

    data: dict[str, Any]
    json: str
    origins: Origins = field(compare=False, repr=False)
    files: dict[str, bytes] = field(compare=False, repr=False)


def resolve(scenario: Scenario, base: FilePath = FilePath()) -> tuple[Plan, _Faults]:
    """The plan of a scenario, and what keeps it from being one: place in the scenario, message.

    With problems the plan is not complete and must not be used. Files are looked for from `base`.
    """
    traces = Traces(base)
    network = build(scenario.topology)
    problems: _Faults = list(network.problems)
    origins: Origins = {(): Origin(((),), scenario)}
    homes: _Homes = {}
    nodes, later = _nodes(scenario, network, homes, origins, problems)
    data: dict[str, Any] = {
        "version": _engine.PLAN_VERSION,
        "name": scenario.name,
        "seed": scenario.seed,
        "duration_ns": scenario.duration,
        "limits": {
            "events": scenario.limits.events,
            "time_ns": scenario.limits.time,
            "memory_bytes": scenario.limits.memory,
        },
        "nodes": nodes,
    }
    indices = {node["name"]: index for index, node in enumerate(data["nodes"])}
    if problems:
        data |= {"links": [], "interfaces": [], "routes": []}
    else:
        data |= {
            "links": _links(network, indices, origins, traces, problems),
            "interfaces": _attached(network, homes, indices, origins),
            "routes": _routes(network, indices, origins),
        }
        # Plans of before have no such key, and keep their identity.
        if middleboxes := _middleboxes(network, origins, traces, problems):
            data["middleboxes"] = middleboxes
    chains = _Chains(scenario, indices, problems)
    data["flows"], by_name = _flows(
        scenario, network, data["nodes"], homes, traces, chains, origins, problems
    )
    processes, faults = _processes(scenario, network, chains, indices, homes, traces, origins)
    problems.extend(faults)
    # Plans of before have no such key, and keep their identity.
    if processes:
        data["processes"] = processes
    at_links = {
        (host, link): {index: data["nodes"][indices[host]]["addresses"][index] for index in known}
        for (host, link), known in homes.items()
    }
    names = [process.name for process in scenario.processes]
    timeline = Timeline(network, indices, by_name, names, at_links, later, traces)
    data["events"] = timeline.planned(scenario.events, origins, problems)
    data["programs"] = _programs(scenario, network, data["nodes"], origins)
    data["relays"] = _relays(scenario, network, indices, origins, problems)
    return Plan(data, canonical(data), origins, traces.files), problems


def _nodes(
    scenario: Scenario, network: Network, homes: _Homes, origins: Origins, problems: _Faults
) -> tuple[list[dict[str, Any]], set[tuple[str, str]]]:
    """The plan's nodes; and hosts with those of their addresses that events bring."""
    for name in scenario.hosts:
        if name in network.routers:
            problems.append(
                (("hosts", name), "is a router: routers have no stack; " + did_you_mean(name, network.hosts))
            )
        elif name not in network.hosts:
            problems.append(
                (("hosts", name), f"is no host of this topology; {did_you_mean(name, network.hosts)}")
            )
    taken = _taken(scenario, problems)
    families: tuple[Family, ...] = ("ipv4", "ipv6") if scenario.family == "both" else (scenario.family,)
    free = Addresses(taken)
    nodes: list[dict[str, Any]] = []
    later: set[tuple[str, str]] = set()
    for name in network.hosts:
        host = scenario.hosts.get(name, Host())
        origins["nodes", len(nodes)] = Origin((("hosts", name), ("topology",)), host)
        addresses = list(host.addresses)
        for link, given in _interfaces(name, host, network, problems):
            for address in given or free.next(families):
                homes.setdefault((name, link), []).append(len(addresses))
                addresses.append(address)
        for _, event, address in new_addresses(scenario.events):
            if (name, event.interface) in homes and event.host == name and address not in addresses:
                homes[name, event.interface].append(len(addresses))
                addresses.append(address)
                later.add((name, address))
        nodes.append(
            {
                "name": name,
                "kind": "host",
                "addresses": addresses or free.next(families),
                "simulated": host.simulated,
                "real": host.real,
                **({} if host.edge is None else {"edge": host.edge}),
            }
        )
    # A router has what it needs to answer for packets that it cannot forward.
    spoken = sorted({family(address) for node in nodes for address in node["addresses"]})
    for name in network.routers:
        origins["nodes", len(nodes)] = Origin((("topology",),))
        nodes.append(
            {
                "name": name,
                "kind": "router",
                "addresses": free.next(spoken),
                "simulated": False,
                "real": False,
            }
        )
    return nodes, later


def _taken(scenario: Scenario, problems: _Faults) -> dict[str, str]:
    """The addresses that the scenario gives, and whose they are."""
    taken: dict[str, str] = {}
    for name, host in scenario.hosts.items():
        given: list[tuple[Path, str]] = [
            (("addresses", index), address) for index, address in enumerate(host.addresses)
        ]
        for link, addresses in host.interfaces.items():
            given += [(("interfaces", link, index), address) for index, address in enumerate(addresses)]
        for place, address in given:
            if address in taken:
                problems.append(
                    (("hosts", name, *place), f"{address} is an address of {taken[address]!r} already")
                )
            taken.setdefault(address, name)
    for index, event, address in new_addresses(scenario.events):
        if taken.setdefault(address, event.host) != event.host:
            problems.append(
                (("events", index, "address"), f"{address} is an address of {taken[address]!r} already")
            )
    return taken


def _interfaces(
    name: str, host: Host, network: Network, problems: _Faults
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The links by which a host has addresses of their own, and those that are given."""
    links = [link.name for link in network.links if name in (link.a, link.b)]
    for link in host.interfaces:
        if link not in links:
            problems.append(
                (("hosts", name, "interfaces", link), f"is no link of this host; {did_you_mean(link, links)}")
            )
    for link in dict.fromkeys([*network.interfaces.get(name, ()), *host.interfaces]):
        if link in links:
            yield link, host.interfaces.get(link, ())


def _links(
    network: Network,
    indices: dict[str, int],
    origins: Origins,
    traces: Traces,
    problems: _Faults,
) -> list[dict[str, Any]]:
    links = []
    directions: dict[int, Directions] = {}
    for index, link in enumerate(network.links):
        # Builders make thousands of links of the same values.
        if id(link.values) not in directions:
            directions[id(link.values)] = planned_link(link.values, traces)
            found = directions[id(link.values)].problems
            problems.extend(((*link.origin, *path), message) for path, message in found)
        both = directions[id(link.values)]
        origins["links", index] = Origin((link.origin,), link.values)
        origins["links", index, "ab"] = Origin(((*link.origin, "up"), link.origin), both.values["up"])
        origins["links", index, "ba"] = Origin(((*link.origin, "down"), link.origin), both.values["down"])
        links.append(
            {
                "name": link.name,
                "a": indices[link.a],
                "b": indices[link.b],
                "mtu": link.values.mtu,
                "ab": both.up,
                "ba": both.down,
            }
        )
    return links


def _middleboxes(
    network: Network, origins: Origins, traces: Traces, problems: _Faults
) -> list[dict[str, Any]]:
    planned: list[dict[str, Any]] = []
    for index, link in enumerate(network.links):
        for number, box in enumerate(link.values.middleboxes):
            place = (*link.origin, "middleboxes", number)
            faults: _Faults = []
            settings = plan(box, traces, faults)
            problems.extend(((*place, *path), message) for path, message in faults)
            origins["middleboxes", len(planned)] = Origin((place,))
            origins["middleboxes", len(planned), "set"] = Origin((place,), box)
            planned.append({"link": index, "which": outside(box, "which", traces, None), "set": settings})
    return planned


def _attached(
    network: Network, homes: _Homes, indices: dict[str, int], origins: Origins
) -> list[dict[str, Any]]:
    links = {link.name: index for index, link in enumerate(network.links)}
    interfaces: list[dict[str, Any]] = []
    for (host, link), addresses in homes.items():
        for address in addresses:
            origins["interfaces", len(interfaces)] = Origin(
                (("hosts", host, "interfaces", link), ("hosts", host))
            )
            interfaces.append({"node": indices[host], "address": address, "link": links[link]})
    return interfaces


def _routes(network: Network, indices: dict[str, int], origins: Origins) -> list[dict[str, Any]]:
    links = {link.name: index for index, link in enumerate(network.links)}
    routes = []
    for index, route in enumerate(network.routes):
        origins["routes", index] = Origin((route.origin,))
        routes.append({"node": indices[route.at], "to": indices[route.to], "link": links[route.via]})
    return routes


def _flows(
    scenario: Scenario,
    network: Network,
    nodes: list[dict[str, Any]],
    homes: _Homes,
    files: Traces,
    chains: _Chains,
    origins: Origins,
    problems: _Faults,
) -> tuple[list[dict[str, Any]], dict[str, list[int]]]:
    """The plan's flows, and which of them a name of the scenario stands for."""
    indices = {node["name"]: index for index, node in enumerate(nodes)}
    flows: list[dict[str, Any]] = []
    by_name: dict[str, list[int]] = {}
    started = times(scenario.events, "start")
    names: dict[str, int] = {}
    turn = 0
    for index, flow in enumerate(scenario.flows):
        place: Path = ("flows", index)
        ends = _ends(flow, place, network, problems)
        base = flow.called(index)
        start, event = started.get(base, (flow.start, None))
        if event is not None and "start" in flow.model_fields_set:
            problems.append(((*place, "start"), f"events[{event}] starts this flow: leave out one of them"))
        if event is not None and flow.stagger is not None:
            problems.append(
                ((*place, "stagger"), f"has no effect: events[{event}] starts all of these flows")
            )
        last_start = start + (flow.stagger or 0) * (flow.count - 1)
        if last_start > _MAX_NS:
            problems.append(
                ((*place, "stagger"), "the last of these flows would start after the end of time")
            )
        if ends is None:
            names.update(dict.fromkeys(_copies(base, flow), index))
            continue
        wrong: _Faults = []
        app = flow.app.planned(files, wrong)
        problems.extend(((*place, "app", *inside), message) for inside, message in wrong)
        if wrong:
            continue
        faults: _Faults = []
        transports = _Transports(flow, scenario, network, nodes, homes, faults, place)
        for number, name in enumerate(_copies(base, flow)):
            if name in names and names[name] != index:
                problems.append(((*place, "name"), f"the name {name!r} is taken by flows[{names[name]}]"))
                break
            names[name] = index
            copy, connection = divmod(number, flow.app.conversations)
            client, server = _pair(ends, network, turn)
            turn += None in ends and connection == flow.app.conversations - 1
            by_name.setdefault(base, []).append(len(flows))
            origins["flows", len(flows)] = Origin((place,), flow)
            origins["flows", len(flows), "app"] = Origin(((*place, "app"),), flow.app)
            for end, host in (("client", client), ("server", server)):
                origins["flows", len(flows), "transport", end] = Origin(
                    (
                        (*place, "transport", end),
                        (*place, "transport"),
                        ("hosts", host, "tcp"),
                        ("hosts", host),
                        place,
                    )
                )
            between = {
                "from": indices[client],
                "to": indices[server],
                "from_address": _home(client, flow.via, (*place, "via"), homes, faults),
                "to_address": _home(server, flow.to_via, (*place, "to_via"), homes, faults),
            }
            flows.append(
                {
                    "name": name,
                    **between,
                    "simulated": flow.simulated,
                    "start_ns": start + copy * (flow.stagger or 0),
                    "transport": transports.between(client, server, between),
                    "app": app,
                    **chains.through(flow, place, indices[server]),
                }
            )
        problems.extend(dict.fromkeys(faults))
    return flows, by_name


_FIRST_PORT, _LAST_PORT = 6000, 32_767
"""Of the ports at which processes wait for flows; behind them are those from which hosts open connections."""


class _Chains:
    """The processes that flows go through, and the ports at which they wait for them."""

    def __init__(self, scenario: Scenario, indices: Mapping[str, int], problems: _Faults) -> None:
        self._processes = {process.name: process for process in scenario.processes}
        self._indices = indices
        self._problems = problems
        self._port = _FIRST_PORT
        self.passed: dict[str, list[Passed]] = {name: [] for name in self._processes}

    def through(self, flow: Flow, place: Path, to: int) -> dict[str, Any]:
        """What the plan of one more conversation of a flow says of it; nothing where it goes straight."""
        hosts: list[int] = []
        for number, name in enumerate(flow.through):
            process = self._processes.get(name)
            fault = None
            if process is None:
                fault = f"there is no process {name!r}; {did_you_mean(name, self._processes)}"
            elif process.host not in self._indices:
                return {}
            elif self._indices[process.host] in (*hosts, to):
                fault = f"runs on {process.host!r}, where the flow has been already, or ends"
            if process is None or fault is not None:
                self._problems.append(((*place, "through", number), fault or ""))
                return {}
            hosts.append(self._indices[process.host])
        if not hosts:
            return {}
        port, self._port = self._port, self._port + 1
        if port > _LAST_PORT:
            most = _LAST_PORT - _FIRST_PORT + 1
            self._problems.append(((*place, "through"), f"more than {most} flows go through processes"))
            return {}
        for name, following in zip(flow.through, [*hosts[1:], to], strict=True):
            self.passed[name].append(Passed(port, flow.is_of_datagrams, following))
        return {"through": {"first": {"node": hosts[0], "port": port}, "port": port}}


def _processes(
    scenario: Scenario,
    network: Network,
    chains: _Chains,
    indices: Mapping[str, int],
    homes: _Homes,
    traces: Traces,
    origins: Origins,
) -> tuple[list[dict[str, Any]], _Faults]:
    processes: list[dict[str, Any]] = []
    problems: _Faults = []
    hosts = {name: indices[name] for name in network.hosts if name in indices}
    for number, process in enumerate(scenario.processes):
        place: Path = ("processes", number)
        if process.host not in hosts:
            hint = did_you_mean(process.host, network.hosts)
            problems.append(((*place, "host"), f"{process.host!r} is no host; {hint}"))
            continue
        faults: _Faults = []
        among = Among(process.name, hosts, chains.passed[process.name], scenario.processes, traces)
        app = process.app.planned(among, faults)
        problems.extend(((*place, "app", *inside), message) for inside, message in faults)
        host = scenario.hosts.get(process.host, Host())
        origins["processes", len(processes)] = Origin((place,))
        stack: tuple[Path, ...] = (("hosts", process.host, "tcp"), place)
        origins["processes", len(processes), "tcp"] = Origin(((*place, "tcp"), *stack))
        # What the plan calls otherwise stands there too.
        origins["processes", len(processes), "app"] = Origin(((*place, "app"),), process.app)
        mtu = _mtus(network).get((process.host, None))
        over: dict[str, Any] = {}
        if isinstance(process.transport, Mptcp):
            multipath = _Multipath(homes, (*place, "transport"), problems)
            ends: tuple[Literal["client", "server"], ...] = ("client", "server")
            for end in ends:
                layers = [host.tcp, process.tcp, process.transport, getattr(process.transport, end)]
                tcp = _stack(host, layers, v6=False, mtu=mtu)
                over[end] = multipath.end(process.host, process.transport, end, tcp)
                origins["processes", len(processes), "mptcp", end] = Origin(
                    ((*place, "transport", end), (*place, "transport"), *stack)
                )
        processes.append(
            {
                "name": process.name,
                "node": hosts[process.host],
                "simulated": process.simulated,
                "tcp": _stack(host, [host.tcp, process.tcp], v6=False, mtu=mtu),
                **({"mptcp": over} if over else {}),
                **({"wake_ns": process.wake} if process.wake else {}),
                "app": app,
            }
        )
    return processes, problems


def _home(host: str, link: str | None, place: Path, homes: _Homes, problems: _Faults) -> int | None:
    """The address of a host at a link."""
    if link is None or (host, link) in homes:
        return None if link is None else homes[host, link][0]
    links = [known for name, known in homes if name == host]
    problems.append(
        (place, f"{link!r} is no link at which {host!r} has an address; {did_you_mean(link, links)}")
    )
    return None


def _programs(
    scenario: Scenario, network: Network, nodes: list[dict[str, Any]], origins: Origins
) -> list[dict[str, Any]]:
    indices = {node["name"]: index for index, node in enumerate(nodes)}
    programs: list[dict[str, Any]] = []
    for name, host in scenario.hosts.items():
        if host.run is None or name not in indices:
            continue
        origins["programs", len(programs)] = Origin((("hosts", name, "run"), ("hosts", name)), host)
        origins["programs", len(programs), "tcp"] = Origin((("hosts", name, "tcp"), ("hosts", name)))
        programs.append(
            {
                "node": indices[name],
                "command": list(host.run),
                "listens": host.listens,
                "start_ns": host.start or 0,
                "ends": host.ends,
                "tcp": _stack(host, [host.tcp], v6=False, mtu=_mtus(network).get((name, None))),
            }
        )
    return programs


def _relays(
    scenario: Scenario,
    network: Network,
    indices: dict[str, int],
    origins: Origins,
    problems: _Faults,
) -> list[dict[str, Any]]:
    relays: list[dict[str, Any]] = []
    for name, host in scenario.hosts.items():
        if name not in indices:
            continue
        for number, reached in enumerate(host.reach):
            for further in range(reached.count):
                origins["relays", len(relays)] = Origin((("hosts", name, "reach", number),))
                ports = {"port": reached.port + further, "target": reached.target + further}
                relays.append(
                    {"kind": "reach", "node": indices[name], "transport": reached.transport, **ports}
                )
        for number, published in enumerate(host.publish):
            place: Path = ("hosts", name, "publish", number)
            if published.host not in network.hosts:
                hint = did_you_mean(published.host, network.hosts)
                problems.append((place, f"{published.host!r} is no host; {hint}"))
                continue
            ends = {"node": indices[name], "to": indices[published.host]}
            for further in range(published.count):
                origins["relays", len(relays)] = Origin((place,))
                ports = {"port": published.port + further, "target": published.target + further}
                relays.append({"kind": "publish", "transport": published.transport, **ends, **ports})
        if host.internet:
            origins["relays", len(relays)] = Origin((("hosts", name, "internet"),))
            relays.append({"kind": "internet", "node": indices[name]})
    return relays


def _copies(base: str, flow: Flow) -> list[str]:
    """The names of a flow's copies, connection by connection."""
    copies = [base] if flow.count == 1 else [f"{base}-{number}" for number in range(1, flow.count + 1)]
    if flow.app.conversations == 1:
        return copies
    return [f"{copy}.{number}" for copy in copies for number in range(1, flow.app.conversations + 1)]


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

    def __init__(
        self,
        flow: Flow,
        scenario: Scenario,
        network: Network,
        nodes: list[dict[str, Any]],
        homes: _Homes,
        problems: _Faults,
        place: Path,
    ) -> None:
        self._flow = flow
        self._multipath = _Multipath(homes, (*place, "transport"), problems)
        self._mtus = _mtus(network)
        self._hosts = scenario.hosts
        self._nodes = nodes
        self._ends: dict[tuple[str | None, str, bool, int | None], dict[str, Any]] = {}

    def between(self, client: str, server: str, ends: dict[str, int | None]) -> dict[str, Any]:
        """The plan's transport of a copy, which goes between these ends."""
        if self._flow.is_of_datagrams:
            return {"kind": "udp"}
        v6 = is_v6(self._nodes, ends)
        tcp = {
            "client": self._end(client, "client", v6=v6),
            "server": self._end(server, "server", v6=v6),
        }
        transport = self._flow.transport
        if isinstance(transport, Mptcp):
            return {
                "kind": "mptcp",
                "client": self._multipath.end(client, transport, "client", tcp["client"]),
                "server": self._multipath.end(server, transport, "server", tcp["server"]),
            }
        return {"kind": "tcp", **tcp}

    def _end(self, name: str, which: Literal["client", "server"], *, v6: bool) -> dict[str, Any]:
        # Hosts that the scenario does not mention are alike; there may be thousands.
        via = self._flow.via if which == "client" else self._flow.to_via
        mtu = self._mtus.get((name, via))
        key = (name if name in self._hosts else None, which, v6, mtu)
        if key not in self._ends:
            host = self._hosts.get(name, Host())
            tcp = self._flow.transport if isinstance(self._flow.transport, Tcp | Mptcp) else None
            layers = [
                self._flow.app.SOCKET,
                host.tcp,
                tcp,
                getattr(tcp, which) if tcp is not None else None,
            ]
            self._ends[key] = _stack(host, layers, v6=v6, mtu=mtu)
        return self._ends[key]


class _Multipath:
    """The ends of one transport over Multipath TCP."""

    def __init__(self, homes: _Homes, place: Path, problems: _Faults) -> None:
        self._homes = homes
        self._place = place
        self._problems = problems

    def end(
        self, host: str, transport: Mptcp, which: Literal["client", "server"], tcp: dict[str, Any]
    ) -> dict[str, Any]:
        """The end as a plan holds it, whose subflows have this stack."""
        own: MptcpSocket | None = getattr(transport, which)
        end: dict[str, Any] = {
            "tcp": tcp,
            "mptcp": mptcp.config(transport, own, answers=which == "server"),
        }
        found: list[int] = []
        for link in mptcp.backups((transport, own)):
            if link in self._links(host):
                found += self._homes[host, link]
            elif own is not None and own.backup is not None:
                self._problems.append(((*self._place, which, "backup"), self._no_link(host, link)))
            elif all(link not in self._links(name) for name in self._hosts_of_homes()):
                self._problems.append(((*self._place, "backup"), self._no_link(host, link)))
        return end | ({"backups": sorted(found)} if found else {})

    def _links(self, host: str) -> list[str]:
        return [link for name, link in self._homes if name == host]

    def _hosts_of_homes(self) -> set[str]:
        return {name for name, _ in self._homes}

    def _no_link(self, host: str, link: str) -> str:
        return (
            f"{link!r} is no link at which {host!r} has an address; {did_you_mean(link, self._links(host))}"
        )


def _mtus(network: Network) -> dict[tuple[str, str | None], int]:
    """The MTU of each host's link, by host and link; of the host itself the smallest of its links'."""
    found: dict[tuple[str, str | None], int] = {}
    for link in network.links:
        if link.values.mtu is None:
            continue
        for end in (link.a, link.b):
            found[end, link.name] = link.values.mtu
            found[end, None] = min(link.values.mtu, found.get((end, None), link.values.mtu))
    return found


def narrow_link(plan: Mapping[str, Any], path: Path) -> tuple[Path, str] | None:
    """Which link makes TCP's segments too small, and what is allowed, where that is what is wrong at `path`.

    None where it is something else.
    """
    if path[-1:] != ("mss",):
        return None
    config: Any = plan
    for key in path:
        config = config[key]
    for index, link in enumerate(plan["links"]):
        headers = 0 if link["mtu"] is None else link["mtu"] - config
        if headers in (_V4_HEADER + _TCP_HEADER, _V6_HEADER + _TCP_HEADER):
            least = headers + LEAST_SEGMENT
            told = f"leaves {config} bytes to a segment of TCP, which carries at least {LEAST_SEGMENT}"
            return (
                "links",
                index,
                "mtu",
            ), f"{link['mtu']} B {told}: an MTU of at least {least} B is expected"
    return None


def _stack(host: Host, layers: list[Socket | None], *, v6: bool, mtu: int | None) -> dict[str, Any]:
    """A host's profile with what each layer says otherwise."""
    config: dict[str, Any] = json.loads(_engine.profile(host.profile))
    if mtu is not None:
        config["mss"] = mtu - (_V6_HEADER if v6 else _V4_HEADER) - _TCP_HEADER
    elif v6:
        # Profiles say what a packet of Ethernet's size leaves over an IPv4 header.
        config["mss"] -= _V6_HEADER - _V4_HEADER
    for layer in layers:
        if layer is not None:
            config = _merged(config, layer.values())
    return config


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """`base` with the values of `over`, table by table."""
    return base | {
        key: _merged(base[key] or {}, value) if isinstance(value, dict) else value
        for key, value in over.items()
    }
