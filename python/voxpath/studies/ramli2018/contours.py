"""Where a value passes a level, along the columns of a grid."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def crossing(at: Sequence[float], values: Sequence[float | None], level: float) -> float | None:
    """The first place at which values pass a level from below, interpolated.

    Between two places it is interpolated along the logarithms of place and value; from the place 0, which
    has no logarithm, along both as they are.

    Args:
        at: Places, ascending, from 0.
        values: There; none where there is none.
        level: Above 0.

    Returns:
        None where they do not pass it, or lie above it from the beginning.
    """
    known = [(place, value) for place, value in zip(at, values, strict=True) if value is not None]
    if not known or known[0][1] > level:
        return None
    for (x, low), (y, high) in pairwise(known):
        if low <= level < high:
            if x == 0 or low <= 0:
                return x + (y - x) * (level - low) / (high - low)
            share = math.log(level / low) / math.log(high / low)
            return x * math.exp(share * math.log(y / x))
    return None
