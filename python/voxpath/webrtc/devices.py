"""A camera and a microphone without either: files that encoders find as hard as what people send."""

from __future__ import annotations

import wave
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

_SECONDS = 4
"""The pictures are repeated after so long."""

_SEED = 1
_GRAIN = 6.0
"""Standard deviation of what changes from one picture to the next, of 255."""

_STEP = 3
"""How far the scene moves from one picture to the next, in pixels."""

_HZ = 48_000
_LOUDNESS = 0.1
"""Standard deviation of the sound, of full scale."""


def write_sound(path: Path) -> None:
    """Writes noise whose power falls as one over the frequency, as that of many voices.

    Opus gives it its full rate; Chromium's own beeps are silence for the most part, and get a third of that.

    Args:
        path: A WAV file, one channel of 16 bits.
    """
    draw = np.random.default_rng(_SEED)
    spectrum = np.fft.rfft(draw.normal(size=_SECONDS * _HZ))
    spectrum[1:] /= np.sqrt(np.arange(1, len(spectrum)))
    spectrum[0] = 0
    sound = np.fft.irfft(spectrum)
    samples = np.clip(sound / sound.std() * _LOUDNESS * 32767, -32768, 32767).astype("<i2")
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(_HZ)
        file.writeframes(samples.tobytes())


def write_scene(path: Path, width: int, height: int, fps: int) -> None:
    """Writes the pictures: a scene with structure of all sizes that passes by, with grain.

    A test picture of bars costs an encoder next to nothing, and so no rate control would be needed.

    Args:
        path: A file of uncompressed video (YUV4MPEG2, 4:2:0).
        width: In pixels; even.
        height: In pixels; even.
        fps: Frames a second.
    """
    draw = np.random.default_rng(_SEED)
    frames = _SECONDS * fps
    scene = _scene(draw, height, 2 * width)
    grain = [draw.normal(0, _GRAIN, (height, width)) for _ in range(7)]
    grey = bytes([128]) * (width * height // 2)
    with path.open("wb") as file:
        file.write(f"YUV4MPEG2 W{width} H{height} F{fps}:1 Ip A1:1 C420mpeg2\n".encode())
        for number in range(frames):
            moved = np.roll(scene, -_STEP * number, axis=1)[:, :width]
            luma = np.clip(moved + grain[number % len(grain)], 16, 235).astype(np.uint8)
            file.write(b"FRAME\n" + luma.tobytes() + grey)


def _scene(
    draw: np.random.Generator, height: int, width: int
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Noise with amplitude falling as one over the frequency, as of photographs."""
    noise = np.fft.rfft2(draw.normal(size=(height, width)))
    vertical = np.fft.fftfreq(height)[:, None]
    horizontal = np.fft.rfftfreq(width)[None, :]
    frequency = np.hypot(vertical, horizontal)
    frequency[0, 0] = np.inf
    picture = np.fft.irfft2(noise / frequency, s=(height, width))
    scaled: npt.NDArray[np.float64] = 126.0 + 40.0 * picture / picture.std()
    return scaled
