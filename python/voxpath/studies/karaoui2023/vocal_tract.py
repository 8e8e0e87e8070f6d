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
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from voxpath.document import Cell, Check, Checks, Table
from voxpath.results.decisions import above, all_of, below, near, within
from voxpath.results.intervals import paired
from voxpath.studies.base import shown
from voxpath.studies.karaoui2023.tables import correlated, row, tract_claim
from voxpath.voice.phonetics import formants, measurement, praat, summary, synthesis, tract
from voxpath.voice.phonetics.contours import Contours, Frame
from voxpath.voice.phonetics.settings import Settings
from voxpath.voice.phonetics.textgrid import Interval, of_tiers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from voxpath.document import Outlines, Spectrogram
    from voxpath.results.decisions import Decision
    from voxpath.results.intervals import Summary
    from voxpath.voice.phonetics.formants import Vowel
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

JAWS = (0.0, -0.04, 0.04, -0.02, 0.02)
"""By which the jaw differs between repetitions of a vowel."""

PLAIN_CONTEXT, HALF, T_CONTEXT, P_CONTEXT, BOTH = (
    "plain",
    "half",
    "pharyngealised",
    "pharyngeal",
    "both",
)
_STRENGTHS = {PLAIN_CONTEXT: (0, 0), HALF: (0.5, 0), T_CONTEXT: (1, 0), P_CONTEXT: (0, 1), BOTH: (1, 1)}
"""Of the pair's pharyngealised gesture and of the pharyngeal one, by context."""

FRAME_RATE_HZ = 50.0
_VOWEL_S, _GAP_S = 0.2, 0.06
_ONSET_S = 0.04
"""The voice needs some cycles to begin: a vowel is marked from here on."""
_MOVING_S = 0.24
"""Of a vowel that moves from one posture to another."""
TRANSITION_HZ = 50.0
"""So far off may a measured transition be."""

HYOID_MM = 3.2
"""By which the hyoid is to rise in the tuned pair: 0.32 cm, Section III."""
_MM_PER_STYLOHYOID = 22.0

PHARYNGEAL: Muscles = {"Stylohyoid": 7.2 / _MM_PER_STYLOHYOID}
"""Beside every pair: the hyoid rises by P's 0.72 cm (Section III), and draws the tongue's root back.

With a tenth of the sphincter on it, the tongue of the tuned pair would pass the pharynx's wall with both.
"""

ADDS_WITHIN = 0.2
"""Of the sum: so far off may both gestures at once be, if their effects add up."""

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
        context: `plain`, `half` or `pharyngealised`; `pharyngeal`, or `both` gestures at once.
        muscles: Its posture.
    """

    context: str
    muscles: Muscles


def with_gesture(base: Muscles, gesture: Muscles, strength: float, jaw: float = 0.0) -> Muscles:
    """A posture with so much of a gesture on it."""
    names = {*base, *gesture}
    found = {name: base.get(name, 0.0) + strength * gesture.get(name, 0.0) for name in sorted(names)}
    return found | {"Masseter": found.get("Masseter", 0.0) + jaw}


def _jaws(*, quick: bool) -> Sequence[float]:
    """Three are the fewest whose interval decides something."""
    return JAWS[:3] if quick else JAWS


def untuned() -> Pair:
    """The pair that nobody fitted."""
    return Pair("untuned", PLAIN, with_gesture(PLAIN, GESTURE, STRENGTH))


def published_shift(of: str = "a_T_average") -> list[float]:
    """F1 to F4 of a row of Table II, beside the pharyngealised consonant, less the text's plain ones."""
    return [a - b for a, b in zip(row("table2", of), row("text", "plain"), strict=True)]


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
    """The vowels of a pair: each posture with several jaws; the half-way one with one of them, if quick."""
    gesture = {
        name: pair.emphatic.get(name, 0.0) - pair.plain.get(name, 0.0)
        for name in {*pair.plain, *pair.emphatic}
    }
    jaws = _jaws(quick=quick)
    return [
        Token(context, with_gesture(with_gesture(pair.plain, gesture, step), PHARYNGEAL, throat, jaw))
        for context, (step, throat) in _STRENGTHS.items()
        for jaw in (jaws[:1] if quick and context == HALF else jaws)
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

    def formant(self, context: str, index: int) -> list[float]:
        """A formant of a context's vowels in Hz, jaw by jaw; F1 is 0."""
        return [vowel.hz[index] for vowel in self.measured.vowels if vowel.context == context]

    def mean(self, context: str) -> list[float]:
        """F1 to F4 of a context."""
        return [fmean(self.formant(context, index)) for index in range(4)]

    def moved(self, index: int, context: str = T_CONTEXT, reference: str = PLAIN_CONTEXT) -> Summary:
        """By how many Hz a formant is higher in a context than in another, paired by the jaw."""
        return paired(self.formant(context, index), self.formant(reference, index))

    def beyond(self, index: int) -> Summary:
        """By how many Hz a formant moves more with both gestures at once than with each alone in sum."""
        both, alone = self._shifts(index)
        return paired(both, alone)

    def adds_up(self, index: int, share: float) -> Decision:
        """Whether a formant moves as much with both gestures at once as with each alone, within a share."""
        both, alone = self._shifts(index)
        return near(both, alone, share)

    def _shifts(self, index: int) -> tuple[list[float], list[float]]:
        """By how many Hz a formant moves with both gestures, and with each alone in sum; for each jaw."""
        contexts = (BOTH, T_CONTEXT, P_CONTEXT, PLAIN_CONTEXT)
        values = list(zip(*(self.formant(context, index) for context in contexts), strict=True))
        both = [together - plain for together, _, _, plain in values]
        return both, [one + other - 2 * plain for _, one, other, plain in values]

    @property
    def shift(self) -> list[float]:
        """F1 to F4 pharyngealised less plain."""
        return [self.moved(index).mean for index in range(4)]

    def rise(self, gesture: str) -> Summary:
        """Of a gesture, pharyngealised less plain, in mm."""
        values = {
            context: [
                posture.values[gesture]
                for vowel, posture in zip(self.measured.vowels, self.measured.postures, strict=True)
                if vowel.context == context
            ]
            for context in (T_CONTEXT, PLAIN_CONTEXT)
        }
        return paired(values[T_CONTEXT], values[PLAIN_CONTEXT])


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
        vowels.append(Interval(start + _ONSET_S, start + _VOWEL_S, "a"))
        contexts.append(Interval(start + _ONSET_S, start + _VOWEL_S, token.context))
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


_PUT_IN = "the muscles that raise it were given"
_SEARCHED = "the pair was searched for it"
"""Why a claim about a pair could not fail, and so counts for nothing."""


def checks(found: Found) -> Checks:
    """What the publication's text says, of this pair; what was put into it is set aside."""
    moved = [found.moved(index) for index in range(4)]
    plain = found.mean(PLAIN_CONTEXT)
    first = [vowel.hz[0] for vowel in found.measured.vowels]
    narrow = summary.correlation(found.measured.gesture("pharyngeal opening"), first)
    raised = summary.correlation(found.measured.gesture("larynx rise"), first)
    searched = _SEARCHED if found.pair.name == "tuned" else ""
    wanted = published_shift()
    told = [f"{shown(one)} Hz; published {hz:+.0f} Hz" for one, hz in zip(moved, wanted, strict=True)]
    return Checks(
        f"Claims, {found.pair.name} pair",
        [
            Check(tract_claim("f1"), above(moved[0]), told[0], searched),
            Check(tract_claim("f2"), below(moved[1]), told[1], searched),
            *(
                Check(
                    f"F{index + 1} {tract_claim('still')}",
                    _stiller(moved[index], moved[:2]),
                    f"{shown(moved[index])} Hz, {100 * moved[index].mean / plain[index]:+.1f} %",
                    searched,
                )
                for index in (2, 3)
            ),
            *(
                Check(tract_claim(name), above(rise), f"{shown(rise)} mm; published {mm} mm", _PUT_IN)
                for name, mm, rise in (
                    ("larynx", "+1.4", found.rise("larynx rise")),
                    ("hyoid", "+3.2", found.rise("hyoid rise")),
                )
            ),
            correlated(tract_claim("raised"), raised, 1, searched),
            correlated(tract_claim("narrow"), narrow, -1, searched),
        ],
    )


def _stiller(still: Summary, others: Sequence[Summary]) -> bool | None:
    """Whether a shift is surely smaller than some others, whatever their signs."""
    least = _size(still)
    sizes = [size for one in others if (size := _size(one)) is not None]
    if least is None or len(sizes) < len(others):
        return None
    return all_of(below(least, size) for size in sizes)


def _size(shift: Summary) -> tuple[float, float] | None:
    """Where the size of a shift lies."""
    if shift.interval is None:
        return None
    low, high = shift.interval
    return (0.0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))


def superposition(found: Found) -> Checks:
    """What the publication says of the pharyngeal and of both at once, which nobody searched."""
    printed_t, printed_p, printed_both = (published_shift(of) for of in ("a_T_average", "a_P", "a_PTah"))
    by_p = [found.moved(index, P_CONTEXT) for index in range(2)]
    more = [found.moved(0, BOTH, alone) for alone in (T_CONTEXT, P_CONTEXT)]
    between = found.moved(1, BOTH, T_CONTEXT), found.moved(1, BOTH, P_CONTEXT)
    adding = []
    for index in (0, 1):
        total = found.moved(index).mean + found.moved(index, P_CONTEXT).mean
        told = f"F{index + 1} {shown(found.beyond(index))} of {total:+.0f} Hz"
        adding.append((found.adds_up(index, ADDS_WITHIN), told))
    return Checks(
        f"The pharyngeal gesture, alone and with the pharyngealised one: {found.pair.name} pair",
        [
            Check(
                tract_claim("pharyngeal"),
                all_of(map(above, by_p)),
                f"F1 {shown(by_p[0])} Hz, F2 {shown(by_p[1])} Hz; "
                f"published {printed_p[0]:+.0f} and {printed_p[1]:+.0f} Hz",
            ),
            Check(
                tract_claim("both_f1"),
                all_of(map(above, more)),
                f"{shown(more[0])} Hz above the pharyngealised, {shown(more[1])} Hz above the pharyngeal; "
                f"published {printed_both[0] - printed_t[0]:+.0f} and "
                f"{printed_both[0] - printed_p[0]:+.0f} Hz",
            ),
            Check(
                tract_claim("both_f2"),
                all_of([above(between[0]), below(between[1])]),
                f"{shown(between[0])} Hz from the pharyngealised, {shown(between[1])} Hz from the "
                f"pharyngeal; published {printed_both[1] - printed_t[1]:+.0f} and "
                f"{printed_both[1] - printed_p[1]:+.0f} Hz",
            ),
            Check(
                f"{tract_claim('sum')}, within {100 * ADDS_WITHIN:g} % of the sum.",
                all_of(decided for decided, _ in adding),
                "both at once less the sum: " + ", ".join(told for _, told in adding),
            ),
        ],
    )


def transition(pair: Pair, *, quick: bool) -> tuple[Table, Checks]:
    """A vowel that comes from the pharyngealised posture and goes to the plain one, evenly, with each jaw."""
    vowels, known = [], []
    for jaw in _jaws(quick=quick):
        first, last = (with_gesture(posture, {}, 0.0, jaw) for posture in (pair.emphatic, pair.plain))
        sound = synthesis.sound(SPEAKER, first, _MOVING_S, last)
        marked = Interval(_ONSET_S, _MOVING_S, "a")
        grid = of_tiers("moving annotation", sound.duration, vowel=[marked])
        vowels += formants.measure(sound, "moving vowel", grid, Settings(), tier="vowel")
        gesture = {name: last.get(name, 0.0) - first.get(name, 0.0) for name in {*first, *last}}
        hertz = [
            resonances(with_gesture(first, gesture, fmean(part) / _MOVING_S)) or (math.nan,) * 4
            for part in (formants.onset(marked), formants.middle(marked, Settings()))
        ]
        known.append([begin - middle for begin, middle in zip(*hertz, strict=True)])
    return measurement.transitions(vowels), transition_checks(pair.name, vowels, known)


def transition_checks(pair: str, vowels: Sequence[Vowel], known: Sequence[Sequence[float]]) -> Checks:
    """Measured transitions against known ones.

    Args:
        pair: Its name.
        vowels: As measured.
        known: Of each vowel, F1 to F4 at its beginning less in its middle, in Hz.
    """
    decided, told = [], []
    for index in (0, 1):
        measured = [vowel.transition_hz(index + 1) for vowel in vowels]
        truth = [hz[index] for hz in known]
        off = paired(measured, truth)
        decided.append(within(off, -TRANSITION_HZ, TRANSITION_HZ))
        told.append(f"F{index + 1} {shown(off)} Hz off {fmean(truth):+.0f} Hz")
    said = f"{tract_claim('transitions')} within {TRANSITION_HZ:g} Hz of the area function's."
    return Checks(f"A moving tract, {pair} pair", [Check(said, all_of(decided), "; ".join(told))])


def oracle_checks(found: Found) -> list[Check]:
    """The formants against the area function, without the pharyngeal gesture and with it."""
    limits = [F1_WITHIN, *([OTHERS_WITHIN] * 3)]
    checks = []
    for contexts in ((PLAIN_CONTEXT, HALF, T_CONTEXT), (P_CONTEXT, BOTH)):
        errors = np.asarray(
            [
                [hz / known - 1 for hz, known in zip(vowel.hz, oracle, strict=True)]
                for vowel, oracle in zip(found.measured.vowels, found.oracle, strict=True)
                if vowel.context in contexts
            ]
        )
        worst = np.abs(errors).max(axis=0)
        checks.append(
            Check(
                f"Measured formants lie within {100 * F1_WITHIN:g} % (F1) and {100 * OTHERS_WITHIN:g} % (F2 "
                f"to F4) of the area function's resonances, {found.pair.name} pair: {', '.join(contexts)}.",
                bool((worst <= limits).all()),
                "at most " + ", ".join(f"F{i + 1} {100 * error:.1f} %" for i, error in enumerate(worst)),
            )
        )
    return checks


def table(found: Sequence[Found]) -> Table:
    """Means by context beside the area function's and the published ones."""
    rows: list[list[str | Cell]] = []
    for one in found:
        for context in (PLAIN_CONTEXT, T_CONTEXT, P_CONTEXT, BOTH):
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
    rows.append(["published, with both", *(f"{hz:.0f}" for hz in row("table2", "a_PTah"))])
    return Table("Formants of a known vocal tract, Hz", ["", "F1", "F2", "F3", "F4"], rows)


def muscles_told(muscles: Muscles) -> str:
    """A posture in words."""
    return ", ".join(f"{name} {value:g}" for name, value in muscles.items() if abs(value) > 1e-9)


def pictures(found: Found) -> tuple[Outlines, Spectrogram]:
    """Contours of both postures on each other, and the sound."""
    title = f"Spectrogram, {found.pair.name} pair"
    sound = measurement.spectrogram(found.sound, found.measured.settings, found.measured.vowels, title)
    return measurement.contour_overlay(found.measured), sound
