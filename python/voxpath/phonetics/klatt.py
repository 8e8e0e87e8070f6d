"""Vowels with known resonances: a pulse train through resonators in cascade (Klatt 1980, section II).

The truth that formant measurements are held against; no model of a voice beyond that.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

RATE_HZ = 22050
BANDWIDTHS_HZ = (60.0, 90.0, 120.0, 150.0, 200.0)
"""Of the resonances, lowest first; further ones have the last."""

_VOICE_BANDWIDTH_HZ = 100.0
"""Of the resonator RGP (Klatt 1980, table I)."""

_HIGHER_HZ = 1000.0
"""Between the resonances above those that are given, as of a tube of 17.5 cm."""


def vowel(
    resonances_hz: Sequence[float],
    pitch_hz: float,
    duration_s: float,
    *,
    rate_hz: int = RATE_HZ,
    glide: float = 0.0,
) -> NDArray[np.float64]:
    """A vowel.

    Args:
        resonances_hz: Lowest first; above them further ones follow, 1000 Hz apart, up to half the rate.
        pitch_hz: Of the voice.
        duration_s: How long.
        rate_hz: Samples per second.
        glide: By how much of itself the pitch rises over the vowel, so that harmonics do not stand still.
    """
    n = round(duration_s * rate_hz)
    track = pitch_hz * (1 + glide * (np.arange(n) / n - 0.5))
    phase = np.cumsum(track) / rate_hz
    pulses = np.diff(np.floor(phase), prepend=0.0)
    # Klatt's voice: a resonator at 0 Hz shapes the pulses, and what is radiated is their derivative.
    sound = np.diff(_resonator(pulses, 0.0, _VOICE_BANDWIDTH_HZ, rate_hz), prepend=0.0)
    higher = resonances_hz[-1] + _HIGHER_HZ
    poles = [*resonances_hz, *np.arange(higher, rate_hz / 2 - _HIGHER_HZ / 2, _HIGHER_HZ)]
    for index, frequency in enumerate(poles):
        sound = _resonator(sound, frequency, BANDWIDTHS_HZ[min(index, len(BANDWIDTHS_HZ) - 1)], rate_hz)
    ramp = np.minimum(1.0, np.minimum(np.arange(n), np.arange(n)[::-1]) / (0.01 * rate_hz))
    sound = sound * ramp
    found: NDArray[np.float64] = 0.5 * sound / np.abs(sound).max()
    return found


def _resonator(
    x: NDArray[np.float64], frequency_hz: float, bandwidth_hz: float, rate_hz: int
) -> NDArray[np.float64]:
    """Y = A x + B y' + C y'' with unit gain at 0 Hz: Klatt 1980, equations (1) and (2)."""
    from scipy.signal import lfilter

    c = -math.exp(-2 * math.pi * bandwidth_hz / rate_hz)
    b = 2 * math.exp(-math.pi * bandwidth_hz / rate_hz) * math.cos(2 * math.pi * frequency_hz / rate_hz)
    return np.asarray(lfilter([1 - b - c], [1, -b, -c], x), float)
