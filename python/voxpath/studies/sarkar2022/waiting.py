"""Where the time of a transfer goes: every expiry of the server's retransmission timer, read off a trace."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from voxpath.results.intervals import Summary, summarise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

SERVER_SENDS = "right-server ba"
"""The server's own link: where its packets are as it sends them."""

CLIENT_RECEIVES = "client-left ba"
"""The client's own link: where packets reach it."""


@dataclass(frozen=True)
class Timeout:
    """An expiry of the retransmission timer.

    Attributes:
        backed_off: How often the timeout had been doubled before.
        waited: Seconds since the server last sent anything.
        kept: Whether the doubling comes from another segment: Karn's rule lets no sample end it.
        arrived: Whether the segment had reached the client: its acknowledgment was lost.
        run: Of which of several runs.
    """

    backed_off: int
    waited: float
    kept: bool
    arrived: bool
    run: int = 0


def timeouts(series: pl.DataFrame, packets: pl.DataFrame) -> list[Timeout]:
    """The expiries that doubled the server's timeout; one that is at its maximum already is not seen."""
    sent_at, sent = _data(packets, SERVER_SENDS, "enqueued")
    arrived_at, arrived = _data(packets, CLIENT_RECEIVES, "delivered")
    first_arrival: dict[int, int] = {}
    for at, seq in zip(arrived_at.tolist(), arrived.tolist(), strict=True):
        first_arrival.setdefault(seq, at)
    changes = series.filter((pl.col("end") == "server") & (pl.col("metric") == "rto_ns"))
    found: list[Timeout] = []
    rto: int | None = None
    backed_off, last = 0, -1
    for at, value in changes.select("time_ns", "value").iter_rows():
        index = int(np.searchsorted(sent_at, at))
        expired = rto is not None and value > rto and 0 < index < len(sent_at) and sent_at[index] == at
        if expired:
            segment = int(sent[index])
            found.append(
                Timeout(
                    backed_off,
                    (at - int(sent_at[index - 1])) / 1e9,
                    backed_off > 0 and segment != last,
                    first_arrival.get(segment, at) < at,
                )
            )
            backed_off, last = backed_off + 1, segment
        else:
            backed_off = 0
        rto = value
    return found


def _data(packets: pl.DataFrame, link: str, action: str) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Times and sequence numbers of the packets with data that the server sends, at one place."""
    chosen = packets.filter(
        (pl.col("link") == link) & (pl.col("action") == action) & (pl.col("payload_bytes") > 0)
    )
    return chosen.get_column("time_ns").to_numpy(), chosen.get_column("seq").to_numpy()


@dataclass(frozen=True)
class Waiting:
    """The timeouts of some runs of one set-up, per run.

    Attributes:
        completions: Seconds of each transfer.
        levels: The timeouts by how often the timeout had been doubled before.
    """

    completions: Sequence[float]
    levels: Sequence[Sequence[Timeout]]

    @property
    def all(self) -> list[Timeout]:
        """Every timeout of every run."""
        return [timeout for level in self.levels for timeout in level]

    def per_run(self, timeouts: Sequence[Timeout]) -> float:
        """How many that are in a run."""
        return len(timeouts) / self.runs

    def count(self, timeouts: Sequence[Timeout]) -> Summary:
        """How many that are in a run, with the spread over the runs."""
        return summarise([sum(item.run == run for item in timeouts) for run in range(self.runs)])

    def wait(self, timeouts: Sequence[Timeout]) -> Summary:
        """How long they take of a run, with the spread over the runs."""
        return summarise(
            [sum(item.waited for item in timeouts if item.run == run) for run in range(self.runs)]
        )

    def seconds(self, timeouts: Sequence[Timeout]) -> float:
        """How long they take of a run."""
        return sum(timeout.waited for timeout in timeouts) / self.runs

    def beyond(self, timeouts: Sequence[Timeout], usual: float) -> Summary:
        """How much longer they take of a run than as many that take so long each, with the spread."""
        runs = ([item.waited for item in timeouts if item.run == run] for run in range(self.runs))
        return summarise([sum(waits) - usual * len(waits) for waits in runs])

    @property
    def share(self) -> Summary:
        """Part of the transfer in which the server waits for its timer, with the spread over the runs."""
        waited = [sum(item.waited for item in self.all if item.run == run) for run in range(self.runs)]
        return summarise([sum_ / took for sum_, took in zip(waited, self.completions, strict=True)])

    @property
    def runs(self) -> int:
        """How many."""
        return len(self.completions)

    @property
    def completion(self) -> float:
        """Mean seconds of a transfer."""
        return sum(self.completions) / self.runs


def waiting(
    completions: Sequence[float], series: Sequence[pl.DataFrame], packets: Sequence[pl.DataFrame]
) -> Waiting:
    """Adds up the timeouts of the runs of one set-up."""
    found = [
        replace(item, run=run)
        for run, pair in enumerate(zip(series, packets, strict=True))
        for item in timeouts(*pair)
    ]
    deepest = max((item.backed_off for item in found), default=-1)
    levels = [[item for item in found if item.backed_off == level] for level in range(deepest + 1)]
    return Waiting(list(completions), levels)
