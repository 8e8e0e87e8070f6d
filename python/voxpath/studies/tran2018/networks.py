"""Nodes with two cellular networks: signal strength over time, and what it makes of rate, delay and loss.

No data set of the publication is public, so the networks come from a model. Each of its parts is a usual
one; its numbers are ours, chosen before the first run:

- signal strength: a mean of each node and operator, and log-normal shadowing around it whose autocorrelation
  falls exponentially with the distance travelled (Gudmundson 1991). Operators are independent of each other.
- rate: a part of Shannon's bound at that signal over a noise floor, as cells are shared.
- delay and loss: the radio link retransmits (HARQ, RLC). What it repairs takes time, the rest is lost; both
  grow by a factor of ten for so many decibels.
- cells: on the way, cells change after an exponential distance. During such a handover packets wait. Below a
  least signal there is no network, and packets are dropped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from voxpath.studies.tran2018.printed import MOBILE, STATIONARY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

PATHS = ("first", "second")
"""The default operator's network, and the other one's."""

LENGTH_S = 75
"""Of a trace: a minute of requests, and what the last answer may take."""

_SPEEDS_M_S = (8.0, 20.0, 35.0)
"""Of a bus, a truck, a train."""
_DECORRELATION_M = 50.0
_CELL_M = 1000.0

_FLOOR_DBM = -100.0
_LEAST_DBM = -112.0
_HANDOVER_S = (0.15, 0.8)
"""Median of a handover's gap, and the deviation of its logarithm."""

_BAND_HZ = 10e6
_EFFICIENCY = 0.5
_UPLINK = 0.3
"""The uplink's part of the downlink's rate."""
_RATES_BPS = (100e3, 50e6)

_BASE_DELAY_S = 0.015
_RADIO_DELAY_S = 0.1
_DELAY_DECADE_DB = 20.0
_LOSS = 0.1
_LOSS_DECADE_DB = 10.0


@dataclass(frozen=True)
class Kind:
    """Nodes of a kind.

    Attributes:
        mean_dbm: Of the signal strengths of nodes and operators.
        spread_db: Of these.
        shadowing_db: Standard deviation of the shadowing of one of them.
        step_s: How often its signal strength is drawn.
    """

    mean_dbm: float
    spread_db: float
    shadowing_db: float
    step_s: int


KINDS: Mapping[str, Kind] = {STATIONARY: Kind(-78, 8, 1.5, 5), MOBILE: Kind(-84, 6, 7, 1)}


@dataclass(frozen=True)
class Signal:
    """The signal of one operator at one node.

    Attributes:
        rssi_dbm: At the beginning of each second.
        share: Which part of its cells' rate the node has.
        gaps: When handovers begin, and how long packets wait, in seconds.
    """

    rssi_dbm: NDArray[np.float64]
    share: float
    gaps: tuple[tuple[float, float], ...]

    def link(self, second: int) -> Link:
        """What packets meet from this second on."""
        return link(float(self.rssi_dbm[second]), self.share)


@dataclass(frozen=True)
class Link:
    """What packets meet.

    Attributes:
        down_bps: Rate towards the node.
        up_bps: Rate from it.
        delay_s: One way.
        loss: Probability.
        connected: Whether there is a network.
    """

    down_bps: int
    up_bps: int
    delay_s: float
    loss: float
    connected: bool


def link(rssi_dbm: float, share: float) -> Link:
    """What a signal makes of a link."""
    snr_db = rssi_dbm - _FLOOR_DBM
    bound = _BAND_HZ * _EFFICIENCY * math.log2(1 + 10 ** (snr_db / 10)) * share
    low, high = _RATES_BPS
    down = min(max(bound, low), high)
    delay = _BASE_DELAY_S + _RADIO_DELAY_S * min(1.0, 10 ** (-snr_db / _DELAY_DECADE_DB))
    loss = _LOSS * min(1.0, 10 ** (-snr_db / _LOSS_DECADE_DB))
    # To what a scenario can write: bits, tenths of a millisecond, millionths.
    return Link(
        round(down), round(max(down * _UPLINK, low)), round(delay, 4), round(loss, 6), rssi_dbm > _LEAST_DBM
    )


@cache
def node(mobility: str, number: int, repetition: int) -> dict[str, Signal]:
    """The signals of a node's two operators, by the name of the path; the same whenever it is asked for."""
    return {
        path: _signal(KINDS[mobility], (mobility == MOBILE, number, place), repetition)
        for place, path in enumerate(PATHS)
    }


def _signal(kind: Kind, who: tuple[bool, int, int], repetition: int) -> Signal:
    moves, number, place = who
    # What a node has for good, and what differs from one repetition to the next.
    own = np.random.default_rng([2018, int(moves), number, place])
    drawn = np.random.default_rng([2018, int(moves), number, place, 1 + repetition])
    mean = own.normal(kind.mean_dbm, kind.spread_db)
    share = own.uniform(0.1, 1.0)
    # The speed is the node's, not the operator's.
    speed = _SPEEDS_M_S[number % len(_SPEEDS_M_S)] if moves else 0.0
    kept = math.exp(-speed * kind.step_s / _DECORRELATION_M) if moves else math.exp(-kind.step_s / 60)
    shadow = drawn.normal()
    rssi: list[float] = []
    for second in range(LENGTH_S):
        if second and second % kind.step_s == 0:
            shadow = kept * shadow + math.sqrt(1 - kept**2) * drawn.normal()
        rssi.append(min(-51.0, mean + kind.shadowing_db * shadow))
    gaps: list[tuple[float, float]] = []
    at = drawn.exponential(_CELL_M / speed) if moves else math.inf
    while at < LENGTH_S:
        length = float(drawn.lognormal(math.log(_HANDOVER_S[0]), _HANDOVER_S[1]))
        gaps.append((round(float(at), 3), round(min(length, 5.0), 3)))
        at += length + drawn.exponential(_CELL_M / speed)
    return Signal(np.array(rssi), float(share), tuple(gaps))


def describe(here: Link) -> dict[str, Any]:
    """A link as a scenario has it from the beginning."""
    return {
        "delay": f"{here.delay_s * 1e3:.1f} ms",
        "loss": f"{here.loss * 100:.4f} %",
        "up": {"rate": f"{here.up_bps} bit/s", "queue": "100 packets"},
        "down": {"rate": f"{here.down_bps} bit/s", "queue": "300 packets"},
    }


def events(path: str, signal: Signal) -> list[dict[str, Any]]:
    """What happens to a link, in order of time: steps of its signal, handovers, where it has no network."""
    found: list[tuple[float, dict[str, Any]]] = []
    before = signal.link(0)
    if not before.connected:
        found.append((0.0, {"connected": False}))
    for second in range(1, LENGTH_S):
        here = signal.link(second)
        if here == before:
            continue
        change: dict[str, Any] = {
            "delay": f"{here.delay_s * 1e3:.1f} ms",
            "loss": f"{here.loss * 100:.4f} %",
        }
        if not _in_gap(signal, second):
            change |= _rates(here)
        if here.connected != before.connected:
            change["connected"] = here.connected
        found.append((float(second), change))
        before = here
    for at, length in signal.gaps:
        # What comes waits: an event's rate is above zero, and a bit a second carries nothing in that time.
        end = at + length
        found.append((at, {"rate": "1 bit/s"}))
        if end < LENGTH_S:
            found.append((end, _rates(signal.link(int(end)))))
    found.sort(key=lambda one: one[0])
    return [{"at": f"{at:.3f} s", "link": path, **change} for at, change in found]


def _in_gap(signal: Signal, second: float) -> bool:
    return any(at <= second < at + length for at, length in signal.gaps)


def _rates(here: Link) -> dict[str, Any]:
    return {"up": {"rate": f"{here.up_bps} bit/s"}, "down": {"rate": f"{here.down_bps} bit/s"}}
