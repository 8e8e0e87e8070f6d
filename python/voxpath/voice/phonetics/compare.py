"""Two versions of a recording: how far the formants of each vowel move, and whether that can be told.

A shift is held against the measurement's own repeatability: two measurements of the same vowel that
differ in what is arbitrary (`formants.repeatability`) lie within 1.96 √2 standard deviations of each other 95
times of a hundred (ISO 5725-6, repeatability limit).
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from voxpath.results.intervals import summarise
from voxpath.voice.phonetics import formants
from voxpath.voice.phonetics.problems import SilentError, place

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from voxpath.document import Mark
    from voxpath.results.intervals import Summary
    from voxpath.voice.phonetics.formants import Vowel
    from voxpath.voice.phonetics.settings import Settings
    from voxpath.voice.phonetics.textgrid import TextGrid

Verdict = Literal["shifted", "repeatable", "undecided", "no answer"]
"""What is said of the mean shift of a vowel's formant.

- shifted: its interval excludes 0 and the mean lies beyond the repeatability limit;
- repeatable: its whole interval lies within the limit, so that a second measurement says as much;
- undecided: neither;
- no answer: fewer than two vowels to compare.
"""

MARKS: dict[Verdict, Mark] = {
    "repeatable": "good",
    "shifted": "bad",
    "undecided": "open",
    "no answer": "open",
}
"""Of verdicts, in reports."""

_LIMIT = 1.96 * math.sqrt(2)


@dataclass(frozen=True)
class Shift:
    """A vowel in both versions.

    Attributes:
        reference: In the first.
        hz: F1 to F4 in the second less in the first; `nan` where one has none.
    """

    reference: Vowel
    hz: tuple[float, ...]


@dataclass(frozen=True)
class Moved:
    """All vowels of a label, one formant.

    Attributes:
        key: Which vowels; empty for all of them together.
        formant: From 1.
        shift: Mean shift in Hz, with its interval; none where nothing could be compared.
        size: Median of the shifts' sizes in Hz, whatever their signs; none likewise.
        limit_hz: The repeatability limit.
        beyond: The part of the vowels whose shift is larger than the limit.
        verdict: Of the mean shift.
    """

    key: str
    formant: int
    shift: Summary | None
    size: float
    limit_hz: float
    beyond: float
    verdict: Verdict


@dataclass(frozen=True)
class Comparison:
    """Two versions of a recording.

    Attributes:
        shifts: Of each vowel that both have, in the order of time.
        lost: Vowels of the reference that are silent, or not to be measured, in the other version.
        moved: By vowel and formant, all vowels together last.
        unknown: Vowels without F1 in the reference.
    """

    shifts: Sequence[Shift]
    lost: Sequence[Vowel]
    moved: Sequence[Moved]
    unknown: Sequence[Vowel] = ()

    @property
    def overall(self) -> Sequence[Moved]:
        """F1 to F4 of all vowels together."""
        return [one for one in self.moved if not one.key]


@dataclass(frozen=True)
class Reference:
    """The first version, measured once.

    Attributes:
        vowels: In the order of time.
        spread: Of each vowel and formant, if it were measured again (`formants.repeatability`).
        grid: What marks the vowels.
        settings: How formants are looked for.
    """

    vowels: Sequence[Vowel]
    spread: NDArray[np.float64]
    grid: TextGrid
    settings: Settings

    def shifts(self, degraded: Any, name: str) -> Shifts:
        """How far the vowels of another version, aligned with this one, have moved.

        Raises:
            PhoneticsError: It does not fit the annotation, or has no sound where the vowels are.
        """
        formants.check(degraded, name, self.grid, self.settings)
        whole = formants.track(degraded, self.settings)
        parts = [formants.middle(vowel, self.settings) for vowel in self.vowels]
        levels = [formants.level(degraded, *part) for part in parts]
        least = formants.softest(degraded, levels)
        if max(levels) < least:
            raise SilentError(f"{place(name)}: is silent wherever there is a vowel")
        found, spread, lost, unknown = [], [], [], []
        for vowel, part, db, sd in zip(self.vowels, parts, levels, self.spread, strict=True):
            if not math.isfinite(vowel.hz[0]):
                unknown.append(vowel)
                continue
            hz = formants.over(whole, *part)[0]
            if db < least or not math.isfinite(hz[0]):
                lost.append(vowel)
                continue
            found.append(Shift(vowel, tuple(b - a for a, b in zip(vowel.hz, hz, strict=True))))
            spread.append(tuple(sd.tolist()))
        return Shifts(found, spread, lost, unknown)


@dataclass(frozen=True)
class Shifts:
    """What moved, of one recording or of several.

    Attributes:
        shifts: Of each vowel that both versions have.
        spread: Standard deviations of measuring each of them again, by formant.
        lost: Vowels that cannot be measured in the second version.
        unknown: Vowels without F1 in the first.
    """

    shifts: Sequence[Shift]
    spread: Sequence[tuple[float, ...]]
    lost: Sequence[Vowel]
    unknown: Sequence[Vowel] = ()

    def __add__(self, other: Shifts) -> Shifts:
        return Shifts(
            [*self.shifts, *other.shifts],
            [*self.spread, *other.spread],
            [*self.lost, *other.lost],
            [*self.unknown, *other.unknown],
        )

    def judged(self) -> Comparison:
        """The verdicts."""
        keys = list(dict.fromkeys(shift.reference.key for shift in self.shifts))
        moved = [
            _moved(key, formant, self.shifts, self.spread)
            for key in (*keys, "")
            for formant in range(1, formants.FORMANTS + 1)
        ]
        return Comparison(self.shifts, self.lost, moved, self.unknown)


def reference(
    sound: Any,
    name: str,
    grid: TextGrid,
    settings: Settings,
    *,
    tier: str | None = None,
    contexts: str | None = None,
) -> Reference:
    """Measures the first version.

    Raises:
        PhoneticsError: Recording and annotation do not fit, or it cannot be measured.
    """
    vowels = formants.measure(sound, name, grid, settings, tier=tier, contexts=contexts)
    return Reference(vowels, formants.repeatability(sound, grid, settings, tier), grid, settings)


def _moved(key: str, formant: int, shifts: Sequence[Shift], spread: Sequence[tuple[float, ...]]) -> Moved:
    chosen = [
        (shift.hz[formant - 1], sd[formant - 1])
        for shift, sd in zip(shifts, spread, strict=True)
        if (not key or shift.reference.key == key) and math.isfinite(shift.hz[formant - 1])
    ]
    known = [sd for _, sd in chosen if math.isfinite(sd)]
    if not chosen or not known:
        return Moved(key, formant, None, math.nan, math.nan, math.nan, "no answer")
    limit = _LIMIT * math.sqrt(statistics.fmean(sd**2 for sd in known))
    values = [value for value, _ in chosen]
    summary = summarise(values)
    sizes = [abs(value) for value in values]
    beyond = sum(size > limit for size in sizes) / len(sizes)
    return Moved(key, formant, summary, statistics.median(sizes), limit, beyond, verdict(summary, limit))


def verdict(shift: Summary, limit_hz: float) -> Verdict:
    """What is said of a mean shift."""
    if shift.interval is None:
        return "no answer"
    low, high = shift.interval
    if -limit_hz <= low and high <= limit_hz:
        return "repeatable"
    if abs(shift.mean) > limit_hz and not low <= 0 <= high:
        return "shifted"
    return "undecided"
