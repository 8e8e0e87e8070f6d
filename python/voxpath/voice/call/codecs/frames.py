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


def samples_of(wish: Wish, rate_hz: int, most: int | None = None) -> int:
    """Samples of a frame.

    Args:
        wish: What is asked of the codec.
        rate_hz: Samples per second.
        most: Samples for which a packet has room.

    Raises:
        CallError: It is no whole number of samples, too long for a packet, or no length that calls have.
    """
    frame_ns = _USUAL_NS if wish.frame_ns is None else wish.frame_ns
    if frame_ns not in _FRAMES_NS:
        raise CallError("a frame has 2.5, 5, 10, 20, 40 or 60 ms")
    samples, rest = divmod(frame_ns * rate_hz, 1_000_000_000)
    is_long = most is not None and samples > most
    if rest or is_long:
        known = [
            f"{one / 1e6:g} ms"
            for one in _FRAMES_NS
            if one * rate_hz % 1_000_000_000 == 0 and (most is None or one * rate_hz // 1_000_000_000 <= most)
        ]
        allowed = f"give a frame of {' or '.join(known)}" if known else "no frame is: resample the recording"
        why = "too long for a packet" if is_long else "no whole number of samples"
        raise CallError(f"{frame_ns / 1e6:g} ms are {why} at {rate_hz} samples/s; {allowed}")
    return samples


def frames_of(values: NDArray[np.int16], frame: int) -> NDArray[np.int16]:
    """Rows of so many samples; the last one is filled up with zeros."""
    count = -(-len(values) // frame)
    padded = np.zeros(count * frame, np.int16)
    padded[: len(values)] = values
    return padded.reshape(count, frame)
