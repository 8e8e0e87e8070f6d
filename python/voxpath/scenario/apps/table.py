"""What all applications have in common, and what others may ask of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from voxpath.scenario.apps.summaries import Summary
from voxpath.scenario.planning import plan
from voxpath.scenario.table import Table
from voxpath.scenario.tcp import Socket

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voxpath.scenario.problems import Path
    from voxpath.scenario.traces import Traces


@dataclass(frozen=True)
class OneTransfer:
    """Data that is there and goes one way, once; as far as closed forms are concerned that is all.

    Attributes:
        size: Bytes.
        asked: The opening end asks for it with a request that needs no time of its own.
    """

    size: int
    asked: bool


@dataclass(frozen=True)
class ConstantRate:
    """Datagrams at a constant rate.

    Attributes:
        packet: Payload of each in bytes.
        interval: Nanoseconds from one to the next.
        packets: How many; endless without it.
    """

    packet: int
    interval: int
    packets: int | None


class AppTable(Table):
    """What the two ends of a flow do. Settings, machines and checks are in `crates/apps/src/apps`.

    Attributes:
        METRICS: What is summarised of a flow over its runs; names of the metric dictionary.
        SUMMARIES: Of what its flows consist of, beside connections, and what is told of that.
        SENDER: The end whose data is the flow's.
        SOCKET: What programs of this kind ask of their sockets, unless a scenario says otherwise.
    """

    METRICS: ClassVar[tuple[str, ...]]
    SUMMARIES: ClassVar[tuple[Summary, ...]] = ()
    SENDER: ClassVar[Literal["client", "server"]] = "client"
    SOCKET: ClassVar[Socket | None] = None

    kind: str

    @property
    def conversations(self) -> int:
        """How many conversations each copy of the flow has."""
        return 1

    def planned(self, files: Traces, faults: list[tuple[Path, str]]) -> dict[str, Any]:
        """The application as a plan holds it; places of what is wrong count from the table."""
        planned: dict[str, Any] = plan(self, files, faults)
        return planned

    @classmethod
    def known(cls, app: Mapping[str, Any]) -> OneTransfer | ConstantRate | str:
        """What closed forms may know of a plan's application of this kind; else why they know nothing."""
        return f"the forms know nothing of the application {app['kind']}"


def default(value: object, description: str) -> Any:
    """A field whose default is written as in a scenario."""
    return Field(value, validate_default=True, description=description)
