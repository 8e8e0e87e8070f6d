"""Summaries of a flow: columns of `flows` that are computed from the rows of what the flow consists of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from voxpath.scenario.metric import Metric

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

_CLIENT = "client application"
_RECEIVER = "receiving application"
_SENDER = "sending application"


TCP = (
    "server_packets_sent",
    "client_packets_sent",
    "server_retransmissions",
    "client_retransmissions",
    "server_timeouts",
    "client_timeouts",
)
"""What is summarised of every flow over TCP."""

DATAGRAMS = (
    "goodput_bps",
    "delay_p50_ns",
    "delay_p95_ns",
    "delay_max_ns",
    "jitter_ns",
    "datagrams_lost",
    "datagrams_sent",
)
"""What is summarised of every flow of datagrams."""


def carrying(transport: str) -> tuple[str, ...]:
    """The transports that carry what `transport` does, as an application sees it."""
    return ("tcp", "mptcp") if transport == "tcp" else (transport,)


class Summary(Protocol):
    """Columns of `flows` from the rows of one table."""

    @property
    def table(self) -> str:
        """The table."""

    @property
    def transport(self) -> str:
        """Of flows over which it is: `tcp`, or whatever else carries a stream, or `udp`."""

    @property
    def counts(self) -> tuple[str, ...]:
        """The columns that are zero where a flow has no row; the others have no value there."""

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """What the columns mean."""

    def frame(self, rows: pl.DataFrame) -> pl.DataFrame:
        """One row for each flow that has rows: `flow` and the columns."""


class Counted(ABC):
    """A summary of which every count is zero where a flow has no row."""

    @property
    @abstractmethod
    def metrics(self) -> Mapping[str, Metric]:
        """What the columns mean."""

    @property
    def counts(self) -> tuple[str, ...]:
        """The columns without a unit."""
        return tuple(name for name, metric in self.metrics.items() if metric.unit == "1")


@dataclass(frozen=True)
class Delays:
    """How long something took, over all rows of a flow.

    Attributes:
        name: What the columns begin with: `name_mean_ns`, `name_p50_ns`, `name_p95_ns`, `name_max_ns`.
        table: Where the rows are.
        since: The column from which it counts.
        until: The column up to which it counts; rows without a value are not over.
        count: What the number of rows that are over is called.
        counted: What these are.
        what: What takes the time, such as "response delay".
        always: Whether every flow has such rows, so that none of them are zero of them.
    """

    name: str
    table: str
    since: str
    until: str
    count: str
    counted: str
    what: str
    always: bool = True
    transport: str = "tcp"

    @property
    def counts(self) -> tuple[str, ...]:
        """The number of rows, where every flow has some."""
        return (self.count,) if self.always else ()

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """What the columns mean."""
        return {
            self.count: Metric("1", _CLIENT, f"{self.counted}."),
            **spans(self.name, ("mean", "p50", "p95", "max"), self.what, _CLIENT),
        }

    def frame(self, rows: pl.DataFrame) -> pl.DataFrame:
        """One row for each flow that has rows."""
        import polars as pl

        taken = took(self.since, self.until)
        return rows.group_by("flow", maintain_order=True).agg(
            taken.count().cast(pl.UInt64).alias(self.count),
            *quantiles(self.name, taken, ("mean", "p50", "p95", "max")),
        )


@dataclass(frozen=True)
class Datagrams:
    """What became of datagrams."""

    table: str = "datagrams"
    transport: str = "udp"

    @property
    def counts(self) -> tuple[str, ...]:
        """All counts."""
        return tuple(name for name in self.metrics if name.startswith("datagrams_"))

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """What the columns mean."""
        return {
            "datagrams_sent": Metric("1", _SENDER, "Datagrams sent."),
            "datagrams_received": Metric("1", _RECEIVER, "Datagrams received, copies left out."),
            "datagrams_duplicated": Metric("1", _RECEIVER, "Copies received."),
            "datagrams_reordered": Metric(
                "1", _RECEIVER, "Datagrams received after one that was sent later (RFC 4737 section 3)."
            ),
            "datagrams_lost": Metric(
                "1",
                _RECEIVER,
                "datagrams_sent - datagrams_received: lost, or still on their way when the run ended.",
                of="datagrams_sent",
            ),
            **spans("delay", _DELAYS, "one-way delay of the datagrams; of a ping, round trip", _RECEIVER),
            "jitter_ns": Metric(
                "ns", _RECEIVER, "Interarrival jitter at the end (RFC 3550 section 6.4.1).", clock="run"
            ),
        }

    def frame(self, rows: pl.DataFrame) -> pl.DataFrame:
        """One row for each flow that has rows."""
        import polars as pl

        taken = took("sent_ns", "received_ns")
        came = pl.col("datagram").filter(pl.col("arrival").is_not_null())
        order = pl.col("arrival").drop_nulls()
        arrived, delays = came.sort_by(order), taken.drop_nulls().sort_by(order)
        # J += (|D| - J) / 16, from the second arrival on.
        differences = delays.cast(pl.Int64).diff().abs().fill_null(0)
        jitter = differences.ewm_mean(alpha=1 / 16, adjust=False).last()
        return rows.group_by("flow", maintain_order=True).agg(
            pl.len().cast(pl.UInt64).alias("datagrams_sent"),
            taken.count().cast(pl.UInt64).alias("datagrams_received"),
            pl.col("copies").sum().alias("datagrams_duplicated"),
            (arrived < arrived.cum_max()).sum().cast(pl.UInt64).alias("datagrams_reordered"),
            taken.null_count().cast(pl.UInt64).alias("datagrams_lost"),
            *quantiles("delay", taken, _DELAYS),
            pl.when(taken.count() > 1).then(jitter).cast(pl.UInt64).alias("jitter_ns"),
        )


_DELAYS = ("min", "mean", "p50", "p95", "p99", "max")


@dataclass(frozen=True)
class Sessions:
    """A speech session: its columns as they are, and what follows from them."""

    table: str = "sessions"
    transport: str = "tcp"
    counts: tuple[str, ...] = ()

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """What the columns mean that follow; what the others mean the table tells."""
        return {
            "final_latency_s": Metric(
                "s",
                _CLIENT,
                "From sending the last speech to reading the last final result: network_ns + waiting_ns + "
                "decoding_ns + end_pointing_ns.",
                clock="run",
            ),
            "after_audio_s": Metric(
                "s",
                _CLIENT,
                "final_ns - audio_last_ns; below zero where the result comes before the end of the audio.",
                clock="run",
            ),
            "total_factor": Metric(
                "1",
                _CLIENT,
                "(final_ns - audio_first_ns) / audio_ns: the total real-time factor; above 1 where audio is "
                "sent as it is spoken.",
            ),
            "decoding_factor": Metric(
                "1", "server application", "decoding_total_ns / audio_ns: the decoder's real-time factor."
            ),
        }

    def frame(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows, with the columns that follow."""
        import polars as pl

        shares = ("network_ns", "waiting_ns", "decoding_ns", "end_pointing_ns")
        return rows.with_columns(
            seconds(pl.sum_horizontal(*shares, ignore_nulls=False)).alias("final_latency_s"),
            # A result may come before the audio ends.
            (seconds(pl.col("final_ns")) - seconds(pl.col("audio_last_ns"))).alias("after_audio_s"),
            ((pl.col("final_ns") - pl.col("audio_first_ns")) / pl.col("audio_ns")).alias("total_factor"),
            (pl.col("decoding_total_ns") / pl.col("audio_ns")).alias("decoding_factor"),
        )


@dataclass(frozen=True)
class Connections:
    """What the TCP of each end did, beside the other one's."""

    table: str = "connections"
    transport: str = "tcp"
    counts: tuple[str, ...] = ()

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """What the columns mean."""
        return {
            "established_ns": Metric(
                "ns", "client TCP", "When the client's connection is established.", clock="run"
            ),
            **{
                f"{end}_{name}": Metric("1", f"{end} TCP", about)
                for name, about in _OF_END.items()
                for end in _ENDS
            },
        }

    def frame(self, rows: pl.DataFrame) -> pl.DataFrame:
        """One row for each flow, of both of its ends."""
        import polars as pl

        if rows.get_column("subflow").null_count() < rows.height:
            # What subflows did counts together; the first one opened the connection.
            counted = [
                pl.when(pl.col(name).count() > 0).then(pl.col(name).sum()).alias(name) for name in _OF_END
            ]
            by_end = rows.group_by("flow", "end", maintain_order=True)
            rows = by_end.agg(pl.col("established_ns").first(), *counted)
        ends = rows.get_column("end")
        client, server = (rows.filter(ends == end) for end in _ENDS)
        # A join would take as long as all the rest.
        if not client.get_column("flow").equals(server.get_column("flow")):
            # An end that nobody reached has no subflows.
            flows = pl.concat([client.select("flow"), server.select("flow")]).unique(maintain_order=True)
            client, server = (
                flows.join(end, on="flow", how="left", maintain_order="left") for end in (client, server)
            )
        told = [client.get_column("flow"), client.get_column("established_ns")]
        for name in _OF_END:
            for end, of_end in zip(_ENDS, (client, server), strict=True):
                told.append(of_end.get_column(name).alias(f"{end}_{name}"))
        return pl.DataFrame(told)


_ENDS = ("client", "server")
_OF_END = {
    "data_segments_sent": "Segments with data, retransmissions too.",
    "retransmissions": "Segments that were retransmitted: data, SYN or FIN.",
    "fast_retransmits": "Losses seen by duplicate or selective acknowledgment.",
    "timeouts": "Expiries of the retransmission timer.",
    "probes": "Probes of a closed window.",
    "duplicate_acks": "Duplicate acknowledgments received.",
}

CONNECTIONS = Connections()
RESPONSES = Delays(
    "response",
    "requests",
    "last_byte_sent_ns",
    "completed_ns",
    count="requests_answered",
    counted="Requests whose answer was delivered whole",
    what="response delay: from last_byte_sent_ns of a request to its completed_ns",
)


def seconds(ns: pl.Expr) -> pl.Expr:
    """Nanoseconds as seconds, the nearest number to each.

    By a number, polars divides a column of one row alone; others it multiplies by the reciprocal.
    """
    return ns / (0.0 * ns + 1e9)


def spans(name: str, measures: Iterable[str], what: str, where: str) -> dict[str, Metric]:
    """What columns mean that `quantiles` makes."""
    return {
        f"{name}_{measure}_ns": Metric("ns", where, f"{_MEASURES[measure]} of the {what}.", clock="run")
        for measure in measures
    }


_MEASURES = {
    "min": "Minimum",
    "mean": "Mean",
    "p50": "Median",
    "p95": "95th percentile",
    "p99": "99th percentile",
    "max": "Maximum",
}


def took(since: str, until: str) -> pl.Expr:
    """From one column to another; zero if that comes before, no value without it."""
    import polars as pl

    before = pl.col(until) < pl.col(since)
    return pl.when(before).then(pl.lit(0, pl.UInt64)).otherwise(pl.col(until) - pl.col(since))


def quantiles(name: str, taken: pl.Expr, measures: Iterable[str]) -> list[pl.Expr]:
    """Columns NAME_MEASURE_ns of spans; what has no value is left out."""
    import polars as pl

    count, ascending = taken.count().cast(pl.Int64), taken.drop_nulls().sort()

    def quantile(percent: int) -> pl.Expr:
        """The smallest value that at least this share of the others does not exceed."""
        rank = ((count * percent + 99) // 100).clip(lower_bound=1)
        return ascending.get(rank - 1, null_on_oob=True)

    exprs = {
        "min": taken.min(),
        "mean": taken.sum() // pl.when(count > 0).then(count.cast(pl.UInt64)),
        "p50": quantile(50),
        "p95": quantile(95),
        "p99": quantile(99),
        "max": taken.max(),
    }
    return [exprs[measure].alias(f"{name}_{measure}_ns") for measure in measures]
