"""Longer and shorter at the same pitch: a period is repeated or left out where it is like its neighbour."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LEAST_S, _MOST_S = 0.0025, 0.0125
"""Periods of voices: 400 to 80 Hz."""
_ALIKE = 0.4
"""Correlation that a period has to have with its neighbour; below, the frame stays as it is."""
_SILENT = 30.0
"""Root mean square, in steps of 16 bits, below which any place is as good as another."""
_FAR = 10
"""Shortest periods that a wait may be off, before frames are stretched whatever they are like."""


def shifted(values: NDArray[np.int16], rate_hz: int, wanted: int) -> tuple[NDArray[np.int16], int]:
    """A frame that is longer or shorter.

    Args:
        values: The frame.
        rate_hz: Samples per second.
        wanted: Samples more, or less where negative, in the end; a frame does one period of it at most.

    Returns:
        The frame, and how many samples more it has.
    """
    least = int(_LEAST_S * rate_hz)
    most = min(int(_MOST_S * rate_hz), len(values) // 2, abs(wanted))
    if most < least:
        return values, 0
    wide = values.astype(np.float64)
    lag, alike = _period(wide, least, most)
    quiet = float(np.sqrt(np.mean(wide * wide))) < _SILENT
    if alike < _ALIKE and not quiet and abs(wanted) < _FAR * least:
        return values, 0
    # The frame and itself a period later are passed over into each other at its middle.
    length = min(lag, len(values) - lag)
    begin = (len(values) - lag - length) // 2
    rising = (np.arange(length) + 1) / (length + 1)
    early, late = wide[begin : begin + length], wide[begin + lag : begin + lag + length]
    if wanted > 0:
        passage = late * (1 - rising) + early * rising
        made = np.concatenate((wide[: begin + lag], passage, wide[begin + length :]))
    else:
        passage = early * (1 - rising) + late * rising
        made = np.concatenate((wide[:begin], passage, wide[begin + lag + length :]))
    return np.clip(np.rint(made), -32768, 32767).astype(np.int16), len(made) - len(values)


def _period(values: NDArray[np.float64], least: int, most: int) -> tuple[int, float]:
    """The lag at which the frame is most like itself, and how much it is."""
    lags = range(least, most + 1)
    scores = [_correlation(values[:-lag], values[lag:]) for lag in lags]
    best = int(np.argmax(scores))
    return lags[best], scores[best]


def _correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    power = float(np.sqrt((one @ one) * (other @ other)))
    return float(one @ other) / power if power > 0 else 0.0
