"""A CoAP client that puts bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from voxpath.names import did_you_mean
from voxpath.scenario.apps.table import default
from voxpath.scenario.processes.coap import BlockSize, Ends, Exchanges
from voxpath.scenario.processes.table import Among, ProcessTable
from voxpath.scenario.quantities import Name, Port, PositiveSpan, Several, Size, Span

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voxpath.scenario.problems import Path


class CoapClient(ProcessTable):
    """A CoAP client (RFC 7252) that puts bodies at a server, at a rate or one after the other."""

    WORKS = True
    SUMMARIES = (Exchanges(), Ends())
    METRICS = (
        "coap_messages",
        "coap_undelivered",
        "coap_delivery_p50_ns",
        "coap_delivery_p95_ns",
        "coap_retransmissions",
        "coap_bodies_bytes",
        "coap_bytes",
        "coap_datagrams",
    )

    kind: Literal["coap_client"]
    server: Name = Field(description="The host at which the server is, ours or a program.")
    port: Port = Field(5683, description="The server's port.")
    path: Annotated[str, Field(max_length=1000)] = Field(
        "data", description="Where bodies are put: segments of Uri-Path with / between."
    )
    size: Annotated[Size, Field(le=16 * 2**20)] = default("100 B", "Body of each message.")
    start: Span = default("0 s", "When the first message is due.")
    interval: Span = default(
        "1 s", "From one message to the next one; 0 s is as soon as the one before has ended."
    )
    messages: Several = Field(1, description="How many.")
    confirmable: bool = Field(
        True, description="Whether requests are acknowledged and sent again, or sent once and forgotten."
    )
    block: BlockSize = Field(1024, description="Of larger bodies, bytes of each block.")
    ack_timeout: PositiveSpan = default("2 s", "ACK_TIMEOUT: before a request is sent again, at least.")
    max_retransmit: Annotated[int, Field(ge=0, le=20)] = Field(
        4, description="MAX_RETRANSMIT: how often a request is sent again."
    )

    @classmethod
    def ends(cls, app: Mapping[str, Any]) -> bool:  # noqa: ARG003
        """It puts all its messages."""
        return True

    def planned(self, among: Among, faults: list[tuple[Path, str]]) -> dict[str, Any]:
        """The client as a plan holds it."""
        if among.passed:
            faults.append(((), "flows go through proxies only"))
        if self.server not in among.nodes:
            hint = did_you_mean(self.server, among.nodes)
            faults.append((("server",), f"{self.server!r} is no host; {hint}"))
        return {
            "kind": self.kind,
            "server": {"node": among.nodes.get(self.server, 0), "port": self.port},
            "path": self.path,
            "bytes": self.size,
            "start_ns": self.start,
            "interval_ns": self.interval,
            "messages": self.messages,
            "confirmable": self.confirmable,
            "block_bytes": self.block,
            "ack_timeout_ns": self.ack_timeout,
            "max_retransmit": self.max_retransmit,
        }
