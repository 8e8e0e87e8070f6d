"""What the study asks: every cell that some part of it needs, all at once, and what came back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from voxpath.backends.base import Question
from voxpath.results.frames import tables
from voxpath.results.identity import Observe
from voxpath.results.intervals import Summary, paired, summarise
from voxpath.studies.sarkar2022.scenario import (
    AS_PUBLISHED,
    LOSSES,
    NOISE,
    SEGMENT,
    VARIANTS,
    Change,
    document,
    noise,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from voxpath.backends.base import Row
    from voxpath.results.answers import Variant
    from voxpath.studies.base import Ask


class Cell(NamedTuple):
    """A set-up that is asked about.

    Attributes:
        variant: A stack of `scenario.py`.
        loss: Of the cloud.
        change: Name of what is changed; empty for the published set-up.
        traced: Whether its runs record every packet and every value of TCP.
    """

    variant: str
    loss: str
    change: str = ""
    traced: bool = False


@dataclass(frozen=True)
class Effort:
    """How much is run.

    Attributes:
        replications: Of every cell that is compared with the publication.
        cause_losses: Where the causes are taken away one at a time.
        traces: Of the cells whose waiting is added up packet by packet.
        map_replications: Of every cell of the map.
        map_losses: Rows of the map.
        map_round_trips: Columns of the map: propagation both ways, in milliseconds.
        map_windows: Panels of the map, in segments.
    """

    replications: int
    cause_losses: Sequence[str]
    traces: int
    map_replications: int
    map_losses: Sequence[str]
    map_round_trips: Sequence[int]
    map_windows: Sequence[int]


FULL = Effort(30, ("1 %", "10 %"), 5, 10, LOSSES, (10, 40, 100, 200, 400), (6, 22, 44))
QUICK = Effort(5, ("10 %",), 1, 2, ("0 %", "1 %", "10 %"), (10, 40, 200), (6, 44))

NO_LOST_ACKS = "no acknowledgment is lost"
NO_BACK_OFF = "no back-off (RTO at most 1 s)"
FLOOR = "RTO floor of 0.2 s"
CLOCK = "clock of 1 ms"
FLOOR_AND_CLOCK = "RTO floor of 0.2 s and clock of 1 ms"
NEITHER = "neither lost acknowledgments nor back-off"
COUNTING = "window grows by bytes, not acknowledgments"
_MILLISECOND = {"tick": "0 s", "variance_floor": "1 ms"}

CAUSES: Mapping[str, Change] = {
    NO_LOST_ACKS: Change(both_ways=False),
    NO_BACK_OFF: Change({"rto": {"max": "1 s"}}),
    NEITHER: Change({"rto": {"max": "1 s"}}, both_ways=False),
    FLOOR: Change({"rto": {"min": "200 ms"}}),
    CLOCK: Change({"rto": _MILLISECOND}),
    FLOOR_AND_CLOCK: Change({"rto": {"min": "200 ms", **_MILLISECOND}}),
    "limited transmit (RFC 3042)": Change({"limited_transmit": True}),
    "NewReno (RFC 6582)": Change({"recovery": "newreno"}),
    "SACK (RFC 2018)": Change({"sack": True}),
    "no delayed acknowledgments": Change({"delayed_ack": {"max_delay": "0 s"}}),
    COUNTING: Change({"byte_counting": True}),
}
"""What may make `riverbed16` slow, one taken away at a time."""

NO_ETHERNET = "40 ms round trip, no Ethernet"
LONGER = "44 ms round trip, no Ethernet"
WIRES: Mapping[str, Change] = {
    NO_ETHERNET: Change(ethernet=False),
    LONGER: Change(delay="22 ms", ethernet=False),
}
"""What may make the testbed's round trip; without loss."""

PER_ACK = "window grows by MSS²/cwnd an acknowledgment"
NO_FAST_RETRANSMIT = "no fast retransmit (10 duplicate ACKs)"
ALL_THREE = "all three"
TESTBED: Mapping[str, Change] = {
    NO_LOST_ACKS: CAUSES[NO_LOST_ACKS],
    PER_ACK: Change({"byte_counting": False}),
    NO_FAST_RETRANSMIT: Change({"dupack_threshold": 10}),
    ALL_THREE: Change({"byte_counting": False, "dupack_threshold": 10}, both_ways=False),
}
"""What may make a loss dearer in the testbed of Table 8 than in `linux`."""

ONE_LOSS = "one segment is lost"
SSTHRESH = "initial ssthresh of 65,535 bytes"
SINGLE: Mapping[str, Change] = {
    ONE_LOSS: Change(lost=(3000,)),
    SSTHRESH: Change({"initial_ssthresh": "65535 B"}),
}
"""Runs that need no replications: nothing in them is left to chance."""

SACK = "SACK"
TODAY = {
    "riverbed16, 6 segments": Cell("riverbed16", ""),
    "linux: Reno, 6 segments": Cell("linux", ""),
    "linux: Reno with SACK, 6 segments": Cell("linux", "", SACK),
    "linux today: CUBIC with SACK, 6 MiB": Cell("today", ""),
}
"""Stacks on the published channel, by what they are called in plots; the loss is to be filled in."""

CHANGES: Mapping[str, Change] = {
    "": AS_PUBLISHED,
    **CAUSES,
    **WIRES,
    **TESTBED,
    **SINGLE,
    SACK: Change({"sack": True}),
}

LADDER_LOSS = "1 %"
"""Figure 10 shows this scenario."""

PACKETS = (1250, 1500)
"""Packet lengths of Table 1, in bytes."""


def noise_cell(size: int) -> Cell:
    """The cell of `scenario.noise`."""
    return Cell("stream", f"BER {NOISE:g}", f"{size} bytes")


_TRACE = Observe(tcp=True, packets=True)


def map_cell(loss: str, round_trip: int, window: int) -> Cell:
    """A cell of the map: round trip in milliseconds, window in segments."""
    return Cell("riverbed16", loss, f"{round_trip} ms, {window} segments")


SLOW_CELLS = (
    map_cell("0 %", 400, 6),
    Cell("riverbed16", "0 %", "400 ms, 6 segments, no delayed acknowledgments"),
)
"""A round trip longer than acknowledgments are delayed, and the same where none is."""


def _map_cells(effort: Effort) -> dict[Cell, Change]:
    """Data alone is lost, since the formulas decline where more than a few acknowledgments are too."""
    return {
        map_cell(loss, round_trip, window): Change(
            {"receive_buffer": f"{window * SEGMENT} B"}, delay=f"{round_trip / 2} ms", both_ways=False
        )
        for window in effort.map_windows
        for round_trip in effort.map_round_trips
        for loss in effort.map_losses
    }


def questions(effort: Effort) -> dict[Cell, Question]:
    """Every cell and what is asked of it."""
    many = range(effort.replications)
    asked: dict[Cell, tuple[Change, range]] = {}
    for loss in LOSSES:
        for cell in TODAY.values():
            asked[cell._replace(loss=loss)] = (CHANGES[cell.change], many)
        for name, change in (WIRES if loss == LOSSES[0] else TESTBED).items():
            asked[Cell("linux", loss, name)] = (change, many)
        asked[Cell("riverbed16", loss, traced=True)] = (AS_PUBLISHED, range(1))
    for loss in effort.cause_losses:
        for name, change in CAUSES.items():
            asked[Cell("riverbed16", loss, name)] = (change, many)
    for name in ("", NO_LOST_ACKS):
        asked[Cell("riverbed16", "10 %", name, traced=True)] = (CHANGES[name], range(effort.traces))
    asked[Cell("linux", LADDER_LOSS, traced=True)] = (AS_PUBLISHED, range(1))
    for variant in VARIANTS:
        asked[Cell(variant, "0 %", ONE_LOSS, traced=True)] = (SINGLE[ONE_LOSS], range(1))
    asked[Cell("riverbed16", "0 %", SSTHRESH, traced=True)] = (SINGLE[SSTHRESH], range(1))
    for cell, tcp in zip(SLOW_CELLS, ({}, {"delayed_ack": {"max_delay": "0 s"}}), strict=True):
        asked[cell] = (Change(tcp, delay="200 ms", both_ways=False), range(1))
    for cell, change in _map_cells(effort).items():
        asked[cell] = (change, range(effort.map_replications))
    made = {
        cell: Question(
            document(cell.variant, cell.loss, change), replications, _TRACE if cell.traced else None
        )
        for cell, (change, replications) in asked.items()
    }
    return made | {noise_cell(size): Question(noise(size), many) for size in PACKETS}


SOURCE = "sim"
"""Whose answers decide. Table 8 was measured on hosts: the backend `real` is to decide there."""


class Found:
    """What came back, cell by cell."""

    def __init__(self, variants: Mapping[Cell, Variant], effort: Effort) -> None:
        self.effort = effort
        self._variants = variants

    @cached_property
    def simulated(self) -> bool:
        """Whether the simulator was asked."""
        return any(variant.outcomes for variant in self._variants.values())

    def row(self, cell: Cell, metric: str, estimator: str = SOURCE) -> Row | None:
        """The row of an estimator; none where it was not asked."""
        rows = self._variants[cell].rows
        return next((row for row in rows if (row.metric, row.estimator) == (metric, estimator)), None)

    def values(self, cell: Cell, metric: str) -> list[float]:
        """A metric, replication by replication; none unless every run has one: some are no fair sample."""
        row = self.row(cell, metric)
        if row is None or row.status != "ok":
            return []
        return [float(value) for value in self._variants[cell].samples(row).get_column("value")]

    def summary(self, cell: Cell, metric: str) -> Summary | None:
        """Mean and interval of a metric."""
        values = self.values(cell, metric)
        return summarise(values) if values else None

    def slower(self, cell: Cell, base: Cell, metric: str = "completion_s") -> Summary | None:
        """The mean of the paired differences to a cell with the same random streams."""
        values, reference = self.values(cell, metric), self.values(base, metric)
        return paired(values, reference) if values and len(values) == len(reference) else None

    def trace(self, cell: Cell, table: str) -> list[pl.DataFrame]:
        """`series`, `packets` or `elements` of each run of a cell."""
        outcomes = self._variants[cell].outcomes
        return tables([[outcome] for outcome in outcomes], table)


def ask_all(ask: Ask, effort: Effort) -> Found:
    """Asks everything."""
    asked = questions(effort)
    return Found(dict(zip(asked, ask(list(asked.values())), strict=True)), effort)
