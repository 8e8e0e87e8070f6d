"""A voice: from a file of any format that FFmpeg reads, or the sample of the package."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from voxpath.extras import install
from voxpath.voice.call import wholeness
from voxpath.voice.call.problems import CallError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from av import AudioFrame, AudioStream, Packet
    from av.container import InputContainer
    from numpy.typing import NDArray

SAMPLE = "sample.flac"
"""A reader of LibriVox (public domain), as pocketsphinx-testdata has it (BSD-2): `sample.LICENSE.txt`."""

LOWEST_HZ, HIGHEST_HZ = 8_000, 48_000
_FULL = 32_767
_GAP_S = 0.02
"""So much later than the one before ends a frame may begin: some containers round times to a millisecond."""
_ROUNDED_S = 0.1
"""By so much a compressed file's own length may be off."""
_TELLING = frozenset({"flac", "mp4"})
"""FFmpeg's names of formats whose head says how long each of its streams is. Of others it guesses."""
_CANCELLED_DB = -3.0
"""Below what the loudest channel alone gives to a mix. Channels without anything in common make it louder."""
_HEARD = (4.0 / (_FULL + 1)) ** 2
"""The power of what is above the noise of 16 bits."""
_FLOATS = frozenset({"flt", "fltp", "dbl", "dblp"})
"""FFmpeg's names of formats of samples that may be no numbers."""


@dataclass(frozen=True)
class Recording:
    """A voice of one channel.

    Attributes:
        name: Of the file, or of the sample.
        rate_hz: Samples per second.
        values: Samples of 16 bits.
        text: What is said, if it is known.
        notes: What was done to the file, or is to be known of it.
    """

    name: str
    rate_hz: int
    values: NDArray[np.int16]
    text: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def duration_s(self) -> float:
        """How long it is."""
        return len(self.values) / self.rate_hz

    @property
    def clipped(self) -> float:
        """Share of samples at full scale."""
        return float(np.mean((self.values >= _FULL) | (self.values <= -_FULL)))

    @property
    def is_silent(self) -> bool:
        """Whether there is nothing above the noise of 16 bits; a constant is not heard."""
        return int(self.values.max()) - int(self.values.min()) <= 2

    def at(self, rate_hz: int) -> NDArray[np.int16]:
        """Its samples at another rate."""
        return resampled(self.values, self.rate_hz, rate_hz)


def resampled(values: NDArray[np.int16], rate_hz: int, wanted_hz: int) -> NDArray[np.int16]:
    """Samples at another rate, by a polyphase filter (scipy)."""
    if rate_hz == wanted_hz:
        return values
    from scipy.signal import resample_poly

    common = math.gcd(rate_hz, wanted_hz)
    made: NDArray[np.float32] = resample_poly(
        values.astype(np.float32), wanted_hz // common, rate_hz // common
    )
    return np.clip(np.rint(made), -_FULL - 1, _FULL).astype(np.int16)


def read(path: Path | str | None) -> Recording:
    """A recording; the package's sample without a path. A text file of its name says what is said.

    Raises:
        CallError: It cannot be read, or is no sound that a voice call carries.
    """
    if path is None:
        with as_file(files(__package__).joinpath(SAMPLE)) as sample:
            return _read(sample, "the package's sample")
    return _read(Path(path), str(path))


def _read(path: Path, name: str) -> Recording:
    try:
        import av
    except ImportError:
        raise CallError(f"recordings are read by PyAV, which is not installed: {install('call')}") from None
    try:
        # Whoever names a device, a pipe or an address means something else.
        if not path.is_file():
            raise CallError(f"{name}: {'is no file' if path.exists() else 'there is no such file'}")
        with av.open(str(path), mode="r") as container:
            if not container.streams.audio:
                raise CallError(f"{name}: has no sound in it")
            stream = container.streams.audio[0]
            rate, channels = stream.codec_context.sample_rate, stream.codec_context.channels
            if not LOWEST_HZ <= rate <= HIGHEST_HZ:
                raise CallError(
                    f"{name}: has {rate} samples a second; a call takes {LOWEST_HZ} to {HIGHEST_HZ}"
                )
            resampler = av.AudioResampler(format="s16", layout="mono", rate=rate)
            promised = _promised(container, stream)
            parts = []
            loudness = _Loudness(channels)
            damages = _Damages(stream)
            for frame in damages.frames(container):
                if frame.format.name in _FLOATS and not np.isfinite(frame.to_ndarray()).all():
                    raise CallError(f"{name}: has samples that are no finite numbers")
                parts += [made.to_ndarray()[0] for made in resampler.resample(frame)]
                loudness.add(frame)
            parts += [made.to_ndarray()[0] for made in resampler.resample(None)]
        values = np.concatenate(parts) if parts else np.zeros(0, np.int16)
        if not len(values):
            what = "; ".join(damages.told())
            raise CallError(f"{name}: has no samples" + (f": {what}" if what else ""))
        notes = [f"{channels} channels, mixed to one"] if channels > 1 else []
        if loudness.cancel(values):
            values = _channel(path, rate, loudness.loudest)
            taken = f"channel {loudness.loudest + 1}, the loudest, is taken"
            notes = [f"{channels} channels that cancel each other, as those of opposite phase do: {taken}"]
    except (av.error.FFmpegError, OSError) as error:
        raise CallError(f"{name}: cannot be read as a sound: {error.strerror or error}") from None
    text = path.with_suffix(".txt")
    notes += [*damages.told(), *_cut_off(path, len(values) / rate, promised)]
    said = _words(text) if text.is_file() else None
    recording = Recording(name, rate, values, said, tuple(notes))
    clipped = recording.clipped
    if clipped > 0.001:
        return replace(recording, notes=(*notes, f"{100 * clipped:.1f} % of the samples are clipped"))
    return recording


class _Loudness:
    """The power of each channel, to know whether they cancel each other in a mix."""

    def __init__(self, channels: int) -> None:
        import av

        self._powers = np.zeros(channels)
        self._samples = 0
        self._planes = av.AudioResampler(format="fltp") if channels > 1 else None

    def add(self, frame: AudioFrame) -> None:
        """A frame of the file; of one channel nothing has to be known."""
        if self._planes is None:
            return
        for made in self._planes.resample(frame):
            values = made.to_ndarray()
            self._powers += np.einsum("cn,cn->c", values, values, dtype=np.float64)
            self._samples += values.shape[1]

    @property
    def loudest(self) -> int:
        """Which channel is the loudest, from 0."""
        return int(np.argmax(self._powers))

    def cancel(self, mixed: NDArray[np.int16]) -> bool:
        """Whether their mix is much softer than one of them alone would be in it, beside silent ones."""
        if not self._samples:
            return False
        mix = float(np.mean((mixed / (_FULL + 1.0)) ** 2))
        alone = float(self._powers.max()) / self._samples / len(self._powers) ** 2
        return alone > _HEARD and mix < alone * 10 ** (_CANCELLED_DB / 10)


def _channel(path: Path, rate: int, number: int) -> NDArray[np.int16]:
    """One channel of a file that can be read."""
    import av

    planes = av.AudioResampler(format="s16p", rate=rate)
    with av.open(str(path), mode="r") as container:
        whole = _Damages(container.streams.audio[0]).frames(container)
        frames = (made for frame in whole for made in planes.resample(frame))
        parts = [made.to_ndarray()[number] for made in frames]
        parts += [made.to_ndarray()[number] for made in planes.resample(None)]
    return np.concatenate(parts)


class _Damages:
    """What is wrong inside of a file: packets that cannot be decoded, and sound that is not there."""

    def __init__(self, stream: AudioStream) -> None:
        self._stream = stream
        self._rate = stream.codec_context.sample_rate
        self._samples = 0
        self._due_s: float | None = None
        self._broken: list[float] = []
        self._gaps: list[float] = []

    def frames(self, container: InputContainer) -> Iterator[AudioFrame]:
        """All that can be decoded."""
        for packet in container.demux(self._stream):
            yield from self._decoded(packet)

    def _decoded(self, packet: Packet[AudioStream]) -> Iterator[AudioFrame]:
        import av

        try:
            frames = self._stream.decode(packet)
        except av.error.FFmpegError:
            self._broken.append(self._samples / self._rate)
            return
        for frame in frames:
            begins = frame.time
            if begins is not None:
                if self._due_s is not None and begins - self._due_s > _GAP_S:
                    self._gaps.append(self._samples / self._rate)
                self._due_s = begins + frame.samples / frame.sample_rate
            self._samples += frame.samples
            yield frame

    def told(self) -> list[str]:
        """In words, where the places are those of what was read."""
        notes = []
        for places, what in (
            (self._broken, "cannot be decoded"),
            (self._gaps, "sound is missing"),
        ):
            if places:
                where = (
                    f"at {places[0]:.2f} s"
                    if len(places) == 1
                    else f"at {len(places)} places, first at {places[0]:.2f} s"
                )
                notes.append(f"the file is damaged: {what} {where}")
        return notes


def _cut_off(path: Path, seconds: float, promised: float | None) -> list[str]:
    """What is missing of a file that says how long it is."""
    if promised is None:
        told = wholeness.missing(path, seconds)
        return [] if told is None else [told]
    if promised - seconds <= _ROUNDED_S:
        return []
    return [f"the file is cut off: it has {seconds:.2f} s of the {promised:.2f} s that it says"]


def _promised(container: InputContainer, stream: AudioStream) -> float | None:
    """How long the sound is by the file's own head, in seconds; none where FFmpeg may have guessed it."""
    if not _TELLING & set(container.format.name.split(",")):
        return None
    if stream.duration is None or stream.time_base is None:
        return None
    return float(stream.duration * stream.time_base)


def _words(path: Path) -> str:
    """What somebody wrote down of a recording."""
    try:
        return path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = "is no text in UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror or error
        raise CallError(f"{path}: cannot be read as what is said in the recording: {why}") from None
