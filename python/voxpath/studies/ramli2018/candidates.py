"""What would make setting 1 slower than speech, as the publication has it: one thing changed at a time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from voxpath.backends.base import Question
from voxpath.document import Cell, Check, Checks, Table, Text
from voxpath.results.decisions import above, all_of
from voxpath.results.intervals import summarise
from voxpath.studies.base import shown
from voxpath.studies.ramli2018.measured import of_flows
from voxpath.studies.ramli2018.scenario import (
    LIMIT,
    SETTINGS,
    Network,
    first_reading,
    second_reading,
    simulated,
)
from voxpath.voice.speech.samples import GROWING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voxpath.document import Part
    from voxpath.results.answers import Variant
    from voxpath.studies.ramli2018.measured import Measured

UTTERANCES = (GROWING[0], GROWING[5], GROWING[-1])
"""Short, middle, long."""

BLOCK_S = 0.25
"""Audio in a message."""

_SETTING = SETTINGS[0]
_SET = first_reading(_SETTING, produced=False)
_PRODUCED = first_reading(_SETTING, produced=True)


@dataclass(frozen=True)
class Candidate:
    """A change of setting 1.

    Attributes:
        network: Its network.
        paced: Whether audio is sent as it is spoken.
        faster: How many times as fast as the recorded recogniser the server decodes.
        tcp: Keys of the stacks of speech.
    """

    network: Network = _SET
    paced: bool = False
    faster: float = 1.0
    tcp: Mapping[str, Any] = field(default_factory=dict)


AS_IT_IS = "setting 1, loss set"
SPOKEN = "sent as it is spoken"
SPOKEN_NEAR = "sent as it is spoken, neither loss nor delay"
CANDIDATES: Mapping[str, Candidate] = {
    AS_IT_IS: Candidate(),
    "loss by queueing": Candidate(_PRODUCED),
    "second reading of the delays": Candidate(second_reading(_SETTING, produced=False)),
    "loss of 5 %": Candidate(replace(_SET, loss="5 %")),
    "bottleneck of 1 Mbit/s with the same background": Candidate(replace(_PRODUCED, rate="1 Mbit/s")),
    "Reno, three segments at first, no SACK": Candidate(
        tcp={"congestion": "reno", "initial_window": "3 segments", "sack": False}
    ),
    "a third of the decoding speed": Candidate(faster=1 / 3),
    "a hundred times the decoding speed": Candidate(faster=100.0),
    SPOKEN: Candidate(paced=True),
    SPOKEN_NEAR: Candidate(Network(0.1, 0.1), paced=True),
}


def questions(replications: int) -> dict[tuple[str, str], Question]:
    """By candidate and utterance."""
    return {
        (name, utterance): Question(
            simulated(
                name,
                one.network,
                utterance,
                paced=one.paced,
                faster=one.faster,
                tcp=one.tcp,
            ),
            range(replications),
        )
        for name, one in CANDIDATES.items()
        for utterance in UTTERANCES
    }


def parts(answers: Mapping[tuple[str, str], Variant]) -> list[Part]:
    """The table, and what follows from it."""
    factors = {
        key: [_factor(one, paced=CANDIDATES[key[0]].paced) for one in of_flows(key[1], variant.flows)]
        for key, variant in answers.items()
    }
    if not any(factors.values()):
        return [Text(("Not asked: this part needs the backend sim.",))]
    rows: list[list[str | Cell]] = []
    for name in CANDIDATES:
        row: list[str | Cell] = [name]
        for utterance in UTTERANCES:
            summary = summarise(factors[name, utterance])
            row.append(Cell(shown(summary), "bad" if summary.mean > LIMIT else None))
        rows.append(row)
    near, far = (
        [summarise(factors[name, utterance]) for utterance in UTTERANCES] for name in (SPOKEN_NEAR, SPOKEN)
    )
    least = [min(found, key=lambda one: one.mean) for found in (near, far)]
    return [
        Table(
            "Total real-time factor, one thing changed in setting 1",
            ("changed", *UTTERANCES),
            rows,
            (
                "Marked where the mean is above 1.",
                "A block that is sent as it is spoken is sent when it is over: counted from its beginning.",
            ),
        ),
        Checks(
            "Checks",
            [
                Check(
                    "Audio that is sent as it is spoken has a total factor above 1 even without loss and "
                    "delay, so that the factors below 1 of the text are not of it.",
                    all_of(above(one, LIMIT) for one in (*near, *far)),
                    f"from {shown(least[0])} without, from {shown(least[1])} in setting 1",
                )
            ],
        ),
    ]


def _factor(one: Measured, *, paced: bool) -> float:
    """The total real-time factor from when somebody begins to speak."""
    return one.total_factor + (BLOCK_S / one.length_s if paced else 0.0)
