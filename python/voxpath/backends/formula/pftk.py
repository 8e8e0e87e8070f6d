"""The steady state of Reno under loss, with timeouts and a limited window.

J. Padhye, V. Firoiu, D. Towsley, J. Kurose, "Modeling TCP throughput: a simple model and its empirical
validation", SIGCOMM 1998 and, extended, IEEE/ACM Transactions on Networking 8(2), 2000. In all of them p
is the probability that a segment is lost (0 < p < 1), R the round trip in seconds, T0 the first timeout in
seconds, W_m the largest window in segments, b the rounds in which the window grows by one segment.

The publication lets everything after the first lost segment of a round be lost too, as a full drop-tail
queue does, and repairs one loss per round; links that lose packets independently are kinder. Slow start
and handshake are not in it, so that it is meant for transfers of many losses.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from voxpath.backends.formula.transfer import (
    data_loss,
    need_idle_medium,
    need_losses,
    need_order,
    need_reno,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from voxpath.backends.formula.transfer import Transfer


def window_at_loss(p: float, b: float) -> float:
    """E[W], equation (13): segments in the window when a loss is noticed, were it not limited."""
    start = (2 + b) / (3 * b)
    return start + math.sqrt(8 * (1 - p) / (3 * b * p) + start**2)


def timeout_share(p: float, window: float) -> float:
    """Q(w): the probability that a loss in a window of w segments ends in a timeout.

    min(1, (1 - q³) (1 + q³ (1 - q^(w-3))) / (1 - q^w)) with q = 1 - p: three duplicate acknowledgments are
    needed for anything better.
    """

    def lost_among(segments: float) -> float:
        # 1 - (1 - p)^n, where the plain power would round to zero.
        return -math.expm1(segments * math.log1p(-p))

    three = lost_among(3)
    return min(1.0, three * (1 + (1 - three) * lost_among(window - 3)) / lost_among(window))


def backoff(p: float) -> float:
    """G(p) = 1 + p + 2 p² + 4 p³ + 8 p⁴ + 16 p⁵ + 32 p⁶: what doubling the timeout costs."""
    return 1 + p * (1 + sum((2 * p) ** power for power in range(1, 6)))


def mean_timeouts(p: float, timeout: float) -> float:
    """E[Z_TO] = T0 G(p) / (1 - p): seconds of a sequence of timeouts."""
    return timeout * backoff(p) / (1 - p)


def send_rate(p: float, round_trip: float, timeout: float, window: float, b: float) -> float:
    """B(p), the full model (31): segments per second sent, those sent again among them.

    With W = min(E[W], W_m) and Q = Q(W),

        B = ((1 - p)/p + W + Q/(1 - p)) / (A + Q E[Z_TO])

    where A, the time between two losses, is R (b/2 W + 1), or R (b/8 W_m + (1 - p)/(p W_m) + 2) once the
    window stops at W_m.
    """
    reached = min(window_at_loss(p, b), window)
    q = timeout_share(p, reached)
    sent = (1 - p) / p + reached + q / (1 - p)
    return sent / _between_losses(p, round_trip, timeout, window, b)


def delivered_rate(p: float, round_trip: float, timeout: float, window: float, b: float) -> float:
    """T(p) of the extended version: segments per second delivered. R of Cardwell et al., equation (22).

    As `send_rate`, with W/2 for W and Q for Q/(1 - p) above the line: half a window is lost with each
    loss.
    """
    reached = min(window_at_loss(p, b), window)
    delivered = (1 - p) / p + reached / 2 + timeout_share(p, reached)
    return delivered / _between_losses(p, round_trip, timeout, window, b)


def approximate_rate(p: float, round_trip: float, timeout: float, window: float, b: float) -> float:
    """The approximate model, of which TFRC (RFC 5348 section 3.1) is made: segments per second.

    B = min(W_m/R, 1 / (R √(2 b p/3) + T0 min(1, 3 √(3 b p/8)) p (1 + 32 p²)))
    """
    repairs = round_trip * math.sqrt(2 * b * p / 3)
    timeouts = timeout * min(1.0, 3 * math.sqrt(3 * b * p / 8)) * p * (1 + 32 * p**2)
    return min(window / round_trip, 1 / (repairs + timeouts))


def pftk_full(transfer: Transfer) -> Mapping[str, float]:
    """A transfer's n segments at the rate of `send_rate`: T = n / B.

    Taking what is sent for what arrives is how the form is used everywhere; it overstates goodput by a share
    of p at least.

    Holds for Reno that is alone on a path with random loss of data, while its window leaves the medium
    idle, and over several losses where loss sets the window.
    """
    return _steady(transfer, send_rate)


def pftk_short(transfer: Transfer) -> Mapping[str, float]:
    """A transfer's n segments at the rate of `approximate_rate`: T = n / B.

    Holds where `pftk_full` does. It drops W_m from all but the first term, and errs towards fast where the
    window is small.
    """
    return _steady(transfer, approximate_rate)


def _between_losses(p: float, round_trip: float, timeout: float, window: float, b: float) -> float:
    """Seconds from one loss to the next, its repair included."""
    unlimited = window_at_loss(p, b)
    opening = b / 2 * unlimited + 1
    stopped = b / 8 * window + (1 - p) / (p * window) + 2
    rounds = opening if unlimited < window else stopped
    q = timeout_share(p, min(unlimited, window))
    return round_trip * rounds + q * mean_timeouts(p, timeout)


def _steady(
    transfer: Transfer, rate: Callable[[float, float, float, float, float], float]
) -> Mapping[str, float]:
    p = data_loss(transfer)
    need_order(transfer)
    need_reno(transfer)
    b = transfer.rounds_per_segment
    unlimited = window_at_loss(p, b)
    need_idle_medium(transfer, min(unlimited, transfer.window))
    if unlimited < transfer.window:
        need_losses(transfer, p)
    return transfer.took(
        transfer.segments / rate(p, transfer.round_trip, transfer.timeout, transfer.window, b)
    )
