"""Where a recording has speech in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

RATE_HZ = 16_000
FRAME_S = 0.03
_LEAST_SHARE = 0.05
"""Of frames that the detector takes for speech; below it the rest is clicks."""
_LEAST_SWING_DB = 6.0
"""From the softest tenth of the frames to the loudest one; syllables and pauses have more. Our choice."""
_LEAST_S = 2.0
"""Of sound; less may be one vowel."""
_RANGE_DB = 40.0
"""Below the loudest frame: what is softer is a pause."""


def is_looked_for() -> bool:
    """Whether the package `pocketsphinx` is there, which has the detector."""
    try:
        import pocketsphinx  # noqa: F401
    except ImportError:
        return False
    return True


def found(values: NDArray[np.int16]) -> NDArray[np.bool_]:
    """Whether WebRTC's detector finds speech, of each frame of `FRAME_S`.

    Where it is not installed (`is_looked_for`), whether there is any sound.

    Args:
        values: Samples at `RATE_HZ`; what is less than a frame at their end is left out.
    """
    frames = _frames(values)
    if not is_looked_for():
        return np.array(frames.any(axis=1), np.bool_)
    from pocketsphinx import Vad

    detector = Vad(sample_rate=RATE_HZ, frame_length=FRAME_S)
    return np.array([detector.is_speech(frame.tobytes()) for frame in frames], np.bool_)


def is_enough(frames: NDArray[np.bool_]) -> bool:
    """Whether so many frames with speech are speech; of none, nothing is known."""
    return not len(frames) or bool(frames.mean() >= _LEAST_SHARE)


def steady_db(values: NDArray[np.int16]) -> float | None:
    """By how much the level changes, if that is little; none if it is more, or if there is too little sound.

    The detector takes noise and tones for speech, whose level hardly changes.

    Args:
        values: Samples at `RATE_HZ`.
    """
    # About each frame's own mean: an offset is no sound.
    powers = np.var(_frames(values).astype(np.float64), axis=1)
    levels = 10 * np.log10(np.maximum(powers, 1e-2))
    sounds = levels[levels > levels.max(initial=0.0) - _RANGE_DB]
    if len(sounds) * FRAME_S < _LEAST_S:
        return None
    low, high = np.quantile(sounds, (0.1, 0.9))
    return float(high - low) if high - low < _LEAST_SWING_DB else None


def _frames(values: NDArray[np.int16]) -> NDArray[np.int16]:
    length = round(RATE_HZ * FRAME_S)
    return values[: len(values) // length * length].reshape(-1, length)
