"""Opus in Ogg: RFC 3533 (pages), RFC 7845 (what is in them).

The pages are taken apart here, so that it does not matter how they arrive; the packets are decoded by
FFmpeg, through PyAV.
"""

from __future__ import annotations

import numpy as np

from voxpath.speech.formats import Encoding, FormatError, Raw, Samples

_RATE = 48_000
_HEADER = 27
_CONTINUED, _LAST = 1, 4
_PACKET_LIMIT = 1 << 20


class OggOpus:
    """One logical stream; what else is multiplexed with it is an error."""

    def __init__(self) -> None:
        self._held = b""
        self._packet = b""
        self._serial: bytes | None = None
        self._headers = 0
        self._skip = 0
        self._decoder: _Decoder | None = None
        self._raw = Raw(Encoding(_RATE, "F32LE"))
        self._made = 0

    def feed(self, data: bytes) -> Samples:
        """The samples of every page that has become whole."""
        self._held += data
        made = []
        while (page := self._page()) is not None:
            made.append(self._raw.feed(self._decoded(*page).tobytes()))
        return np.concatenate(made) if made else np.zeros(0, dtype=np.float32)

    def finish(self) -> Samples:
        """The rest; a page that is cut off is dropped."""
        if self._decoder is None:
            raise FormatError("the audio ends within the header of an Ogg stream")
        return self._raw.finish()

    def _page(self) -> tuple[list[bytes], int | None] | None:
        """The packets that end on the next page; the stream's length if it is the last (section 6)."""
        held = self._held
        if len(held) < _HEADER:
            return None
        if held[:4] != b"OggS" or held[4] != 0:
            raise FormatError("not an Ogg page: it begins with OggS and version 0")
        count = held[26]
        begin = _HEADER + count
        lacing = held[_HEADER:begin]
        size = sum(lacing)
        if len(lacing) < count or len(held) < begin + size:
            return None
        flags, granule, serial = held[5], int.from_bytes(held[6:14], "little", signed=True), held[14:18]
        self._held = held[begin + size :]
        if self._serial not in (None, serial):
            raise FormatError("an Ogg file of several streams: one of Opus is read")
        self._serial = serial
        if not flags & _CONTINUED:
            self._packet = b""
        packets, at = [], begin
        for length in lacing:
            self._packet += held[at : at + length]
            at += length
            if length < 255:
                packets.append(self._packet)
                self._packet = b""
        if len(self._packet) > _PACKET_LIMIT:
            raise FormatError(f"an Ogg packet of more than {_PACKET_LIMIT} bytes")
        return packets, granule if flags & _LAST and granule >= 0 else None

    def _decoded(self, packets: list[bytes], end: int | None) -> Samples:
        made = [one for packet in packets if (one := self._handle(packet)) is not None]
        samples: Samples = np.concatenate(made) if made else np.zeros(0, dtype=np.float32)
        before, self._made = self._made, self._made + len(samples)
        # RFC 7845 section 4: what precedes is skipped; the last page says where the sound ends.
        until = self._made if end is None else min(end, self._made)
        return samples[max(0, self._skip - before) : max(0, until - before)]

    def _handle(self, packet: bytes) -> Samples | None:
        self._headers += 1
        if self._decoder is None:
            if packet[:8] != b"OpusHead" or len(packet) < 19:
                raise FormatError("an Ogg stream that is not Opus")
            self._skip = int.from_bytes(packet[10:12], "little")
            self._decoder = _Decoder(packet)
            return None
        if self._headers == 2:
            return None
        return self._decoder.decode(packet)


class _Decoder:
    """FFmpeg's Opus, its channels mixed to one."""

    def __init__(self, head: bytes) -> None:
        from av import AudioCodecContext

        self._codec = AudioCodecContext.create("libopus", "r")
        # It would skip what precedes by itself, and what is skipped would not be counted.
        self._codec.extradata = head[:10] + bytes(2) + head[12:]
        self._codec.sample_rate = _RATE

    def decode(self, packet: bytes) -> Samples:
        from av import FFmpegError, Packet

        try:
            frames = self._codec.decode(Packet(packet))
        except FFmpegError as error:
            raise FormatError(f"an Opus packet that cannot be decoded: {error.strerror}") from error
        return np.concatenate([_mixed(frame.to_ndarray(), len(frame.layout.channels)) for frame in frames])


def _mixed(values: np.ndarray, channels: int) -> Samples:
    """Samples of a frame, packed or planar, as floats of one channel."""
    scale = 32768.0 if values.dtype == np.int16 else 1.0
    apart = values.reshape(-1, channels) if values.shape[0] == 1 else values.T
    return np.asarray(apart.mean(axis=1) / scale, dtype=np.float32)
