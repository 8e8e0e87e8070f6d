"""What the study asks, and what came back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from voxpath.backends.base import Question
from voxpath.backends.real.problems import RealError
from voxpath.results.identity import Observe
from voxpath.results.intervals import Summary, summarise
from voxpath.results.tables import tables
from voxpath.studies.thapa2023 import cited, emergency, later, scenario
from voxpath.studies.thapa2023.measures import Capture, captures
from voxpath.studies.thapa2023.scenario import (
    LAN,
    NETWORKS,
    RECEIVER,
    SENDER,
    SOURCES,
    WAYS,
    Source,
    payloads,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from voxpath.results.answers import Variant
    from voxpath.studies.base import Ask
    from voxpath.studies.thapa2023.cited import Cited
    from voxpath.studies.thapa2023.emergency import Delays
    from voxpath.studies.thapa2023.later import Told

SIM, REAL = "sim", "real"
ENDS = (SENDER, RECEIVER)


class Cell(NamedTuple):
    """A set-up.

    Attributes:
        network: `LAN` or `Internet`.
        way: `socket` or `MQTT`.
        payload: As the publication has it.
        source: `file` or `byte`, where programs send; none of these matters to the simulator.
    """

    network: str
    way: str
    payload: str
    source: Source | None = None


@dataclass(frozen=True)
class Effort:
    """How much is run.

    Attributes:
        replications: Simulated, of each cell.
        real: On real hosts, of each cell.
        real_networks: Where.
        real_payloads: Of what sizes; all without any.
        real_sources: Files, bytes, or both.
        beyond: Simulated, of each cell that goes on where the publication ends.
    """

    replications: int
    real: int
    real_networks: tuple[str, ...]
    real_payloads: tuple[str, ...]
    real_sources: tuple[Source, ...]
    beyond: int


FULL = Effort(150, 5, NETWORKS, (), SOURCES, 30)
QUICK = Effort(5, 1, (LAN,), ("10 B", "100 kB"), ("byte",), 3)

_PACKETS = Observe(packets=True)


@dataclass(frozen=True)
class Taken:
    """What one run measured at both ends.

    Attributes:
        header: Octets of TCP headers.
        out: Of these, those that the host sent itself.
        offloaded: As a capture above the offload has them.
        seconds: The transfer took.
        stream: Octets that TCP carried, none of them twice.
        segments: With data.
    """

    header: Mapping[str, int]
    out: Mapping[str, int]
    offloaded: Mapping[str, int]
    seconds: Mapping[str, float]
    stream: Mapping[str, int]
    segments: Mapping[str, int]


def _taken(both: Iterable[Capture]) -> Taken:
    by_host = {capture.host: capture for capture in both}

    return Taken(
        {host: capture.header_bytes for host, capture in by_host.items()},
        {host: capture.one_way_bytes(out=True) for host, capture in by_host.items()},
        {host: capture.offloaded_bytes for host, capture in by_host.items()},
        {host: capture.seconds for host, capture in by_host.items()},
        {host: capture.stream_bytes for host, capture in by_host.items()},
        {host: capture.data_segments for host, capture in by_host.items()},
    )


class Found:
    """What came back, cell by cell.

    Attributes:
        effort: How much was run.
        without: Why there is nothing of real hosts; empty where there is.
        later: What goes on where the publication ends.
        emergencies: Messages with deadlines.
        beside: CoAP beside MQTT.
    """

    def __init__(
        self,
        effort: Effort,
        simulated: Mapping[Cell, Variant],
        real: Mapping[Cell, Variant],
        without: str,
        later: Told,
        emergencies: Delays,
        beside: Cited,
    ) -> None:
        """Takes the answers."""
        self.later, self.emergencies, self.beside = later, emergencies, beside
        self.effort = effort
        self.without = without
        self._answers = {SIM: simulated, REAL: real}

    @cached_property
    def _runs(self) -> dict[tuple[str, Cell], list[Taken]]:
        found = {}
        for source, answers in self._answers.items():
            for cell, variant in answers.items():
                valid = [outcome for outcome in variant.outcomes if outcome.valid]
                frames = tables([[outcome] for outcome in valid], "packets")
                found[source, cell] = [_taken(captures(frame, cell.network)) for frame in frames]
        return found

    def cells(self, source: str) -> list[Cell]:
        """Those with runs."""
        return [cell for (of, cell), runs in self._runs.items() if of == source and runs]

    def runs(self, cell: Cell, source: str = SIM) -> list[Taken]:
        """The valid runs of a cell."""
        return self._runs.get((source, cell), [])

    def mean(self, cell: Cell, value: Callable[[Taken], float], source: str = SIM) -> Summary | None:
        """The mean of a value over the runs of a cell; none without any."""
        values = [value(run) for run in self.runs(cell, source)]
        return summarise(values) if values else None

    def ratio(
        self, cell: Cell, other: Cell, value: Callable[[Taken], float], source: str = SIM
    ) -> Summary | None:
        """The mean of ratios of a cell's runs and another one's, in pairs: networks are drawn alike."""
        pairs = zip(self.runs(cell, source), self.runs(other, source), strict=False)
        ratios = [value(one) / value(two) for one, two in pairs]
        return summarise(ratios) if ratios else None


def simulated_questions(effort: Effort) -> dict[Cell, Question]:
    """Every cell that the simulator answers."""
    many = range(effort.replications)
    return {
        Cell(network, way, payload): Question(scenario.simulated(network, way, payload), many, _PACKETS)
        for network in NETWORKS
        for way in WAYS
        for payload in payloads()
    }


def real_questions(effort: Effort) -> dict[Cell, Question]:
    """Those that programs answer on real hosts."""
    return {
        Cell(network, way, payload, source): Question(
            scenario.real(network, way, payload, source), range(effort.real), _PACKETS
        )
        for network in effort.real_networks
        for way in WAYS
        for payload in effort.real_payloads or payloads()
        for source in effort.real_sources
    }


def ask_all(ask: Ask, effort: Effort) -> Found:
    """Asks everything; a machine that can have no real hosts answers without them."""
    asked, tested = simulated_questions(effort), real_questions(effort)
    more, urgent = later.questions(effort.beyond), emergency.questions(effort.beyond)
    beside = cited.questions(effort.beyond)
    answers = iter(ask([*asked.values(), *more.values(), *urgent.values(), *beside.values()], (SIM,)))
    simulated = dict(zip(asked, answers, strict=False))
    later_answers = dict(zip(more, answers, strict=False))
    urgent_answers = dict(zip(urgent, answers, strict=False))
    without = ""
    try:
        real = ask(list(tested.values()), (REAL,))
    except RealError as error:
        real, without = [], str(error)
    if not any(variant.outcomes for variant in real):
        without = without or "the backend real was not asked"
    return Found(
        effort,
        simulated,
        dict(zip(tested, real, strict=False)),
        without,
        later.Told(later_answers),
        emergency.Delays(urgent_answers),
        cited.Cited(dict(zip(beside, answers, strict=False))),
    )
