"""What publishers and subscribers of MQTT have in common, and what is summarised of messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field

from voxpath.names import did_you_mean
from voxpath.scenario.apps.summaries import Counted, quantiles, spans, took
from voxpath.scenario.apps.table import default
from voxpath.scenario.metric import Metric
from voxpath.scenario.processes.layers import LayersTable
from voxpath.scenario.quantities import Name, Port, PositiveSpan, Several, Span
from voxpath.scenario.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from voxpath.scenario.problems import Path
    from voxpath.scenario.processes.table import Among

SECOND = 1_000_000_000

Qos = Literal[0, 1, 2]
InFlight = Annotated[int, Field(ge=1, le=65_535)]
Aliases = Annotated[int, Field(ge=0, le=65_535)]
Text = Annotated[str, Field(min_length=1, max_length=65_535)]


def _whole(span: int) -> int:
    if span % SECOND or span >= 2**32 * SECOND:
        raise ValueError("MQTT counts whole seconds, fewer than 2^32")
    return span


Seconds = Annotated[Span, AfterValidator(_whole)]
"""A span as MQTT has it, in nanoseconds here as everywhere."""


class Will(Table):
    """What the broker publishes if a client is gone without having left."""

    topic: Text = Field(description="Where; {client} stands for the client's number.")
    text: str = Field("", description="What.")
    qos: Qos = Field(0, description="How.")
    retain: bool = Field(False, description="Whether the broker keeps it.")
    delay: Seconds = default("0 s", "After so long; version 5.")


class ClientsTable(LayersTable):
    """Clients of a broker, each with a connection of its own."""

    WORKS = True

    broker: Name = Field(description="The host at which the broker is, ours or a program.")
    port: Port = Field(1883, description="The broker's port.")
    clients: Several = Field(1, description="How many.")
    version: Literal["3.1.1", "5"] = Field("3.1.1", description="Of MQTT.")
    client_id: Text = Field(
        "{name}-{client}",
        description="Client identifiers; {name} stands for the process's name, {client} for the number of "
        "the client in it.",
    )
    start: Span = default("0 s", "When the first client connects.")
    spread: Span = default("0 s", "From one client's connecting to the next one's.")
    retry: PositiveSpan = default("1 s", "How long a client waits after a connection has failed.")
    clean: bool = Field(True, description="Forget the session that was: Clean Session, or Clean Start.")
    session_expiry: Seconds = default(
        "0 s", "How long the broker keeps the session after the connection; version 5."
    )
    keep_alive: Annotated[Seconds, Field(le=65_535 * SECOND)] = default(
        "60 s", "Longest silence of a client, which pings then; 0 s is off."
    )
    in_flight: InFlight = Field(
        20, description="Messages of QoS 1 and 2 in flight, either way; the receive maximum of version 5."
    )
    topic_aliases: Aliases = Field(
        0, description="The highest topic alias that a client takes and uses; version 5."
    )
    user: Text | None = Field(None, description="User name.")
    password: Text | None = Field(None, description="Password.")
    will: Will | None = None

    @classmethod
    def ends(cls, app: Mapping[str, Any]) -> bool:
        """Whether its clients leave at last."""
        return app["messages"] is not None

    def own(self) -> dict[str, Any]:
        """What is a publisher's or a subscriber's alone, as a plan holds it."""
        raise NotImplementedError

    def planned(self, among: Among, faults: list[tuple[Path, str]]) -> dict[str, Any]:
        """The process as a plan holds it."""
        if among.passed:
            faults.append(((), "flows go through proxies only"))
        if self.broker not in among.nodes:
            hint = did_you_mean(self.broker, among.nodes)
            faults.append((("broker",), f"{self.broker!r} is no host; {hint}"))
        if self.version == "3.1.1":
            newer = [key for key in ("session_expiry", "topic_aliases") if getattr(self, key)]
            faults.extend(((key,), "only version 5 has it") for key in newer)
        will = None
        if self.will is not None:
            will = {
                "topic": self.will.topic,
                "text": self.will.text,
                "qos": self.will.qos,
                "retain": self.will.retain,
                "delay_s": self.will.delay // SECOND,
            }
        clients = {
            "broker": {"node": among.nodes.get(self.broker, 0), "port": self.port},
            "count": self.clients,
            "start_ns": self.start,
            "spread_ns": self.spread,
            "retry_ns": self.retry,
            "version": self.version,
            "client_id": self.client_id.replace("{name}", among.name),
            "clean": self.clean,
            "keep_alive_s": self.keep_alive // SECOND,
            "session_expiry_s": self.session_expiry // SECOND,
            "in_flight": self.in_flight,
            "topic_aliases": self.topic_aliases,
            "user": self.user,
            "password": self.password,
            "will": will,
            "layers": self.layers(self.broker, self.port),
        }
        return {"kind": self.kind, "clients": clients, **self.own()}


_PUBLISHER = "publishing client"
_SUBSCRIBER = "subscribing client"
_MEASURES = ("mean", "p50", "p95", "max")


@dataclass(frozen=True)
class Publications(Counted):
    """What became of messages, at their publisher."""

    table: str = "publications"
    transport: str = "mqtt"

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """What the columns mean."""
        return {
            "messages_published": Metric("1", _PUBLISHER, "Messages published."),
            "messages_acknowledged": Metric("1", _PUBLISHER, "Messages acknowledged; none at QoS 0."),
            "messages_undelivered": Metric(
                "1",
                _SUBSCRIBER,
                "Messages that came to no subscriber: lost, wanted by none, or still on their way.",
                of="messages_published",
            ),
            "messages_duplicated": Metric("1", _SUBSCRIBER, "Messages that a client got again."),
            **spans("delivery", _MEASURES, "delay of a message to the last who gets it", _SUBSCRIBER),
            **spans("acknowledged", _MEASURES, "time until a message is acknowledged", _PUBLISHER),
        }

    def frame(self, rows: pl.DataFrame) -> pl.DataFrame:
        """One row for each flow that has rows."""
        import polars as pl

        return rows.group_by("flow", maintain_order=True).agg(
            pl.len().cast(pl.UInt64).alias("messages_published"),
            pl.col("acknowledged_ns").count().cast(pl.UInt64).alias("messages_acknowledged"),
            (pl.col("deliveries") == 0).sum().cast(pl.UInt64).alias("messages_undelivered"),
            pl.col("duplicates").sum().alias("messages_duplicated"),
            *quantiles("delivery", took("published_ns", "last_delivered_ns"), _MEASURES),
            *quantiles("acknowledged", took("published_ns", "acknowledged_ns"), _MEASURES),
        )


@dataclass(frozen=True)
class Deliveries(Counted):
    """What came to subscribers."""

    table: str = "deliveries"
    transport: str = "mqtt"

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """What the columns mean."""
        return {
            "messages_received": Metric("1", _SUBSCRIBER, "Messages that came, those that came again too."),
            "messages_again": Metric(
                "1", _SUBSCRIBER, "Messages that had come before.", of="messages_received"
            ),
            **spans("latency", (*_MEASURES, "p99"), "delay of a message to a subscriber", _SUBSCRIBER),
        }

    def frame(self, rows: pl.DataFrame) -> pl.DataFrame:
        """One row for each flow that has rows."""
        import polars as pl

        return rows.group_by("flow", maintain_order=True).agg(
            pl.len().cast(pl.UInt64).alias("messages_received"),
            pl.col("again").sum().alias("messages_again"),
            *quantiles("latency", took("published_ns", "delivered_ns"), (*_MEASURES, "p99")),
        )


@dataclass(frozen=True)
class Layers:
    """What MQTT had its connections carry: bytes of bodies, and of packets, over all clients, both ways."""

    table: str = "clients"
    transport: str = "mqtt"
    counts: tuple[str, ...] = ()

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """What the columns mean."""
        return {
            "body_bytes": Metric("B", "client", "Bodies of messages, sent and received."),
            "mqtt_bytes": Metric("B", "client", "MQTT packets, sent and received, with these bodies."),
            "mqtt_packets": Metric("1", "client", "MQTT packets, sent and received."),
            "websocket_bytes": Metric("B", "client", "WebSocket, with MQTT in it, sent and received."),
            "tls_bytes": Metric("B", "client", "TLS, with what is in it, sent and received."),
            "connections_lost": Metric("1", "client", "Connections that failed, or that the broker ended."),
        }

    def frame(self, rows: pl.DataFrame) -> pl.DataFrame:
        """One row for each flow that has rows."""
        import polars as pl

        def both(name: str) -> pl.Expr:
            either = pl.col(f"{name}_sent") + pl.col(f"{name}_received")
            return pl.when(either.count() > 0).then(either.sum())

        return rows.group_by("flow", maintain_order=True).agg(
            both("body_bytes").alias("body_bytes"),
            both("mqtt_bytes").alias("mqtt_bytes"),
            both("packets").alias("mqtt_packets"),
            both("websocket_bytes").alias("websocket_bytes"),
            both("tls_bytes").alias("tls_bytes"),
            pl.col("connections_lost").sum(),
        )


@dataclass(frozen=True)
class Wire:
    """What the links carried for that: headers of TCP and IP, and whole packets, both ways."""

    table: str = "wire"
    transport: str = "mqtt"
    counts: tuple[str, ...] = ()

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """What the columns mean."""
        return {
            "tcp_data_bytes": Metric("B", "hosts", "Data of TCP, retransmissions too, both ways."),
            "header_bytes": Metric("B", "hosts", "Headers of TCP and IP, both ways."),
            "ip_bytes": Metric("B", "hosts", "IP packets, both ways."),
        }

    def frame(self, rows: pl.DataFrame) -> pl.DataFrame:
        """One row for each flow that has rows."""
        import polars as pl

        ip, data = pl.col("ip_bytes_sent").sum(), pl.col("data_bytes_sent").sum()
        return rows.group_by("flow", maintain_order=True).agg(
            data.alias("tcp_data_bytes"), (ip - data).alias("header_bytes"), ip.alias("ip_bytes")
        )


@dataclass(frozen=True)
class Brokers:
    """What a broker did: its columns as they are."""

    table: str = "brokers"
    transport: str = "mqtt"
    counts: tuple[str, ...] = ()

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """What the columns mean."""
        where = "broker"
        return {
            "messages_in": Metric("1", where, "Messages taken."),
            "messages_out": Metric("1", where, "Messages sent to subscribers, again too."),
            "messages_dropped": Metric(
                "1",
                where,
                "Messages that found no room in a session's queue, or that a client was too small for.",
            ),
            "longest_queue": Metric("1", where, "The most messages that waited for one session."),
            "most_connections": Metric("1", where, "Connections at a time, at most."),
        }

    def frame(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows."""
        return rows.select("flow", *self.metrics)
