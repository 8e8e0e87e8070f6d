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

_FINER = 8
"""Pulses stand at so many places within a sample; at whole samples 300 Hz would be 298 and 302 by turns."""

_HIGHER_HZ = 1000.0
"""Between the resonances above those that are given, as of a tube of 17.5 cm."""


def vowel(
    resonances_hz: Sequence[float],
    pitch_hz: float,
    duration_s: float,
    *,
    rate_hz: int = RATE_HZ,
    glide: float = 0.0,
    jitter: float = 0.0,
    noise_db: float | None = None,
    widened: float = 1.0,
    seed: int = 1,
) -> NDArray[np.float64]:
    """A vowel.

    Args:
        resonances_hz: Lowest first; above them further ones follow, 1000 Hz apart, up to half the rate.
        pitch_hz: Of the voice.
        duration_s: How long.
        rate_hz: Samples per second.
        glide: By how much of itself the pitch rises over the vowel, so that harmonics do not stand still.
        jitter: Standard deviation of its periods, in parts of them.
        noise_db: Of white noise, against the vowel; none without.
        widened: Times the usual bandwidths.
        seed: Of jitter and noise.
    """
    n = round(duration_s * rate_hz)
    rng = np.random.default_rng(seed)
    pulses = _pulses(n, pitch_hz / rate_hz, glide, jitter * rng.standard_normal(n))
    # Klatt's voice: a resonator at 0 Hz shapes the pulses, and what is radiated is their derivative.
    sound = np.diff(_resonator(pulses, 0.0, _VOICE_BANDWIDTH_HZ, rate_hz), prepend=0.0)
    higher = resonances_hz[-1] + _HIGHER_HZ
    poles = [*resonances_hz, *np.arange(higher, rate_hz / 2 - _HIGHER_HZ / 2, _HIGHER_HZ)]
    for index, frequency in enumerate(poles):
        sound = _resonator(
            sound, frequency, widened * BANDWIDTHS_HZ[min(index, len(BANDWIDTHS_HZ) - 1)], rate_hz
        )
    ramp = np.minimum(1.0, np.minimum(np.arange(n), np.arange(n)[::-1]) / (0.01 * rate_hz))
    sound = sound * ramp
    if noise_db is not None:
        sound = sound + 10 ** (noise_db / 20) * sound.std() * rng.standard_normal(n)
    found: NDArray[np.float64] = 0.5 * sound / np.abs(sound).max()
    return found


def _pulses(n: int, per_sample: float, glide: float, jitter: NDArray[np.float64]) -> NDArray[np.float64]:
    """A pulse for each period, limited to the band."""
    from scipy.signal import resample_poly

    fine = n * _FINER
    phase = np.cumsum(1 + glide * (np.arange(fine) / fine - 0.5)) * per_sample / _FINER
    at = np.searchsorted(phase, np.arange(1, math.floor(phase[-1]) + 1))
    at = np.cumsum(np.diff(at, prepend=0) * (1 + jitter[: len(at)])).round().astype(int)
    pulses = np.zeros(fine)
    pulses[at[at < fine]] = _FINER
    return np.asarray(resample_poly(pulses, 1, _FINER), float)


def _resonator(
    x: NDArray[np.float64], frequency_hz: float, bandwidth_hz: float, rate_hz: int
) -> NDArray[np.float64]:
    """Y = A x + B y' + C y'' with unit gain at 0 Hz: Klatt 1980, equations (1) and (2)."""
    from scipy.signal import lfilter

    c = -math.exp(-2 * math.pi * bandwidth_hz / rate_hz)
    b = 2 * math.exp(-math.pi * bandwidth_hz / rate_hz) * math.cos(2 * math.pi * frequency_hz / rate_hz)
    return np.asarray(lfilter([1 - b - c], [1, -b, -c], x), float)
