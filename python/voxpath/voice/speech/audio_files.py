"""Files and samples as what a client sends."""

from __future__ import annotations

import contextlib
import io
import wave
from pathlib import Path

from voxpath import files
from voxpath.handshake import WAV, raw_type
from voxpath.voice.speech.client import Audio
from voxpath.voice.speech.formats import reader_of
from voxpath.voice.speech.pcm import RATE, FormatError
from voxpath.voice.speech.samples import SCHEME, samples
from voxpath.voice.speech.sniffing import media_type


class AudioError(Exception):
    """A file that cannot be sent."""


def audio_of(name: str) -> list[Audio]:
    """A file of a format that the service reads, or samples; a text file beside it says what is said.

    A WAV file of 16 bits and one channel is sent as raw samples of its rate, everything else as it is.

    Raises:
        AudioError: It cannot be read.
        SampleError: There is no such sample.
    """
    if name.startswith(SCHEME):
        return [
            Audio(sample.name, sample.pcm(), raw_type(RATE), 2.0 * RATE, sample.reference)
            for sample in samples(name)
        ]
    path = Path(name)
    try:
        data = files.read(path)
        text = path.with_suffix(".txt")
        reference = files.read(text).decode("utf-8").strip() if text.is_file() else None
    except OSError as error:
        raise AudioError(f"{name}: {error.strerror or error}") from error
    except ValueError as error:
        # A name with a zero byte, or a text that is none.
        raise AudioError(f"{name}: {error}") from error
    media = media_type(data)
    if media is None:
        raise AudioError(f"{name}: begins as no format of audio that is known here")
    if media == WAV:
        with contextlib.suppress(wave.Error, EOFError), wave.open(io.BytesIO(data)) as file:
            if (file.getsampwidth(), file.getnchannels()) == (2, 1):
                samples_, rate = file.readframes(file.getnframes()), file.getframerate()
                return [Audio(path.name, samples_, raw_type(rate), 2.0 * rate, reference)]
    return [Audio(path.name, data, media, len(data) / _length_s(name, media, data), reference)]


def _length_s(name: str, media: str, data: bytes) -> float:
    """How long it sounds, to whoever recognises it."""
    reader = reader_of(media)
    try:
        heard = sum(map(len, reader.feed(data))) + sum(map(len, reader.finish()))
    except FormatError as error:
        raise AudioError(f"{name}: {error}") from error
    if not heard:
        raise AudioError(f"{name}: no audio")
    return heard / RATE
