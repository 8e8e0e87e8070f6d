"""Formants of the vowels that a TextGrid marks, by Burg's method (Praat) or by `discrete.py`.

`measure` is the way in. A vowel's formant is the median of the frames in its middle, so that the transitions
of its neighbours and single frames that went wrong count little.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from voxpath.voice.phonetics import discrete
from voxpath.voice.phonetics.problems import SilentError, place, problem
from voxpath.voice.phonetics.settings import PERIODS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from voxpath.voice.phonetics.settings import Settings
    from voxpath.voice.phonetics.textgrid import Interval, TextGrid, Tier


FORMANTS = 4
"""F1 to F4."""

SILENCE_DB = -45.0
"""Of a vowel's level to the loudest of the recording; what is softer is silence."""

FLOOR_DB = -80.0
"""Of full scale, 3 steps of 16 bits: what is softer is a recording's own noise, whatever else there is."""

_LOUD_S = 0.05
"""Of a recording, whose loudest stretch vowels are held against."""

_LENGTH_SLACK_S = 0.05
"""By which a recording may be longer or shorter than its annotation."""

_LEAST_FRAMES = 3
"""In the middle of a vowel, for a median and a spread."""

ONSET = 0.25
"""Of a vowel from its beginning: the part that shows the transition from what is before it."""


@dataclass(frozen=True)
class Vowel:
    """What was measured of a vowel.

    Attributes:
        label: Which vowel, as its tier says.
        context: Where it stands; empty where nothing says so.
        start_s: Where it begins.
        end_s: Where it ends.
        hz: F1 to F4: medians over the middle; `nan` where Praat found none in half of the frames.
        sd_hz: Standard deviations over the frames.
        frames: How many frames the middle has.
        level_db: Of the middle, against the loudest vowel.
        onset_hz: F1 to F4 at the beginning: medians over its first quarter, `nan` likewise; empty if nobody
            looked there.
    """

    label: str
    context: str
    start_s: float
    end_s: float
    hz: tuple[float, ...]
    sd_hz: tuple[float, ...]
    frames: int
    level_db: float
    onset_hz: tuple[float, ...] = ()

    @property
    def key(self) -> str:
        """Vowel and context, as tables name them."""
        return f"{self.label} ({self.context})" if self.context else self.label

    @property
    def middle_s(self) -> float:
        """Half-way."""
        return (self.start_s + self.end_s) / 2

    @property
    def duration_s(self) -> float:
        """From its beginning to its end, as it is marked."""
        return self.end_s - self.start_s

    def transition_hz(self, formant: int) -> float:
        """A formant, from 1, at the vowel's beginning less in its middle; `nan` where one is not known."""
        return self.onset_hz[formant - 1] - self.hz[formant - 1] if self.onset_hz else math.nan


@dataclass(frozen=True)
class Track:
    """Formants frame by frame.

    Attributes:
        times_s: Of the frames.
        hz: A column for each formant; `nan` where there is none.
    """

    times_s: NDArray[np.float64]
    hz: NDArray[np.float64]


def track(sound: Any, settings: Settings) -> Track:
    """The formants of a sound, frame by frame."""
    if settings.method == "dap":
        times = _frames(sound, settings)
        return Track(times, discrete.track(sound, times, settings, FORMANTS))
    found = sound.to_formant_burg(
        settings.step_s, settings.poles, settings.ceiling_hz, settings.window_s, settings.emphasis_hz
    )
    times = np.asarray(found.ts(), float)
    hz = [[found.get_value_at_time(number, time) for number in range(1, FORMANTS + 1)] for time in times]
    return Track(times, np.asarray(hz, float).reshape(len(times), FORMANTS))


def _frames(sound: Any, settings: Settings) -> NDArray[np.float64]:
    """Where Praat has them: as many whole windows as there are, around the middle."""
    room = sound.duration - 2 * settings.window_s
    count = max(0, math.floor(room / settings.step_s) + 1)
    middle = (sound.xmin + sound.xmax) / 2
    found: NDArray[np.float64] = middle + settings.step_s * (np.arange(count) - (count - 1) / 2)
    return found


def measure(
    sound: Any,
    source: str,
    grid: TextGrid,
    settings: Settings,
    *,
    tier: str | None = None,
    contexts: str | None = None,
) -> list[Vowel]:
    """Every vowel of a tier.

    Args:
        sound: A recording of one channel (`praat.read_sound`).
        source: Its name, for messages.
        grid: What marks the vowels.
        settings: How formants are looked for.
        tier: Which tier has the vowels; not needed if there is one only.
        contexts: The tier whose label around a vowel's middle is its context.

    Raises:
        PhoneticsError: Recording and annotation do not fit, or there is nothing where a vowel should be.
    """
    chosen = grid.tier(tier)
    check(sound, source, grid, settings)
    others = grid.tier(contexts) if contexts is not None else None
    whole = track(sound, settings)
    parts = [middle(one, settings) for one in chosen.labelled]
    levels = [level(sound, *part) for part in parts]
    loudest, least = max(levels), softest(sound, levels)
    if loudest < least:
        told = f"is silent wherever tier {chosen.name!r} has a vowel"
        raise SilentError(f"{place(source, time_s=chosen.labelled[0].start_s)}: {told}")
    found = []
    for one, part, db in zip(chosen.labelled, parts, levels, strict=True):
        if db < least:
            told = (
                "is silent"
                if db == -math.inf
                else f"is silent: it has {db:.0f} dB, {least:.0f} dB is the least"
            )
            raise SilentError(f"{place(source, chosen.name, one.start_s)}: {one.label!r} {told}")
        hz, sd, frames = over(whole, *part)
        if frames < _LEAST_FRAMES:
            raise problem(_short(one, frames, settings), grid.source, chosen.name, one.start_s)
        context = _context(one, grid, others)
        begun, _, _ = over(whole, *onset(one))
        found.append(Vowel(one.label, context, one.start_s, one.end_s, hz, sd, frames, db - loudest, begun))
    return found


def check(sound: Any, source: str, grid: TextGrid, settings: Settings) -> None:
    """Whether a recording can be what an annotation marks.

    Raises:
        PhoneticsError: It cannot.
    """
    rate = sound.sampling_frequency
    if rate / 2 < settings.ceiling_hz:
        told = f"has {rate:g} samples/s, which hold nothing above {rate / 2:g} Hz"
        raise problem(f"{told}, and formants are looked for up to {settings.ceiling_hz:g} Hz", source)
    check_window(settings)
    # Half a frame may be missing at the end of what a codec gives back.
    if abs(sound.duration - grid.duration_s) > _LENGTH_SLACK_S:
        told = f"lasts {sound.duration:.3f} s, and {grid.source} annotates {grid.duration_s:.3f} s"
        raise problem(f"{told}: another recording, or a wrong sampling rate ({rate:g} samples/s)", source)
    if not np.isfinite(sound.values).all():
        raise problem("holds values that are no numbers", source)
    if settings.method == "dap" and sound.duration < discrete.LEAST_S:
        told = f"lasts {1000 * sound.duration:.0f} ms"
        raise problem(f"{told}; a pitch is found in {1000 * discrete.LEAST_S:g} ms and more", source)


def check_window(settings: Settings) -> None:
    """Whether a window has as many periods of the voice as its method needs.

    Raises:
        ValueError: It has fewer.
    """
    if settings.method == "dap" and settings.periods < discrete.LEAST_PERIODS:
        told = f"a window of {1000 * settings.window_s:g} ms has {settings.periods:.2g} periods"
        least = 1000 * discrete.LEAST_PERIODS / PERIODS_PER_S
        raise ValueError(f"{told} of the voice, too few for method 'dap': {least:.1f} ms is the least")


def over(whole: Track, start_s: float, end_s: float) -> tuple[tuple[float, ...], tuple[float, ...], int]:
    """Medians, standard deviations and number of the frames between two times."""
    inside = whole.hz[(whole.times_s >= start_s) & (whole.times_s <= end_s)]
    frames = len(inside)
    medians, deviations = [], []
    for column in inside.T:
        known = column[np.isfinite(column)]
        enough = len(known) >= max(2, frames / 2)
        medians.append(float(np.median(known)) if enough else math.nan)
        deviations.append(float(known.std(ddof=1)) if enough else math.nan)
    return tuple(medians), tuple(deviations), frames


def level(sound: Any, start_s: float, end_s: float) -> float:
    """Mean power of a stretch, in dB."""
    rate = sound.sampling_frequency
    values = sound.values[0]
    first = max(0, round((start_s - sound.xmin) * rate))
    part = values[first : max(first + 1, round((end_s - sound.xmin) * rate))]
    power = float(np.mean(part**2)) if len(part) else 0.0
    return 10 * math.log10(power) if power > 0 else -math.inf


def softest(sound: Any, levels: Sequence[float]) -> float:
    """The level below which nothing is heard: 45 dB below the loudest vowel or stretch of 50 ms."""
    values = sound.values[0]
    size = max(1, round(_LOUD_S * sound.sampling_frequency))
    ends = np.append(np.arange(0, len(values), size), len(values))
    whole = np.concatenate([[0.0], np.cumsum(values**2)])
    power = float((np.diff(whole[ends]) / size).max())
    loudest = max(*levels, 10 * math.log10(power) if power > 0 else -math.inf)
    return max(FLOOR_DB, loudest + SILENCE_DB)


def middle(one: Interval | Vowel, settings: Settings) -> tuple[float, float]:
    """The part of a vowel that counts."""
    half = settings.middle * (one.end_s - one.start_s) / 2
    return one.middle_s - half, one.middle_s + half


def onset(one: Interval | Vowel) -> tuple[float, float]:
    """The part of a vowel that shows the transition from what is before it."""
    return one.start_s, one.start_s + ONSET * (one.end_s - one.start_s)


def _short(one: Interval, frames: int, settings: Settings) -> str:
    return (
        f"{one.label!r} lasts {1000 * (one.end_s - one.start_s):.0f} ms, and its middle has {frames} frames "
        f"of {1000 * settings.step_s:g} ms; {_LEAST_FRAMES} are needed: a longer vowel or a shorter time step"
    )


def _context(one: Interval, grid: TextGrid, others: Tier | None) -> str:
    if others is None:
        return ""
    around = others.at(one.middle_s)
    if around is None or not around.label.strip():
        raise problem(f"no label around the vowel {one.label!r}", grid.source, others.name, one.middle_s)
    return around.label


def repeatability(sound: Any, grid: TextGrid, settings: Settings, tier: str | None) -> NDArray[np.float64]:
    """How far measurements of the same vowels scatter that differ only in what is arbitrary.

    The vowel's ends move by 5 ms, the window's length by a fifth and the ceiling by 4 %, each to both sides.

    Returns:
        A row for each vowel, a column for each formant: standard deviations in Hz.
    """
    parts = [middle(one, settings) for one in grid.tier(tier).labelled]
    highest = sound.sampling_frequency / 2
    variants = []
    for window, ceiling in itertools.product((0.8, 1.0, 1.2), (0.96, 1.0, 1.04)):
        changed = replace(
            settings,
            window_s=settings.window_s * window,
            ceiling_hz=min(highest, settings.ceiling_hz * ceiling),
        )
        whole = track(sound, changed)
        variants += [
            [over(whole, start + shift, end + shift)[0] for start, end in parts]
            for shift in (-0.005, 0.0, 0.005)
        ]
    found: NDArray[np.float64] = np.asarray(variants, float).std(axis=0, ddof=1)
    return found
