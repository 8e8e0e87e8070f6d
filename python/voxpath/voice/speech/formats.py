"""Audio as it arrives, cut and compressed in any way, into equal blocks of 16 kHz, 16 bits, one channel.

`pcm.py` has what readers share and the reader of raw samples, `containers.py` those of compressed audio.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from voxpath.voice.speech.containers import Container
from voxpath.voice.speech.pcm import RATE, Encoding, FormatError, Raw
from voxpath.voice.speech.sniffing import media_type, needed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from voxpath.voice.speech.pcm import Reader, Samples


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
