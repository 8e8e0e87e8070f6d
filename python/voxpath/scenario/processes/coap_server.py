"""A CoAP server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from voxpath.scenario.apps.table import default
from voxpath.scenario.processes.coap import BlockSize, Ends, EndTable, PathText
from voxpath.scenario.quantities import Port, PositiveSpan, Several, Size, Span
from voxpath.scenario.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voxpath.scenario.problems import Path
    from voxpath.scenario.processes.table import Among


class Resource(Table):
    """A resource that the server reads by itself."""

    path: PathText = Field(description="Segments of Uri-Path with / between.")
    size: Annotated[Size, Field(le=16 * 2**20)] = default("100 B", "Of each representation.")
    start: Span = default("0 s", "When the first reading is there.")
    interval: PositiveSpan = default("1 s", "From one reading to the next one.")
    readings: Several | None = Field(
        None, description="How many, and the run waits for them; without it until the run ends."
    )


class CoapServer(EndTable):
    """A CoAP server (RFC 7252) that takes what is put or posted.

    What was put and its own resources it tells to whoever asks (by blocks, RFC 7959) or observes (RFC 7641).
    """

    SUMMARIES = (Ends(),)
    METRICS = (
        "coap_bodies_bytes",
        "coap_bytes",
        "coap_datagrams",
        "coap_duplicates",
        "coap_notifications",
    )

    kind: Literal["coap_server"]
    port: Port = Field(5683, description="Where it waits.")
    body: Size = default("16 MiB", "The largest body that it takes.")
    block: BlockSize = Field(1024, description="The largest block that it takes and sends, in bytes.")
    resources: tuple[Resource, ...] = Field((), strict=False, description="What it has by itself.")
    confirmable: bool = Field(
        True, description="Whether notifications are acknowledged and sent again, or sent once and forgotten."
    )

    @classmethod
    def ends(cls, app: Mapping[str, Any]) -> bool:
        """It makes its readings, if they are counted."""
        return any(resource["readings"] is not None for resource in app["resources"])

    def planned(self, among: Among, faults: list[tuple[Path, str]]) -> dict[str, Any]:
        """The server as a plan holds it."""
        if among.passed:
            faults.append(((), "flows go through proxies only"))
        return {
            "kind": self.kind,
            "port": self.port,
            "body_bytes": self.body,
            "block_bytes": self.block,
            "resources": [
                {
                    "path": resource.path,
                    "bytes": resource.size,
                    "start_ns": resource.start,
                    "interval_ns": resource.interval,
                    "readings": resource.readings,
                }
                for resource in self.resources
            ],
            "confirmable": self.confirmable,
            "transmission": self.transmission(),
        }
