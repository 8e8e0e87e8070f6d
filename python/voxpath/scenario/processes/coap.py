"""What CoAP clients and servers have in common, and what is summarised of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from voxpath.scenario.apps.summaries import Counted, quantiles, spans, took
from voxpath.scenario.metric import Metric

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

BlockSize = Literal[16, 32, 64, 128, 256, 512, 1024]

_CLIENT, _SERVER, _END = "CoAP client", "CoAP server", "end of CoAP"
_MEASURES = ("mean", "p50", "p95", "max")


@dataclass(frozen=True)
class Exchanges(Counted):
    """What became of messages."""

    table: str = "exchanges"
    transport: str = "coap"

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """What the columns mean."""
        return {
            "coap_messages": Metric("1", _CLIENT, "Messages put."),
            "coap_undelivered": Metric(
                "1", _SERVER, "Messages that did not come whole to a server of ours.", of="coap_messages"
            ),
            "coap_given_up": Metric(
                "1", _CLIENT, "Messages that nothing was heard of, or that were refused.", of="coap_messages"
            ),
            **spans("coap_delivery", _MEASURES, "delay of a message until the server has it", _SERVER),
            **spans("coap_response", _MEASURES, "time until a message is answered, or given up", _CLIENT),
        }

    def frame(self, rows: pl.DataFrame) -> pl.DataFrame:
        """One row for each flow that has rows."""
        import polars as pl

        given_up = pl.col("outcome").cast(pl.String).is_in(["timed out", "refused"])
        return rows.group_by("flow", maintain_order=True).agg(
            pl.len().cast(pl.UInt64).alias("coap_messages"),
            (pl.col("deliveries") == 0).sum().cast(pl.UInt64).alias("coap_undelivered"),
            given_up.sum().cast(pl.UInt64).alias("coap_given_up"),
            *quantiles("coap_delivery", took("published_ns", "delivered_ns"), _MEASURES),
            *quantiles("coap_response", took("published_ns", "acknowledged_ns"), _MEASURES),
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
            "coap_bodies_bytes": Metric("B", _END, "Bodies put, or taken."),
            "coap_bytes": Metric("B", _END, "CoAP messages, sent and received, with these bodies."),
            "coap_datagrams": Metric("1", _END, "Datagrams, sent and received."),
            "coap_retransmissions": Metric("1", _CLIENT, "Requests sent again."),
            "coap_duplicates": Metric("1", _SERVER, "Requests that came again."),
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
        )
