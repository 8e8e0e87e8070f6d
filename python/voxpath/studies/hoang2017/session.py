"""What came of a sender's session: its rates, the losses that it computes, how steady its estimate is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from voxpath.studies.media import Array, Media


def mean_sent(media: Media) -> float:
    """Mean sending rate, which is the final estimate A (Figure 16), in bit/s."""
    return float(media.sent.mean())


def of_first(seconds: int) -> Callable[[Media], float]:
    """The same of the first seconds alone."""
    return lambda media: mean_sent(media.between(0, seconds))


def goodput(media: Media) -> float:
    """What the receiver gets, in bit/s."""
    return float(media.received.mean())


def loss(media: Media) -> float:
    """Which part of all packets was lost."""
    sent, received = float(media.sent.sum()), float(media.received.sum())
    # By octets: by sequence numbers nobody hears that the last packets before the end are missing.
    return 1 - received / sent if sent else float("nan")


def losses(media: Media, interval: int) -> Array:
    """The loss ratio of each interval of so many seconds, as the sender computes it from a report."""
    starts = range(0, len(media.sent) - interval + 1, interval)
    return np.array([max(0.0, loss(media.between(at, at + interval))) for at in starts])


def steady_share(media: Media, interval: int, part: float) -> float:
    """In which part of the steps from report to report the estimate changes by less than a part of it."""
    steps = media.target[interval - 1 :: interval]
    return share_below(np.abs(np.diff(steps)) / steps[:-1], part)


def share_below(values: Sequence[float] | Array, limit: float) -> float:
    """Which part of the values lies below a limit."""
    return float(np.mean(np.asarray(values) < limit))
