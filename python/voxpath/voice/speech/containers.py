"""Audio that FFmpeg takes apart and decodes, through PyAV: Ogg, MP3, FLAC, WebM and the like, as it arrives.

FFmpeg asks for octets where we are given them. So it runs in a thread of its own, and the two take turns: one
stands still while the other works. What comes out depends on the octets alone, and no more is decoded than
somebody takes. Only formats and codecs are opened that are named here.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from voxpath.voice.speech.pcm import Encoding, FormatError, Raw

if TYPE_CHECKING:
    from collections.abc import Iterator

    from voxpath.voice.speech.pcm import Samples

_OPTIONS = {
    # It says what is in it at its beginning, and is not to be waited for.
    "probesize": "2048",
    "analyzeduration": "1",
    "codec_whitelist": (
        "opus,libopus,vorbis,mp3,mp3float,flac,aac,alac,pcm_mulaw,pcm_alaw,pcm_u8,pcm_s8,pcm_s16le,pcm_s16be,"
        "pcm_s24le,pcm_s24be,pcm_s32le,pcm_s32be,pcm_f32le,pcm_f32be,pcm_f64le,pcm_f64be,adpcm_ima_wav,adpcm_ms"
    ),
    # What a file refers to is not opened.
    "protocol_whitelist": "",
}


_BUFFER = 256
"""Octets that it looks at: what it waits for, and how far it can go back."""
_HINTS = {"mov": " (its index has to come first, as where it is recorded or made for streaming)"}


class _LetGoError(Exception):
    """Nobody takes what is decoded."""


class Container:
    """The first audio in a container; what else is in it is not heard."""

    NAMES: ClassVar = {
        "aac": "AAC",
        "aiff": "AIFF",
        "au": "AU",
        "flac": "FLAC",
        "matroska": "WebM or Matroska",
        "mov": "MP4",
        "mp3": "MP3",
        "ogg": "Ogg",
        "wav": "WAV",
    }
    """By FFmpeg's names for them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._said = self.NAMES[name]
        self._octets = bytearray()
        self._made: Samples | None = None
        self._whole = self._over = self._gone = False
        self._failed: Exception | None = None
        self._heard = False
        self._ours, self._its = threading.Semaphore(0), threading.Semaphore(0)
        self._thread: threading.Thread | None = None

    def feed(self, data: bytes) -> Iterator[Samples]:
        """What becomes audible with these octets."""
        # What comes behind the end of the container's own audio is not heard.
        if not self._over:
            self._octets += data
        while not self._over:
            if (made := self._turn()) is None:
                break
            yield made

    def finish(self) -> Iterator[Samples]:
        """The rest; what is cut off at the end is dropped."""
        self._whole = True
        while not self._over:
            if (made := self._turn()) is not None:
                yield made
        if not self._heard:
            raise FormatError(f"{self._said} without audio, or that ends before it")

    def close(self) -> None:
        """Lets it go."""
        self._gone = True
        if self._thread is not None and not self._over:
            self._turn()

    def _turn(self) -> Samples | None:
        """Has the thread go on until it has made something, asks for more octets, or has ended."""
        self._made = None
        if self._thread is None:
            # Nobody waits for it at the end of the process.
            self._thread = threading.Thread(target=self._run, name=f"reads {self._name}", daemon=True)
            self._thread.start()
        self._its.release()
        self._ours.acquire()
        if self._over:
            self._thread.join()
        if self._failed is not None:
            failed, self._failed = self._failed, None
            raise failed
        self._heard = self._heard or self._made is not None
        return self._made

    # In the thread

    def _run(self) -> None:
        self._its.acquire()
        try:
            if not self._gone:
                self._decode()
        except _LetGoError:
            pass
        except Exception as error:  # noqa: BLE001 - it belongs to whom it reads for
            # What is cut off at the end cannot be decoded.
            cut_off = self._whole and self._heard and isinstance(error, FormatError)
            if not (cut_off or self._gone):
                self._failed = error
        self._over = True
        self._ours.release()

    def _decode(self) -> None:
        import av

        try:
            with av.open(
                self, "r", self._name, options=_OPTIONS, buffer_size=_BUFFER, metadata_errors="replace"
            ) as container:
                if not container.streams.audio:
                    raise FormatError(f"{self._said} without audio")
                self._streams(container.decode(audio=0))
        except (av.FFmpegError, ValueError, NotImplementedError) as error:
            if isinstance(error, FormatError):
                raise
            hint = _HINTS.get(self._name, "")
            raise FormatError(f"{self._said} that cannot be read: {_said(error)}{hint}") from error

    def _streams(self, frames: Iterator[Any]) -> None:
        """Samples of one rate after the other."""
        rate, raw = None, None
        for frame in frames:
            if frame.sample_rate != rate or raw is None:
                if raw is not None:
                    self._hand_over(raw.finish())
                rate = frame.sample_rate
                raw = Raw(Encoding(rate, "F32LE", channels=1))
            samples = _mixed(frame.to_ndarray(), len(frame.layout.channels))
            self._hand_over(raw.feed(samples.tobytes()))
        if raw is not None:
            self._hand_over(raw.finish())

    def _hand_over(self, made: Iterator[Samples]) -> None:
        for samples in made:
            if len(samples):
                self._made = samples
                self._wait()

    def read(self, most: int) -> bytes:
        """As FFmpeg asks for it: so many octets, fewer at the end, however few come at a time."""
        while len(self._octets) < most and not self._whole:
            self._wait()
        octets = bytes(self._octets[:most])
        del self._octets[:most]
        return octets

    def _wait(self) -> None:
        self._ours.release()
        self._its.acquire()
        if self._gone:
            raise _LetGoError


def _mixed(values: np.ndarray[Any, Any], channels: int) -> Samples:
    """Samples of a frame, packed or planar, of any type, as floats of one channel."""
    zero, scale = 0.0, 1.0
    if values.dtype.kind == "f":
        values = np.nan_to_num(values).clip(-1.0, 1.0)
    else:
        scale = 2.0 ** (8 * values.dtype.itemsize - 1)
        zero = scale if values.dtype.kind == "u" else 0.0
    apart = values.reshape(-1, channels) if values.shape[0] == 1 else values.T
    return np.asarray((apart.mean(axis=1) - zero) / scale, dtype=np.float32)


def _said(error: Exception) -> str:
    with contextlib.suppress(AttributeError):
        return str(error.strerror)  # type: ignore[attr-defined]
    return str(error)
