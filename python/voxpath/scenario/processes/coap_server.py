"""A CoAP server that takes bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from voxpath.scenario.apps.table import default
from voxpath.scenario.processes.coap import BlockSize, Ends
from voxpath.scenario.processes.table import Among, ProcessTable
from voxpath.scenario.quantities import Port, Size

if TYPE_CHECKING:
    from voxpath.scenario.problems import Path


class CoapServer(ProcessTable):
    """A CoAP server (RFC 7252) that takes what is put or posted, whole or block by block (RFC 7959)."""

    WORKS = True
    SUMMARIES = (Ends(),)
    METRICS = ("coap_bodies_bytes", "coap_bytes", "coap_datagrams", "coap_duplicates")

    kind: Literal["coap_server"]
    port: Port = Field(5683, description="Where it waits.")
    body: Size = default("16 MiB", "The largest body that it takes.")
    block: BlockSize = Field(1024, description="The largest block that it takes, in bytes.")

    def planned(self, among: Among, faults: list[tuple[Path, str]]) -> dict[str, Any]:
        """The server as a plan holds it."""
        if among.passed:
            faults.append(((), "flows go through proxies only"))
        return {
            "kind": self.kind,
            "port": self.port,
            "body_bytes": self.body,
            "block_bytes": self.block,
        }
