"""What the study asks, and what came back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from voxpath.backends.base import Question
from voxpath.results.identity import Observe
from voxpath.results.intervals import Summary, paired, summarise
from voxpath.results.tables import tables
from voxpath.studies.hoang2017.printed import published, statuses
from voxpath.studies.hoang2017.scenario import (
    AS_READ,
    DELAYS,
    LONG,
    ON_OFF,
    RECEIVER,
    SENDER,
    SHARED_S,
    UDP,
    VARIANT,
    Reading,
    length_s,
    random_network,
    shared,
)
from voxpath.studies.media import Media, media_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from voxpath.results.answers import Variant
    from voxpath.results.outcome import Outcome
    from voxpath.studies.base import Ask


class Cell(NamedTuple):
    """A set-up.

    Attributes:
        network: `Table 8`, `Table 9, 1` to `Table 9, 4`, or the delay of Table 3.
        sender: Who sends.
        change: What is changed; empty for the set-up as it is read.
    """

    network: str
    sender: str
    change: str = ""


@dataclass(frozen=True)
class Effort:
    """How much is run.

    Attributes:
        replications: Of each cell.
        switches: Of each cell in which one thing is changed.
        real: On real hosts, where they are asked.
    """

    replications: int
    switches: int
    real: int


FULL = Effort(30, 30, 5)
QUICK = Effort(3, 2, 1)

TABLE8 = "Table 8"
AS_UDP, RRTCC = "UDP", "RRTCC"
AT_SENDER, AT_RECEIVER, TODAY = "gcc, sender side", "gcc, receiver side", "libwebrtc"
SENDERS: Mapping[str, Mapping[str, Any]] = {
    AS_UDP: UDP,
    RRTCC: VARIANT,
    AT_SENDER: SENDER,
    AT_RECEIVER: RECEIVER,
    TODAY: {"kind": "libwebrtc"},
}

SWITCHES: Mapping[str, Mapping[str, bool]] = {
    "K_u and K_d swapped, as section 3.4.3.1 prints them": {"swapped_gains": True},
    "beta of 0.85": {"beta_095": False},
    "a filter of two states": {"two_state_filter": True},
    "no 1000 bit/s in As": {"loss_plus_1000": False},
    "R(i) times the number of packets, as printed": {"rate_times_count": True},
    "reports every 100 ms": {"slow_reports": False},
    "lost packets left out": {"lost_repeats_delay": False},
    "a filter that learns its noise": {"fixed_noise_filter": False},
    "groups of 5 ms": {"packet_groups": False},
    "m(i) summed over up to 60 groups": {"literal_threshold": False},
}
"""Deviations from the draft, one turned round at a time."""

READINGS: Mapping[str, Reading] = {
    "all 25 % to cross-traffic 1": Reading(first=1.0),
    "all 25 % to cross-traffic 2": Reading(first=0.0),
    "a variance of 0.001 s²": Reading(deviation_s=0.001**0.5),
    "reports meet the network too": Reading(reports_lost=True),
}
"""What the publication leaves open, otherwise."""

_SIGNALS = Observe(rtc=True, capacity=True)


def table9(number: int) -> str:
    """The network of a configuration of Table 9."""
    return f"Table 9, {number}"


def configurations() -> dict[str, list[int]]:
    """The rates of each network of Table 9, in bit/s."""
    return {table9(number): rates for number, rates in enumerate(published()["table9"]["configurations"], 1)}


def questions(effort: Effort) -> dict[Cell, Question]:
    """Every cell that the simulator answers."""
    many, few = range(effort.replications), range(effort.switches)
    rates = list(statuses().values())
    asked: dict[Cell, Question] = {}
    for name, control in SENDERS.items():
        asked[Cell(TABLE8, name)] = Question(random_network(control, rates), many)
    for name in (AS_UDP, RRTCC):
        asked[Cell(TABLE8, name, SEEN)] = Question(random_network(SENDERS[name], rates), range(1), _SIGNALS)
        for network, available in configurations().items():
            asked[Cell(network, name)] = Question(random_network(SENDERS[name], available), many)
    for change, switch in SWITCHES.items():
        asked[Cell(TABLE8, RRTCC, change)] = Question(random_network({**VARIANT, **switch}, rates), few)
    for change, reading in READINGS.items():
        asked[Cell(TABLE8, RRTCC, change)] = Question(random_network(VARIANT, rates, reading), few)
    for delay in DELAYS:
        for tcp in (LONG, ON_OFF):
            for name in (RRTCC, AT_SENDER, AT_RECEIVER, TODAY):
                asked[Cell(delay, name, tcp)] = Question(shared(SENDERS[name], delay, tcp), many)
    return asked


SEEN = "its signals"
"""One run whose signals are recorded."""


def real_questions(effort: Effort) -> dict[Cell, Question]:
    """Cells that run on real hosts too: their delays and reports are of the wall clock."""
    rates = list(statuses().values())
    return {
        Cell(TABLE8, name): Question(random_network(SENDERS[name], rates, AS_READ), range(effort.real))
        for name in (AS_UDP, RRTCC)
    }


SIM, REAL = "sim", "real"

_OF_ALL = {"media_seconds", "flows"}
"""Tables that every run has."""


class Found:
    """What came back, cell by cell."""

    def __init__(
        self, effort: Effort, simulated: Mapping[Cell, Variant], real: Mapping[Cell, Variant]
    ) -> None:
        """Takes the answers."""
        self.effort = effort
        self._answers = {SIM: simulated, REAL: real}
        self._media: dict[tuple[str, Cell], list[Media]] = {}
        self._tables: dict[tuple[str, str], dict[Cell, list[pl.DataFrame]]] = {}

    def table(self, cell: Cell, name: str, source: str = SIM) -> Sequence[pl.DataFrame]:
        """A table of each valid run of a cell."""
        if name not in _OF_ALL:
            return tables([[outcome] for outcome in self._outcomes(cell, source)], name)
        if (source, name) not in self._tables:
            # To read all at once takes a fraction of the time of one by one.
            every = [
                (one, outcome) for one in self._answers[source] for outcome in self._outcomes(one, source)
            ]
            found: dict[Cell, list[pl.DataFrame]] = {}
            frames = tables([[outcome] for _, outcome in every], name)
            for (one, _), frame in zip(every, frames, strict=True):
                found.setdefault(one, []).append(frame)
            self._tables[source, name] = found
        return self._tables[source, name].get(cell, [])

    def _outcomes(self, cell: Cell, source: str) -> list[Outcome]:
        answered = self._answers[source].get(cell)
        return [] if answered is None else [one for one in answered.outcomes if one.valid]

    def media(self, cell: Cell, source: str = SIM) -> list[Media]:
        """What the media flow did in each run."""
        if (source, cell) not in self._media:
            length = SHARED_S if cell.network in DELAYS else length_s()
            self._media[source, cell] = [
                media_of(seconds, "media", length) for seconds in self.table(cell, "media_seconds", source)
            ]
        return self._media[source, cell]

    def values(self, cell: Cell, value: Callable[[Media], float], source: str = SIM) -> list[float]:
        """A value of each run."""
        return [value(media) for media in self.media(cell, source)]

    def mean(self, cell: Cell, value: Callable[[Media], float], source: str = SIM) -> Summary | None:
        """Its mean; none where nothing was asked."""
        values = self.values(cell, value, source)
        return summarise(values) if values else None

    def difference(self, cell: Cell, other: Cell, value: Callable[[Media], float]) -> Summary | None:
        """The mean of the differences of two cells with the same random network."""
        one, two = self.values(cell, value), self.values(other, value)
        count = min(len(one), len(two))
        return paired(one[:count], two[:count]) if count else None

    def ratio(self, cell: Cell, other: Cell, value: Callable[[Media], float]) -> Summary | None:
        """The mean of the ratios, likewise."""
        ratios = [
            one / two
            for one, two in zip(self.values(cell, value), self.values(other, value), strict=False)
            if two
        ]
        return summarise(ratios) if ratios else None

    def tcp(self, cell: Cell) -> list[float]:
        """Throughput of a TCP flow while it is on, in bit/s: mean of the five, in each run.

        An endless flow is always on; one that loads files from each request to the last byte of the answer.
        """
        names = pl.col("flow").cast(pl.String).str.starts_with("tcp")
        if cell.change == LONG:
            flows = [frame.filter(names) for frame in self.table(cell, "flows")]
            return [_mean(frame.get_column("goodput_bps").to_list()) for frame in flows]
        asked = [frame.filter(names) for frame in self.table(cell, "requests")]
        return [_throughput(frame) for frame in asked]

    def carried(self, cell: Cell) -> list[float]:
        """What all flows received together, in bit/s, in each run."""
        flows = self.table(cell, "flows")
        tcp = [
            frame.filter(pl.col("flow").cast(pl.String) != "media").get_column("bytes_delivered").sum()
            for frame in flows
        ]
        media = self.values(cell, lambda media: float(media.received.mean()))
        return [float(count) * 8 / SHARED_S + rate for count, rate in zip(tcp, media, strict=True)]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _throughput(requests: pl.DataFrame) -> float:
    whole = requests.drop_nulls("completed_ns")
    on = (whole.get_column("completed_ns") - whole.get_column("sent_ns")).sum()
    return float(whole.get_column("bytes_delivered").sum()) * 8e9 / float(on)


def ask_all(ask: Ask, effort: Effort) -> Found:
    """Asks everything."""
    asked, tested = questions(effort), real_questions(effort)
    simulated = ask(list(asked.values()), (SIM,))
    real = ask(list(tested.values()), (REAL,))
    return Found(effort, dict(zip(asked, simulated, strict=True)), dict(zip(tested, real, strict=False)))
