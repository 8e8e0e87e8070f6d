"""Sound files: WAV with integers or floats, one or two channels, as parts of full scale."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.io import wavfile

from voxpath import files

if TYPE_CHECKING:
    from pathlib import Path

    from voxpath.voice.aec.samples import Samples


class SoundError(Exception):
    """A file is not what is needed; the message names it."""


@dataclass(frozen=True)
class Sound:
    """A recording.

    Attributes:
        rate: Samples in a second.
        samples: Left and right in rows, within ±1; of a mono file the left one alone.
        channels: 1 or 2.
        kind: How a sample stands in the file.
    """

    rate: int
    samples: Samples
    channels: int
    kind: np.dtype[Any]


def read(path: Path | str) -> Sound:
    """Reads a file.

    Raises:
        SoundError: It cannot be read, or is no such sound.
    """
    try:
        with warnings.catch_warnings(), files.regular(path) as file:
            # Chunks with the recorder's remarks.
            warnings.simplefilter("ignore", wavfile.WavFileWarning)
            rate, data = wavfile.read(file)
    except (OSError, ValueError, EOFError) as error:
        raise SoundError(f"{path}: {error}") from None
    rows = np.atleast_2d(data.T)
    if len(rows) > 2:
        raise SoundError(f"{path} has {len(rows)} channels; 1 or 2 are allowed")
    if rows.shape[1] == 0:
        raise SoundError(f"{path} has no samples")
    samples = np.zeros((2, rows.shape[1]))
    samples[: len(rows)] = (rows - _zero(data.dtype)) / _full_scale(data.dtype)
    if not np.isfinite(samples).all():
        at = int(np.argmin(np.isfinite(samples).all(axis=0)))
        raise SoundError(f"{path}: sample {at} is no number")
    return Sound(int(rate), samples, len(rows), data.dtype)


def write(path: Path | str, samples: Samples, like: Sound) -> int:
    """Writes a file of the kind, rate and channels of another one; returns how many samples were clipped."""
    rows = samples[: like.channels]
    clipped = 0
    if like.kind.kind != "f":
        scale = _full_scale(like.kind)
        scaled = np.rint(rows * scale) + _zero(like.kind)
        info = np.iinfo(like.kind)
        kept = np.clip(scaled, info.min, info.max)
        clipped = int(np.sum(kept != scaled))
        rows = kept
    # A float64 beyond 2^31 - 1 does not occur: it was clipped.
    wavfile.write(path, like.rate, rows.astype(like.kind).T.squeeze())
    return clipped


def _full_scale(kind: np.dtype[Any]) -> float:
    return 1.0 if kind.kind == "f" else float(2 ** (8 * kind.itemsize - 1))


def _zero(kind: np.dtype[Any]) -> float:
    """Unsigned samples, those of 8 bits, have their zero in the middle."""
    return float(2 ** (8 * kind.itemsize - 1)) if kind.kind == "u" else 0.0
