"""G.711, μ-law at 8000 samples/s, with the packet loss concealment of its Appendix I."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from voxpath.voice.call.codecs.base import Encoded, Impairment
from voxpath.voice.call.codecs.concealment import Concealment
from voxpath.voice.call.codecs.frames import frames_of, samples_of
from voxpath.voice.call.problems import CallError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from voxpath.voice.call.codecs.base import Decoder, Wish
    from voxpath.voice.call.recording import Recording

RATE_HZ = 8_000
_BIAS, _CLIP = 33, 8_158
"""Of 14-bit samples (G.711 table 2a)."""


def _expansion() -> NDArray[np.int16]:
    """What each octet stands for: 14 bits of G.711, in 16."""
    codes = ~np.arange(256, dtype=np.int32) & 0xFF
    exponent, mantissa = (codes >> 4) & 7, codes & 15
    magnitude = ((2 * mantissa + 33) << exponent) - _BIAS
    return (4 * np.where(codes & 0x80, -magnitude, magnitude)).astype(np.int16)


_EXPANDED = _expansion()


def compress(values: NDArray[np.int16]) -> bytes:
    """Samples of 16 bits as octets of μ-law."""
    wide = values.astype(np.int32)
    # To 14 bits, both signs alike.
    magnitude = np.minimum(np.abs(wide) >> 2, _CLIP) + _BIAS
    exponent = np.floor(np.log2(magnitude)).astype(np.int32) - 5
    mantissa = (magnitude >> (exponent + 1)) & 15
    codes = (exponent << 4) | mantissa | np.where(wide < 0, 0x80, 0)
    octets: NDArray[np.uint8] = (~codes & 0xFF).astype(np.uint8)
    return octets.tobytes()


def expand(octets: bytes) -> NDArray[np.int16]:
    """Octets of μ-law as samples of 16 bits."""
    return _EXPANDED[np.frombuffer(octets, np.uint8)]


class G711:
    """μ-law."""

    name: ClassVar[str] = "g711"
    about: ClassVar[str] = "μ-law, 64 kbit/s, with the concealment of its Appendix I"
    impairment: ClassVar[Impairment | None] = Impairment(
        0, 25.1, "ITU-T G.113 (11/2007) Appendix I, G.711 with packet loss concealment"
    )

    def encode(self, recording: Recording, wish: Wish) -> Encoded:
        """Encodes at 8000 samples/s."""
        if wish.bitrate not in {None, 64_000} or wish.fec or wish.dtx:
            raise CallError("g711 has 64 kbit/s, no in-band FEC and no DTX")
        values = recording.at(RATE_HZ)
        frame = samples_of(wish, RATE_HZ)
        if frame % Concealment.BLOCK:
            raise CallError(
                "a frame of g711 has 10, 20, 40 or 60 ms: its concealment works on 10 ms (Appendix I)"
            )
        frames = [compress(part) for part in frames_of(values, frame)]
        told = f"G.711 μ-law, {1000 * frame / RATE_HZ:g} ms, concealment of Appendix I"
        lookahead = Concealment.DELAY
        # The concealment's output is late, so a frame more is needed for the end of the recording.
        if len(frames) * frame < len(values) + lookahead:
            frames.append(compress(np.zeros(frame, np.int16)))
        return Encoded(
            told, RATE_HZ, len(values), frame, frames, lookahead, [False] * len(frames), "PCMU/8000"
        )

    def decoder(self, encoded: Encoded) -> AbstractContextManager[Decoder]:
        """With concealment."""
        return contextlib.nullcontext(_Decoder(encoded.frame))


class _Decoder:
    def __init__(self, frame: int) -> None:
        self._frame = frame
        self._concealment = Concealment()

    def play(self, frame: bytes) -> NDArray[np.int16]:
        return self._concealment.received(expand(frame))

    def recover(self, following: bytes) -> NDArray[np.int16]:
        del following
        return self.conceal()

    def conceal(self) -> NDArray[np.int16]:
        return self._concealment.lost(self._frame)
