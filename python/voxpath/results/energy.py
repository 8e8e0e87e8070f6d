"""Energy of radios, from when packets pass: a model of states, which an application's traffic drives.

A radio is idle until a packet passes. Then it is promoted, which takes power for a time; it is busy for a
while after each packet; then it stays connected for the length of its tail, in case that more comes; then it
is idle. Each bit costs beside that. What is told is energy above that of an idle radio. The model delays no
packet: a scenario that wants the promotion's delay has it in its links.

Numbers are those of Huang, Qian, Gerber, Mao, Sen and Spatscheck, "A Close Examination of Performance and
Power Characteristics of 4G LTE Networks", MobiSys 2012, Tables 3 and 4, of one phone; the time that a radio
of LTE is busy after a packet is the inactivity timer of 100 ms that it found there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Radio:
    """A radio's states.

    Attributes:
        busy_w: Power while packets pass, without what each bit costs.
        busy_s: How long it stays so after a packet.
        tail_w: Power while it waits for more.
        tail_s: How long that is.
        promotion_w: Power while it leaves the idle state.
        promotion_s: How long that takes.
        up_j: Energy of a bit that is sent.
        down_j: Energy of a bit that is received.
    """

    busy_w: float
    busy_s: float
    tail_w: float
    tail_s: float
    promotion_w: float
    promotion_s: float
    up_j: float
    down_j: float


RADIOS: Mapping[str, Radio] = {
    "lte": Radio(1.28804, 0.1, 1.0600, 11.576, 1.2107, 0.2601, 0.43839e-6, 0.05197e-6),
    "wifi": Radio(0.13286, 0.0, 0.1193, 0.2381, 0.1244, 0.0791, 0.28317e-6, 0.13701e-6),
}
"""By name."""


@dataclass(frozen=True)
class Energy:
    """What a radio took.

    Attributes:
        joules: Energy above that of an idle radio.
        promotions: How often it left the idle state.
        connected_s: How long it was busy or in its tail.
    """

    joules: float
    promotions: int
    connected_s: float


def energy(radio: Radio, at_s: ArrayLike, bits: ArrayLike, is_up: ArrayLike, end_s: float) -> Energy:
    """What a radio takes for these packets until a time.

    Args:
        radio: Its states.
        at_s: When each packet passes, in seconds, in any order; shape (packets,).
        bits: Of each packet; shape (packets,).
        is_up: Whether it is sent, and not received; shape (packets,).
        end_s: When the account is closed, in seconds.

    Raises:
        ValueError: The shapes differ, or a packet passes after the end.
    """
    when, sizes, up = np.asarray(at_s, float), np.asarray(bits, float), np.asarray(is_up, bool)
    if not when.shape == sizes.shape == up.shape or when.ndim != 1:
        raise ValueError(f"{when.shape}, {sizes.shape} and {up.shape} are not one length")
    if not len(when):
        return Energy(0.0, 0, 0.0)
    if when.max() > end_s:
        raise ValueError(f"a packet passes at {when.max():g} s, after the end at {end_s:g} s")
    gaps = np.diff(np.append(np.sort(when), end_s))
    busy = np.minimum(gaps, radio.busy_s)
    tail = np.clip(gaps - radio.busy_s, 0.0, radio.tail_s)
    # After the last packet nothing comes that could wake it.
    promotions = 1 + int((gaps[:-1] > radio.busy_s + radio.tail_s).sum())
    joules = (
        radio.busy_w * busy.sum()
        + radio.tail_w * tail.sum()
        + promotions * radio.promotion_w * radio.promotion_s
        + radio.up_j * sizes[up].sum()
        + radio.down_j * sizes[~up].sum()
    )
    return Energy(float(joules), promotions, float(busy.sum() + tail.sum()))
