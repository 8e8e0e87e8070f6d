"""How long congestion avoidance takes to win back the window that one loss has cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath.backends.formula.problems import NotApplicableError
from voxpath.backends.formula.transfer import need_idle_medium, need_order, need_reno
from voxpath.backends.formula.wire import loses

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from voxpath.backends.formula.transfer import Transfer


def congestion_avoidance(cwnd: float, mss: int, ack_every: int) -> Iterator[float]:
    """Window in bytes at the start of each round: cwnd += MSS²/cwnd for every acknowledgment.

    RFC 5681, equation (3), and equation (17) of Sarkar et al. 2022, whose Table 9 applies it once per
    round. A round has an acknowledgment for each `ack_every` whole segments of the window, and one at
    least.
    """
    while True:
        yield cwnd
        for _ in range(max(1, int(cwnd // mss) // ack_every)):
            cwnd += mss * mss / cwnd


def byte_counted(cwnd: float, mss: int) -> Iterator[float]:
    """Window in bytes at the start of each round: one MSS more each (RFC 5681 section 3.1)."""
    while True:
        yield cwnd
        cwnd += mss


def rounds_to(window: float, series: Iterator[float]) -> int:
    """The first round in which a growing cwnd is at the window or above."""
    return next(number for number, cwnd in enumerate(series) if cwnd >= window)


def window_recovery(transfer: Transfer) -> Mapping[str, float]:
    """Seconds from the end of a loss's repair until cwnd is again at the window: the rounds, times R.

    cwnd starts from ssthresh = max(FlightSize/2, 2 MSS) (RFC 5681, equation 4), FlightSize being the window.

    Holds for Reno whose window is the limit, for a loss that is repaired without a timeout and not
    followed by another.
    """
    if not any(loses(hop) for hop in transfer.forward):
        raise NotApplicableError("no data is lost: there is nothing to recover from")
    need_order(transfer)
    need_reno(transfer)
    need_idle_medium(transfer, transfer.window)
    # What is in flight are whole segments.
    window = transfer.window * transfer.mss
    halved = max(window / 2, 2 * transfer.mss)
    series = (
        byte_counted(halved, transfer.mss)
        if transfer.byte_counting
        else congestion_avoidance(halved, transfer.mss, transfer.ack_every)
    )
    return {"window_recovery_s": rounds_to(window, series) * transfer.round_trip}
