"""What values with intervals decide about a claim: that it holds, that it does not, or nothing.

A claim of more or less is decided where all of the 95 % interval lies on one side of the limit. A single
value has no interval, and decides nothing; a number that was not found by chance decides as it is.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from voxpath.results.intervals import Summary, paired

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Decision = bool | None
    """None where the values cannot decide."""

    Value = Summary | tuple[float, float] | float
    """A mean, an interval, or a number that is known."""


def above(value: Value | None, limit: Value = 0.0) -> Decision:
    """Whether a value is more than another; nothing is decided by none.

    Two means are held against each other by the interval of their difference, as independent ones: what is
    paired is to be given as the mean of its differences.
    """
    if value is None:
        return None
    difference = _difference(value, limit)
    if difference is None:
        return None
    low, high = difference
    if low > 0:
        return True
    return False if high <= 0 else None


def below(value: Value | None, limit: Value = 0.0) -> Decision:
    """Whether a value is less than another; as `above`."""
    return None if value is None else above(limit, value)


def within(value: Value | None, low: float, high: float) -> Decision:
    """Whether a value lies between two numbers, these included."""
    ends = None if value is None else _ends(value)
    if ends is None:
        return None
    if low <= ends[0] and ends[1] <= high:
        return True
    return False if ends[1] < low or high < ends[0] else None


def near(values: Sequence[float], reference: Sequence[float], share: float) -> Decision:
    """Whether the mean of values is within a share of that of others, found under the same conditions.

    Args:
        values: As many as there are references, in their order.
        reference: What they are held against; the bound is a share of its mean, with that mean's spread.
        share: Such as 0.1 for "within a tenth".

    Raises:
        ValueError: There are not as many values as references, or none.
    """
    low, high = (paired(values, [factor * one for one in reference]) for factor in (1 - share, 1 + share))
    return between(low, high)


def between(low: Value, high: Value) -> Decision:
    """Whether a value is between two limits, these included, by its differences to both: zero is between."""
    ways = [all_of([negated(below(one)), negated(above(other))]) for one, other in ((low, high), (high, low))]
    if any(ways):
        return True
    return None if None in ways else False


def all_of(decisions: Iterable[Decision]) -> Decision:
    """Whether all of some claims hold: one that does not decides, one that is undecided leaves it open."""
    found = list(decisions)
    if any(decision is False for decision in found):
        return False
    return None if any(decision is None for decision in found) else True


def negated(decision: Decision) -> Decision:
    """Whether a claim does not hold."""
    return None if decision is None else not decision


def minus(value: Summary, other: Summary | float) -> Summary:
    """The difference of two means that are independent of each other."""
    if not isinstance(other, Summary):
        return Summary(value.n, value.mean - other, value.half_width)
    known = value.half_width is not None and other.half_width is not None
    width = math.hypot(value.half_width or 0.0, other.half_width or 0.0) if known else None
    return Summary(min(value.n, other.n), value.mean - other.mean, width)


def _difference(value: Value, other: Value) -> tuple[float, float] | None:
    """The interval of a difference."""
    if isinstance(value, Summary) and isinstance(other, Summary):
        return minus(value, other).interval
    ours, theirs = _ends(value), _ends(other)
    return None if ours is None or theirs is None else (ours[0] - theirs[1], ours[1] - theirs[0])


def _ends(value: Value) -> tuple[float, float] | None:
    if isinstance(value, Summary):
        return value.interval
    return value if isinstance(value, tuple) else (value, value)
