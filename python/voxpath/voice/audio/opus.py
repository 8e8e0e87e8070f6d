"""Opus (RFC 6716), by the library that PyAV brings.

PyAV's own codec interface has neither forward error correction nor concealment, so libopus is called itself.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

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
_SET_BITRATE, _SET_FEC, _SET_LOSS, _SET_DTX, _GET_LOOKAHEAD = 4002, 4012, 4014, 4016, 4027
_LARGEST = 1500
_SILENT = 2
"""Octets up to which a packet of discontinuous transmission need not be sent (RFC 6716, section 2.1.9)."""


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
        packets: A frame each; empty where discontinuous transmission sends nothing.
        lookahead: Samples by which the decoder's output is late.
        with_copy: Packets that carry a copy of the frame before.
        frame_ms: Length of a frame.
    """

    rate_hz: int
    samples: int
    packets: Sequence[bytes]
    lookahead: int
    with_copy: int
    frame_ms: float = FRAME_MS

    @property
    def frame(self) -> int:
        """Samples of a frame."""
        return round(self.rate_hz * self.frame_ms / 1000)

    @property
    def bits_per_second(self) -> float:
        """Of the packets' contents."""
        return 8 * sum(map(len, self.packets)) / (len(self.packets) * self.frame_ms / 1000)


def encode(
    values: NDArray[np.int16],
    rate_hz: int,
    bitrate: int,
    *,
    expected_loss: float = 0.0,
    fec: bool = False,
    dtx: bool = False,
    frame_ms: float = FRAME_MS,
) -> Stream:
    """Encodes speech of one channel.

    Args:
        values: Samples.
        rate_hz: 8000, 12000, 16000, 24000 or 48000 samples per second.
        bitrate: In bit/s.
        expected_loss: That the encoder prepares for.
        fec: Whether packets may carry a copy of the frame before; the encoder decides.
        dtx: Whether nothing is sent of most frames in which nobody speaks.
        frame_ms: 2.5, 5, 10, 20, 40 or 60.

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
            (_SET_DTX, int(dtx)),
        ):
            if library.opus_encoder_ctl(state, request, ctypes.c_int(value)):
                raise AudioError(f"libopus refuses {value} for request {request}")
        ahead = ctypes.c_int()
        library.opus_encoder_ctl(state, _GET_LOOKAHEAD, ctypes.byref(ahead))
        frame = round(rate_hz * frame_ms / 1000)
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
            packets.append(b"" if dtx and size <= _SILENT else out.raw[:size])
        copies = sum(map(has_copy, packets))
        return Stream(rate_hz, len(values), packets, ahead.value, copies, frame_ms)
    finally:
        library.opus_encoder_destroy(state)


def has_copy(packet: bytes) -> bool:
    """Whether a packet carries a copy of the frame before (low bit-rate redundancy)."""
    return bool(packet) and _library().opus_packet_has_lbrr(packet, len(packet)) == 1


class Decoder:
    """A decoder's state, for a `with` block; every frame is asked for once, in order.

    Raises:
        AudioError: The library is missing or refuses.
    """

    def __init__(self, rate_hz: int, frame: int) -> None:
        self._library = _library()
        self._frame = frame
        error = ctypes.c_int()
        self._state = ctypes.c_void_p(self._library.opus_decoder_create(rate_hz, 1, ctypes.byref(error)))
        if error.value:
            raise AudioError(f"libopus makes no decoder for {rate_hz} samples/s")

    def __enter__(self) -> Self:
        """The same."""
        return self

    def __exit__(self, *_: object) -> None:
        """Gives the state back."""
        self._library.opus_decoder_destroy(self._state)

    def play(self, packet: bytes) -> NDArray[np.int16]:
        """A frame from its packet."""
        return self._decode(packet, fec=False)

    def recover(self, following: bytes) -> NDArray[np.int16]:
        """A lost frame from the packet after it; without a copy in there it is a guess."""
        return self._decode(following, fec=True)

    def conceal(self) -> NDArray[np.int16]:
        """A guess at a lost frame; in discontinuous transmission its comfort noise."""
        return self._decode(None, fec=False)

    def _decode(self, packet: bytes | None, *, fec: bool) -> NDArray[np.int16]:
        part = np.zeros(self._frame, np.int16)
        size = len(packet) if packet is not None else 0
        into = part.ctypes.data_as(ctypes.c_void_p)
        got = self._library.opus_decode(self._state, packet, size, into, self._frame, int(fec))
        if got != self._frame:
            raise AudioError(f"libopus cannot decode a frame: {got}")
        return part


def decode(stream: Stream, arrives: Sequence[bool], repair: Repair) -> NDArray[np.int16]:
    """What a receiver hears, as long as the recording and aligned with it.

    Raises:
        AudioError: The library is missing or refuses.
    """
    frame = stream.frame
    heard = np.zeros(len(stream.packets) * frame, np.int16)
    with Decoder(stream.rate_hz, frame) as decoder:
        for index, (packet, here) in enumerate(zip(stream.packets, arrives, strict=True)):
            after = index + 1 < len(arrives) and arrives[index + 1]
            if here and packet:
                part = decoder.play(packet)
            elif repair == "fec" and after and stream.packets[index + 1]:
                part = decoder.recover(stream.packets[index + 1])
            elif repair != "zero":
                part = decoder.conceal()
            else:
                continue
            heard[index * frame : (index + 1) * frame] = part
    return heard[stream.lookahead : stream.lookahead + stream.samples]
