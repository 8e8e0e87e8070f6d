"""How late the echo comes: players and recorders have buffers that no filter should have to span."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from voxpath.voice.aec.samples import Samples

_LONGEST_S = 60.0
"""Of the recording that is looked at."""


def delay(far: Samples, near: Samples, rate: float, most_s: float = 1.0) -> int | None:
    """Samples by which the microphones lag behind the loudspeakers, negative where they lead.

    The lag at which the cross-correlation of the channels' sums, weighed by its phase alone (GCC-PHAT, Knapp
    and Carter 1976), is largest.

    Args:
        far: Of the loudspeakers, left and right in rows.
        near: Of the microphones, likewise.
        rate: In Hz.
        most_s: The largest lag that is looked for.

    Returns:
        The lag; none where nothing stands out of the correlation's noise, such as for silence.
    """
    count: int = min(far.shape[1], near.shape[1], int(_LONGEST_S * rate))
    if count == 0:
        return None
    size = 1 << (2 * count - 1).bit_length()
    loud, heard = (np.fft.rfft(samples[:, :count].sum(axis=0), size) for samples in (far, near))
    cross = heard * np.conj(loud)
    level = np.abs(cross)
    # What is far below the rest has a phase of rounding errors.
    weight = np.where(level > 1e-6 * level.max(), level, np.inf) if level.max() > 0 else np.inf
    correlation = np.fft.irfft(cross / weight, size)
    most = min(int(most_s * rate), count - 1)
    lags = np.concatenate([correlation[-most:], correlation[: most + 1]]) if most else correlation[:1]
    peak = int(np.argmax(np.abs(lags)))
    if float(np.abs(lags[peak])) <= 8 * float(np.std(correlation)):
        return None
    return peak - int(most)


def shifted(far: Samples, samples: int) -> Samples:
    """The loudspeakers' samples so much later, or earlier where negative; as many as before."""
    moved = np.zeros_like(far)
    if samples >= 0:
        moved[:, samples:] = far[:, : far.shape[1] - samples]
    else:
        moved[:, :samples] = far[:, -samples:]
    return moved
