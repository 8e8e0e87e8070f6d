"""Files and samples as what a client sends."""

from __future__ import annotations

import io
import wave
from pathlib import Path

from voxpath import files
from voxpath.speech.client import Audio
from voxpath.speech.formats import RATE
from voxpath.speech.samples import SCHEME, samples


class AudioError(Exception):
    """A file that cannot be sent."""


def audio_of(name: str) -> list[Audio]:
    """A WAV file, an Ogg file, or samples; a text file of the same name, if there is one, says what is said.

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
    if data[:4] == b"OggS":
        return [Audio(path.name, data, "audio/ogg", len(data) / _ogg_length_s(path, data), reference)]
    try:
        with wave.open(io.BytesIO(data)) as file:
            rate, frames = file.getframerate(), file.getnframes()
            if (file.getsampwidth(), file.getnchannels()) == (2, 1):
                return [Audio(path.name, file.readframes(frames), raw_type(rate), 2.0 * rate, reference)]
    except (wave.Error, EOFError) as error:
        raise AudioError(f"{name}: neither WAV nor Ogg: {error}") from error
    if not frames:
        raise AudioError(f"{name}: no audio")
    return [Audio(path.name, data, "audio/x-wav", len(data) * rate / frames, reference)]


def raw_type(rate: int) -> str:
    """The content type of raw samples of 16 bits, as GStreamer writes it."""
    return f"audio/x-raw, layout=(string)interleaved, rate=(int){rate}, format=(string)S16LE, channels=(int)1"


def _ogg_length_s(path: Path, data: bytes) -> float:
    last = data.rfind(b"OggS")
    samples_there = int.from_bytes(data[last + 6 : last + 14], "little", signed=True)
    if samples_there <= 0:
        raise AudioError(f"{path}: an Ogg file that does not say how long it is")
    return samples_there / 48_000
