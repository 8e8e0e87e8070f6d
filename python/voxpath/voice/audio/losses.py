"""Which packets of a stream arrive."""

from __future__ import annotations

import math

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


def bursty(count: int, loss: float, mean_burst: float, seed: int) -> list[bool]:
    """Whether each packet arrives, lost in bursts: Gilbert's two states, all of one lost, none of the other.

    A burst ends at each packet with the probability 1 / `mean_burst`, and begins so often that the part
    `loss` is lost in the long run. The first packet always arrives.

    Raises:
        ValueError: The loss is no probability below 1, or no bursts of this length give it.
    """
    if not 0 <= loss < 1:
        raise ValueError(f"a loss in bursts lies from 0 to below 1, not at {loss:g}")
    begins = loss / (mean_burst * (1 - loss)) if mean_burst >= 1 else math.inf
    if begins > 1:
        raise ValueError(f"no bursts of {mean_burst:g} packets on average lose {100 * loss:g} %")
    drawn = np.random.default_rng(seed).random(count)
    arrives, lost = [], False
    for index, one in enumerate(drawn):
        lost = index > 0 and bool(one < (1 - 1 / mean_burst if lost else begins))
        arrives.append(not lost)
    return arrives
