"""Resonances of an area function: a chain of short tubes, from the glottis to the lips.

The check of formants that were measured from sound: it shares no step with them. Each tube passes pressure
and volume velocity on by its chain matrix, walls of soft tissue yield, the lips radiate, the glottis is
closed. The resonances are where the velocity at the lips is largest for one at the glottis (Fant 1960;
Sondhi and Schroeter 1987).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

SPEED_M_S = 353.0
"""Of sound in warm, moist air."""
DENSITY_KG_M3 = 1.14
WALL_MASS_KG_M2 = 15.0
WALL_RESISTANCE = 16000.0
"""Of the walls, in kg/(m² s): soft tissue (Ishizaka, French and Flanagan 1975)."""

_STEP_HZ = 4.0
_END_CORRECTION = 8 / (3 * math.pi)
"""Of a piston in a baffle, in radii."""


def resonances(
    areas_m2: Sequence[float], section_m: float, count: int = 4, *, rigid: bool = False
) -> tuple[float, ...]:
    """The lowest resonances of a tract.

    Args:
        areas_m2: Of its sections, from the glottis to the lips.
        section_m: Length of each.
        count: How many resonances.
        rigid: Whether the walls do not yield.

    Raises:
        ValueError: A section is closed, or there are fewer resonances below 6 kHz.
    """
    areas = np.asarray(areas_m2, float)
    if not (areas > 0).all():
        raise ValueError("the tract is closed: a section has no area")
    frequencies = np.arange(60.0, 6000.0, _STEP_HZ)
    omega = 2 * np.pi * frequencies
    radius = math.sqrt(float(areas[-1]) / math.pi)
    # A piston in a baffle: mass of the end correction, and what it radiates.
    wave = omega / SPEED_M_S
    load = (DENSITY_KG_M3 * SPEED_M_S / areas[-1]) * (
        (wave * radius) ** 2 / 2 + 1j * wave * radius * _END_CORRECTION
    )
    pressure, velocity = load, np.ones_like(omega, dtype=complex)
    inertance = 1j * omega * DENSITY_KG_M3
    wall = WALL_RESISTANCE + 1j * omega * WALL_MASS_KG_M2
    for area in areas[::-1]:
        series = inertance / area * section_m
        shunt = 1j * omega * area * section_m / (DENSITY_KG_M3 * SPEED_M_S**2)
        if not rigid:
            shunt = shunt + 2 * math.sqrt(math.pi * area) * section_m / wall
        # A section is half of its mass, its compliance and wall, and the other half.
        pressure = pressure + series / 2 * velocity
        velocity = velocity + shunt * pressure
        pressure = pressure + series / 2 * velocity
    gain = -20 * np.log10(np.abs(velocity))
    peaks = np.flatnonzero((gain[1:-1] > gain[:-2]) & (gain[1:-1] >= gain[2:])) + 1
    if len(peaks) < count:
        raise ValueError(f"the tract has {len(peaks)} resonances below 6 kHz, not {count}")
    found = []
    for peak in peaks[:count]:
        # The top of the parabola through three values.
        low, top, high = gain[peak - 1 : peak + 2]
        found.append(float(frequencies[peak] + _STEP_HZ * (low - high) / (2 * (low - 2 * top + high))))
    return tuple(found)
