"""What the study asks of whom, all at once, and what came back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from voxpath.backends.base import Question
from voxpath.results.intervals import Summary, summarise
from voxpath.results.tables import tables
from voxpath.studies.ramli2018 import candidates, machine, push, region, segmenter
from voxpath.studies.ramli2018.measured import Measured, of_flows, of_programs
from voxpath.studies.ramli2018.scenario import (
    FASTER,
    SETTINGS,
    SETTLED_S,
    WATCHED_S,
    Edge,
    Network,
    Setting,
    alone,
    first_reading,
    real,
    second_reading,
    simulated,
)
from voxpath.voice.speech.samples import GROWING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from voxpath.results.answers import Variant
    from voxpath.results.outcome import Outcome
    from voxpath.studies.base import Ask

SIM, REAL = "sim", "real"


class Way(NamedTuple):
    """How a setting is made.

    Attributes:
        source: By the simulator, or on real hosts.
        produced: Whether the background makes the loss; else it is set.
        paced: Whether audio is sent as it is spoken; else as fast as TCP takes it.
        reading: Of the delays, the first or the second.
        edge: How a real client is joined.
        faster: How many times as fast as the recorded recogniser a simulated one is.
    """

    source: str
    produced: bool = False
    paced: bool = False
    reading: int = 1
    edge: Edge = "bridge"
    faster: float = 1.0

    @property
    def name(self) -> str:
        """In words."""
        parts = ["simulated" if self.source == SIM else f"real ({self.edge})"]
        parts.append("loss by queueing" if self.produced else "loss set")
        parts += ["live"] if self.paced else []
        parts += ["second reading"] if self.reading == 2 else []
        parts += [f"decoder {self.faster:g} times as fast"] if self.faster != 1 else []
        return ", ".join(parts)


FILE_SET = Way(SIM)
FILE_PRODUCED = Way(SIM, produced=True)
LIVE_SET = Way(SIM, paced=True)
LIVE_PRODUCED = Way(SIM, produced=True, paced=True)
SECOND = Way(SIM, reading=2)
FILE_FAST = Way(SIM, faster=FASTER)
REAL_PRODUCED = Way(REAL, produced=True)
REAL_SET = Way(REAL, edge="tun")
REAL_LIVE = Way(REAL, produced=True, paced=True)
REAL_TUN = Way(REAL, produced=True, edge="tun")

SIMULATED = (FILE_SET, FILE_PRODUCED, LIVE_SET, LIVE_PRODUCED, SECOND, FILE_FAST)
COUNTERPARTS = {REAL_PRODUCED: FILE_PRODUCED, REAL_SET: FILE_SET}
"""Of ways of real files, what simulates them."""


@dataclass(frozen=True)
class Effort:
    """How much is run.

    Attributes:
        simulated: Utterances of the simulated settings.
        replications: Of each of them in every setting.
        utterances: Of the real runs.
        real: Which settings are run how on real hosts.
        real_replications: Of each of these.
        region: Of the map.
    """

    simulated: Sequence[str]
    replications: int
    utterances: Sequence[str]
    real: Mapping[Way, Sequence[int]]
    real_replications: int
    region: region.Effort


_ALL = (1, 2, 3, 4)
FULL = Effort(
    GROWING,
    30,
    GROWING,
    {REAL_PRODUCED: _ALL, REAL_SET: _ALL, REAL_TUN: (1,), REAL_LIVE: _ALL},
    3,
    region.FULL,
)
QUICK = Effort(
    (GROWING[0], GROWING[5], GROWING[-1]),
    5,
    (GROWING[0], GROWING[5]),
    {REAL_PRODUCED: (1, 4), REAL_SET: (1,)},
    1,
    region.QUICK,
)


class Pushed(NamedTuple):
    """Results told by other ways.

    Attributes:
        live: The sessions whose they are, by setting.
        told: What became of them, by setting and replication.
    """

    live: Mapping[int, Sequence[Outcome]]
    told: Mapping[tuple[int, int], Variant]


class Found:
    """What came back."""

    def __init__(
        self,
        effort: Effort,
        simulated_: Mapping[tuple[Way, int, str], Variant],
        made: Mapping[tuple[Way, int], Variant],
        region_: region.Found,
        changed: Mapping[tuple[str, str], Variant],
        pushed: Pushed | None = None,
        cut: segmenter.Found | None = None,
        alike: Mapping[tuple[Way, int], Way] | None = None,
        backgrounds: Mapping[tuple[int, int], Variant] | None = None,
    ) -> None:
        """Takes what was answered.

        Args:
            effort: How much was run.
            simulated_: By way, setting and utterance.
            made: On real hosts, by way and setting: all utterances in one run.
            region_: Of the map.
            changed: Of `candidates`.
            pushed: Of `push`.
            cut: Of `segmenter`.
            alike: Of real ways and settings, what simulates them with a decoder as fast as the real one was.
            backgrounds: Without speech, by setting and when they were cut.
        """
        self.effort = effort
        self._backgrounds = backgrounds or {}
        self.changed = changed
        self.alike = alike or {}
        self.pushed = pushed or Pushed({}, {})
        self.cut = cut or segmenter.Found({}, {}, {})
        self.region = region_
        self._measured: dict[tuple[Way, int], list[Measured]] = {}
        self._variants: dict[tuple[Way, int], list[Variant]] = {}
        for (way, number, utterance), variant in simulated_.items():
            self._variants.setdefault((way, number), []).append(variant)
            self.add(way, SETTINGS[number - 1], of_flows(utterance, variant.flows))
        for (way, number), variant in made.items():
            self._variants[way, number] = [variant]
            self.add(way, SETTINGS[number - 1], of_programs(variant.outcomes))

    def add(self, way: Way, setting: Setting, measured: Iterable[Measured]) -> None:
        """Takes what was measured in a setting."""
        self._measured.setdefault((way, setting.number), []).extend(measured)

    @cached_property
    def ways(self) -> list[Way]:
        """Those with answers, simulated ones first."""
        return [way for way in dict.fromkeys(way for way, _ in self._measured) if self.settings(way)]

    def settings(self, way: Way) -> list[Setting]:
        """Those that were made in a way."""
        return [setting for setting in SETTINGS if self._measured.get((way, setting.number))]

    def measured(self, way: Way, setting: Setting) -> list[Measured]:
        """Every utterance of every run."""
        return self._measured.get((way, setting.number), [])

    def values(
        self, way: Way, setting: Setting, of: Callable[[Measured], float], utterance: str | None = None
    ) -> list[float]:
        """A measure of an utterance, run by run; of all of them their mean in each run."""
        runs: dict[int, list[float]] = {}
        for one in self.measured(way, setting):
            if utterance in (None, one.utterance):
                runs.setdefault(one.replication, []).append(of(one))
        return [sum(values) / len(values) for _, values in sorted(runs.items())]

    def summary(
        self, way: Way, setting: Setting, of: Callable[[Measured], float], utterance: str | None = None
    ) -> Summary | None:
        """Mean and interval of these."""
        values = self.values(way, setting, of, utterance)
        return summarise(values) if values else None

    def lengths(self, way: Way, setting: Setting) -> dict[str, float]:
        """The utterances of a way by their names, shortest first, with their lengths in seconds."""
        found = {one.utterance: one.length_s for one in self.measured(way, setting)}
        return dict(sorted(found.items(), key=lambda item: item[1]))

    def outcomes(self, way: Way, setting: Setting) -> list[Outcome]:
        """The runs of a setting that count."""
        variants = self._variants.get((way, setting.number), [])
        return [outcome for variant in variants for outcome in variant.outcomes if outcome.valid]

    def doubt(self, way: Way, settings: Sequence[Setting]) -> str:
        """Why what the runs of a way found is not counted; empty where it is, as of simulated ones."""
        if way.source != REAL:
            return ""
        return machine.doubt_of([outcome for setting in settings for outcome in self.outcomes(way, setting)])

    def loss(self, way: Way, setting: Setting) -> Summary | None:
        """Of packets towards the server at the bottleneck: share of those that come there in whole runs."""
        # Every utterance of a replication meets the same draws.
        runs: dict[int, list[tuple[int, int]]] = {}
        for outcome in self.outcomes(way, setting):
            runs.setdefault(outcome.replication, []).append(_met(outcome))
        shares = [sum(lost for lost, _ in met) / sum(came for _, came in met) for met in runs.values()]
        return summarise(shares) if shares else None

    def background_loss(self, setting: Setting) -> Summary | None:
        """The same of the background alone, for a minute from when the first utterance may begin."""
        cuts = [
            {
                outcome.replication: _met(outcome)
                for outcome in self._backgrounds[setting.number, until].outcomes
            }
            for until in _CUTS
            if (setting.number, until) in self._backgrounds
        ]
        if not all(cuts) or not cuts:
            return None
        before, until = cuts
        shares = [
            (lost - before[replication][0]) / (came - before[replication][1])
            for replication, (lost, came) in until.items()
        ]
        return summarise(shares)


_CUTS = (SETTLED_S, SETTLED_S + WATCHED_S)


def _met(outcome: Outcome) -> tuple[int, int]:
    """Of packets towards the server at the bottleneck: those that were lost, and those that came."""
    (frame,) = tables([[outcome]], "elements")
    here = frame.filter(pl.col("place") == "bottleneck ab")
    return sum(here.get_column("packets_dropped")), max(here.get_column("packets_in").to_list())


def ask_all(ask: Ask, effort: Effort) -> Found:
    """Asks everything."""
    simulated_ = {
        (way, setting.number, utterance): _session(effort, way, setting, utterance)
        for way in SIMULATED
        for setting in SETTINGS
        for utterance in effort.simulated
    }
    made = {
        (way, number): Question(
            real(
                SETTINGS[number - 1].name,
                _network(way, SETTINGS[number - 1]),
                effort.utterances,
                paced=way.paced,
                edge=way.edge,
            ),
            range(effort.real_replications),
        )
        for way, numbers in effort.real.items()
        for number in numbers
    }
    cut = {
        (setting.number, until): Question(
            alone(setting.name, first_reading(setting, produced=True), until), range(effort.replications)
        )
        for setting in SETTINGS
        for until in _CUTS
    }
    changed = candidates.questions(effort.replications)
    sentences = segmenter.sentences(effort.replications)
    afterwards = segmenter.afterwards(effort.replications)
    points, real_points = region.questions(effort.region), region.real_questions(effort.region)
    by_sim = ask(
        [
            question
            for asked in (simulated_, cut, changed, points, sentences, afterwards)
            for question in asked.values()
        ],
        (SIM,),
    )
    by_real = ask([*made.values(), *real_points.values()], (REAL,))
    answers, real_answers = iter(by_sim), iter(by_real)
    answered = {key: next(answers) for key in simulated_}
    backgrounds = {key: next(answers) for key in cut}
    answered_really = {key: next(real_answers) for key in made}
    alike = _alike(effort, answered, answered_really)
    as_fast = {
        (way, number, utterance): _session(effort, way, SETTINGS[number - 1], utterance)
        for (_, number), way in alike.items()
        for utterance in effort.utterances
    }
    answered |= dict(zip(as_fast, ask([*as_fast.values()], (SIM,)), strict=True))
    return Found(
        effort,
        answered,
        answered_really,
        changed={key: next(answers) for key in changed},
        region_=region.Found(
            effort.region,
            {key: next(answers) for key in points},
            {key: next(real_answers) for key in real_points},
        ),
        cut=segmenter.Found(
            {key: next(answers) for key in sentences},
            {key: next(answers) for key in afterwards},
            {number: answered[LIVE_SET, number, region.MIDDLE] for number in afterwards},
        ),
        pushed=_pushed(ask, answered),
        alike=alike,
        backgrounds=backgrounds,
    )


def _session(effort: Effort, way: Way, setting: Setting, utterance: str) -> Question:
    return Question(
        simulated(setting.name, _network(way, setting), utterance, paced=way.paced, faster=way.faster),
        range(effort.replications),
    )


def _alike(
    effort: Effort,
    simulated_: Mapping[tuple[Way, int, str], Variant],
    made: Mapping[tuple[Way, int], Variant],
) -> dict[tuple[Way, int], Way]:
    """How fast the real recogniser was beside the recorded one, to two digits.

    Audio that is on its way while the recogniser is busy costs a session nothing, so that a slower one
    hides more of the network.
    """
    found = {}
    for (way, number), variant in made.items():
        if way not in COUNTERPARTS:
            continue
        counterpart = COUNTERPARTS[way]
        times = [one.decoding_s for one in of_programs(variant.outcomes)]
        recorded = [
            one.decoding_s
            for utterance in effort.utterances
            for one in of_flows(utterance, simulated_[counterpart, number, utterance].flows)
        ]
        if not times or not recorded:
            continue
        faster = fmean(recorded) / fmean(times)
        found[way, number] = counterpart._replace(faster=float(f"{faster:.2g}"))
    return found


def _pushed(ask: Ask, answered: Mapping[tuple[Way, int, str], Variant]) -> Pushed:
    """Has the results of the live sessions told by every way."""
    live = {
        setting.number: answered[LIVE_SET, setting.number, region.MIDDLE].outcomes for setting in SETTINGS
    }
    questions = push.questions(live)
    return Pushed(live, dict(zip(questions, ask([*questions.values()], (SIM,)), strict=True)))


def _network(way: Way, setting: Setting) -> Network:
    reading = first_reading if way.reading == 1 else second_reading
    return reading(setting, produced=way.produced)
