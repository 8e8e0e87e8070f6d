"""From a plan to what each real host is: its addresses, its routes, and the keys of its stack.

A real host has the kernel's TCP. What a plan asks of it is either something that the kernel can be told, or a
problem; nothing is left out in silence.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voxpath import _engine
from voxpath.backends.base import UnanswerableError
from voxpath.backends.real import internet, multipath
from voxpath.backends.real.relays import MARK

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

DEVICE = "net0"
"""The device that has a host's addresses, and mostly joins it to the network."""

PORT = "port0"
"""The device that joins a bridge to the network."""

MTU = 1500
"""Of a host whose links have none."""

_QUEUE = 10_000
"""Packets that a device holds for us; its default of 500 loses bursts without a word."""

_PORTS = "32768 49151"
"""Ports that programs get: those above are of the plan's flows (`crates/sim/src/build.rs`)."""

_NO_SERVERS = "# Names are those of the scenario, in /etc/hosts.\n"

_SOCKET = frozenset(
    {"congestion", "nagle", "receive_autotuning", "receive_buffer", "send_autotuning", "send_buffer"}
)
"""Keys that `crates/host/src/sockets.rs` sets by socket."""

_OF_LISTENERS = sorted(_SOCKET - {"congestion", "nagle"})
"""Those of them that connections keep from the socket that listened: the handshake announced them."""

_NAMESPACE: Mapping[str, tuple[str, ...]] = {
    "window_scaling": ("ipv4/tcp_window_scaling",),
    "timestamps": ("ipv4/tcp_timestamps",),
    "sack": ("ipv4/tcp_sack", "ipv4/tcp_dsack"),
    "dupack_threshold": ("ipv4/tcp_reordering",),
}
"""Keys that hold for all sockets of a host, and what they are called below /proc/sys/net."""

_ROUTE: Mapping[str, str] = {"initial_window": "initcwnd", "delayed_ack": "quickack"}
"""Keys that hold for all sockets of a host, and what they are called in a route."""

_SHARED = frozenset({*_NAMESPACE, *_ROUTE})

_CONDITIONS: Mapping[str, str] = {
    "dupack_threshold": "; this one only without sack, which has its own measure of reordering",
    "delayed_ack": "; of this one only max_delay = 0, for no delay at all",
    "receive_autotuning": "; this one is off where a receive_buffer other than the usual one is given",
    "send_autotuning": "; this one is off where a send_buffer other than the usual one is given",
}
"""What is to be known of keys that the kernel can be told in some cases only."""

_PER_PROGRAM = frozenset({"congestion"})
"""Keys beside those that the sockets of unmodified programs get, by the route that they take."""


@dataclass(frozen=True)
class HostConfiguration:
    """What a real host is.

    Attributes:
        port: The device at whose other end the network is.
        edge: What kind of device that is; none is any that can be had.
        ip: Commands of iproute2, one a line.
        sysctl: Keys below /proc/sys/net and their values, in the order in which they are set.
    """

    port: str
    edge: str | None
    ip: str
    sysctl: Sequence[tuple[str, str]]


def configurations(plan: Mapping[str, Any]) -> dict[int, HostConfiguration]:
    """What each real host of a plan is, by its index.

    Raises:
        UnanswerableError: The kernel cannot be what the plan asks for.
    """
    real = _engine.real_hosts(json.dumps(plan))
    return {index: _configuration(plan, index) for index in real}


def files(plan: Mapping[str, Any]) -> dict[str, str]:
    """Contents of files that programs see instead of the machine's, by path."""
    resolver = Path("/etc/resolv.conf")
    # A machine's name servers are not there; programs that asked them would wait for their silence.
    servers = _NO_SERVERS if internet.gateway(plan) is None else f"nameserver {internet.NAME_SERVER}\n"
    return {"/etc/hosts": _hosts_file(plan)} | ({str(resolver): servers} if resolver.exists() else {})


def _hosts_file(plan: Mapping[str, Any]) -> str:
    """What programs find each other's addresses by: the scenario's names."""
    lines = ["127.0.0.1 localhost", "::1 localhost"]
    lines += [f"{address} {node['name']}" for node in plan["nodes"] for address in node["addresses"]]
    return "\n".join(lines) + "\n"


def _configuration(plan: Mapping[str, Any], index: int) -> HostConfiguration:
    addresses = plan["nodes"][index]["addresses"]
    if any(
        event["change"].get("node") == index and event["change"]["kind"] == "address"
        for event in plan["events"]
    ):
        raise UnanswerableError(
            f"events take addresses from the real host {plan['nodes'][index]['name']!r} or give it some, "
            "which the backend real does not do: let the host be simulated"
        )
    if internet.gateway(plan) is not None and (taken := [a for a in addresses if internet.is_own(a)]):
        raise UnanswerableError(
            f"the real host {plan['nodes'][index]['name']!r} has {taken[0]}, but {internet.NETWORK} lies "
            "between the host that stands for the Internet and slirp4netns: give it another address"
        )
    v6 = any(":" in address for address in addresses)
    stack = _shared_keys(plan, index)
    of_multipath = multipath.told(plan, index, DEVICE)
    sysctl = [
        # Addresses that nobody asked for would send packets that nobody expects.
        ("ipv6/conf/all/disable_ipv6", str(int(not v6))),
        ("ipv4/tcp_no_metrics_save", "1"),
        ("ipv4/ip_local_port_range", _PORTS),
        ("ipv4/ping_group_range", f"{os.getgid()} {os.getgid()}"),
        *((path, str(int(value))) for key, value in stack.items() for path in _NAMESPACE.get(key, ())),
        *of_multipath.sysctl,
        *(internet.SYSCTL if internet.gateway(plan) == index else ()),
    ]
    congestion = stack.get("congestion")
    # What a route does not say, a new namespace takes from the machine's default, whatever that is.
    told = f" congctl {congestion}" if congestion else ""
    told += "".join(
        f" {_ROUTE[key]} {_in_route(key, value)}" for key, value in stack.items() if key in _ROUTE
    )
    edge = plan["nodes"][index].get("edge")
    if v6 and edge in {"tap", "bridge"}:
        raise UnanswerableError(
            f"the real host {plan['nodes'][index]['name']!r} has an IPv6 address and edge = {edge!r}, which "
            'finds its neighbours by ARP alone, so over IPv4: take "tun" or "veth"'
        )
    port = PORT if edge == "bridge" else DEVICE
    bridge = [f"link add {DEVICE} type bridge", f"link set {PORT} master {DEVICE}", f"link set {DEVICE} up"]
    lines = [
        f"link set lo alias {MARK} up",
        f"link set {port} mtu {_mtu(plan, index)} txqueuelen {_QUEUE} up",
        *(bridge if edge == "bridge" else []),
        *(f"addr add {_own(address)} dev {DEVICE}" for address in addresses),
        *(f"route add {prefix} dev {DEVICE}{told}" for prefix in _reached(plan, index, v6=v6)),
        *of_multipath.ip,
    ]
    kind = "tap" if edge == "bridge" else edge
    return HostConfiguration(port, kind, "\n".join(lines) + "\n", sysctl)


def _reached(plan: Mapping[str, Any], index: int, *, v6: bool) -> list[str]:
    """What is reached by the network: everything, but for the host that stands for what is outside of it."""
    others = [address for node in plan["nodes"] for address in node["addresses"]]
    inside = [f"{address}/32" for address in others if ":" not in address]
    own = plan["nodes"][index]["addresses"]
    ipv4 = [prefix for prefix in inside if prefix.removesuffix("/32") not in own]
    return [*(ipv4 if internet.gateway(plan) == index else ["0.0.0.0/0"]), *(["::/0"] if v6 else [])]


def _own(address: str) -> str:
    """An address of a host as `ip address add` takes it."""
    # Without nodad the kernel first looks for duplicates, by a thread of its own; until then nobody can bind.
    return f"{address}/128 nodad" if ":" in address else f"{address}/32"


def _mtu(plan: Mapping[str, Any], index: int) -> int:
    """The MTU of a host's device: what the smallest of its links takes."""
    own = [link["mtu"] for link in plan["links"] if index in (link["a"], link["b"])]
    return min((mtu for mtu in own if mtu is not None), default=MTU)


def _in_route(key: str, value: Any) -> int:
    # Of delayed acknowledgments a route only knows that there are to be none.
    return 1 if key == "delayed_ack" else int(value)


def _shared_keys(plan: Mapping[str, Any], index: int) -> dict[str, Any]:
    """The values of the keys that all of a host's sockets share; a route's only where it has to say them."""
    name = plan["nodes"][index]["name"]
    usual = json.loads(_engine.profile("linux"))
    mtu = _mtu(plan, index)
    shared: dict[str, tuple[Any, str]] = {}
    for place, asked, allowed in _asked(plan, index):
        for key, value in asked.items():
            # The kernel fits its segments to the device, less the headers of either family.
            if key == "mss" and value in {usual[key], mtu - 40, mtu - 60}:
                continue
            if value != usual[key] and (
                key not in allowed | _SHARED or not _settable(key, value, asked, usual)
            ):
                settable = ", ".join(sorted(allowed | _SHARED))
                raise UnanswerableError(
                    f"the real host {name!r} has the kernel's TCP, which cannot be told {key} = {value!r} "
                    f'({place}; other profiles than "linux" are sets of such keys): take the profile "linux" '
                    f"and change only {settable}"
                    f"{_CONDITIONS.get(key, '')}, or let the host or the flow be simulated"
                )
            if key in _SHARED:
                before, where = shared.setdefault(key, (value, place))
                if before != value:
                    raise UnanswerableError(
                        f"the real host {name!r} has one kernel, but {place} asks for {key} = {value!r} and "
                        f"{where} for {before!r}"
                    )
    _check_listener(plan, index)
    controls = {program["tcp"]["congestion"] for program in _programs(plan, index)}
    found = {key: value for key, (value, _) in shared.items() if key in _NAMESPACE or value != usual[key]}
    return found | ({"congestion": controls.pop()} if len(controls) == 1 else {})


def _check_listener(plan: Mapping[str, Any], index: int) -> None:
    """All flows that end at a host end at one listening socket."""
    heard: dict[str, tuple[Any, str]] = {}
    for flow in plan["flows"]:
        if flow["simulated"] or flow["transport"]["kind"] == "udp" or flow["to"] != index:
            continue
        stack = flow["transport"]["server"]
        for key in _OF_LISTENERS:
            value = stack.get("tcp", stack)[key]
            before, first = heard.setdefault(key, (value, flow["name"]))
            if before != value:
                raise UnanswerableError(
                    f"the flows {first!r} and {flow['name']!r} end at one listening socket of the real host "
                    f"{plan['nodes'][index]['name']!r}, whose connections have one {key}, not {before!r} "
                    f"and {value!r}: give both the same, or let one be simulated"
                )


def _settable(key: str, value: Any, asked: Mapping[str, Any], usual: Mapping[str, Any]) -> bool:
    match key:
        case "receive_autotuning" | "send_autotuning":
            buffer = key.replace("autotuning", "buffer")
            return bool(asked[buffer] != usual[buffer])
        case "dupack_threshold":
            return not asked["sack"]
        case "delayed_ack":
            return bool(value["max_delay"] == 0)
        case _:
            return True


def _asked(plan: Mapping[str, Any], index: int) -> Iterator[tuple[str, Mapping[str, Any], frozenset[str]]]:
    """The stacks that a host is asked to have: where, what, and which keys can be set there."""
    for flow in plan["flows"]:
        if flow["simulated"] or flow["transport"]["kind"] == "udp":
            continue
        for end, side in (("from", "client"), ("to", "server")):
            if flow[end] == index:
                stack = flow["transport"][side]
                yield f"flow {flow['name']!r}", stack.get("tcp", stack), _SOCKET
    for program in _programs(plan, index):
        yield f"its program {program['command'][0]!r}", program["tcp"], _PER_PROGRAM


def _programs(plan: Mapping[str, Any], index: int) -> list[Mapping[str, Any]]:
    return [program for program in plan["programs"] if program["node"] == index]
