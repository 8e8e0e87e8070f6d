"""Rooms to try filters in: computed by image sources (extra `rooms`), or measured and read from a file."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.io import wavfile

from voxpath import files
from voxpath.extras import install
from voxpath.voice.aec.paths import Paths
from voxpath.voice.aec.sound import SoundError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from voxpath.voice.aec.samples import Samples

Place = tuple[float, float, float]
"""In metres from a corner: length, width, height."""

_ORDER = 40
"""Reflections that are followed at most."""


class RoomsError(Exception):
    """A room that cannot be computed; the message says why."""


@dataclass(frozen=True)
class Room:
    """A box.

    Attributes:
        size: In metres.
        decay_s: Seconds in which sound decays by 60 dB.
    """

    size: Place
    decay_s: float

    def responses(
        self, sources: Sequence[Place], microphones: Sequence[Place], rate: int
    ) -> list[list[Samples]]:
        """From each source to each microphone, by image sources (Allen and Berkley 1979).

        The walls absorb alike, as Sabine's formula has it for the decay. All responses have one length; the
        library puts them 40 samples late.

        Raises:
            RoomsError: The library is missing, or the room cannot be so.
        """
        try:
            acoustics = importlib.import_module("pyroomacoustics")
        except ImportError:
            raise RoomsError(f"rooms are computed by pyroomacoustics: {install('rooms')}") from None
        try:
            absorption, order = acoustics.inverse_sabine(self.decay_s, self.size)
        except ValueError as error:
            raise RoomsError(f"a decay of {self.decay_s} s: {error}") from None
        box = acoustics.ShoeBox(
            self.size, fs=rate, materials=acoustics.Material(absorption), max_order=min(order, _ORDER)
        )
        try:
            for source in sources:
                box.add_source(source)
            box.add_microphone_array(np.array(microphones).T)
        except ValueError as error:
            raise RoomsError(str(error)) from None
        box.compute_rir()
        count = min(len(response) for microphone in box.rir for response in microphone)
        return [
            [np.asarray(box.rir[to][of][:count], dtype=np.float64) for to in range(len(microphones))]
            for of in range(len(sources))
        ]

    def paths(self, loudspeakers: Sequence[Place], microphones: Sequence[Place], rate: int) -> Paths:
        """The four echo paths of two loudspeakers and two microphones, each left and right.

        Raises:
            RoomsError: As `responses`.
        """
        (left_left, left_right), (right_left, right_right) = self.responses(loudspeakers, microphones, rate)
        return Paths(left_left, left_right, right_left, right_right)


def measured(path: Path | str, rate: int) -> Paths:
    """Measured echo paths: a WAV file of four channels.

    These are from the left loudspeaker to the left and right microphone, then from the right one.

    Args:
        path: The file; integers are parts of full scale.
        rate: The samples a second that it has to have.

    Raises:
        SoundError: It is no such file.
    """
    try:
        with files.regular(path) as file:
            found, data = wavfile.read(file)
    except (OSError, ValueError, EOFError) as error:
        raise SoundError(f"{path}: {error}") from None
    channels = 1 if data.ndim == 1 else data.shape[1]
    if channels != 4:
        raise SoundError(f"{path} has {channels} channels; four echo paths are needed")
    if found != rate:
        raise SoundError(f"{path} has {found} samples a second; {rate} are needed")
    if data.dtype.kind == "u":
        raise SoundError(f"{path} has samples of 8 bits; 16 or more are needed")
    scale = 1.0 if data.dtype.kind == "f" else 2.0 ** (8 * data.dtype.itemsize - 1)
    rows = data.T / scale
    if not np.isfinite(rows).all():
        raise SoundError(f"{path} has samples that are no numbers")
    return Paths(*rows)
