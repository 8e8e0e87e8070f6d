"""Opus (RFC 6716), by libopus."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from voxpath.voice.audio import opus
from voxpath.voice.audio.problems import AudioError
from voxpath.voice.call.codecs.base import Encoded
from voxpath.voice.call.problems import CallError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from voxpath.voice.call.codecs.base import Decoder, Impairment, Wish
    from voxpath.voice.call.recording import Recording

_RATES = (8_000, 12_000, 16_000, 24_000, 48_000)
_FRAMES_NS = (2_500_000, 5_000_000, 10_000_000, 20_000_000, 40_000_000, 60_000_000)
RTP = "opus/48000/2"
"""Whatever is in it (RFC 7587 section 7)."""
_LEAST, _MOST = 6_000, 510_000
_EXPECTED_LOSS = 0.1
"""That the encoder prepares for where it may make copies: it makes none if it expects no loss. Our choice; a
real sender takes it from the receiver's reports."""


class Opus:
    """Opus with its own concealment, in-band correction and discontinuous transmission."""

    name: ClassVar[str] = "opus"
    about: ClassVar[str] = "RFC 6716 by libopus: 24 kbit/s and frames of 20 ms unless told otherwise"
    impairment: ClassVar[Impairment | None] = None

    def encode(self, recording: Recording, wish: Wish) -> Encoded:
        """Encodes at the rate of Opus that holds all of the recording's band."""
        bitrate = 24_000 if wish.bitrate is None else wish.bitrate
        frame_ns = 20_000_000 if wish.frame_ns is None else wish.frame_ns
        if not _LEAST <= bitrate <= _MOST:
            raise CallError(f"opus has {_LEAST // 1000} to {_MOST // 1000} kbit/s (RFC 6716)")
        if frame_ns not in _FRAMES_NS:
            raise CallError("a frame of opus has 2.5, 5, 10, 20, 40 or 60 ms (RFC 6716)")
        fec = wish.fec is not False
        rate = next(one for one in _RATES if one >= recording.rate_hz)
        try:
            stream = opus.encode(
                recording.at(rate),
                rate,
                bitrate,
                expected_loss=_EXPECTED_LOSS if fec else 0.0,
                fec=fec,
                dtx=wish.dtx,
                frame_ms=frame_ns / 1e6,
            )
        except AudioError as error:
            raise CallError(str(error)) from None
        copies = [opus.has_copy(packet) for packet in stream.packets]
        extras = [
            f"in-band FEC in {sum(copies)} of {len(copies)} frames" if fec else "without in-band FEC",
            *(["DTX"] if wish.dtx else []),
        ]
        told = (
            f"Opus ({opus.version()}), {bitrate / 1000:g} kbit/s, {frame_ns / 1e6:g} ms, {', '.join(extras)}"
        )
        return Encoded(
            told, rate, stream.samples, stream.frame, stream.packets, stream.lookahead, copies, RTP
        )

    def decoder(self, encoded: Encoded) -> AbstractContextManager[Decoder]:
        """Of libopus."""
        return opus.Decoder(encoded.rate_hz, encoded.frame)
