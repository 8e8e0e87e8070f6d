"""Which packets of a stream arrive."""

from __future__ import annotations

import numpy as np


def independent(count: int, loss: float, seed: int) -> list[bool]:
    """Whether each packet arrives, lost independently of each other.

    The same seed loses, at a higher loss, the same packets and more; the first always arrives, so that a
    decoder has begun.

    Raises:
        ValueError: The loss is no probability.
    """
    if not 0 <= loss <= 1:
        raise ValueError(f"a loss lies between 0 and 1, not at {loss:g}")
    drawn = np.random.default_rng(seed).random(count)
    arrives = drawn >= loss
    arrives[:1] = True
    return [bool(one) for one in arrives]
