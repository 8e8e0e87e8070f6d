"""Samples as they are: 16 bits, big-endian, one channel (L16, RFC 3551 section 4.5.11)."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from voxpath.voice.call.codecs.base import Encoded
from voxpath.voice.call.codecs.frames import frames_of, samples_of
from voxpath.voice.call.problems import CallError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from voxpath.voice.call.codecs.base import Decoder, Impairment, Wish
    from voxpath.voice.call.recording import Recording

_MOST = 1_344
"""Octets of a frame in an Ethernet packet with the headers of RTP and its extensions."""


class Pcm:
    """Raw samples; a lost frame is silence."""

    name: ClassVar[str] = "pcm"
    about: ClassVar[str] = "L16, raw samples (RFC 3551); a lost frame is silence"
    impairment: ClassVar[Impairment | None] = None

    def encode(self, recording: Recording, wish: Wish) -> Encoded:
        """Cuts the recording at its own rate."""
        if wish.bitrate is not None or wish.fec or wish.dtx:
            raise CallError("pcm has no bit rate to choose, no in-band FEC and no DTX")
        frame = samples_of(wish, recording.rate_hz, _MOST // 2)
        parts = frames_of(recording.values, frame)
        frames = [part.astype(">i2").tobytes() for part in parts]
        told = f"PCM, {recording.rate_hz} samples/s of 16 bits, {1000 * frame / recording.rate_hz:g} ms"
        samples = len(recording.values)
        rtp = f"L16/{recording.rate_hz}"
        return Encoded(told, recording.rate_hz, samples, frame, frames, 0, [False] * len(frames), rtp)

    def decoder(self, encoded: Encoded) -> AbstractContextManager[Decoder]:
        """Nothing is remembered."""
        return contextlib.nullcontext(_Decoder(encoded.frame))


class _Decoder:
    def __init__(self, frame: int) -> None:
        self._frame = frame

    def play(self, frame: bytes) -> NDArray[np.int16]:
        return np.frombuffer(frame, ">i2").astype(np.int16)

    def recover(self, following: bytes) -> NDArray[np.int16]:
        del following
        return self.conceal()

    def conceal(self) -> NDArray[np.int16]:
        return np.zeros(self._frame, np.int16)
