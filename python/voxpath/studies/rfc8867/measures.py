"""What RFC 8868 asks of a run: rates, convergence, queueing delay, loss, fairness."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from voxpath.studies.media import media_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from voxpath.studies.media import Array, Media
    from voxpath.studies.rfc8867.cases import Case

WINDOWS = (1, 5, 20)
"""Seconds over which shares are compared."""

FAIR = (1 / 3, 3.0)
"""Between these is the ratio of two flows' rates fair."""

ENCODED = 1_530_000
"""What a media flow makes at most, in bit/s: video, audio and some headers."""

NEAR = 0.2
"""A rate is near its steady one within this part of it."""

MOSTLY = 0.9
"""A flow has converged once so many of the seconds that follow are near."""


@dataclass(frozen=True)
class Run:
    """A run of a case.

    Attributes:
        case: The case.
        media: Its media flows, by name.
        tcp: Goodput of each TCP flow, in bit/s.
        delays: One-way propagation of each media flow, in ms.
        unplayed: Which part of the frames of media was not played: lost, in part too, or late for its jitter
            buffer.
    """

    case: Case
    media: Mapping[str, Media]
    tcp: Mapping[str, float]
    delays: Mapping[str, float]
    unplayed: float = float("nan")

    def rate(self, name: str, since: float, until: float) -> float:
        """What a flow received between two times, in bit/s."""
        return float(self.media[name].received[int(since) : int(until)].mean())

    def total(self, since: float, until: float) -> Array:
        """What all media flows received together, second by second, in bit/s."""
        rates = [media.received[int(since) : int(until)] for media in self.media.values()]
        total: Array = np.sum(rates, axis=0, dtype=np.float64)
        return total

    @cached_property
    def queueing(self) -> Array:
        """Delay beyond propagation of each flow's seconds, in ms."""
        found = [media.delay - self.delays[name] for name, media in self.media.items()]
        every = np.concatenate(found)
        return every[~np.isnan(every)]

    def queueing_quantile(self, p: float) -> float:
        """A quantile of them; not a number where nothing came at all."""
        return float(np.quantile(self.queueing, p)) if self.queueing.size else float("nan")

    def mean(self, of: Callable[[Media], Array]) -> float:
        """A series of all media flows together, its mean from their first start to their end."""
        since = int(min(flow.start for flow in self.case.flows))
        return sum(float(of(media)[since : self.case.end].mean()) for media in self.media.values())

    @property
    def lost(self) -> float:
        """Which part of all packets of media did not come."""
        expected = sum(float(media.expected.sum()) for media in self.media.values())
        lost = sum(float(media.lost.sum()) for media in self.media.values())
        return lost / expected if expected else float("nan")

    @property
    def utilisation(self) -> float:
        """What all flows received over what the bottleneck carried, or what encoders make if that is less.

        Not a number where there is more than one bottleneck.
        """
        case = self.case
        if case.hops:
            return float("nan")
        start = min(flow.start for flow in case.flows)
        seconds = range(0 if self.tcp else int(start), case.end)
        wanted = [float("inf") if self.tcp else ENCODED * len(case.active(second)) for second in seconds]
        room = sum(min(case.capacity(second), want) for second, want in zip(seconds, wanted, strict=True))
        media = float(self.total(start, case.end).sum())
        tcp = sum(rate * case.end for rate in self.tcp.values())
        return (media + tcp) / room

    def fair(self, window: int) -> float:
        """In which part of the windows the rates of two flows are within a factor of three.

        Windows of so many seconds follow each other where the same flows send; not a number without one.
        """
        found: list[bool] = []
        for since, until in self.case.stretches:
            names = self.case.active(since)
            for start in range(int(since), int(until) - window + 1, window):
                rates = [self.rate(name, start, start + window) for name in names]
                found += [_is_fair(one, other) for one, other in combinations(rates, 2)]
        return float(np.mean(found)) if found else float("nan")

    def fed(self, least: float, window: int) -> float:
        """In which part of the windows a flow receives so many bit/s or more.

        Windows of so many seconds follow each other while the flow sends, from a window after its start on.
        """
        found: list[bool] = []
        for since, until in self.case.stretches:
            for name in self.case.active(since):
                begun = int(self.case.flows[self.case.names.index(name)].start) + window
                starts = range(max(int(since), begun), int(until) - window + 1, window)
                found += [self.rate(name, start, start + window) >= least for start in starts]
        return float(np.mean(found)) if found else float("nan")

    def settled(self, name: str, since: float, until: float) -> float | None:
        """After how many seconds the rate of a flow comes near that of the second half, and stays mostly."""
        return _settled(self.media[name].received[int(since) : int(until)])

    @cached_property
    def stretches(self) -> list[Stretch]:
        """How the flows went on after each change."""
        return [self._stretch(since, until) for since, until in self.case.stretches]

    def _stretch(self, since: float, until: float) -> Stretch:
        rates = self.total(since, until)
        half = rates[len(rates) // 2 :]
        steady = float(half.mean())
        variation = float(half.std() / steady) if steady else float("nan")
        return Stretch(since, until, steady, variation, _settled(rates))


@dataclass(frozen=True)
class Stretch:
    """A while in which neither capacities nor flows change.

    Attributes:
        since: From the start of the run, in seconds.
        until: Likewise.
        steady: What all media flows received together in its second half, in bit/s.
        variation: Standard deviation of its seconds there, as a part of it.
        settled: After how many seconds the rate came near it and stayed, mostly; none where it did not.
    """

    since: float
    until: float
    steady: float
    variation: float
    settled: float | None


def _settled(rates: Array) -> float | None:
    """After how many seconds rates come near the mean of their second half, and stay mostly."""
    steady = float(rates[len(rates) // 2 :].mean())
    near = np.abs(rates - steady) <= NEAR * steady
    took = next(
        (second for second in range(len(rates)) if near[second:].mean() >= MOSTLY and near[second]), None
    )
    # What settles in the second half only has not settled: the half is what it is compared with.
    return None if took is None or took > len(rates) // 2 else float(took)


def _is_fair(one: float, other: float) -> bool:
    if one == other:
        return True
    low, high = FAIR
    return bool(other) and low < one / other < high


def over(runs: Sequence[Run], value: Callable[[Run], float]) -> list[float]:
    """A value of each run that has one."""
    found = [value(run) for run in runs]
    return [one for one in found if not np.isnan(one)]


def run_of(case: Case, seconds: pl.DataFrame, flows: pl.DataFrame) -> Run:
    """A run of a case.

    Args:
        case: The case.
        seconds: The table `media_seconds` of the run.
        flows: Its table `flows`.
    """
    media = {name: media_of(seconds, name, case.duration) for name in case.names}
    tcp = flows.filter(pl.col("flow").cast(pl.String).is_in(case.competing))
    rates = zip(tcp.get_column("flow").cast(pl.String), tcp.get_column("bytes_delivered"), strict=True)
    return Run(
        case,
        media,
        {str(name): float(count) * 8 / case.end for name, count in rates},
        {name: float(flow.delay_ms) for name, flow in zip(case.names, case.flows, strict=True)},
        _unplayed(flows.filter(pl.col("flow").cast(pl.String).is_in(case.names))),
    )


def _unplayed(flows: pl.DataFrame) -> float:
    frames, unplayed = (
        sum(int(flows.get_column(f"client_{media}_{what}").sum()) for media in ("audio", "video"))
        for what in ("frames", "unplayed")
    )
    return unplayed / frames if frames else float("nan")
