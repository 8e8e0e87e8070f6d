"""Opus (RFC 6716), by the library that PyAV brings.

PyAV's own codec interface has neither forward error correction nor concealment, so libopus is called itself.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from voxpath.extras import install
from voxpath.voice.audio.problems import AudioError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Repair = Literal["fec", "concealment", "zero"]
"""What stands for a lost frame: the copy that the next packet carries, where there is one (RFC 6716, section
2.1.7), else the decoder's guess; the guess alone; silence."""

FRAME_MS = 20
_VOIP = 2048
_SET_BITRATE, _SET_FEC, _SET_LOSS, _GET_LOOKAHEAD = 4002, 4012, 4014, 4027
_LARGEST = 1500


@cache
def _library() -> Any:
    try:
        import av
    except ImportError:
        raise AudioError(f"Opus comes with PyAV, which is not installed: {install('vowels')}") from None
    folder = Path(av.__file__).parent
    found = sorted([*folder.parent.glob("av.libs/libopus*"), *folder.glob("**/libopus*")])
    if not found:
        raise AudioError("this build of PyAV brings no libopus")
    library = ctypes.CDLL(str(found[0]))
    library.opus_encoder_create.restype = ctypes.c_void_p
    library.opus_decoder_create.restype = ctypes.c_void_p
    library.opus_get_version_string.restype = ctypes.c_char_p
    return library


def version() -> str:
    """Of the library, for reports."""
    said: bytes = _library().opus_get_version_string()
    return said.decode()


@dataclass(frozen=True)
class Stream:
    """A recording as packets.

    Attributes:
        rate_hz: Samples per second.
        samples: Of the recording.
        packets: A frame of 20 ms each.
        lookahead: Samples by which the decoder's output is late.
        with_copy: Packets that carry a copy of the frame before.
    """

    rate_hz: int
    samples: int
    packets: Sequence[bytes]
    lookahead: int
    with_copy: int

    @property
    def bits_per_second(self) -> float:
        """Of the packets' contents."""
        return 8 * sum(map(len, self.packets)) / (len(self.packets) * FRAME_MS / 1000)


def encode(
    values: NDArray[np.int16], rate_hz: int, bitrate: int, *, expected_loss: float = 0.0, fec: bool = False
) -> Stream:
    """Encodes speech of one channel.

    Args:
        values: Samples.
        rate_hz: 8000, 12000, 16000, 24000 or 48000 samples per second.
        bitrate: In bit/s.
        expected_loss: That the encoder prepares for.
        fec: Whether packets may carry a copy of the frame before; the encoder decides.

    Raises:
        AudioError: The library is missing or refuses.
    """
    library = _library()
    error = ctypes.c_int()
    state = ctypes.c_void_p(library.opus_encoder_create(rate_hz, 1, _VOIP, ctypes.byref(error)))
    if error.value:
        raise AudioError(f"libopus makes no encoder for {rate_hz} samples/s")
    try:
        for request, value in (
            (_SET_BITRATE, bitrate),
            (_SET_FEC, int(fec)),
            (_SET_LOSS, round(100 * expected_loss)),
        ):
            if library.opus_encoder_ctl(state, request, ctypes.c_int(value)):
                raise AudioError(f"libopus refuses {value} for request {request}")
        ahead = ctypes.c_int()
        library.opus_encoder_ctl(state, _GET_LOOKAHEAD, ctypes.byref(ahead))
        frame = rate_hz * FRAME_MS // 1000
        count = -(-(len(values) + ahead.value) // frame)
        padded = np.zeros(count * frame, np.int16)
        padded[: len(values)] = values
        packets = []
        out = ctypes.create_string_buffer(_LARGEST)
        for index in range(count):
            part = np.ascontiguousarray(padded[index * frame : (index + 1) * frame])
            size = library.opus_encode(state, part.ctypes.data_as(ctypes.c_void_p), frame, out, _LARGEST)
            if size < 0:
                raise AudioError(f"libopus cannot encode frame {index}: error {size}")
            packets.append(out.raw[:size])
        copies = sum(library.opus_packet_has_lbrr(packet, len(packet)) == 1 for packet in packets)
        return Stream(rate_hz, len(values), packets, ahead.value, copies)
    finally:
        library.opus_encoder_destroy(state)


def decode(stream: Stream, arrives: Sequence[bool], repair: Repair) -> NDArray[np.int16]:
    """What a receiver hears, as long as the recording and aligned with it.

    Raises:
        AudioError: The library is missing or refuses.
    """
    library = _library()
    error = ctypes.c_int()
    state = ctypes.c_void_p(library.opus_decoder_create(stream.rate_hz, 1, ctypes.byref(error)))
    if error.value:
        raise AudioError(f"libopus makes no decoder for {stream.rate_hz} samples/s")
    frame = stream.rate_hz * FRAME_MS // 1000
    heard = np.zeros(len(stream.packets) * frame, np.int16)

    def frame_of(index: int, packet: bytes | None, fec: bool) -> None:
        part = np.zeros(frame, np.int16)
        size = len(packet) if packet is not None else 0
        got = library.opus_decode(state, packet, size, part.ctypes.data_as(ctypes.c_void_p), frame, int(fec))
        if got != frame:
            raise AudioError(f"libopus cannot decode frame {index}: {got}")
        heard[index * frame : (index + 1) * frame] = part

    try:
        for index, (packet, here) in enumerate(zip(stream.packets, arrives, strict=True)):
            after = index + 1 < len(arrives) and arrives[index + 1]
            if here:
                frame_of(index, packet, fec=False)
            elif repair == "fec" and after:
                # Without a copy in it the decoder guesses by itself.
                frame_of(index, stream.packets[index + 1], fec=True)
            elif repair != "zero":
                frame_of(index, None, fec=False)
    finally:
        library.opus_decoder_destroy(state)
    return heard[stream.lookahead : stream.lookahead + stream.samples]
