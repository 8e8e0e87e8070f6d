"""Sounds as files."""

from __future__ import annotations

import wave
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray


def write(path: Path, values: NDArray[np.int16], rate_hz: int) -> None:
    """Writes samples of one channel as a WAV file.

    Raises:
        OSError: It cannot be written.
    """
    with path.open("wb") as out, wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate_hz)
        file.writeframes(values.astype("<i2").tobytes())
