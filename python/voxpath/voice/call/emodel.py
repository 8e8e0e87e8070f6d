"""The E-model: what a connection's parameters do to a conversation (ITU-T G.107, narrow band).

Names and numbers of equations are the recommendation's (06/2015). Its defaults are a handset call without
losses or delay, of which R is 93.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MOST_PPL, MOST_DELAY_MS = 20.0, 500.0
"""Packet loss in per cent and one-way delay up to which G.107 permits its use (table 2)."""
_MOST_BURST_R, _MOST_BURST_R_OF_FEW, _FEW = 2.0, 8.0, 2.0
"""BurstR is permitted up to the first, or up to the second where Ppl is at most the third."""
MOST_BPL = 40.0
"""The end of the range of Bpl (table 2)."""
_LEAST = 1e-3
MOST_IE = 95.0
"""What (7-29) ends at: nothing is left of the speech."""


@dataclass(frozen=True)
class Connection:
    """What G.107 knows of a connection; the defaults are those of its table 2.

    Attributes:
        slr: Send loudness rating, in dB.
        rlr: Receive loudness rating, in dB.
        stmr: Sidetone masking rating, in dB.
        lstr: Listener sidetone rating, in dB.
        ds: D-value of the telephone at the sending side.
        telr: Talker echo loudness rating, in dB.
        wepl: Weighted echo path loss, in dB.
        t_ms: Mean one-way delay of the echo path.
        tr_ms: Round-trip delay in a 4-wire loop.
        ta_ms: Absolute delay in an echo-free connection.
        qdu: Quantisation distortion units.
        ie: Equipment impairment factor.
        bpl: Packet-loss robustness factor, in per cent.
        ppl: Random packet loss, in per cent.
        burst_r: Mean length of bursts over that of independent losses.
        nc: Circuit noise, in dBm0p.
        nfor: Noise floor at the receiving side, in dBmp.
        ps: Room noise at the sending side, in dB(A).
        pr: Room noise at the receiving side, in dB(A).
        advantage: What users forgive a connection for being there at all.
        st: Delay sensitivity.
        mt_ms: Delay that can just be noticed.
    """

    slr: float = 8
    rlr: float = 2
    stmr: float = 15
    lstr: float = 18
    ds: float = 3
    telr: float = 65
    wepl: float = 110
    t_ms: float = 0
    tr_ms: float = 0
    ta_ms: float = 0
    qdu: float = 1
    ie: float = 0
    bpl: float = 4.3
    ppl: float = 0
    burst_r: float = 1
    nc: float = -70
    nfor: float = -64
    ps: float = 35
    pr: float = 35
    advantage: float = 0
    st: float = 1
    mt_ms: float = 100


@dataclass(frozen=True)
class Rating:
    """R and what it is made of.

    Attributes:
        ro: Basic signal-to-noise ratio.
        is_: Simultaneous impairment.
        id_: Delay impairment.
        ie_eff: Effective equipment impairment.
        advantage: Advantage factor.
    """

    ro: float
    is_: float
    id_: float
    ie_eff: float
    advantage: float

    @property
    def r(self) -> float:
        """The transmission rating factor (7-1); at least 0, where Annex B ends."""
        return max(0.0, self.ro - self.is_ - self.id_ - self.ie_eff + self.advantage)

    @property
    def mos(self) -> float:
        """Estimated conversational quality, MOS-CQE."""
        return mos_of(self.r)


def of_delay(one_way_ms: float) -> Connection:
    """The default connection with a delay, mouth to ear: T, Ta, and there and back Tr."""
    return Connection(t_ms=one_way_ms, ta_ms=one_way_ms, tr_ms=2 * one_way_ms)


def rate(given: Connection) -> Rating:
    """The rating of a connection."""
    noise = _noise(given)
    ro = 15 - 1.5 * (given.slr + noise)
    is_, sidetone = _simultaneous(given, noise, ro)
    id_ = _talker_echo(given, noise, sidetone) + _listener_echo(given, ro) + _absolute(given)
    return Rating(ro, is_, id_, effective(given.ie, given.bpl, given.ppl, given.burst_r), given.advantage)


def effective(ie: float, bpl: float, ppl: float, burst_r: float = 1) -> float:
    """Ie,eff (7-29): of a codec with so much loss, both in per cent; at most 95."""
    return min(MOST_IE, ie + (MOST_IE - ie) * ppl / (ppl / burst_r + bpl)) if ppl else ie


def bpl_of(ie: float, effective: float, ppl: float, spread: float) -> float:
    """Bpl with which (7-29) gives an Ie,eff; at most the end of its range, and above 0.

    Args:
        ie: Of the codec without loss.
        effective: Ie,eff.
        ppl: Packet loss, in per cent.
        spread: Ppl / BurstR.
    """
    if effective <= ie:
        return MOST_BPL
    return min(MOST_BPL, max((MOST_IE - ie) * ppl / (effective - ie) - spread, _LEAST))


def beyond(ppl: float, burst_r: float, ta_ms: float) -> list[str]:
    """What of a connection is beyond the ranges that G.107 permits, in words.

    Args:
        ppl: Packet loss, in per cent.
        burst_r: Mean length of bursts over that of independent losses.
        ta_ms: One-way delay.
    """
    most_r = float(_most_burst_r(np.array(ppl)))
    found = []
    if ppl > MOST_PPL:
        found.append(f"a loss of {above(ppl, MOST_PPL)} % (at most {MOST_PPL:g} %)")
    if burst_r > most_r:
        found.append(f"a BurstR of {above(burst_r, most_r)} (at most {most_r:g} with this loss)")
    if ta_ms > MOST_DELAY_MS:
        found.append(f"a delay of {above(ta_ms, MOST_DELAY_MS)} ms (at most {MOST_DELAY_MS:g} ms)")
    return found


def above(value: float, most: float) -> str:
    """A value with as many digits as show that it is above the most."""
    # With 17 digits a number of 64 bits is told exactly.
    texts = (f"{value:.{digits}g}" for digits in range(max(3, len(str(int(value)))), 18))
    return next(text for text in texts if float(text) > most)


def _most_burst_r(ppl: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(ppl > _FEW, _MOST_BURST_R, _MOST_BURST_R_OF_FEW)


def mos_of(r: float) -> float:
    """The mean opinion score of R (Annex B)."""
    if r <= 0:
        return 1.0
    if r >= 100:
        return 4.5
    # Below 6.5 the polynomial dips under the scale's end.
    return max(1.0, 1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6)


def r_of(mos: float) -> float:
    """R of a mean opinion score, by bisection where the relation ascends (Appendix I has the closed form)."""
    low, high = 6.5, 100.0
    if mos >= mos_of(high):
        return high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if mos_of(middle) < mos else (low, middle)
    return low


def burst_ratio(lost: Sequence[bool]) -> float:
    """BurstR: mean length of what is lost in a row, over that of independent losses, which is 1 / (1 - Ppl).

    At least 1: losses that are more even than chance are no better than these.
    """
    count = sum(lost)
    bursts = sum(one and not before for one, before in zip(lost, [False, *lost], strict=False))
    if not bursts or count == len(lost):
        return 1.0
    return max(1.0, count / bursts * (1 - count / len(lost)))


def losses(lost: Sequence[bool], bpl: float) -> tuple[float, float]:
    """Ppl in per cent and BurstR with which a sequence of losses is rated.

    BurstR counts up to the end of its range. The pair is that of the worst part of the losses: (7-29) alone
    would rate 100 % of loss, which has no bursts, better than 67 % in bursts. So no further loss makes Ie,eff
    less. Ppl is not cut at the end of its range, for then a call without a sound would be rated like one of
    which a fifth is lost.

    Args:
        lost: Whether each frame is lost.
        bpl: The codec's packet-loss robustness factor, in per cent.
    """
    runs = sorted(map(len, "".join("x" if one else " " for one in lost).split()), reverse=True)
    if not runs:
        return 0.0, 1.0
    # Of so many of the losses, those in the longest bursts are the worst; so many bursts they are.
    count = np.arange(1, sum(runs) + 1)
    bursts = np.repeat(np.arange(1, len(runs) + 1), runs)
    share = count / len(lost)
    burst_r = np.clip(count / bursts * (1 - share), 1.0, _most_burst_r(100 * share))
    worst = int(np.argmax(share / (100 * share / burst_r + bpl)))
    return float(100 * share[worst]), float(burst_r[worst])


def _noise(given: Connection) -> float:
    """No (7-3): all noises together, in dBm0p."""
    olr = given.slr + given.rlr
    send = given.ps - given.slr - given.ds - 100 + 0.004 * (given.ps - olr - given.ds - 14) ** 2
    pre = given.pr + 10 * math.log10(1 + 10 ** ((10 - given.lstr) / 10))
    receive = given.rlr - 121 + pre + 0.008 * (pre - 35) ** 2
    powers = (given.nc, send, receive, given.nfor + given.rlr)
    return 10 * math.log10(sum(10 ** (power / 10) for power in powers))


def _simultaneous(given: Connection, noise: float, ro: float) -> tuple[float, float]:
    """Is (7-8), and of it Ist."""
    x = (given.slr + given.rlr) + 0.2 * (64 + noise - given.rlr)
    loudness = 20 * ((1 + (x / 8) ** 8) ** (1 / 8) - x / 8)
    stmr = -10 * math.log10(10 ** (-given.stmr / 10) + math.exp(-given.t_ms / 4) * 10 ** (-given.telr / 10))
    sidetone = (
        12 * (1 + ((stmr - 13) / 6) ** 8) ** (1 / 8)
        - 28 * (1 + ((stmr + 1) / 19.4) ** 35) ** (1 / 35)
        - 13 * (1 + ((stmr - 3) / 33) ** 13) ** (1 / 13)
        + 29
    )
    q = 37 - 15 * math.log10(given.qdu)
    g = 1.07 + 0.258 * q + 0.0602 * q**2
    y, z = (ro - 100) / 15 + 46 / 8.4 - g / 9, 46 / 30 - g / 40
    return loudness + sidetone + 15 * math.log10(1 + 10**y + 10**z), sidetone


def _talker_echo(given: Connection, noise: float, sidetone: float) -> float:
    """Idte (7-19)."""
    t = given.t_ms
    terv = given.telr - 40 * math.log10((1 + t / 10) / (1 + t / 150)) + 6 * math.exp(-0.3 * t**2)
    if given.stmr < 9:
        terv += sidetone / 2
    roe, re = -1.5 * (noise - given.rlr), 80 + 2.5 * (terv - 14)
    half = (roe - re) / 2
    idte = (half + math.sqrt(half**2 + 100) - 1) * (1 - math.exp(-t))
    return math.hypot(idte, sidetone) if given.stmr > 20 else idte


def _listener_echo(given: Connection, ro: float) -> float:
    """Idle (7-25)."""
    half = (ro - 10.5 * (given.wepl + 7) * math.pow(given.tr_ms + 1, -0.25)) / 2
    return half + math.sqrt(half**2 + 169)


def _absolute(given: Connection) -> float:
    """Idd (7-27): what too long a delay does without any echo."""
    if given.ta_ms <= given.mt_ms:
        return 0.0
    x, power = math.log2(given.ta_ms / given.mt_ms), 6 * given.st
    near, far = (math.pow(1 + math.pow(one, power), 1 / power) for one in (x, x / 3))
    return 25 * (near - 3 * far + 2)
