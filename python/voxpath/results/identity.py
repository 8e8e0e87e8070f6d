"""What makes a run the run that it is. Two runs with one identity have the same bytes."""

from __future__ import annotations

import hashlib
import platform
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from voxpath.canonical import canonical

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = 2
"""Version of a run folder: its layout, its tables and their columns."""


@dataclass(frozen=True)
class Observe:
    """What a run records besides its results; the plan's `Observe` in `crates/sim/src/plan/`.

    Attributes:
        tcp: Time series of every TCP endpoint.
        rtc: Signals of the rate controls of calls.
        packets: Every packet at every link.
        capacity: Rates of links that vary by themselves.
        capture: Names of the hosts whose packets are captured.
        snap_bytes: Bytes kept of each captured packet; all without it.
    """

    tcp: bool = False
    rtc: bool = False
    packets: bool = False
    capacity: bool = False
    capture: tuple[str, ...] = ()
    snap_bytes: int | None = None

    @property
    def json(self) -> str:
        """The canonical JSON."""
        return canonical(asdict(self))


@dataclass(frozen=True)
class Identity:
    """Everything that a run's bytes depend on.

    Attributes:
        plan: Canonical JSON of the plan.
        backend: Which backend answers it.
        replication: From 0.
        build: The engine's build.
        observe: What is recorded.
        files: SHA-256 of each file that the scenario refers to, by the name that it gives.
        machine: Kernel and machine, where a run depends on them.
    """

    plan: str
    backend: str
    replication: int
    build: str
    observe: Observe = Observe()
    files: Mapping[str, str] = field(default_factory=dict)
    machine: str = ""

    @property
    def json(self) -> str:
        """The identity as it stands in a run folder, the plan by its hash."""
        before, behind = self._around_replication
        return f"{before}{self.replication}{behind}"

    @property
    def name(self) -> str:
        """The name of the run's folder: 128 bits of the SHA-256 of `json`."""
        return _digest(self.json)

    @property
    def cell(self) -> str:
        """What all replications have in common, as a name."""
        return _digest("*".join(self._around_replication))

    @property
    def _around_replication(self) -> tuple[str, str]:
        files = tuple(sorted(self.files.items()))
        return _around_replication(self.plan, self.backend, self.build, self.observe, files, self.machine)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@lru_cache(maxsize=256)
def _around_replication(
    plan: str,
    backend: str,
    build: str,
    observe: Observe,
    files: tuple[tuple[str, str], ...],
    machine: str,
) -> tuple[str, str]:
    """The canonical JSON before and behind the replication's number: a million runs share a few plans."""
    told = canonical(
        {
            "format": FORMAT,
            "plan_sha256": hashlib.sha256(plan.encode()).hexdigest(),
            "backend": backend,
            "replication": 0,
            "build": build,
            "observe": asdict(observe),
            "files": dict(files),
            "machine": machine,
        }
    )
    before, number, behind = told.partition('"replication":0')
    return before + number.removesuffix("0"), behind


def machine() -> str:
    """What a run in real time depends on besides the plan."""
    return f"{platform.release()} {platform.machine()} {platform.node()}"
