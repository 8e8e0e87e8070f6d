"""What the study asks: every cell that some part of it needs, all at once, and what came back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from voxpath.backends.base import Question
from voxpath.backends.sim import rows
from voxpath.extras import lacking
from voxpath.results.decisions import near
from voxpath.results.identity import Observe
from voxpath.results.intervals import Summary, paired, summarise
from voxpath.results.tables import tables
from voxpath.studies.sarkar2022 import quic
from voxpath.studies.sarkar2022.scenario import (
    AS_PUBLISHED,
    LOSSES,
    NOISE,
    SEGMENT,
    VARIANTS,
    Change,
    document,
    noise,
    over_udp,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voxpath.results.answers import Variant
    from voxpath.results.decisions import Decision
    from voxpath.results.outcome import Outcome
    from voxpath.results.rows import Row
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
        traces: Of the cells whose curves are judged, and whose waiting is added up packet by packet.
        map_replications: Of every cell of the map.
        map_losses: Rows of the map.
        map_round_trips: Columns of the map: propagation both ways, in milliseconds.
        map_windows: Panels of the map, in segments.
        real_replications: Of every cell that runs on the kernel, on the wall clock.
        real_losses: Rows of Table 8 that do.
        quic: Downloads over QUIC, by loss.
    """

    replications: int
    cause_losses: Sequence[str]
    traces: int
    map_replications: int
    map_losses: Sequence[str]
    map_round_trips: Sequence[int]
    map_windows: Sequence[int]
    real_replications: int
    real_losses: Sequence[str]
    quic: Mapping[str, int]


# Without loss nothing of a download over QUIC is left to chance.
_QUIC = {"0 %": 1, "0.01 %": 5, "0.1 %": 5, "1 %": 10, "10 %": 10}
FULL = Effort(30, ("1 %", "10 %"), 5, 10, LOSSES, (10, 40, 100, 200, 400), (6, 22, 44), 5, LOSSES, _QUIC)
QUICK = Effort(5, ("10 %",), 1, 2, ("0 %", "1 %", "10 %"), (10, 40, 200), (6, 44), 2, LOSSES[:4], {"10 %": 3})

NO_LOST_ACKS = "no acknowledgment is lost"
BIT_ERRORS = "bit errors, not dropped packets"
NO_BACK_OFF = "no back-off (RTO at most 1 s)"
FLOOR = "RTO floor of 0.2 s"
CLOCK = "clock of 1 ms"
FLOOR_AND_CLOCK = "RTO floor of 0.2 s and clock of 1 ms"
NEITHER = "neither lost acknowledgments nor back-off"
PROMPT = "no delayed acknowledgments"
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
    PROMPT: Change({"delayed_ack": {"max_delay": "0 s"}}),
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
CANDIDATE = "candidate: all three"
TESTBED: Mapping[str, Change] = {
    NO_LOST_ACKS: CAUSES[NO_LOST_ACKS],
    PER_ACK: Change({"byte_counting": False}),
    NO_FAST_RETRANSMIT: Change({"dupack_threshold": 10}),
    PROMPT: CAUSES[PROMPT],
    CANDIDATE: Change({"byte_counting": False, "dupack_threshold": 10}, both_ways=False),
}
"""What may make a loss dearer in the testbed of Table 8 than in `linux`."""

_LOST = (3000,)
ONE_LOSS = "one segment is lost"
ONE_LOSS_NO_FAST_RETRANSMIT = f"{ONE_LOSS}, {NO_FAST_RETRANSMIT}"
SSTHRESH = "initial ssthresh of 65,535 bytes"
SINGLE: Mapping[str, Change] = {
    ONE_LOSS: Change(lost=_LOST),
    ONE_LOSS_NO_FAST_RETRANSMIT: Change(TESTBED[NO_FAST_RETRANSMIT].tcp, lost=_LOST),
    SSTHRESH: Change({"initial_ssthresh": "65535 B"}),
}
"""Runs that need no replications of the simulator: nothing in them is left to chance."""

KERNEL_CHANGES: Mapping[str, Sequence[str]] = {
    "0 %": ("", NO_ETHERNET, LONGER, PROMPT, ONE_LOSS, ONE_LOSS_NO_FAST_RETRANSMIT),
    "0.01 %": ("", NO_FAST_RETRANSMIT),
    "0.1 %": ("", NO_FAST_RETRANSMIT),
    "1 %": ("", NO_FAST_RETRANSMIT, PROMPT, NO_LOST_ACKS),
    "10 %": ("", NO_FAST_RETRANSMIT, PROMPT, NO_LOST_ACKS),
}
"""What `linux` is on the kernel, by loss: as published, and with what the kernel can be told changed."""

SACK = "SACK"
NEWEST = "linux today: CUBIC with SACK"
BBR = "linux today: BBR with SACK"
TODAY = {
    "riverbed16, 6 segments": Cell("riverbed16", ""),
    "linux: Reno, 6 segments": Cell("linux", ""),
    "linux: Reno with SACK, 6 segments": Cell("linux", "", SACK),
    NEWEST: Cell("today", ""),
    BBR: Cell("bbr", ""),
}
"""Stacks on the published channel, by what they are called in plots; the loss is to be filled in."""

CHANGES: Mapping[str, Change] = {
    "": AS_PUBLISHED,
    **CAUSES,
    **WIRES,
    **TESTBED,
    **SINGLE,
    # With SACK Linux lets 8760 bytes become seven segments: here they are to stay six.
    SACK: Change({"sack": True, "receive_accounting": "octets"}),
    BIT_ERRORS: Change(bits=True),
}

LADDER_LOSS = "1 %"
"""Figure 10 shows this scenario."""

PACKETS = (1250, 1500)
"""Packet lengths of Table 1, in bytes."""


def noise_cell(size: int) -> Cell:
    """The cell of `scenario.noise`."""
    return Cell("stream", f"BER {NOISE:g}", f"{size} bytes")


def udp_cell(loss: str) -> Cell:
    """The cell of `scenario.over_udp`."""
    return Cell("coap", loss)


_TRACE = Observe(tcp=True, packets=True)
_TCP = Observe(tcp=True)


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
        asked[Cell("riverbed16", loss, traced=True)] = (AS_PUBLISHED, range(effort.traces))
    for loss in effort.cause_losses:
        for name, change in CAUSES.items():
            asked[Cell("riverbed16", loss, name)] = (change, many)
        for variant in VARIANTS:
            asked[Cell(variant, loss, BIT_ERRORS)] = (CHANGES[BIT_ERRORS], many)
    asked[Cell("riverbed16", "10 %", NO_LOST_ACKS, traced=True)] = (
        CHANGES[NO_LOST_ACKS],
        range(effort.traces),
    )
    asked[Cell("linux", LADDER_LOSS, traced=True)] = (AS_PUBLISHED, range(1))
    for variant in VARIANTS:
        asked[Cell(variant, "0 %", ONE_LOSS, traced=True)] = (SINGLE[ONE_LOSS], range(1))
    for name in (ONE_LOSS, ONE_LOSS_NO_FAST_RETRANSMIT, PROMPT):
        asked[Cell("linux", "0 %", name)] = (CHANGES[name], range(1))
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
    made |= {noise_cell(size): Question(noise(size), many) for size in PACKETS}
    return made | {udp_cell(loss): Question(over_udp(loss), many) for loss in LOSSES}


def kernel_questions(effort: Effort) -> dict[Cell, Question]:
    """Every cell that runs on the kernel; those that take longest first, so that none is left to wait for."""
    return {
        Cell("linux", loss, name): Question(
            document("linux", loss, CHANGES[name]), range(effort.real_replications), _TCP
        )
        for loss in reversed(effort.real_losses)
        for name in KERNEL_CHANGES[loss]
    }


QUIC_CONTROL: quic.Control = "cubic"
"""As today's TCP has it."""

SIM, KERNEL = "sim", "real"
"""Who makes runs: the simulator, and today's kernel."""


class Found:
    """What came back, cell by cell."""

    def __init__(
        self,
        variants: Mapping[Cell, Variant],
        effort: Effort,
        tested: Mapping[Cell, Variant] | None = None,
        over_quic: Mapping[str, Sequence[float]] | None = None,
    ) -> None:
        """Takes what the simulator and the formulas said, and what the kernel did.

        Args:
            variants: Of the simulator and the formulas.
            effort: How much was run.
            tested: Of the kernel; of it those runs count that were on time.
            over_quic: Times of downloads over QUIC in seconds, by loss.
        """
        self.effort = effort
        self.over_quic = over_quic or {}
        self._variants = variants
        self._tested = {cell: _on_time(variant) for cell, variant in (tested or {}).items()}

    @cached_property
    def simulated(self) -> bool:
        """Whether the simulator was asked."""
        return any(variant.outcomes for variant in self._variants.values())

    @cached_property
    def tested(self) -> bool:
        """Whether the kernel was asked."""
        return any(variant.outcomes for variant in self._tested.values())

    @property
    def real_outcomes(self) -> list[Outcome]:
        """The runs on the kernel, whether they were on time or not."""
        return [outcome for variant in self._tested.values() for outcome in variant.outcomes]

    def row(self, cell: Cell, metric: str, estimator: str = SIM) -> Row | None:
        """The row of an estimator; none where it was not asked."""
        variant = self._variant(cell, estimator)
        rows = () if variant is None else variant.rows
        return next((row for row in rows if (row.metric, row.estimator) == (metric, estimator)), None)

    def values(self, cell: Cell, metric: str, source: str = SIM) -> list[float]:
        """A metric, replication by replication; none unless every run has one: some are no fair sample."""
        row = self.row(cell, metric, source)
        variant = self._variant(cell, source)
        if row is None or variant is None or row.status != "ok":
            return []
        return [float(value) for value in variant.samples(row).get_column("value")]

    def summary(self, cell: Cell, metric: str, source: str = SIM) -> Summary | None:
        """Mean and interval of a metric."""
        values = self.values(cell, metric, source)
        return summarise(values) if values else None

    def slower(self, cell: Cell, base: Cell, metric: str = "completion_s") -> Summary | None:
        """The mean of the paired differences to a cell with the same random streams."""
        values, reference = self.values(cell, metric), self.values(base, metric)
        return paired(values, reference) if values and len(values) == len(reference) else None

    def as_slow(self, cell: Cell, base: Cell, share: float, metric: str = "completion_s") -> Decision:
        """Whether the mean is within a share of that of a cell with the same random streams."""
        values, reference = self.values(cell, metric), self.values(base, metric)
        return near(values, reference, share) if values and len(values) == len(reference) else None

    def trace(self, cell: Cell, table: str, source: str = SIM) -> Sequence[pl.DataFrame]:
        """`series`, `packets` or `elements` of each run of a cell."""
        variant = self._variant(cell, source)
        outcomes = () if variant is None else variant.outcomes
        return tables([[outcome] for outcome in outcomes if outcome.valid], table)

    def _variant(self, cell: Cell, source: str) -> Variant | None:
        return self._tested.get(cell) if source == KERNEL else self._variants.get(cell)


def _on_time(variant: Variant) -> Variant:
    """Without the runs that were too late: how late a run is has nothing to do with what it found."""
    frame = variant.frames.get(KERNEL)
    if frame is None or frame.is_empty():
        return variant
    valid = [outcome.replication for outcome in variant.outcomes if outcome.valid]
    kept = frame.filter(pl.col("replication").is_in(valid))
    return replace(variant, rows=rows(kept, KERNEL), frames={KERNEL: kept})


def ask_all(ask: Ask, effort: Effort) -> Found:
    """Asks everything."""
    asked, tested = questions(effort), kernel_questions(effort)
    simulated = ask(list(asked.values()), (SIM, "formula"))
    real = ask(list(tested.values()), (KERNEL,))
    over_quic = {}
    if not lacking("quic") and any(variant.outcomes for variant in simulated):
        over_quic = {
            loss: [quic.download_s(loss, QUIC_CONTROL, replication) for replication in range(replications)]
            for loss, replications in effort.quic.items()
        }
    return Found(
        dict(zip(asked, simulated, strict=True)), effort, dict(zip(tested, real, strict=True)), over_quic
    )
