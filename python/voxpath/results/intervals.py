"""Intervals: how far a mean, or the next value, may lie from what was observed."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIDENCE = 0.95

_ROUNDING = 1e-13
"""A spread of so little of the values is that of their rounding, and none of theirs."""

_MULTIPLE_PERCENT = 1000
"""From where on a relative difference is told as a multiple."""


@dataclass(frozen=True)
class Summary:
    """A mean with its spread.

    Attributes:
        n: How many values.
        mean: Their mean.
        half_width: Of the 95 % t-interval of the mean; none for a single value, which has no interval.
    """

    n: int
    mean: float
    half_width: float | None

    def __str__(self) -> str:
        """`mean ± half width`; of a single value four digits."""
        if self.half_width is None:
            return _alone(self.mean)
        if self.half_width == 0:
            return f"{self.mean:.6g} ± 0"
        digits = _digits(self.half_width)
        return f"{self.mean:.{digits}f} ± {self.half_width:.{digits}f}"

    def scaled(self, factor: float) -> Summary:
        """The same in another unit."""
        half_width = None if self.half_width is None else self.half_width * factor
        return Summary(self.n, self.mean * factor, half_width)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % t-interval of the mean."""
        if self.half_width is None:
            return None
        return (self.mean - self.half_width, self.mean + self.half_width)

    @property
    def prediction(self) -> tuple[float, float] | None:
        """The 95 % prediction interval: where one further value lies, if values are normal.

        mean ± t sd sqrt(1 + 1/n), Student's t with n - 1 degrees of freedom.
        """
        if self.half_width is None:
            return None
        reach = self.half_width * math.sqrt(self.n + 1)
        return (self.mean - reach, self.mean + reach)


def summarise(values: Sequence[float]) -> Summary:
    """Mean and 95 % t-interval: mean ± t sd / sqrt(n), Student's t with n - 1 degrees of freedom.

    Raises:
        ValueError: There is no value.
    """
    n = len(values)
    if n == 0:
        raise ValueError("a summary needs one value at least")
    return _summary(values, max(map(abs, values)))


def _summary(values: Sequence[float], scale: float) -> Summary:
    """As `summarise`, of values that were computed from numbers up to `scale`."""
    n, mean = len(values), statistics.fmean(values)
    if n == 1:
        return Summary(1, mean, None)
    sd = statistics.stdev(values)
    if sd <= _ROUNDING * scale:
        return Summary(n, mean, 0.0)
    return Summary(n, mean, _student(n - 1) * sd / math.sqrt(n))


def _digits(spread: float) -> int:
    """Decimals that show two digits of a spread; two at least."""
    return 2 if spread <= 0 or spread >= 0.1 else min(9, 1 + math.ceil(-math.log10(spread)))


@dataclass(frozen=True)
class Quantile:
    """A quantile with its interval.

    Attributes:
        p: Which quantile: 0.5 is the median.
        n: How many values.
        value: The quantile of the sample.
        low: Lower end of its 95 % interval; none where the values are too few for one.
        high: Upper end, likewise.
    """

    p: float
    n: int
    value: float
    low: float | None
    high: float | None

    def __str__(self) -> str:
        """`value [low, high]`, with `…` for an end that so few values do not give."""
        if self.n == 1:
            return _alone(self.value)
        if self.low in {None, self.value} and self.high in {None, self.value}:
            low, high = ("…" if end is None else f"{end:.6g}" for end in (self.low, self.high))
            return f"{self.value:.6g} [{low}, {high}]"
        spread = max(abs(end - self.value) for end in (self.low, self.high, self.value) if end is not None)
        digits = _digits(spread)
        low, high = ("…" if end is None else f"{end:.{digits}f}" for end in (self.low, self.high))
        return f"{self.value:.{digits}f} [{low}, {high}]"

    def scaled(self, factor: float) -> Quantile:
        """The same in another unit."""
        low, high = (None if end is None else end * factor for end in (self.low, self.high))
        return Quantile(self.p, self.n, self.value * factor, low, high)


def quantile(values: Sequence[float], p: float) -> Quantile:
    """A quantile of a sample and its order-statistic interval, whatever the values' distribution.

    With B the number of values below the quantile, binomial with n and p, the interval is from the l-th
    smallest value to the u-th, l the largest with P(B < l) <= 2.5 % and u the smallest with
    P(B >= u) <= 2.5 %: it covers the quantile with 95 % at least (Conover, Practical Nonparametric
    Statistics, section 3.2). The value itself is interpolated between neighbours (type 7 of Hyndman and Fan).

    Raises:
        ValueError: There is no value, or p is not between 0 and 1.
    """
    n = len(values)
    if n == 0:
        raise ValueError("a quantile needs one value at least")
    if not 0 < p < 1:
        raise ValueError(f"{p} is no quantile: it lies between 0 and 1")
    ordered = sorted(values)
    place = (n - 1) * p
    below = math.floor(place)
    above = min(below + 1, n - 1)
    value = ordered[below] + (place - below) * (ordered[above] - ordered[below])
    low, high = _ranks(n, p)
    return Quantile(p, n, value, ordered[low - 1] if low else None, ordered[high - 1] if high else None)


@cache
def _ranks(n: int, p: float) -> tuple[int | None, int | None]:
    """The ranks, from 1, of the ends of a quantile's interval; none where there is no such rank."""
    import numpy as np
    from scipy.special import bdtr

    tail = (1 - CONFIDENCE) / 2
    ranks = np.arange(1, n + 1)
    below = bdtr(ranks - 1, n, p)
    low = int(np.count_nonzero(below <= tail))
    high = n - int(np.count_nonzero(1 - below <= tail)) + 1
    return low or None, high if high <= n else None


def ratio(one: Quantile, other: Quantile) -> tuple[float, float] | None:
    """Where the ratio of two positive quantiles lies, by their intervals; none where one has an open end."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return None
    return one.low / other.high, one.high / other.low


def paired(values: Sequence[float], reference: Sequence[float]) -> Summary:
    """The mean of the differences of values that were found under the same conditions, with its interval.

    Raises:
        ValueError: There are not as many values as references, or none.
    """
    differences = [value - other for value, other in zip(values, reference, strict=True)]
    if not differences:
        raise ValueError("a summary needs one value at least")
    return _summary(differences, max(map(abs, (*values, *reference))))


def _alone(value: float) -> str:
    """A value that nothing is known of the spread of: four digits, but whole numbers as they are."""
    if not math.isfinite(value) or value == round(value):
        return f"{value:.0f}"
    return f"{value:.{max(0, 3 - math.floor(math.log10(abs(value))))}f}"


def relative(percent: Summary) -> str:
    """A relative difference as people read it: in per cent; where that is a multiple, as one.

    With two digits of the spread, and three of a number that has none.
    """
    ends = percent.interval or (percent.mean, percent.mean)
    if percent.mean < _MULTIPLE_PERCENT or ends[0] < 0:
        return f"{_sensible(percent, sign=True)} %"
    return f"{_sensible(Summary(percent.n, 1 + percent.mean / 100, _part(percent.half_width)))} times as much"


def _part(percent: float | None) -> float | None:
    return None if percent is None else percent / 100


def _sensible(summary: Summary, *, sign: bool = False) -> str:
    spread = summary.half_width or abs(summary.mean)
    if not math.isfinite(spread) or spread == 0:
        return str(summary)
    digits = (1 if summary.half_width else 2) - math.floor(math.log10(spread))
    plus = "+" if sign else ""
    mean = f"{round(summary.mean, digits):{plus}.{max(0, digits)}f}"
    if summary.half_width is None:
        return mean
    return f"{mean} ± {round(summary.half_width, digits):.{max(0, digits)}f}"


def along_a_line(xs: Sequence[float], ys: Sequence[float], at: float) -> tuple[float, float]:
    """The 95 % prediction interval of a further y at some x, for values around a straight line.

    Least squares: a + b x ± t s sqrt(1 + 1/n + (x - mean)² / Sxx), Student's t with n - 2 degrees of freedom.

    Raises:
        ValueError: There are fewer than three pairs, or every x is the same.
    """
    import numpy as np

    n = len(xs)
    x, y = np.asarray(xs, float), np.asarray(ys, float)
    spread = float(((x - x.mean()) ** 2).sum()) if n else 0.0
    if n < 3 or spread == 0:
        raise ValueError("a line needs three pairs at least, and more than one x")
    slope = float(((x - x.mean()) * (y - y.mean())).sum()) / spread
    value = float(y.mean()) + slope * (at - float(x.mean()))
    residuals = y - y.mean() - slope * (x - x.mean())
    deviation = math.sqrt(float((residuals**2).sum()) / (n - 2))
    reach = _student(n - 2) * deviation * math.sqrt(1 + 1 / n + (at - float(x.mean())) ** 2 / spread)
    return value - reach, value + reach


@cache
def _student(freedom: int) -> float:
    """The two-sided quantile of Student's t.

    Importing scipy takes as long as a hundred short runs, so those of few values do without it.
    """
    if freedom >= _MANY:
        from scipy.special import stdtrit

        return float(stdtrit(freedom, (1 + CONFIDENCE) / 2))
    t = statistics.NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    # The probability is concave in t, and the normal distribution's t too small: all steps go up.
    step = t
    while step > _CLOSE * t:
        step = (CONFIDENCE - _within(t, freedom)) / _density(t, freedom)
        t += step
    return t


_MANY = 1000
"""Degrees of freedom from which on a sum of that many terms loses more digits than scipy does."""

_CLOSE = 1e-9
"""Each step leaves about the square of itself."""


def _within(t: float, freedom: int) -> float:
    """The probability that |T| <= t of Student's t (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    sine, square = t / math.sqrt(freedom + t * t), freedom / (freedom + t * t)
    odd = freedom % 2
    term = math.sqrt(square) if odd else 1.0
    terms = []
    for k in range(1 + odd, freedom, 2):
        terms.append(term)
        term *= square * k / (k + 1)
    if odd:
        return (math.atan(t / math.sqrt(freedom)) + sine * math.fsum(terms)) * 2 / math.pi
    return sine * math.fsum(terms)


def _density(t: float, freedom: int) -> float:
    """The derivative of `_within` by t."""
    half = (freedom + 1) / 2
    scale = math.lgamma(half) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    return 2 * math.exp(scale - half * math.log1p(t * t / freedom))
