"""Whether a recording has speech in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

RATE_HZ = 16_000
_FRAME_S = 0.03
_LEAST_SHARE = 0.05
"""Of frames that the detector takes for speech; below it the rest is clicks."""
_LEAST_SWING_DB = 6.0
"""From the softest tenth of the frames to the loudest one; syllables and pauses have more. Our choice."""
_LEAST_S = 2.0
"""Of sound; less may be one vowel."""
_RANGE_DB = 40.0
"""Below the loudest frame: what is softer is a pause."""


def is_spoken(values: NDArray[np.int16]) -> bool:
    """Whether WebRTC's detector (of the package `pocketsphinx`) finds speech.

    Without the package, whether there is any sound.

    Args:
        values: Samples at `RATE_HZ`.
    """
    if not values.any():
        return False
    try:
        from pocketsphinx import Vad
    except ImportError:
        return True
    detector = Vad(sample_rate=RATE_HZ, frame_length=_FRAME_S)
    found = [detector.is_speech(frame.tobytes()) for frame in _frames(values)]
    return not found or sum(found) >= _LEAST_SHARE * len(found)


def is_steady(values: NDArray[np.int16]) -> bool:
    """Whether the level hardly changes, as that of noise and tones, which the detector takes for speech.

    Args:
        values: Samples at `RATE_HZ`.
    """
    powers = np.mean(_frames(values).astype(np.float64) ** 2, axis=1)
    levels = 10 * np.log10(np.maximum(powers, 1e-2))
    sounds = levels[levels > levels.max(initial=0.0) - _RANGE_DB]
    if len(sounds) * _FRAME_S < _LEAST_S:
        return False
    low, high = np.quantile(sounds, (0.1, 0.9))
    return bool(high - low < _LEAST_SWING_DB)


def _frames(values: NDArray[np.int16]) -> NDArray[np.int16]:
    length = round(RATE_HZ * _FRAME_S)
    return values[: len(values) // length * length].reshape(-1, length)
