"""What all processes have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from voxpath.scenario.apps.summaries import Summary
from voxpath.scenario.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voxpath.scenario.problems import Path
    from voxpath.scenario.processes import Process
    from voxpath.scenario.traces import Traces


@dataclass(frozen=True)
class Passed:
    """A flow that goes through a process.

    Attributes:
        port: Where the process waits for it.
        udp: It is of datagrams.
        node: Index of the host that comes next.
    """

    port: int
    udp: bool
    node: int


@dataclass(frozen=True)
class Among:
    """What a process is planned among.

    Attributes:
        name: Its name.
        nodes: The index of each host.
        passed: The flows that go through it.
        processes: All processes of the scenario, in their order.
        files: The files that the scenario names.
    """

    name: str
    nodes: Mapping[str, int]
    passed: Sequence[Passed]
    processes: Sequence[Process]
    files: Traces

    @property
    def host(self) -> str:
        """The host that it runs on."""
        return next(process.host for process in self.processes if process.name == self.name)


class ProcessTable(Table):
    """What a process does. Its settings, its machine and its checks are in `crates/apps/src/apps`.

    Attributes:
        METRICS: What is summarised of it over its runs; names of the metric dictionary.
        SUMMARIES: Of what it has rows in, and what is told of that.
        WORKS: It does something of its own, and has a row among the flows.
        CONNECTS: Whether it opens connections (client), accepts some (server), or does both.
    """

    METRICS: ClassVar[tuple[str, ...]] = ()
    SUMMARIES: ClassVar[tuple[Summary, ...]] = ()
    WORKS: ClassVar[bool] = False
    CONNECTS: ClassVar[tuple[Literal["client", "server"], ...]] = ()

    kind: str

    @classmethod
    def ends(cls, app: Mapping[str, Any]) -> bool:  # noqa: ARG003
        """Whether a plan's process of this kind comes to an end that a run waits for."""
        return False

    def planned(self, among: Among, faults: list[tuple[Path, str]]) -> dict[str, Any]:
        """The process as a plan holds it.

        Args:
            among: What it is planned among.
            faults: Where what is wrong is added; places count from the table.
        """
        raise NotImplementedError
