"""Recordings cut into frames, for codecs without memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voxpath.voice.call.problems import CallError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voxpath.voice.call.codecs.base import Wish

_USUAL_NS = 20_000_000
_FRAMES_NS = (2_500_000, 5_000_000, 10_000_000, 20_000_000, 40_000_000, 60_000_000)
"""That the engine's calls send."""


def samples_of(wish: Wish, rate_hz: int) -> int:
    """Samples of a frame.

    Raises:
        CallError: It is no whole number of samples, or no length that calls have.
    """
    frame_ns = _USUAL_NS if wish.frame_ns is None else wish.frame_ns
    if frame_ns not in _FRAMES_NS:
        raise CallError("a frame has 2.5, 5, 10, 20, 40 or 60 ms")
    if frame_ns * rate_hz % 1_000_000_000:
        raise CallError(f"{frame_ns / 1e6:g} ms are no whole number of samples at {rate_hz} samples/s")
    return frame_ns * rate_hz // 1_000_000_000


def frames_of(values: NDArray[np.int16], frame: int) -> NDArray[np.int16]:
    """Rows of so many samples; the last one is filled up with zeros."""
    count = -(-len(values) // frame)
    padded = np.zeros(count * frame, np.int16)
    padded[: len(values)] = values
    return padded.reshape(count, frame)
