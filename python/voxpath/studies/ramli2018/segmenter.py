"""What else the introduction names: sentences cut by the client, and recognition after all audio has come.

A client that cuts speech into sentences sends each one when it is over. How long that takes, after the end of
the sentence, is the delay of which Jarin et al. 2017 say what is acceptable. A service that waits for all
audio, as one that takes a file by HTTP PUT does, decodes from then on; one that streams has decoded most of
it by then.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from voxpath.backends.base import Question
from voxpath.document import Cell, Check, Checks, Table
from voxpath.results.decisions import above, all_of, below, within
from voxpath.results.intervals import paired, quantile, ratio, summarise
from voxpath.studies.base import shown
from voxpath.studies.ramli2018.measured import of_flows
from voxpath.studies.ramli2018.region import MIDDLE, network
from voxpath.studies.ramli2018.scenario import (
    ROOMY,
    SETTINGS,
    first_reading,
    length_s,
    published,
    simulated,
)
from voxpath.voice.speech.samples import GROWING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voxpath.document import Part
    from voxpath.results.answers import Variant
    from voxpath.results.intervals import Quantile

_CLAIMS = published()["claims_beside"]
_ROUND_TRIPS_MS = (_CLAIMS["acceptable"]["round_trip_ms"], 2 * _CLAIMS["acceptable"]["round_trip_ms"])
_SENTENCES = (GROWING[0], GROWING[3], GROWING[5])
"""Of 2, 6 and 10 s: whole prompts stand for sentences."""

STACKS: Mapping[str, Mapping[str, Any]] = {
    "Linux (CUBIC)": {},
    "Reno, three segments at first, no SACK": {
        "congestion": "reno",
        "initial_window": "3 segments",
        "sack": False,
    },
}
"""Of both ends, by name; the second is what a model of TCP of 2017 has."""

_P = 0.95


class Sentence(NamedTuple):
    """A sentence that is sent when it is over.

    Attributes:
        stack: A name of `STACKS`.
        round_trip_ms: Of propagation.
        utterance: The prompt.
    """

    stack: str
    round_trip_ms: int
    utterance: str


class Found(NamedTuple):
    """What came back.

    Attributes:
        sentences: That were cut by the client.
        afterwards: By setting, those that were recognised after all of their audio had come.
        streamed: By setting, the same ones recognised as they came.
    """

    sentences: Mapping[Sentence, Variant]
    afterwards: Mapping[int, Variant]
    streamed: Mapping[int, Variant]


def sentences(replications: int) -> dict[Sentence, Question]:
    """Each length with each stack and round trip, at the loss that bounds what is acceptable."""
    asked = {}
    for stack, tcp in STACKS.items():
        for round_trip in _ROUND_TRIPS_MS:
            path = network(round_trip, _CLAIMS["acceptable"]["loss"], "10 Mbit/s")
            for utterance in _SENTENCES:
                document = simulated(
                    f"a sentence, {round_trip} ms, {stack}",
                    replace(path, queue=ROOMY),
                    utterance,
                    paced=True,
                    # One message, which is sent when its audio is over.
                    block_ms=int(1000 * length_s(utterance)) + 1,
                    tcp=tcp,
                )
                asked[Sentence(stack, round_trip, utterance)] = Question(document, range(replications))
    return asked


def afterwards(replications: int) -> dict[int, Question]:
    """The live sessions of every setting with loss set, recognised after all of the audio has come."""
    return {
        setting.number: Question(
            simulated(
                setting.name, first_reading(setting, produced=False), MIDDLE, paced=True, afterwards=True
            ),
            range(replications),
        )
        for setting in SETTINGS
    }


def parts(found: Found) -> list[Part]:
    """Tables and checks; none where nothing was answered."""
    return [*_acceptable(found), *_waiting(found)]


def _delays(found: Found, stack: str, round_trip_ms: int) -> list[float]:
    """From the end of each sentence until all of it has come and a result, without decoding, is back."""
    return [
        one.network_s - one.length_s
        for sentence, variant in found.sentences.items()
        if sentence[:2] == (stack, round_trip_ms)
        for one in of_flows(sentence.utterance, variant.flows)
    ]


def _acceptable(found: Found) -> list[Part]:
    acceptable, doubled = _CLAIMS["acceptable"], _CLAIMS["doubled"]
    rows: list[list[str | Cell]] = []
    checks = []
    for stack in STACKS:
        delays = [_delays(found, stack, round_trip) for round_trip in _ROUND_TRIPS_MS]
        if not all(delays):
            return []
        late = [quantile(one, _P) for one in delays]
        for round_trip, values, last in zip(_ROUND_TRIPS_MS, delays, late, strict=True):
            rows.append([stack, f"{round_trip} ms", str(len(values)), str(quantile(values, 0.5)), str(last)])
        near, far = 2 * (1 - doubled["share"]), 2 * (1 + doubled["share"])
        checks += [
            Check(
                f"{acceptable['text']} 95 % of them are there by then; {stack}.",
                below(_ends(late[0]), acceptable["delay_s"]),
                f"{late[0]} s at a loss of {acceptable['loss']}",
            ),
            Check(
                f"{doubled['text']} Within {100 * doubled['share']:g} %; {stack}.",
                within(ratio(late[1], late[0]), near, far),
                f"{late[1]} s against {late[0]} s: {late[1].value / late[0].value:.2f} times",
            ),
        ]
    lengths = ", ".join(f"{length_s(name):.1f}" for name in _SENTENCES)
    table = Table(
        "A sentence that the client cuts and sends when it is over: from its end until it has come, s",
        ("stack", "round trip", "sentences", "median", "95 %"),
        rows,
        (
            f"Loss of {acceptable['loss']}; prompts of {lengths} s, 256 kbit/s.",
            "With the opening of the connection and the way of the result, without decoding.",
            "With the order-statistic interval of each quantile.",
        ),
    )
    return [table, Checks("The acceptable delay of a sentence", checks)]


def _ends(one: Quantile) -> tuple[float, float] | None:
    return None if one.low is None or one.high is None else (one.low, one.high)


def _waits(variant: Variant) -> Sequence[float]:
    return [one.response_s for one in of_flows(MIDDLE, variant.flows)]


def _waiting(found: Found) -> list[Part]:
    waits = {
        number: (_waits(found.afterwards[number]), _waits(found.streamed[number]))
        for number in found.afterwards
    }
    if not waits or not all(all(both) for both in waits.values()):
        return []
    longer = {number: paired(*both) for number, both in waits.items()}
    rows: list[list[str | Cell]] = [
        [
            SETTINGS[number - 1].name,
            *(shown(summarise(values)) for values in reversed(both)),
            shown(longer[number]),
        ]
        for number, both in waits.items()
    ]
    check = Check(
        _CLAIMS["streaming"]["text"],
        all_of(map(above, longer.values())),
        "; ".join(f"setting {number}: by {shown(one)} s" for number, one in longer.items()),
    )
    return [
        Table(
            "From the last audio to the final result, s",
            ("setting", "recognised as it comes", "after all has come", "longer by"),
            rows,
            (
                f"{length_s(MIDDLE):.1f} s of speech, live, loss set, the recorded recogniser.",
                "After all has come: as a service does that takes a file by HTTP PUT.",
                "Differences are paired.",
            ),
        ),
        Checks("Recognition after all audio", [check]),
    ]
