"""The network that a voice crosses: one link, or a scenario with everything that is in it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voxpath.voice.call.problems import CallError

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE, THERE = "client", "server"
"""The hosts of one link, and those that are looked for in a scenario."""

VOICE = "voice"
"""Names of the flows and processes that carry it begin so, where no other's do."""


@dataclass(frozen=True)
class Network:
    """A scenario without the voice.

    Attributes:
        data: Its keys; flows and processes of it are other traffic.
        told: What it is, in words.
        here: The host at which somebody speaks.
        there: The host at which somebody listens.
        base: Where its files are.
        is_link: Whether it is one link, into which hosts may be put.
        duration_ns: How long its own run lasts, if it says so; other traffic may end by nothing else.
    """

    data: Mapping[str, Any]
    told: str
    here: str = HERE
    there: str = THERE
    base: Path = field(default_factory=Path)
    is_link: bool = False
    duration_ns: int | None = None

    def lasting(self, call_ns: int) -> dict[str, Any]:
        """Its duration with a call in it, as keys of a scenario: none where it ends when its flows have.

        Args:
            call_ns: When the call has ended. Events and flows may come later, up to its own duration.
        """
        if self.duration_ns is None:
            return {}
        return {"duration": f"{max(call_ns, self.duration_ns)} ns"}

    @property
    def voice(self) -> str:
        """How names of the flows and processes that carry the voice begin: as no other's."""
        others = [one.get("name", "") for key in ("flows", "processes") for one in self.data.get(key, [])]
        names = (VOICE if number == 1 else f"{VOICE}{number}" for number in itertools.count(1))
        return next(name for name in names if not any(other.startswith(name) for other in others))


def one_link(link: Mapping[str, Any], told: str, base: Path | None = None) -> Network:
    """Two hosts with Linux's TCP and one link; up is the way from the one that speaks.

    Args:
        link: The link, as a scenario has it.
        told: The same in words.
        base: Where its traces are.
    """
    data = {
        "topology": {"kind": "pipe", "link": dict(link)},
        "hosts": {HERE: {"profile": "linux"}, THERE: {"profile": "linux"}},
    }
    return Network(data, told, base=Path() if base is None else base, is_link=True)


def of_scenario(path: Path) -> Network:
    """The network of a scenario file, with its flows as other traffic.

    Raises:
        CallError: It has no two hosts that are called `client` and `server`, or a sweep.
        ScenarioError: It cannot run.
    """
    from voxpath.scenario import read_network

    document = read_network(path, HERE, THERE)
    hosts = [node["name"] for node in document.plan.data["nodes"] if node["kind"] == "host"]
    missing = [host for host in (HERE, THERE) if host not in hosts]
    if missing:
        raise CallError(
            f"{path}: there is no host {missing[0]!r}: the voice goes from {HERE!r} to {THERE!r}; "
            f"its hosts are {', '.join(hosts)}"
        )
    if document.axes:
        raise CallError(f"{path}: has a sweep; a call is one run of one scenario")
    data = {key: value for key, value in document.data.items() if key not in {"sweep", "duration"}}
    lasts = document.plan.data["duration_ns"]
    return Network(data, f"the scenario {path.name}", base=document.base, duration_ns=lasts)
