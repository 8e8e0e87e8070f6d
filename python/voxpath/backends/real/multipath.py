"""Multipath TCP of real hosts: what the kernel is told of a plan's flows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from voxpath import _engine
from voxpath.backends.base import UnanswerableError
from voxpath.scenario.processes import PROCESSES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_MOST = 8
"""MPTCP_PM_ADDR_MAX of the kernel."""

_SECOND = 10**9

_KEYS = Path("/proc/sys/net/mptcp")
"""There where the kernel has Multipath TCP."""

_KERNEL: Mapping[str, Any] = {
    "scheduler": "linux",
    "coupling": "uncoupled",
    "opportunistic_retransmission": False,
    "penalisation": False,
    "long_numbers": True,
}
"""What the kernel does, and cannot be told otherwise."""

_KERNEL_PATHS: Mapping[str, Any] = {"joins": "at_once", "retry": 0, "signal": False}
"""The same of its path manager. It announces addresses too; but each of our listeners has one address."""


class Told(NamedTuple):
    """What a host's kernel is told.

    Attributes:
        ip: Commands of iproute2.
        sysctl: Keys below /proc/sys/net and their values.
    """

    ip: Sequence[str]
    sysctl: Sequence[tuple[str, str]]


def told(plan: Mapping[str, Any], index: int, device: str) -> Told:
    """What the kernel of a host is told of its flows over Multipath TCP; nothing if it has none.

    Args:
        plan: The plan.
        index: Of the host.
        device: Which has its addresses.

    Raises:
        UnanswerableError: The kernel cannot do what a flow asks for, or two flows ask for different things.
    """
    name = plan["nodes"][index]["name"]
    found: tuple[str, Mapping[str, Any]] | None = None
    for whose, end in _ends(plan, index):
        _check(name, whose, end["mptcp"])
        asked = {
            **{key: end["mptcp"][key] for key in ("checksum", "close_timeout")},
            **{key: end["mptcp"]["paths"][key] for key in ("opens", "limit")},
            "backup": end.get("backups", []),
        }
        if found is not None and found[1] != asked:
            raise UnanswerableError(
                f"the real host {name!r} has one kernel, but {whose} asks for Multipath TCP with "
                f"{asked}, and {found[0]} for {found[1]}"
            )
        found = (whose, asked)
    if found is None:
        return _of_programs(plan, index, device)
    wanted = found[1]
    opens = wanted["opens"] != "nothing"
    flags = "" if not opens else " subflow fullmesh" if wanted["opens"] == "full_mesh" else " subflow"
    accepted = wanted["limit"] if opens else 0
    commands = [f"mptcp limits set subflow {wanted['limit']} add_addr_accepted {accepted}"]
    for place, address in enumerate(plan["nodes"][index]["addresses"]):
        own = flags + (" backup" if place in wanted["backup"] else "")
        if own:
            commands.append(f"mptcp endpoint add {address} dev {device}{own}")
    keys = [("mptcp/enabled", "1"), ("mptcp/checksum_enabled", str(int(wanted["checksum"])))]
    if wanted["close_timeout"] != json.loads(_engine.mptcp())["close_timeout"]:
        keys.append(("mptcp/close_timeout", str(wanted["close_timeout"] // _SECOND)))
    return Told(commands, keys)


def joins(plan: Mapping[str, Any]) -> bool:
    """Whether connections of Multipath TCP that programs open may have several subflows.

    They may where a host has several interfaces.
    """
    several = any(len(_interfaces(plan, index)) > 1 for index in range(len(plan["nodes"])))
    return several and _KEYS.exists()


def _interfaces(plan: Mapping[str, Any], index: int) -> list[int]:
    """Addresses of a host's interfaces, by their places among its addresses."""
    return [one["address"] for one in plan["interfaces"] if one["node"] == index]


def _of_programs(plan: Mapping[str, Any], index: int, device: str) -> Told:
    """What a kernel is told for programs that open sockets of Multipath TCP."""
    if not joins(plan):
        return Told((), ())
    own = _interfaces(plan, index)
    # Programs may be started later on a host that is real for nothing else.
    runs = plan["nodes"][index]["real"] or any(program["node"] == index for program in plan["programs"])
    opens = len(own) > 1 and runs
    addresses = plan["nodes"][index]["addresses"]
    endpoints = [f"mptcp endpoint add {addresses[place]} dev {device} subflow" for place in own if opens]
    return Told([f"mptcp limits set subflow {_MOST} add_addr_accepted {_MOST}", *endpoints], ())


def _ends(plan: Mapping[str, Any], index: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Ends of flows and processes over Multipath TCP that a real host has."""
    for flow in plan["flows"]:
        if flow["transport"]["kind"] == "mptcp" and not flow["simulated"]:
            for end, side in (("from", "client"), ("to", "server")):
                if flow[end] == index:
                    yield f"flow {flow['name']!r}", flow["transport"][side]
    for process in plan.get("processes", []):
        if process["node"] == index and "mptcp" in process and not process["simulated"]:
            for side in PROCESSES[process["app"]["kind"]].CONNECTS:
                yield f"process {process['name']!r}", process["mptcp"][side]


def _check(host: str, whose: str, asked: Mapping[str, Any]) -> None:
    wrong = {key: value for key, value in _KERNEL.items() if asked[key] != value}
    paths = asked["paths"]
    wrong |= {key: value for key, value in _KERNEL_PATHS.items() if paths[key] != value}
    if paths["opens"] == "ports":
        wrong["opens"] = "full_mesh"
    if paths["limit"] > _MOST:
        wrong["limit"] = _MOST
    if asked["close_timeout"] % _SECOND:
        wrong["close_timeout"] = "whole seconds"
    if wrong:
        keys = ", ".join(f"{key} = {json.dumps(value)}" for key, value in wrong.items())
        raise UnanswerableError(
            f"the real host {host!r} has the kernel's Multipath TCP, which does not do what {whose} "
            f"asks for: take {keys}, or let it be simulated"
        )
