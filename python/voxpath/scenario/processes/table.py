"""What all processes have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from voxpath.scenario.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voxpath.scenario.problems import Path


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


class ProcessTable(Table):
    """What a process does. Its settings, its machine and its checks are in `crates/apps/src/apps`."""

    kind: str

    def planned(
        self, nodes: Mapping[str, int], passed: Sequence[Passed], faults: list[tuple[Path, str]]
    ) -> dict[str, Any]:
        """The process as a plan holds it.

        Args:
            nodes: The index of each host.
            passed: The flows that go through it.
            faults: Where what is wrong is added; places count from the table.
        """
        raise NotImplementedError
