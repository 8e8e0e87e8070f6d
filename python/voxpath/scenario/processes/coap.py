"""What CoAP clients, observers and servers have in common, and what is summarised of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from voxpath.names import did_you_mean
from voxpath.scenario.apps.summaries import Counted, quantiles, spans, took
from voxpath.scenario.apps.table import default
from voxpath.scenario.metric import Metric
from voxpath.scenario.processes.table import Among, ProcessTable
from voxpath.scenario.quantities import Name, Port, PositiveSpan, Span

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from voxpath.scenario.problems import Path

BlockSize = Literal[16, 32, 64, 128, 256, 512, 1024]
PathText = Annotated[str, Field(max_length=1000)]

_CLIENT, _SERVER, _END = "CoAP client", "CoAP server", "end of CoAP"
_MEASURES = ("mean", "p50", "p95", "max")


class EndTable(ProcessTable):
    """An end of CoAP, which sends again what is not acknowledged."""

    WORKS = True

    ack_timeout: PositiveSpan = default(
        "2 s", "ACK_TIMEOUT: before a confirmable message is sent again, at least."
    )
    max_retransmit: Annotated[int, Field(ge=0, le=20)] = Field(
        4, description="MAX_RETRANSMIT: how often a confirmable message is sent again."
    )

    def transmission(self) -> dict[str, Any]:
        """How messages are sent again, as a plan holds it."""
        return {"ack_timeout_ns": self.ack_timeout, "max_retransmit": self.max_retransmit}


class ClientTable(EndTable):
    """A client of a resource."""

    server: Name = Field(description="The host at which the server is, ours or a program.")
    port: Port = Field(5683, description="The server's port.")
    path: PathText = Field("data", description="The resource: segments of Uri-Path with / between.")
    block: BlockSize = Field(1024, description="Of larger bodies, bytes of each block.")
    start: Span = default("0 s", "When it begins.")

    def client(
        self, among: Among, faults: list[tuple[Path, str]], *, confirmable: bool = True
    ) -> dict[str, Any]:
        """The client as a plan holds it."""
        if among.passed:
            faults.append(((), "flows go through proxies only"))
        if self.server not in among.nodes:
            hint = did_you_mean(self.server, among.nodes)
            faults.append((("server",), f"{self.server!r} is no host; {hint}"))
        return {
            "server": {"node": among.nodes.get(self.server, 0), "port": self.port},
            "path": self.path,
            "start_ns": self.start,
            "confirmable": confirmable,
            "block_bytes": self.block,
            "transmission": self.transmission(),
        }


@dataclass(frozen=True)
class Exchanges(Counted):
    """What became of messages."""

    table: str = "exchanges"
    transport: str = "coap"

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """What the columns mean."""
        return {
            "coap_messages": Metric("1", _CLIENT, "Messages put, or requests for a resource."),
            "coap_undelivered": Metric(
                "1",
                _END,
                "Messages that did not come whole to a server of ours, or requests without an answer.",
                of="coap_messages",
            ),
            "coap_given_up": Metric(
                "1", _CLIENT, "Messages that nothing was heard of, or that were refused.", of="coap_messages"
            ),
            **spans("coap_delivery", _MEASURES, "delay of a message until it is there", _END),
            **spans("coap_response", _MEASURES, "time until a message is answered, or given up", _CLIENT),
        }

    def frame(self, rows: pl.DataFrame) -> pl.DataFrame:
        """One row for each flow that has rows."""
        import polars as pl

        given_up = pl.col("outcome").cast(pl.String).is_in(["timed out", "refused", "changed"])
        return rows.group_by("flow", maintain_order=True).agg(
            pl.len().cast(pl.UInt64).alias("coap_messages"),
            (pl.col("deliveries") == 0).sum().cast(pl.UInt64).alias("coap_undelivered"),
            given_up.sum().cast(pl.UInt64).alias("coap_given_up"),
            *quantiles("coap_delivery", took("published_ns", "delivered_ns"), _MEASURES),
            *quantiles("coap_response", took("published_ns", "acknowledged_ns"), _MEASURES),
        )


@dataclass(frozen=True)
class Readings(Counted):
    """What came of a resource."""

    table: str = "readings"
    transport: str = "coap"

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """What the columns mean."""
        return {
            "coap_readings": Metric("1", _CLIENT, "Representations that came."),
            **spans("coap_age", _MEASURES, "age of a representation when it came", _CLIENT),
        }

    def frame(self, rows: pl.DataFrame) -> pl.DataFrame:
        """One row for each flow that has rows."""
        import polars as pl

        return rows.group_by("flow", maintain_order=True).agg(
            pl.len().cast(pl.UInt64).alias("coap_readings"),
            *quantiles("coap_age", took("made_ns", "received_ns"), _MEASURES),
        )


@dataclass(frozen=True)
class Ends:
    """What an end had the network carry, both ways."""

    table: str = "coap"
    transport: str = "coap"
    counts: tuple[str, ...] = ()

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """What the columns mean."""
        return {
            "coap_bodies_bytes": Metric("B", _END, "Bodies put, taken, or told to it."),
            "coap_bytes": Metric("B", _END, "CoAP messages, sent and received, with these bodies."),
            "coap_datagrams": Metric("1", _END, "Datagrams, sent and received."),
            "coap_retransmissions": Metric("1", _END, "Requests or notifications sent again."),
            "coap_duplicates": Metric("1", _SERVER, "Requests that came again."),
            "coap_notifications": Metric(
                "1", _SERVER, "Notifications, without those that were sent again as they were."
            ),
        }

    def frame(self, rows: pl.DataFrame) -> pl.DataFrame:
        """One row for each flow that has rows."""
        import polars as pl

        return rows.select(
            "flow",
            pl.col("body_bytes").alias("coap_bodies_bytes"),
            (pl.col("coap_bytes_sent") + pl.col("coap_bytes_received")).alias("coap_bytes"),
            (pl.col("datagrams_sent") + pl.col("datagrams_received")).alias("coap_datagrams"),
            pl.col("retransmissions").alias("coap_retransmissions"),
            pl.col("duplicates").alias("coap_duplicates"),
            pl.col("notifications").alias("coap_notifications"),
        )
