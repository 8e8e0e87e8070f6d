"""A proxy between two connections, or two conversations in datagrams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from voxpath.names import did_you_mean
from voxpath.scenario.apps.table import default
from voxpath.scenario.processes.table import Among, ProcessTable
from voxpath.scenario.quantities import Name, Port, PositiveSize
from voxpath.scenario.table import Table

if TYPE_CHECKING:
    from voxpath.scenario.problems import Path


class Forward(Table):
    """Who comes to a port of the proxy is passed on."""

    port: Port = Field(description="Where the proxy waits.")
    to: Name = Field(description="The host that it passes on to.")
    target: Port | None = Field(None, description="At which of its ports; the same without it.")
    udp: bool = Field(False, description="Datagrams, not connections.")


class Proxy(ProcessTable):
    """Passes flows on, each part over a connection of its own; so a path is split.

    Flows go through it that name it in `through`. Programs of real hosts are passed on by `forwards`.
    """

    CONNECTS = ("client", "server")

    kind: Literal["proxy"]
    buffer: Annotated[PositiveSize, Field(le=2**32 - 1)] = default(
        "64 KiB", "What it holds of each direction of a connection, at most."
    )
    forwards: tuple[Forward, ...] = Field((), strict=False, description="Whom it passes on besides flows.")

    def planned(self, among: Among, faults: list[tuple[Path, str]]) -> dict[str, Any]:
        """The proxy as a plan holds it."""
        forwards = [
            {"port": one.port, "udp": one.udp, "to": {"node": one.node, "port": one.port}}
            for one in among.passed
        ]
        for index, one in enumerate(self.forwards):
            if one.to not in among.nodes:
                faults.append(
                    (("forwards", index, "to"), f"{one.to!r} is no host; {did_you_mean(one.to, among.nodes)}")
                )
                continue
            to = {"node": among.nodes[one.to], "port": one.target or one.port}
            forwards.append({"port": one.port, "udp": one.udp, "to": to})
        return {"kind": self.kind, "buffer_bytes": self.buffer, "forwards": forwards}
