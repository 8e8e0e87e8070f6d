"""Summaries of a call: columns of `flows` for what each end sends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from voxpath.scenario.apps.summaries import quantiles, spans
from voxpath.scenario.metric import Metric

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

_ENDS = ("client", "server")
_MEDIA = ("audio", "video")
_PLAYED = ("complete", "late")
_TIME = "time_ns"

METRICS = (
    "client_media_received_bps",
    "server_media_received_bps",
    *(
        f"{end}_{name}"
        for end in _ENDS
        for name in (
            "media_loss",
            "queueing_p95_ns",
            "video_delay_p95_ns",
            "video_unplayed",
            "audio_delay_p95_ns",
            "audio_unplayed",
            "data_p95_ns",
            "data_undelivered",
        )
    ),
)
"""What is shown of a call."""


@dataclass(frozen=True)
class MediaSeconds:
    """Rates, losses and delays, from the seconds of all media of an end."""

    table: str = "media_seconds"
    transport: str = "udp"
    prefix: str = ""
    counts: tuple[str, ...] = ()

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """What the columns mean."""
        return {
            f"{self.prefix}{end}_{name}": metric
            for end in _ENDS
            for name, metric in {
                "media_sent_bps": Metric(
                    "bit/s",
                    f"{end} application",
                    f"RTP that the {end} sends: mean over the time in which it does.",
                    clock="run",
                ),
                "media_received_bps": Metric(
                    "bit/s",
                    "receiving application",
                    f"RTP that comes of what the {end} sends: mean over the time in which it does.",
                    clock="run",
                ),
                "media_loss": Metric(
                    "1",
                    "receiving application",
                    f"Share of the {end}'s packets of media that did not come.",
                ),
                "queueing_p50_ns": Metric(
                    "ns",
                    "receiving application",
                    f"Queueing delay of what the {end} sends: median of the means of its seconds.",
                    clock="run",
                ),
                "queueing_p95_ns": Metric(
                    "ns",
                    "receiving application",
                    f"Queueing delay of what the {end} sends: 95th percentile of the means of its seconds.",
                    clock="run",
                ),
            }.items()
        }

    def frame(self, rows: pl.DataFrame) -> pl.DataFrame:
        """One row for each flow that has rows."""
        import polars as pl

        # Media of an end share a second: each row has its part of the time.
        same = ("flow", "end", "second")
        time = pl.col("media_time_ns").max().over(same) / pl.len().over(same)
        columns = []
        for end in _ENDS:
            name_of = f"{self.prefix}{end}"
            of_end = pl.col("end") == end
            time_ns = pl.col(_TIME).filter(of_end).sum()

            def total(name: str, of_end: pl.Expr = of_end) -> pl.Expr:
                return pl.col(name).filter(of_end).sum()

            def per_second(name: str, of_end: pl.Expr = of_end, time_ns: pl.Expr = time_ns) -> pl.Expr:
                # By a column alone: by a number polars divides, or multiplies by its reciprocal.
                return pl.when(time_ns > 0).then(pl.col(name).filter(of_end).sum() * 1e9 / time_ns)

            expected = total("media_packets_expected")
            waits = pl.col("queueing_mean_ns").filter(of_end).drop_nulls().sort()
            columns += [
                per_second("media_sent_bps").alias(f"{name_of}_media_sent_bps"),
                per_second("media_received_bps").alias(f"{name_of}_media_received_bps"),
                pl.when(expected > 0)
                .then(total("media_packets_lost") / expected)
                .alias(f"{name_of}_media_loss"),
                *(
                    waits.get((waits.len() * percent + 99) // 100 - 1, null_on_oob=True).alias(
                        f"{name_of}_queueing_p{percent}_ns"
                    )
                    for percent in (50, 95)
                ),
            ]
        return rows.with_columns(time.alias(_TIME)).group_by("flow", maintain_order=True).agg(*columns)


@dataclass(frozen=True)
class MediaFrames:
    """What became of frames, by end and medium."""

    table: str = "frames"
    transport: str = "udp"
    prefix: str = ""
    counts: tuple[str, ...] = ()

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """What the columns mean."""
        return {
            f"{self.prefix}{end}_{media}_{name}": metric
            for end in _ENDS
            for media in _MEDIA
            for name, metric in {
                "frames": Metric("1", f"{end} application", f"Frames of {media} that the {end} captured."),
                "unplayed": Metric(
                    "1",
                    "receiving application",
                    f"The {end}'s frames of {media} that were not played, where their fate is known.",
                    of=f"{self.prefix}{end}_{media}_frames",
                ),
                "delay_p50_ns": Metric(
                    "ns",
                    "receiving application",
                    f"From capture to playing, of the {end}'s frames of {media}: median.",
                    clock="run",
                ),
                "delay_p95_ns": Metric(
                    "ns",
                    "receiving application",
                    f"From capture to playing, of the {end}'s frames of {media}: 95th percentile.",
                    clock="run",
                ),
            }.items()
        }

    def frame(self, rows: pl.DataFrame) -> pl.DataFrame:
        """One row for each flow that has rows."""
        import polars as pl

        columns = []
        for end in _ENDS:
            for media in _MEDIA:
                mine = (pl.col("end") == end) & (pl.col("media") == media)
                fate = pl.col("fate").cast(pl.String)
                took = (pl.col("played_ns") - pl.col("captured_ns")).filter(mine).drop_nulls().sort()
                frames = mine.sum().cast(pl.UInt64)
                known = (mine & (fate != "pending")).sum()
                played = (mine & fate.is_in(_PLAYED) & pl.col("played_ns").is_not_null()).sum()
                name = f"{self.prefix}{end}_{media}"
                columns += [
                    pl.when(frames > 0).then(frames).alias(f"{name}_frames"),
                    pl.when(frames > 0).then((known - played).cast(pl.UInt64)).alias(f"{name}_unplayed"),
                    *(
                        took.get((took.len() * percent + 99) // 100 - 1, null_on_oob=True).alias(
                            f"{name}_delay_p{percent}_ns"
                        )
                        for percent in (50, 95)
                    ),
                ]
        return rows.group_by("flow", maintain_order=True).agg(*columns)


@dataclass(frozen=True)
class DataMessages:
    """What became of messages in data channels, by end."""

    table: str = "data_messages"
    transport: str = "udp"
    counts: tuple[str, ...] = ()

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """What the columns mean."""
        return {
            name: metric
            for end in _ENDS
            for name, metric in {
                f"{end}_data_messages": Metric(
                    "1", f"{end} application", f"Messages that the {end} gave to its data channel."
                ),
                f"{end}_data_undelivered": Metric(
                    "1",
                    "receiving application",
                    f"The {end}'s messages that were not delivered.",
                    of=f"{end}_data_messages",
                ),
                **spans(
                    f"{end}_data", ("p50", "p95"), f"delay of the {end}'s messages", "receiving application"
                ),
            }.items()
        }

    def frame(self, rows: pl.DataFrame) -> pl.DataFrame:
        """One row for each flow that has rows."""
        import polars as pl

        columns, missing = [], pl.col("delivered_ns").is_null()
        for end in _ENDS:
            mine = pl.col("end").cast(pl.String) == end
            delay = (pl.col("delivered_ns") - pl.col("published_ns")).filter(mine)
            columns += [
                mine.sum().cast(pl.UInt64).alias(f"{end}_data_messages"),
                (mine & missing).sum().cast(pl.UInt64).alias(f"{end}_data_undelivered"),
                *quantiles(f"{end}_data", delay, ("p50", "p95")),
            ]
        return rows.group_by("flow", maintain_order=True).agg(*columns)


SECONDS = MediaSeconds()
MESSAGES = DataMessages()
FRAMES = MediaFrames()
