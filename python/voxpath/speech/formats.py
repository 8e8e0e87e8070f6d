"""Audio as it arrives, cut and compressed in any way, into equal blocks of 16 kHz, 16 bits, one channel.

A reader cuts what it is fed into blocks of its own before anything is computed from it. So what comes out
depends on the octets alone, not on how they were cut on their way.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from voxpath.speech.sniffing import media_type, needed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RATE = 16_000
"""Samples per second that recognisers hear."""
_BLOCKS_PER_S = 50
_RATES = (4_000, 192_000)
_CHANNELS = (1, 8)
_TAPS = 32
"""Of the resampler for each output, before the longer filter that a lower rate needs."""

Samples = NDArray[np.float32]


class FormatError(ValueError):
    """Audio that cannot be read; says what can."""


class Reader(Protocol):
    """Octets in, samples out."""

    def feed(self, data: bytes) -> Iterator[Samples]:
        """What has become whole, some at a time: a few octets may be much audio.

        Raises:
            FormatError: It is not what it was said to be.
        """
        ...

    def finish(self) -> Iterator[Samples]:
        """What is left at the end of the audio.

        Raises:
            FormatError: It ends where it cannot.
        """
        ...

    def close(self) -> None:
        """Nothing more is asked of it, wherever it is."""
        ...


class Resampler:
    """A polyphase low-pass filter from one rate to 16 kHz, with its state between blocks."""

    def __init__(self, rate: int) -> None:
        common = math.gcd(rate, RATE)
        self._up, self._down = RATE // common, rate // common
        stretch = max(1.0, self._down / self._up)
        self._taps = 2 * math.ceil(_TAPS * stretch / 2)
        centre = self._taps * self._up / 2
        at = np.arange(self._taps * self._up) - centre
        width = stretch * self._up
        window = np.kaiser(len(at), 8.0)
        response = np.sinc(at / width) * window / stretch
        # One row for each phase; the newest sample meets the filter's beginning.
        phases = response.reshape(self._taps, self._up).T[:, ::-1]
        self._phases = (phases / phases.sum(axis=1, keepdims=True)).astype(np.float32)
        self._held = np.zeros(self._taps // 2 - 1, dtype=np.float32)
        self._next = 0
        """Of the next output, in steps of 1/up samples behind the oldest held one."""

    def feed(self, samples: Samples) -> Samples:
        """The outputs that these samples complete."""
        if self._up == self._down:
            return samples
        held = np.concatenate((self._held, samples))
        last = (len(held) - self._taps) * self._up + self._up - 1
        count = max(0, (last - self._next) // self._down + 1)
        steps = self._next + self._down * np.arange(count)
        first, phase = steps // self._up, steps % self._up
        windows = np.lib.stride_tricks.sliding_window_view(held, self._taps) if count else held[:0]
        made = np.einsum("ij,ij->i", windows[first], self._phases[phase]) if count else held[:0]
        self._next += self._down * count
        gone = min(self._next // self._up, len(held))
        self._held = held[gone:]
        self._next -= gone * self._up
        return made.astype(np.float32)

    def finish(self) -> Samples:
        """What the filter still holds."""
        tail = 0 if self._up == self._down else self._taps // 2
        return self.feed(np.zeros(tail, dtype=np.float32))


@dataclass(frozen=True)
class Encoding:
    """How raw samples are written."""

    rate: int
    format: str = "S16LE"
    channels: int = 1

    def __post_init__(self) -> None:
        if self.format not in _SAMPLES:
            raise FormatError(f"samples of format {self.format}: allowed are {', '.join(_SAMPLES)}")
        for name, value, (least, most) in (
            ("rate", self.rate, _RATES),
            ("channels", self.channels, _CHANNELS),
        ):
            if not least <= value <= most:
                raise FormatError(f"{name} {value}: allowed are {least} to {most}")


def _linear(dtype: str, zero: float, scale: float) -> Callable[[bytes], Samples]:
    def read(data: bytes) -> Samples:
        values = np.nan_to_num(np.frombuffer(data, dtype).astype(np.float32))
        return (values - np.float32(zero)) / np.float32(scale)

    return read


def _of_24_bits(order: slice) -> Callable[[bytes], Samples]:
    def read(data: bytes) -> Samples:
        # As the upper three octets of four.
        wide = np.zeros((len(data) // 3, 4), np.uint8)
        wide[:, 1:] = np.frombuffer(data, np.uint8).reshape(-1, 3)[:, order]
        return wide.view("<i4")[:, 0].astype(np.float32) / np.float32(2.0**31)

    return read


def _of_g711(expand: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> Callable[[bytes], Samples]:
    table = (expand(np.arange(256)) / 2.0**15).astype(np.float32)

    def read(data: bytes) -> Samples:
        return table[np.frombuffer(data, np.uint8)]

    return read


def _mu_law(code: NDArray[np.int64]) -> NDArray[np.int64]:
    """ITU-T G.711 table 2, as 16 bits: all bits inverted; sign, segment, step."""
    code = ~code & 255
    size = (((code & 15) << 3) + 132 << (code >> 4 & 7)) - 132
    return np.where(code & 128, -size, size)


def _a_law(code: NDArray[np.int64]) -> NDArray[np.int64]:
    """ITU-T G.711 table 1, as 16 bits: even bits inverted; sign, segment, step."""
    code = code ^ 0x55
    segment, step = code >> 4 & 7, code & 15
    size = np.where(segment, (step << 4) + 264 << np.maximum(segment - 1, 0), (step << 4) + 8)
    return np.where(code & 128, size, -size)


_SAMPLES: dict[str, tuple[int, Callable[[bytes], Samples]]] = {
    "S16LE": (2, _linear("<i2", 0.0, 2.0**15)),
    "S16BE": (2, _linear(">i2", 0.0, 2.0**15)),
    "U8": (1, _linear("u1", 128.0, 2.0**7)),
    "S24LE": (3, _of_24_bits(slice(None))),
    "S24BE": (3, _of_24_bits(slice(None, None, -1))),
    "S32LE": (4, _linear("<i4", 0.0, 2.0**31)),
    "F32LE": (4, _linear("<f4", 0.0, 1.0)),
    "MULAW": (1, _of_g711(_mu_law)),
    "ALAW": (1, _of_g711(_a_law)),
}
"""By GStreamer's names, and G.711's: octets of a sample, and what reads them, from -1 to 1."""


class Raw:
    """Samples as they are."""

    def __init__(self, encoding: Encoding) -> None:
        width, self._read = _SAMPLES[encoding.format]
        self._channels = encoding.channels
        self._frame = width * encoding.channels
        self._block = max(1, encoding.rate // _BLOCKS_PER_S) * self._frame
        self._held = b""
        self._resampler = Resampler(encoding.rate)

    def feed(self, data: bytes) -> Iterator[Samples]:
        """Every block that has become whole."""
        held = self._held + data
        whole = len(held) // self._block * self._block
        self._held = held[whole:]
        blocks = [self._samples(held[at : at + self._block]) for at in range(0, whole, self._block)]
        if blocks:
            yield np.concatenate([self._resampler.feed(block) for block in blocks])

    def finish(self) -> Iterator[Samples]:
        """The last, shorter block; half a sample at the end is dropped."""
        rest = self._held[: len(self._held) // self._frame * self._frame]
        self._held = b""
        yield self._resampler.feed(self._samples(rest))
        yield self._resampler.finish()

    def close(self) -> None:
        """Nothing is held."""

    def _samples(self, block: bytes) -> Samples:
        one = self._read(block).clip(-1.0, 1.0)
        return np.asarray(one.reshape(-1, self._channels).mean(axis=1), dtype=np.float32)


class Wav:
    """RIFF WAVE, whose header may not know the length, as where it is streamed; FFmpeg reads the rest."""

    _FORMATS: ClassVar = {
        (1, 8): "U8",
        (1, 16): "S16LE",
        (1, 24): "S24LE",
        (1, 32): "S32LE",
        (3, 32): "F32LE",
        (6, 8): "ALAW",
        (7, 8): "MULAW",
    }
    _HEADER_LIMIT = 1 << 16
    _UNKNOWN = (0, 0xFFFFFFFF)

    def __init__(self) -> None:
        self._held = b""
        self._reader: Reader | None = None
        self._left: int | None = None

    def feed(self, data: bytes) -> Iterator[Samples]:
        """Samples, once the header is whole."""
        if self._reader is None:
            self._held += data
            found = self._header()
            if found is None:
                return
            self._reader, self._left, data = found
            self._held = b""
        if self._left is not None:
            data = data[: self._left]
            self._left -= len(data)
        yield from self._reader.feed(data)

    def finish(self) -> Iterator[Samples]:
        """The rest."""
        if self._reader is None:
            raise FormatError("the audio ends within the header of a WAV file")
        yield from self._reader.finish()

    def close(self) -> None:
        """Lets the reader of its samples go."""
        if self._reader is not None:
            self._reader.close()

    def _header(self) -> tuple[Reader, int | None, bytes] | None:
        """What reads the samples, how many octets, and the first; none before the header is whole."""
        held = self._held
        if len(held) >= 12 and held[:4] + held[8:12] != b"RIFFWAVE":
            raise FormatError("not a WAV file: it begins with RIFF, a length and WAVE")
        at, encoding = 12, None
        while len(held) >= at + 8:
            name, size = held[at : at + 4], int.from_bytes(held[at + 4 : at + 8], "little")
            at += 8
            if name == b"data":
                if encoding is None:
                    raise FormatError("a WAV file whose samples come before their format")
                return Raw(encoding), None if size in self._UNKNOWN else size, held[at:]
            if size > self._HEADER_LIMIT:
                raise FormatError(f"a WAV file with a chunk of {size} bytes before its samples")
            if name == b"fmt " and len(held) >= at + size:
                encoding = self._encoding(held[at : at + size])
                if encoding is None:
                    return _container("wav")(), None, held
            at += size + size % 2
        if len(held) > self._HEADER_LIMIT:
            raise FormatError("a WAV file without samples in its first 64 KiB")
        return None

    def _encoding(self, chunk: bytes) -> Encoding | None:
        """How its samples are written, if they are not compressed."""
        if len(chunk) < 16:
            raise FormatError("a WAV file whose format is too short")
        number = int.from_bytes(chunk[0:2], "little")
        if number == 0xFFFE and len(chunk) >= 26:
            number = int.from_bytes(chunk[24:26], "little")
        known = self._FORMATS.get((number, int.from_bytes(chunk[14:16], "little")))
        if known is None:
            return None
        channels, rate = int.from_bytes(chunk[2:4], "little"), int.from_bytes(chunk[4:8], "little")
        return Encoding(rate, known, channels)


class Detected:
    """A container that says by its first octets what it is; else raw audio."""

    def __init__(self, otherwise: Encoding) -> None:
        self._otherwise = otherwise
        self._held = b""
        self._reader: Reader | None = None

    def feed(self, data: bytes) -> Iterator[Samples]:
        """Samples, once it is known what they are."""
        if self._reader is None:
            self._held += data
            if len(self._held) < needed(self._held):
                return
            data = self._held
            self._reader = self._detect()
        yield from self._reader.feed(data)

    def finish(self) -> Iterator[Samples]:
        """The rest."""
        if self._reader is None:
            self._reader = self._detect()
            yield from self._reader.feed(self._held)
        yield from self._reader.finish()

    def close(self) -> None:
        """Lets the reader go that was found."""
        if self._reader is not None:
            self._reader.close()

    def _detect(self) -> Reader:
        media = media_type(self._held)
        return Raw(self._otherwise) if media is None else _CONTAINERS[media]()


def _container(name: str) -> Callable[[], Reader]:
    def make() -> Reader:
        from voxpath.speech.containers import Container

        return Container(name)

    return make


_CONTAINERS: dict[str, Callable[[], Reader]] = {
    "audio/x-wav": Wav,
    "audio/ogg": _container("ogg"),
    "audio/mpeg": _container("mp3"),
    "audio/flac": _container("flac"),
    "audio/webm": _container("matroska"),
    "audio/mp4": _container("mov"),
    "audio/aac": _container("aac"),
    "audio/aiff": _container("aiff"),
    "audio/x-au": _container("au"),
}
"""What reads which media type."""
_SAME = {
    "audio/wav": "audio/x-wav",
    "audio/wave": "audio/x-wav",
    "audio/vnd.wave": "audio/x-wav",
    "application/ogg": "audio/ogg",
    "audio/opus": "audio/ogg",
    "audio/vorbis": "audio/ogg",
    "audio/mp3": "audio/mpeg",
    "audio/x-mp3": "audio/mpeg",
    "audio/x-flac": "audio/flac",
    "video/webm": "audio/webm",
    "audio/x-matroska": "audio/webm",
    "audio/m4a": "audio/mp4",
    "audio/x-m4a": "audio/mp4",
    "video/mp4": "audio/mp4",
    "audio/aacp": "audio/aac",
    "audio/x-aiff": "audio/aiff",
}
_RAW = {
    "audio/x-raw": Encoding(RATE),
    "audio/x-raw-int": Encoding(RATE),
    "audio/l16": Encoding(RATE, "S16BE"),
    "audio/l24": Encoding(RATE, "S24BE"),
    "audio/x-mulaw": Encoding(8_000, "MULAW"),
    "audio/x-alaw": Encoding(8_000, "ALAW"),
    "audio/pcmu": Encoding(8_000, "MULAW"),
    "audio/pcma": Encoding(8_000, "ALAW"),
}
"""What raw samples are if nothing else is said: GStreamer's names, RTP's."""
_UNSAID = {
    "": Encoding(RATE),
    "application/octet-stream": Encoding(RATE),
    "application/x-www-form-urlencoded": Encoding(RATE),
    "audio/basic": Encoding(8_000, "MULAW"),
}
"""What it is the first octets say, else it is raw; as clients say it that do not know, or mean a file."""


def reader_of(content_type: str) -> Reader:
    """What reads audio of a content type: GStreamer's capabilities, or the media type of a container.

    Raises:
        FormatError: Nothing here reads it.
    """
    media, *parts = [part.strip() for part in re.split("[,;]", content_type)]
    media = media.lower()
    if media in _UNSAID:
        return Detected(_UNSAID[media])
    if media in _RAW:
        values = dict(part.split("=", 1) for part in parts if "=" in part)
        fields = {
            key.strip(): re.sub(r"^\s*\([a-z]+\)\s*", "", value).strip(' "') for key, value in values.items()
        }
        return Raw(_encoding(fields, _RAW[media]))
    if (media := _SAME.get(media, media)) in _CONTAINERS:
        return _CONTAINERS[media]()
    raise FormatError(
        f"content type {media[:80]!r}: read are {', '.join([*_RAW, *_CONTAINERS])}, by these or like names"
    )


def _encoding(fields: dict[str, str], otherwise: Encoding) -> Encoding:
    def number(key: str, otherwise: int) -> int:
        text = fields.get(key, str(otherwise))
        if not re.fullmatch("[0-9]{1,9}", text):
            raise FormatError(f"{key} {text[:80]!r}: not a number")
        return int(text)

    return Encoding(
        number("rate", otherwise.rate),
        fields.get("format", otherwise.format),
        number("channels", otherwise.channels),
    )


def to_pcm(samples: Samples) -> bytes:
    """As 16-bit integers, little-endian, as recognisers take them."""
    return bytes(np.rint(samples * 32767.0).astype("<i2").tobytes())
