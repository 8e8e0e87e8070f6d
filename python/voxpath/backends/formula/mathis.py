"""The steady state of Reno under rare loss: the square root of p."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from voxpath.backends.formula.problems import NotApplicableError
from voxpath.backends.formula.transfer import (
    data_loss,
    need_idle_medium,
    need_losses,
    need_order,
    need_reno,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voxpath.backends.formula.transfer import Transfer


def mean_window(p: float, b: float) -> float:
    """Segments in the mean window: C / √p, C = √(3 / (2 b)): 1.22, or 0.87 with delayed acknowledgments.

    The window swings between W/2 and W, one loss each time: 3/8 b W² segments per swing are 1/p.
    """
    return math.sqrt(3 / (2 * b * p))


def mathis_rate(p: float, round_trip: float, b: float) -> float:
    """Segments per second: C / (R √p).

    M. Mathis, J. Semke, J. Mahdavi, T. Ott, "The macroscopic behavior of the TCP congestion avoidance
    algorithm", Computer Communication Review 27(3), 1997, equation (3) without MSS.

    Args:
        p: Probability that a segment is lost.
        round_trip: Seconds.
        b: Rounds in which the window grows by one segment.
    """
    return mean_window(p, b) / round_trip


def mathis(transfer: Transfer) -> Mapping[str, float]:
    """A transfer's n segments at the rate of `mathis_rate`: T = n / B.

    Neither handshake nor slow start nor timeouts are counted.

    Holds for Reno that is alone on a path with random loss of data, over several losses, while nothing but
    loss limits the window: W_m is above its peak W = 4/3 C/√p, and the medium idle with it; and while losses
    are repaired without timeouts: the halved window has the duplicate acknowledgments that a repair needs
    (p below 2 % with delayed ones).
    """
    p = data_loss(transfer)
    need_order(transfer)
    need_reno(transfer)
    b = transfer.rounds_per_segment
    peak = 4 / 3 * mean_window(p, b)
    if peak > transfer.window:
        raise NotApplicableError(
            f"the window is the limit, not loss: it holds {transfer.window} segments,"
            f" and loss would let it grow to {round(peak, 1):g}"
        )
    if peak / 2 < transfer.dupack_threshold + 1:
        raise NotApplicableError(
            f"losses end in timeouts: the halved window of {peak / 2:.3g} segments has too few for"
            f" {transfer.dupack_threshold} duplicate acknowledgments"
        )
    need_idle_medium(transfer, peak)
    need_losses(transfer, p)
    return transfer.took(transfer.segments / mathis_rate(p, transfer.round_trip, b))
