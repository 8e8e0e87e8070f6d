"""Plain and pharyngealised /a/ of a known vocal tract: measured, and checked by the area function.

Two pairs of postures. The untuned one has no regard to formants: an open vowel by lowered jaw and tongue, and
on it the gestures that the publication's introduction names, larynx raised and pharynx narrowed. The tuned
one is the best of a search for the publication's shifts, made here by the area function alone: it shows
what the model can reach, not what it predicts.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from voxpath.document import Cell, Check, Checks, Table
from voxpath.results.decisions import above, below
from voxpath.studies.karaoui2023.tables import row
from voxpath.voice.phonetics import measurement, praat, summary, synthesis, tract
from voxpath.voice.phonetics.contours import Contours, Frame
from voxpath.voice.phonetics.settings import Settings
from voxpath.voice.phonetics.textgrid import Interval, of_tiers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from voxpath.document import Outlines, Spectrogram
    from voxpath.voice.phonetics.measurement import Measurement
    from voxpath.voice.phonetics.synthesis import Muscles

SPEAKER = synthesis.Speaker("Male")
"""As the publication's: a man."""

PLAIN: Muscles = {"Masseter": -0.4, "Hyoglossus": 0.4}
"""Of the untuned pair: jaw and tongue body lowered, our choice of an open vowel."""

GESTURE: Muscles = {"Stylohyoid": 1.0, "Sphincter": 1.0}
"""Whole; what the introduction names: hyoid and larynx raised, pharynx constricted."""

STRENGTH = 0.2
"""Of the gesture, in the untuned pair: towards half of it the pharynx closes."""

JAWS = (0.0, -0.04, 0.04)
"""By which the jaw differs between repetitions of a vowel."""

FRAME_RATE_HZ = 50.0
_VOWEL_S, _GAP_S = 0.2, 0.06

HYOID_MM = 3.2
"""By which the hyoid is to rise in the tuned pair: 0.32 cm, Section III."""
_MM_PER_STYLOHYOID = 22.0

F1_WITHIN, OTHERS_WITHIN = 0.10, 0.06
"""Of the area function's resonances: the formants' tolerance, set after some postures had been seen."""


@dataclass(frozen=True)
class Pair:
    """Two postures of the same vowel.

    Attributes:
        name: `untuned` or `tuned`.
        plain: One.
        emphatic: The other.
    """

    name: str
    plain: Muscles
    emphatic: Muscles


@dataclass(frozen=True)
class Token:
    """A vowel that is synthesised.

    Attributes:
        context: `plain`, `half` or `pharyngealised`.
        muscles: Its posture.
    """

    context: str
    muscles: Muscles


def with_gesture(base: Muscles, gesture: Muscles, strength: float, jaw: float = 0.0) -> Muscles:
    """A posture with so much of a gesture on it."""
    names = {*base, *gesture}
    found = {name: base.get(name, 0.0) + strength * gesture.get(name, 0.0) for name in sorted(names)}
    return found | {"Masseter": found.get("Masseter", 0.0) + jaw}


def untuned() -> Pair:
    """The pair that nobody fitted."""
    return Pair("untuned", PLAIN, with_gesture(PLAIN, GESTURE, STRENGTH))


def published_shift() -> list[float]:
    """F1 to F4 beside the pharyngealised consonant less the text's plain ones."""
    return [a - b for a, b in zip(row("table2", "a_T_average"), row("text", "plain"), strict=True)]


@cache
def tuned() -> tuple[Pair, int]:
    """The pair whose resonances move most as published, and how many pairs were tried."""
    wanted = published_shift()
    plains = [
        {"Masseter": jaw, "Genioglossus": front}
        for jaw, front in itertools.product((-0.3, -0.4), (0.0, 0.25, 0.5))
    ]
    emphatics = [
        {
            "Masseter": jaw,
            "Genioglossus": front,
            "Hyoglossus": low,
            "Sphincter": round_,
            "Stylohyoid": HYOID_MM / _MM_PER_STYLOHYOID,
        }
        for jaw, front, low, round_ in itertools.product(
            (-0.3, -0.4, -0.5), (0.0, 0.2), (0.2, 0.4, 0.6, 0.8), (0.0, 0.2)
        )
    ]
    heard = [(muscles, found) for muscles in plains if (found := resonances(muscles)) is not None]
    heard_too = [(muscles, found) for muscles in emphatics if (found := resonances(muscles)) is not None]

    def off(pair: tuple[tuple[Muscles, tuple[float, ...]], tuple[Muscles, tuple[float, ...]]]) -> float:
        (_, a), (_, b) = pair
        # In parts of each formant, so that F2 does not outweigh F1.
        return sum(((y - x - hz) / x) ** 2 for x, y, hz in zip(a, b, wanted, strict=True))

    (plain, _), (emphatic, _) = min(itertools.product(heard, heard_too), key=off)
    return Pair("tuned", plain, emphatic), len(plains) * len(emphatics)


def resonances(muscles: Muscles) -> tuple[float, ...] | None:
    """Of the area function of a posture; none where it closes the tract."""
    try:
        return tract.resonances(synthesis.areas(SPEAKER, muscles).tolist(), synthesis.SECTION_M)
    except ValueError:
        return None


def tokens(pair: Pair, *, quick: bool) -> list[Token]:
    """The vowels of a pair: each posture with several jaws, and, in full, half-way between them."""
    gesture = {
        name: pair.emphatic.get(name, 0.0) - pair.plain.get(name, 0.0)
        for name in {*pair.plain, *pair.emphatic}
    }
    steps = {"plain": 0.0, "half": 0.5, "pharyngealised": 1.0}
    jaws = JAWS[:2] if quick else JAWS
    return [
        Token(context, with_gesture(pair.plain, gesture, step, jaw))
        for context, step in steps.items()
        for jaw in (jaws[:1] if quick and context == "half" else jaws)
    ]


@dataclass(frozen=True)
class Found:
    """What the instrument measured of a pair.

    Attributes:
        pair: Which.
        tokens: What was synthesised.
        sound: All of it.
        measured: By the instrument.
        oracle: The area function's resonances of each token.
    """

    pair: Pair
    tokens: Sequence[Token]
    sound: Any
    measured: Measurement
    oracle: Sequence[tuple[float, ...]]

    def mean(self, context: str) -> list[float]:
        """F1 to F4 of a context."""
        chosen = [vowel.hz for vowel in self.measured.vowels if vowel.context == context]
        return [float(np.nanmean(column)) for column in zip(*chosen, strict=True)]

    @property
    def shift(self) -> list[float]:
        """F1 to F4 pharyngealised less plain."""
        pairs = zip(self.mean("pharyngealised"), self.mean("plain"), strict=True)
        return [a - b for a, b in pairs]

    def rise(self, gesture: str) -> float:
        """Of a gesture, pharyngealised less plain, in mm."""
        values = {
            context: [
                posture.values[gesture]
                for vowel, posture in zip(self.measured.vowels, self.measured.postures, strict=True)
                if vowel.context == context
            ]
            for context in ("plain", "pharyngealised")
        }
        return float(np.mean(values["pharyngealised"]) - np.mean(values["plain"]))


def find(pair: Pair, *, quick: bool) -> Found:
    """Synthesises a pair's vowels one after the other, films them, and measures both."""
    made = tokens(pair, quick=quick)
    rate = synthesis.RATE_HZ
    parts, vowels, contexts = [], [], []
    frames: list[Frame] = []
    films = synthesis.contours(SPEAKER, [{}, *(token.muscles for token in made)], FRAME_RATE_HZ)
    time = 0.0
    for token, shape in zip(made, films[1:], strict=True):
        sound = synthesis.sound(SPEAKER, token.muscles, _VOWEL_S)
        start = time + _GAP_S
        parts += [np.zeros(round(_GAP_S * rate)), sound.values[0][: round(_VOWEL_S * rate)]]
        # The voice needs some cycles to begin.
        vowels.append(Interval(start + 0.04, start + _VOWEL_S, "a"))
        contexts.append(Interval(start + 0.04, start + _VOWEL_S, token.context))
        time = start + _VOWEL_S
        frames += [
            Frame(index / FRAME_RATE_HZ, shape.contours)
            for index in range(
                math.ceil((start + 0.02) * FRAME_RATE_HZ), math.floor(time * FRAME_RATE_HZ) + 1
            )
            if not frames or index / FRAME_RATE_HZ > frames[-1].time_s
        ]
    whole = praat.library().Sound(np.concatenate(parts), rate)
    film = Contours(f"{pair.name} film", FRAME_RATE_HZ, 0.0, films[0], frames)
    grid = of_tiers(f"{pair.name} annotation", whole.duration, vowel=vowels, context=contexts)
    measured = measurement.of_sound(whole, f"{pair.name} sound", grid, film, Settings(), "vowel", "context")
    oracle = [resonances(token.muscles) or (math.nan,) * 4 for token in made]
    return Found(pair, made, whole, measured, oracle)


def checks(found: Found) -> Checks:
    """What the publication's text says, of this pair."""
    shift, plain = found.shift, found.mean("plain")
    larynx, hyoid = found.rise("larynx rise"), found.rise("hyoid rise")
    first = [vowel.hz[0] for vowel in found.measured.vowels]
    narrow = summary.correlation(found.measured.gesture("pharyngeal opening"), first)
    raised = summary.correlation(found.measured.gesture("larynx rise"), first)
    name = found.pair.name
    return Checks(
        f"Claims, {name} pair",
        [
            Check("F1 rises.", shift[0] > 0, f"{shift[0]:+.0f} Hz; published {published_shift()[0]:+.0f} Hz"),
            Check("F2 falls.", shift[1] < 0, f"{shift[1]:+.0f} Hz; published {published_shift()[1]:+.0f} Hz"),
            *(
                Check(
                    f"F{index + 1} is nearly still: it moves by fewer Hz than F1 and F2 do.",
                    abs(shift[index]) < min(abs(shift[0]), abs(shift[1])),
                    f"{shift[index]:+.0f} Hz, {100 * shift[index] / plain[index]:+.1f} %",
                )
                for index in (2, 3)
            ),
            Check("The larynx rises.", larynx > 0, f"{larynx:+.1f} mm; published +1.4 mm"),
            Check("The hyoid bone rises.", hyoid > 0, f"{hyoid:+.1f} mm; published +3.2 mm"),
            _correlated("The higher the larynx, the higher F1", raised, 1),
            _correlated("The narrower the pharynx, the higher F1", narrow, -1),
        ],
    )


def _correlated(claim: str, found: summary.Correlation | None, sign: int) -> Check:
    if found is None or found.interval is None:
        return Check(f"{claim}.", holds=None, evidence="too few vowels, or nothing varies")
    low, high = found.interval
    told = f"r = {found.r:+.2f} [{low:+.2f}, {high:+.2f}], n = {found.n}"
    return Check(f"{claim}.", above(found.interval) if sign > 0 else below(found.interval), told)


def oracle_checks(found: Found) -> Check:
    """The formants against the area function."""
    errors = np.asarray(
        [
            [hz / known - 1 for hz, known in zip(vowel.hz, oracle, strict=True)]
            for vowel, oracle in zip(found.measured.vowels, found.oracle, strict=True)
        ]
    )
    worst = np.abs(errors).max(axis=0)
    limits = [F1_WITHIN, *([OTHERS_WITHIN] * 3)]
    return Check(
        f"Measured formants lie within {100 * F1_WITHIN:g} % (F1) and {100 * OTHERS_WITHIN:g} % (F2 to "
        f"F4) of the area function's resonances, {found.pair.name} pair.",
        bool((worst <= limits).all()),
        "at most " + ", ".join(f"F{i + 1} {100 * error:.1f} %" for i, error in enumerate(worst)),
    )


def table(found: Sequence[Found]) -> Table:
    """Means by context beside the area function's and the published ones."""
    rows: list[list[str | Cell]] = []
    for one in found:
        for context in ("plain", "pharyngealised"):
            oracle = [
                resonance
                for token, resonance in zip(one.tokens, one.oracle, strict=True)
                if token.context == context
            ]
            rows.append([f"{one.pair.name}, {context}, sound", *(f"{hz:.0f}" for hz in one.mean(context))])
            means = [float(np.mean(column)) for column in zip(*oracle, strict=True)]
            rows.append([f"{one.pair.name}, {context}, area function", *(f"{hz:.0f}" for hz in means)])
        rows.append([f"{one.pair.name}, shift", *(f"{hz:+.0f}" for hz in one.shift)])
    rows.append(["published, plain (text)", *(f"{hz:.0f}" for hz in row("text", "plain"))])
    rows.append(
        ["published, beside the pharyngealised", *(f"{hz:.0f}" for hz in row("table2", "a_T_average"))]
    )
    rows.append(["published, shift", *(f"{hz:+.0f}" for hz in published_shift())])
    return Table("Formants of a known vocal tract, Hz", ["", "F1", "F2", "F3", "F4"], rows)


def muscles_told(muscles: Muscles) -> str:
    """A posture in words."""
    return ", ".join(f"{name} {value:g}" for name, value in muscles.items() if abs(value) > 1e-9)


def pictures(found: Found) -> tuple[Outlines, Spectrogram]:
    """Contours of both postures on each other, and the sound."""
    title = f"Spectrogram, {found.pair.name} pair"
    sound = measurement.spectrogram(found.sound, found.measured.settings, found.measured.vowels, title)
    return measurement.contour_overlay(found.measured), sound
