"""What figures read off a trace: the server's window, the client's acknowledgments, the rate received."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from voxpath.studies.sarkar2022.waiting import CLIENT_RECEIVES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voxpath.studies.sarkar2022.questions import Cell, Found

CLIENT_SENDS = "client-left ab"
"""The client's own link: where its packets are as it sends them."""

_SEQUENCE_NUMBERS = 2**32


@dataclass(frozen=True)
class Steps:
    """A value that holds until its next one.

    Attributes:
        at: When it changes, in seconds.
        values: What it is from then on.
    """

    at: NDArray[np.float64]
    values: NDArray[np.float64]

    def sampled(self, until: float, every: float) -> tuple[list[float], list[float]]:
        """Times and values on a grid, to the end of the run."""
        last = min(until, float(self.at[-1]) + every)
        grid = np.arange(max(1, int(last / every) + 1)) * every
        grid = grid[grid >= self.at[0]]
        found = self.values[np.searchsorted(self.at, grid, side="right") - 1]
        return [round(float(x), 6) for x in grid], [float(y) for y in found]

    def just_before(self, moment: float) -> float:
        """What it was before a moment."""
        return float(self.values[max(0, int(np.searchsorted(self.at, moment)) - 1)])

    def reaches(self, value: float, after: float = 0.0) -> float | None:
        """When it is that much or more for the first time; none if never."""
        found = np.flatnonzero((self.values >= value) & (self.at >= after))
        return float(self.at[found[0]]) if len(found) else None


@dataclass(frozen=True)
class Trace:
    """A traced run.

    Attributes:
        series: The engine's table of TCP's values.
        packets: The engine's table of packets.
        completion: Seconds until the last byte is delivered.
    """

    series: pl.DataFrame
    packets: pl.DataFrame
    completion: float

    def server(self, metric: str) -> Steps:
        """A value of the server's TCP."""
        chosen = self.series.filter((pl.col("end") == "server") & (pl.col("metric") == metric))
        return _steps(chosen.get_column("time_ns"), chosen.get_column("value"))

    def acknowledged(self) -> Steps:
        """Bytes of the file that the client has acknowledged."""
        sent = self._at(CLIENT_SENDS, "enqueued").filter(pl.col("tcp_flags").cast(pl.UInt64) & 2 == 0)
        numbers = sent.get_column("ack").to_numpy().astype(np.int64)
        bytes_ = (numbers - numbers[0]) % _SEQUENCE_NUMBERS
        # The last one counts the FIN too.
        return _steps(sent.get_column("time_ns"), pl.Series(np.maximum.accumulate(bytes_)))

    def received(self, every: float) -> tuple[list[float], list[float]]:
        """The rate at which data reaches the client: middles of intervals, and bytes per second in each."""
        arrived = self._at(CLIENT_RECEIVES, "delivered")
        seconds = arrived.get_column("time_ns").to_numpy() / 1e9
        count = int(self.completion / every) + 1
        sums, edges = np.histogram(
            seconds, count, (0, count * every), weights=arrived.get_column("payload_bytes").to_numpy()
        )
        return [round(float(x), 6) for x in edges[:-1] + every / 2], [float(y) for y in sums / every]

    def _at(self, link: str, action: str) -> pl.DataFrame:
        return self.packets.filter((pl.col("link") == link) & (pl.col("action") == action))


def trace(found: Found, cell: Cell) -> Trace:
    """The first run of a traced cell."""
    return every_trace(found, cell)[0]


def every_trace(found: Found, cell: Cell) -> list[Trace]:
    """Each run of a traced cell."""
    of_runs = (found.trace(cell, "series"), found.trace(cell, "packets"), found.values(cell, "completion_s"))
    return [Trace(*run) for run in zip(*of_runs, strict=True)]


def _steps(at: pl.Series, values: pl.Series) -> Steps:
    return Steps(at.to_numpy() / 1e9, values.to_numpy().astype(np.float64))
