"""How good a filter is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.signal import welch

if TYPE_CHECKING:
    from voxpath.voice.aec.paths import Paths
    from voxpath.voice.aec.samples import Samples


def misalignment(truth: Paths, known: Paths) -> float:
    """(16): the norm of the error over that of the true paths, in dB.

    Of the four paths together it is the same as of the widely linear system.
    """
    return float(20 * np.log10(np.linalg.norm(truth.all - known.all) / np.linalg.norm(truth.all)))


def erle(near: Samples, out: Samples) -> float:
    """Echo return loss enhancement: power of the microphones over what is left, both channels, in dB.

    It means what its name says only where nobody speaks at the near end.
    """
    return float(10 * np.log10(np.sum(np.square(near)) / np.sum(np.square(out))))


def spectrum(samples: Samples, rate: float, window: int = 512) -> tuple[Samples, Samples]:
    """Frequencies in Hz, and the power of both channels' mean in dB relative to 1 (1/Hz)."""
    frequencies, power = welch(samples, fs=rate, nperseg=window, axis=-1)
    return frequencies, 10 * np.log10(np.mean(np.atleast_2d(power), axis=0) + np.finfo(float).tiny)
