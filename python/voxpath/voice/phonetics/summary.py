"""Vowels by context: centres, spread, outliers, and differences from a reference context with intervals."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voxpath.voice.phonetics.formants import Vowel

OUTLIER = 3.5
"""Scaled median absolute deviations from which a value is flagged (Iglewicz and Hoaglin 1993)."""

_NORMAL = 1.4826
"""From the median absolute deviation to the standard deviation of a normal distribution."""

_LEAST_FOR_OUTLIERS = 5
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Group:
    """The vowels of a label and context, one formant.

    Attributes:
        key: Which vowels.
        formant: From 1.
        values: In Hz, in the order of time; unknown ones left out.
        outliers: Places in `values` of those that lie far from the others; they stay in.
    """

    key: str
    formant: int
    values: tuple[float, ...]
    outliers: tuple[int, ...]

    @property
    def n(self) -> int:
        """How many."""
        return len(self.values)

    @property
    def median(self) -> float:
        """Which single values that went wrong do not move."""
        return statistics.median(self.values) if self.values else math.nan

    @property
    def mean(self) -> float:
        """Of all of them."""
        return statistics.fmean(self.values) if self.values else math.nan

    @property
    def sd(self) -> float | None:
        """Standard deviation; none of a single value."""
        return statistics.stdev(self.values) if self.n > 1 else None


@dataclass(frozen=True)
class Difference:
    """A group's mean against that of the reference.

    Attributes:
        key: Which vowels.
        formant: From 1.
        hz: Difference of the means.
        interval_hz: Its 95 % interval (Welch); none where a side has a single vowel.
        percent: Ratio of the geometric means, less 100 %.
        interval_percent: Its 95 % interval, Welch's of the logarithms.
    """

    key: str
    formant: int
    hz: float
    interval_hz: tuple[float, float] | None
    percent: float
    interval_percent: tuple[float, float] | None


def groups(vowels: Sequence[Vowel], formant: int) -> list[Group]:
    """The groups of a formant, in the order of their first vowels."""
    found: dict[str, list[float]] = {}
    for vowel in vowels:
        values = found.setdefault(vowel.key, [])
        if math.isfinite(vowel.hz[formant - 1]):
            values.append(vowel.hz[formant - 1])
    return [Group(key, formant, tuple(values), outliers(values)) for key, values in found.items()]


def outliers(values: Sequence[float]) -> tuple[int, ...]:
    """Places of values far from the median; of fewer than five nobody can say."""
    if len(values) < _LEAST_FOR_OUTLIERS:
        return ()
    middle = statistics.median(values)
    spread = _NORMAL * statistics.median(abs(value - middle) for value in values)
    return tuple(index for index, value in enumerate(values) if abs(value - middle) > OUTLIER * spread > 0)


def difference(group: Group, reference: Group) -> Difference:
    """How far a group lies from the reference."""
    hz, interval = welch(group.values, reference.values)
    logs = [np.log(one.values).tolist() for one in (group, reference)]
    ratio, ends = welch(*logs)
    return Difference(
        group.key,
        group.formant,
        hz,
        interval,
        100 * math.expm1(ratio),
        ends and (100 * math.expm1(ends[0]), 100 * math.expm1(ends[1])),
    )


def welch(values: Sequence[float], reference: Sequence[float]) -> tuple[float, tuple[float, float] | None]:
    """Difference of the means of two samples and its 95 % interval, variances unequal (Welch 1947)."""
    if not values or not reference:
        return math.nan, None
    hz = statistics.fmean(values) - statistics.fmean(reference)
    if min(len(values), len(reference)) < 2:
        return hz, None
    from scipy.special import stdtrit

    a, b = (statistics.variance(side) / len(side) for side in (values, reference))
    if a + b == 0:
        return hz, (hz, hz)
    freedom = (a + b) ** 2 / (a**2 / (len(values) - 1) + b**2 / (len(reference) - 1))
    reach = float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * math.sqrt(a + b)
    return hz, (hz - reach, hz + reach)


@dataclass(frozen=True)
class Correlation:
    """Of a gesture and what is heard.

    Attributes:
        n: How many pairs.
        r: Pearson's coefficient.
        interval: Its 95 % interval by Fisher's transformation; none of fewer than four pairs.
    """

    n: int
    r: float
    interval: tuple[float, float] | None


def correlation(xs: Sequence[float], ys: Sequence[float]) -> Correlation | None:
    """The correlation of pairs, unknown ones left out; none of fewer than three, or where nothing varies."""
    pairs = [(x, y) for x, y in zip(xs, ys, strict=True) if math.isfinite(x) and math.isfinite(y)]
    if len(pairs) < 3 or len({x for x, _ in pairs}) == 1 or len({y for _, y in pairs}) == 1:
        return None
    r = float(np.corrcoef(np.asarray(pairs).T)[0, 1])
    interval = None
    if len(pairs) > 3 and abs(r) < 1:
        reach = statistics.NormalDist().inv_cdf((1 + CONFIDENCE) / 2) / math.sqrt(len(pairs) - 3)
        interval = (math.tanh(math.atanh(r) - reach), math.tanh(math.atanh(r) + reach))
    return Correlation(len(pairs), r, interval)


@dataclass(frozen=True)
class Ellipse:
    """One standard deviation around the mean of points: half axes along the principal directions."""

    x: float
    y: float
    half_major: float
    half_minor: float
    angle_rad: float


def ellipse(xs: Sequence[float], ys: Sequence[float]) -> Ellipse | None:
    """The ellipse of points; none of fewer than three."""
    if len(xs) < 3:
        return None
    values, vectors = np.linalg.eigh(np.cov(np.asarray([xs, ys], float)))
    major = vectors[:, 1]
    return Ellipse(
        statistics.fmean(xs),
        statistics.fmean(ys),
        math.sqrt(max(0.0, float(values[1]))),
        math.sqrt(max(0.0, float(values[0]))),
        math.atan2(float(major[1]), float(major[0])),
    )
