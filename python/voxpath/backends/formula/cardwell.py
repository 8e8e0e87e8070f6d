"""The latency of a transfer that begins with a handshake and slow start.

N. Cardwell, S. Savage, T. Anderson, "Modeling TCP latency", INFOCOM 2000. In all of it d is the number of
segments to send, p the probability that one is lost, w1 the initial window, W_m the largest window in
segments, γ the growth of the window per round in slow start: 1 + L/b where an acknowledgment covers b
segments and opens the window by L (1 in the publication).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from voxpath.backends.formula.pftk import delivered_rate, mean_timeouts, timeout_share
from voxpath.backends.formula.problems import NotApplicableError
from voxpath.backends.formula.transfer import (
    data_loss,
    need_free_slow_start,
    need_idle_medium,
    need_order,
    need_reno,
)
from voxpath.backends.formula.wire import loss_probability

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voxpath.backends.formula.transfer import Transfer


def handshake(round_trip: float, syn_timeout: float, there: float, back: float) -> float:
    """E[L_h], equation (4): seconds until a SYN is answered, sent again after T_s, 2 T_s, 4 T_s ...

    E[L_h] = R + T_s ((1 - p_r)/(1 - 2 p_r) + (1 - p_f)/(1 - 2 p_f) - 2)

    Args:
        round_trip: Seconds, of a SYN.
        syn_timeout: T_s in seconds.
        there: Probability p_f that a SYN is lost.
        back: Probability p_r that its answer is lost.

    Raises:
        NotApplicableError: Half of either or more is lost: doubling waits have no mean.
    """
    if max(there, back) >= 0.5:
        raise NotApplicableError("half of the SYNs are lost: the wait that doubles each time has no mean")
    losses = sum((1 - p) / (1 - 2 * p) - 1 for p in (there, back))
    return round_trip + syn_timeout * losses


def slow_start_segments(d: int, p: float) -> float:
    """E[d_ss], equation (5): segments sent before the first loss, the lost one among them; d where p is 0.

    E[d_ss] = (1 - (1 - p)^d) (1 - p)/p + 1, and never above d.
    """
    if p == 0:
        return d
    return min(d, _lost_among(d, p) * (1 - p) / p + 1)


def slow_start_window(segments: float, initial_window: float, growth: float) -> float:
    """E[W_ss], equation (11): the unlimited window after so many segments, (d_ss (γ - 1) + w1) / γ."""
    return (segments * (growth - 1) + initial_window) / growth


def slow_start_rounds(segments: float, initial_window: float, growth: float, window: float) -> float:
    """E[T_ss] / R, equation (15): the rounds of so many segments, from w1 up to W_m and on at W_m.

    log_γ(d_ss (γ - 1)/w1 + 1)                                       if E[W_ss] <= W_m
    log_γ(W_m/w1) + 1 + (d_ss - (γ W_m - w1)/(γ - 1)) / W_m          otherwise

    An initial window above W_m is W_m; then every round carries W_m.
    """
    first = min(initial_window, window)
    if slow_start_window(segments, first, growth) <= window and first < window:
        return math.log(segments * (growth - 1) / first + 1, growth)
    opening = 0.0 if first == window else math.log(window / first, growth) + 1
    opened = 0.0 if first == window else (growth * window - first) / (growth - 1)
    return opening + (segments - opened) / window


def first_loss(d: int, p: float, window: float, round_trip: float, timeout: float) -> float:
    """E[T_loss], equations (16) to (20): seconds that the loss which ends slow start costs.

    E[T_loss] = l_ss (Q E[Z_TO] + (1 - Q) R) with l_ss = 1 - (1 - p)^d, Q = Q(E[W_ss]): a timeout or a
    round trip.
    """
    q = timeout_share(p, window)
    return _lost_among(d, p) * (q * mean_timeouts(p, timeout) + (1 - q) * round_trip)


def cardwell(transfer: Transfer) -> Mapping[str, float]:
    """A transfer under loss, from the SYN to the last byte at the receiver: equation (25) and the handshake.

    T = E[L_h] + E[T_ss] + E[T_loss] + (d - E[d_ss]) / R(p) + E[T_delack], with R(p) of equation (22),
    `pftk.delivered_rate`. E[T_delack] is the receiver's delay of an acknowledgment where the first window
    is below what it waits for, else zero. A request travels half a round, as the last segment does; data
    that nobody asks for is half a round faster. That the request itself may be lost is not counted.

    Holds where `pftk.pftk_full` does; without loss `limits.window_limit` is the same form.
    """
    p = data_loss(transfer)
    need_order(transfer)
    need_reno(transfer)
    need_free_slow_start(transfer)
    d = transfer.segments
    round_trip, timeout, window = transfer.round_trip, transfer.timeout, transfer.window
    first = min(transfer.initial_window, window)
    before_loss = slow_start_segments(d, p)
    reached = min(slow_start_window(before_loss, first, transfer.growth), window)
    need_idle_medium(transfer, reached)
    syn, answer = transfer.backward, transfer.forward
    if not transfer.asked:
        syn, answer = answer, syn
    seconds = (
        handshake(
            transfer.syn_round_trip,
            transfer.syn_timeout,
            loss_probability(transfer.header, syn),
            loss_probability(transfer.header, answer),
        )
        + round_trip * slow_start_rounds(before_loss, first, transfer.growth, window)
        + first_loss(d, p, reached, round_trip, timeout)
        + (d - before_loss) / delivered_rate(p, round_trip, timeout, window, transfer.rounds_per_segment)
        + (transfer.ack_delay if first < min(transfer.ack_every, d) else 0)
        - transfer.unasked
    )
    return transfer.took(seconds)


def _lost_among(segments: float, p: float) -> float:
    """Probability that one of so many segments is lost."""
    return -math.expm1(segments * math.log1p(-p))
