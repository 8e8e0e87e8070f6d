"""Intervals: how far a mean, or the next value, may lie from what was observed."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIDENCE = 0.95


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
        """`mean ± half width`; a single value as it is."""
        if self.half_width is None:
            return f"{self.mean:.6g}"
        return f"{self.mean:.2f} ± {self.half_width:.2f}"

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
    mean = statistics.fmean(values)
    if n == 1:
        return Summary(1, mean, None)
    sd = statistics.stdev(values)
    return Summary(n, mean, _student(n - 1) * sd / math.sqrt(n))


def _student(freedom: int) -> float:
    """The two-sided quantile of Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + CONFIDENCE) / 2))
