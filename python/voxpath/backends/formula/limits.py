"""What limits a transfer that loses nothing: its window, or the medium.

The longer of the two is the estimate of a transfer's time; neither is below it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath.backends.formula.cardwell import slow_start_rounds
from voxpath.backends.formula.problems import NotApplicableError
from voxpath.backends.formula.transfer import (
    need_free_slow_start,
    need_idle_medium,
    need_no_loss,
    need_order,
)
from voxpath.backends.formula.wire import wire_time

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voxpath.backends.formula.transfer import Transfer


def window_rate(window: float, round_trip: float) -> float:
    """Bytes per second of a window of so many bytes, each round trip: equation (10) of Sarkar et al. 2022."""
    return window / round_trip


def medium_rate(rate: float, payload: int, overhead: int) -> float:
    """What of a rate is left for data: rate payload / (payload + overhead), Sarkar et al. 2022, equation (8).

    Args:
        rate: Of the medium; the result is in the same unit.
        payload: Bytes of data in each packet.
        overhead: Bytes of headers and framing with it.
    """
    return rate * payload / (payload + overhead)


def window_limit(transfer: Transfer) -> Mapping[str, float]:
    """A transfer of which the window is the limit, from the SYN to the last byte at the receiver.

    Cardwell, Savage and Anderson, "Modeling TCP latency", INFOCOM 2000, without loss: T = R_h + R times
    the rounds of `slow_start_rounds`, with R_h the round trip of the SYN. A request travels half a round,
    as the last segment does; data that nobody asks for is half a round faster. Nagle's delay of a short
    last segment is not counted.

    Holds where nothing is lost, duplicated or reordered, and where a window takes the slowest link less
    than a round trip.
    """
    need_no_loss(transfer)
    need_order(transfer)
    need_free_slow_start(transfer)
    need_idle_medium(transfer, transfer.window)
    rounds = slow_start_rounds(transfer.segments, transfer.initial_window, transfer.growth, transfer.window)
    return transfer.took(transfer.syn_round_trip + rounds * transfer.round_trip - transfer.unasked)


def medium_limit(transfer: Transfer) -> Mapping[str, float]:
    """The time that the data occupies the slowest link, headers and framing included.

    T = 8 (size + n overhead) / rate with n segments: `medium_rate` for a transfer of any length. No
    transfer is faster, whatever its window.

    Holds where a link has a rate and nothing is lost, duplicated or reordered.
    """
    need_no_loss(transfer)
    need_order(transfer)
    if all(hop["rate_bps"] is None for hop in transfer.forward):
        raise NotApplicableError("no link on the way has a rate")
    full, rest = divmod(transfer.size, transfer.mss)
    return transfer.took(
        max(
            full * wire_time(transfer.header + transfer.mss, hop)
            + (wire_time(transfer.header + rest, hop) if rest else 0.0)
            for hop in transfer.forward
        )
    )
