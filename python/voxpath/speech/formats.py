"""Audio as it arrives, cut and compressed in any way, into equal blocks of 16 kHz, 16 bits, one channel.

A reader cuts what it is fed into blocks of its own before anything is computed from it. So what comes out
depends on the octets alone, not on how they were cut on their way.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

RATE = 16_000
"""Samples per second that recognisers hear."""
_BLOCKS_PER_S = 50
_RATES = (4_000, 192_000)
_CHANNELS = (1, 8)
_TAPS = 32
"""Of the resampler for each output, before the longer filter that a lower rate needs."""
_SNIFF = 4

Samples = NDArray[np.float32]


class FormatError(ValueError):
    """Audio that cannot be read; says what can."""


class Reader(Protocol):
    """Octets in, samples out."""

    def feed(self, data: bytes) -> Samples:
        """What has become whole."""
        ...

    def finish(self) -> Samples:
        """What is left at the end of the audio.

        Raises:
            FormatError: It ends where it cannot.
        """
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
        return _NOTHING if self._up == self._down else self.feed(np.zeros(self._taps // 2, dtype=np.float32))


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


_SAMPLES: dict[str, tuple[str, float, float]] = {
    "S16LE": ("<i2", 0.0, 2.0**15),
    "S16BE": (">i2", 0.0, 2.0**15),
    "U8": ("u1", 128.0, 2.0**7),
    "S32LE": ("<i4", 0.0, 2.0**31),
    "F32LE": ("<f4", 0.0, 1.0),
}
"""By GStreamer's names: type, zero, full scale."""


class Raw:
    """Samples as they are."""

    def __init__(self, encoding: Encoding) -> None:
        self._type, self._zero, self._scale = _SAMPLES[encoding.format]
        self._channels = encoding.channels
        self._frame = np.dtype(self._type).itemsize * encoding.channels
        self._block = max(1, encoding.rate // _BLOCKS_PER_S) * self._frame
        self._held = b""
        self._resampler = Resampler(encoding.rate)

    def feed(self, data: bytes) -> Samples:
        """Every block that has become whole."""
        held = self._held + data
        whole = len(held) // self._block * self._block
        self._held = held[whole:]
        blocks = [self._samples(held[at : at + self._block]) for at in range(0, whole, self._block)]
        return _joined([self._resampler.feed(block) for block in blocks])

    def finish(self) -> Samples:
        """The last, shorter block; half a sample at the end is dropped."""
        rest = self._held[: len(self._held) // self._frame * self._frame]
        self._held = b""
        return _joined([self._resampler.feed(self._samples(rest)), self._resampler.finish()])

    def _samples(self, block: bytes) -> Samples:
        values = np.nan_to_num(np.frombuffer(block, self._type).astype(np.float32))
        one = ((values - np.float32(self._zero)) / np.float32(self._scale)).clip(-1.0, 1.0)
        return np.asarray(one.reshape(-1, self._channels).mean(axis=1), dtype=np.float32)


class Wav:
    """RIFF WAVE of integer or float samples; its header may not know the length, as where it is streamed."""

    _FORMATS: ClassVar = {(1, 8): "U8", (1, 16): "S16LE", (1, 32): "S32LE", (3, 32): "F32LE"}
    _HEADER_LIMIT = 1 << 16
    _UNKNOWN = (0, 0xFFFFFFFF)

    def __init__(self) -> None:
        self._held = b""
        self._raw: Raw | None = None
        self._left: int | None = None

    def feed(self, data: bytes) -> Samples:
        """Samples, once the header is whole."""
        if self._raw is None:
            self._held += data
            found = self._header()
            if found is None:
                return _NOTHING
            self._raw, self._left, data = found
            self._held = b""
        if self._left is not None:
            data = data[: self._left]
            self._left -= len(data)
        return self._raw.feed(data)

    def finish(self) -> Samples:
        """The rest."""
        if self._raw is None:
            raise FormatError("the audio ends within the header of a WAV file")
        return self._raw.finish()

    def _header(self) -> tuple[Raw, int | None, bytes] | None:
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
            at += size + size % 2
        if len(held) > self._HEADER_LIMIT:
            raise FormatError("a WAV file without samples in its first 64 KiB")
        return None

    def _encoding(self, chunk: bytes) -> Encoding:
        if len(chunk) < 16:
            raise FormatError("a WAV file whose format is too short")
        number = int.from_bytes(chunk[0:2], "little")
        if number == 0xFFFE and len(chunk) >= 26:
            number = int.from_bytes(chunk[24:26], "little")
        bits = int.from_bytes(chunk[14:16], "little")
        if (number, bits) not in self._FORMATS:
            raise FormatError(f"WAV format {number} with {bits} bits: 8, 16, 32 bits or floats are read")
        channels, rate = int.from_bytes(chunk[2:4], "little"), int.from_bytes(chunk[4:8], "little")
        return Encoding(rate, self._FORMATS[number, bits], channels)


_UNREAD = (
    (b"ID3", "MP3"),
    (b"fLaC", "FLAC"),
    (b"\x1aE\xdf\xa3", "WebM or Matroska"),
    (b"FORM", "AIFF"),
    (b".snd", "AU"),
    (b"#!AM", "AMR"),
)
"""What begins like this is no raw samples, and would be heard as noise."""


class Detected:
    """A container that says by its first octets what it is; else raw audio of the protocol's default."""

    def __init__(self) -> None:
        self._held = b""
        self._reader: Reader | None = None

    def feed(self, data: bytes) -> Samples:
        """Samples, once it is known what they are."""
        if self._reader is None:
            self._held += data
            if len(self._held) < _SNIFF:
                return _NOTHING
            data = self._held
            self._reader = self._detect()
        return self._reader.feed(data)

    def finish(self) -> Samples:
        """The rest."""
        if self._reader is None:
            self._reader = self._detect()
            return _joined([self._reader.feed(self._held), self._reader.finish()])
        return self._reader.finish()

    def _detect(self) -> Reader:
        begin = self._held[:_SNIFF]
        for known, name in _UNREAD:
            if begin.startswith(known):
                raise FormatError(f"{name}: raw samples, WAV and Opus in Ogg are read")
        if begin == b"RIFF":
            return Wav()
        return _ogg() if begin == b"OggS" else Raw(Encoding(RATE))


def reader_of(content_type: str) -> Reader:
    """What reads audio of a content type: GStreamer's capabilities, or the media type of a container.

    Raises:
        FormatError: Nothing here reads it.
    """
    media, *parts = [part.strip() for part in re.split("[,;]", content_type)]
    values = dict(part.split("=", 1) for part in parts if "=" in part)
    fields = {
        key.strip(): re.sub(r"^\s*\([a-z]+\)\s*", "", value).strip(' "') for key, value in values.items()
    }
    match media.lower():
        case "" | "application/octet-stream" | "application/x-www-form-urlencoded":
            return Detected()
        case "audio/x-raw" | "audio/x-raw-int" | "audio/l16":
            default = "S16BE" if media.lower() == "audio/l16" else "S16LE"
            return Raw(_encoding(fields, default))
        case "audio/wav" | "audio/x-wav" | "audio/wave" | "audio/vnd.wave":
            return Wav()
        case "audio/ogg" | "application/ogg" | "audio/opus":
            return _ogg()
    raise FormatError(f"content type {media!r}: audio/x-raw, audio/x-wav and audio/ogg (Opus) are read")


def _encoding(fields: dict[str, str], default: str) -> Encoding:
    def number(key: str, otherwise: int) -> int:
        text = fields.get(key, str(otherwise))
        if not re.fullmatch("[0-9]{1,9}", text):
            raise FormatError(f"{key} {text!r}: not a number")
        return int(text)

    return Encoding(number("rate", RATE), fields.get("format", default), number("channels", 1))


def _ogg() -> Reader:
    from voxpath.speech.ogg import OggOpus

    return OggOpus()


def _joined(parts: list[Samples]) -> Samples:
    return np.concatenate(parts) if parts else _NOTHING


_NOTHING: Samples = np.zeros(0, dtype=np.float32)


def to_pcm(samples: Samples) -> bytes:
    """As 16-bit integers, little-endian, as recognisers take them."""
    return bytes(np.rint(samples * 32767.0).astype("<i2").tobytes())
