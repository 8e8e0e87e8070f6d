"""A direction of a call second by second, audio and video together, as studies of rate control read it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

Array = np.ndarray[tuple[int], np.dtype[np.float64]]


@dataclass(frozen=True)
class Media:
    """What one end sends, from the start of the run; one value for each second.

    Attributes:
        target: What its encoders were to make, in bit/s; zero while it does not send.
        sent: RTP packets, in bit/s.
        received: The same at the receiver.
        expected: Packets of media that the receiver knows of.
        lost: Of these, those that did not come.
        delay: Mean one-way delay of the packets, in ms; not a number where none came.
    """

    target: Array
    sent: Array
    received: Array
    expected: Array
    lost: Array
    delay: Array

    def between(self, since: int, until: int) -> Media:
        """Some of the seconds."""
        some = slice(since, until)
        return Media(
            self.target[some],
            self.sent[some],
            self.received[some],
            self.expected[some],
            self.lost[some],
            self.delay[some],
        )

    @property
    def loss(self) -> float:
        """Which part of the packets did not come; not a number if there were none."""
        expected = float(self.expected.sum())
        return float(self.lost.sum()) / expected if expected else float("nan")


_SUMS = {
    "target": "media_target_bps",
    "sent": "media_sent_bps",
    "received": "media_received_bps",
    "expected": "media_packets_expected",
    "lost": "media_packets_lost",
}


def media_of(seconds: pl.DataFrame, flow: str, duration: int, end: str = "client") -> Media:
    """What an end of a flow sends.

    Args:
        seconds: The table `media_seconds` of one run.
        flow: Its name.
        duration: Of the run, in seconds.
        end: `client` or `server`.
    """
    own = seconds.filter(pl.col("flow").cast(pl.String) == flow, pl.col("end").cast(pl.String) == end)
    weight = pl.col("media_packets_received")
    found = (
        own.group_by("second")
        .agg(
            *(
                pl.col(column).fill_null(0).sum().cast(pl.Float64).alias(name)
                for name, column in _SUMS.items()
            ),
            ((pl.col("owd_mean_ns") * weight).sum() / weight.sum() / 1e6).alias("delay"),
        )
        .sort("second")
    )
    every = pl.DataFrame({"second": range(duration)}, schema={"second": found.schema["second"]})
    frame = every.join(found, on="second", how="left", maintain_order="left")
    target, sent, received, expected, lost = (
        frame.get_column(name).fill_null(0.0).to_numpy() for name in _SUMS
    )
    delay = frame.get_column("delay").fill_null(float("nan")).to_numpy()
    return Media(target, sent, received, expected, lost, delay)
