"""The retransmission timeout that a sender has once its round trips are all alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Timer:
    """The retransmission timer of RFC 6298; `RtoConfig` in `crates/tcp/src/config.rs`. All in nanoseconds.

    Attributes:
        initial: Before the first sample.
        min: Lower bound.
        max: Upper bound.
        variance_floor: G of rules 2.2 and 2.3.
        tick: The timer expires on whole multiples; zero is continuous.
    """

    initial: int
    min: int
    max: int
    variance_floor: int
    tick: int

    @classmethod
    def of(cls, rto: Mapping[str, Any]) -> Self:
        """The timer of a plan's stack."""
        return cls(rto["initial"], rto["min"], rto["max"], rto["variance_floor"], rto["tick"])

    def timeout(self, round_trip: float, variation: float = 0.0) -> float:
        """T0 in seconds: RFC 6298, rules 2.2 to 2.5, rounded up to the tick.

        RTO = SRTT + max(G, 4 RTTVAR), at least the lower bound and at most the upper. Where every round
        trip takes equally long, SRTT is that time and RTTVAR decays to zero.

        Args:
            round_trip: SRTT in seconds.
            variation: RTTVAR in seconds.
        """
        rto = round(1e9 * round_trip) + max(self.variance_floor, round(4e9 * variation))
        rto = min(max(rto, self.min), self.max)
        if self.tick:
            rto = -(-rto // self.tick) * self.tick
        return rto / 1e9
