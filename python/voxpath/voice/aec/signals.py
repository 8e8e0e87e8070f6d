"""Signals to try filters on: coloured noise, rooms, loudspeakers' samples, noise of microphones."""

from __future__ import annotations

from functools import cache
from math import gcd
from typing import TYPE_CHECKING

import numpy as np
from scipy.signal import fftconvolve, lfilter, resample_poly

from voxpath.voice.aec.paths import Paths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voxpath.voice.aec.samples import Samples


def autoregressive(count: int, poles: Sequence[complex], seed: int) -> Samples:
    """Gaussian noise of unit innovation, filtered by 1/∏(1 - p z⁻¹).

    Args:
        count: Samples.
        poles: Within the unit circle; complex ones in conjugate pairs.
        seed: Of the noise.
    """
    if any(abs(pole) >= 1 for pole in poles):
        raise ValueError("poles have to lie within the unit circle")
    denominator = np.poly(np.asarray(poles, dtype=complex))
    if np.abs(denominator.imag).max() > 1e-12:
        raise ValueError("complex poles have to come in conjugate pairs")
    noise = np.random.default_rng(seed).standard_normal(count)
    filtered: Samples = lfilter([1.0], denominator.real, noise)
    return filtered


def room(length: int, rng: np.random.Generator, decay_db: float = 35.0) -> Samples:
    """A synthetic impulse response: Gaussian noise that decays exponentially, of unit energy.

    Args:
        length: Samples.
        rng: Where its noise comes from.
        decay_db: From its beginning to its end.
    """
    envelope = 10 ** (-decay_db / 20 * np.arange(length) / length)
    response = rng.standard_normal(length) * envelope
    return np.asarray(response / np.linalg.norm(response))


def synthetic_paths(length: int, seed: int, gain: float = 0.5, decay_db: float = 35.0) -> Paths:
    """Four synthetic echo paths; `gain` is the norm of each."""
    rng = np.random.default_rng(seed)
    return Paths(*(gain * room(length, rng, decay_db) for _ in range(4)))


def stereo(source: Samples, responses: Sequence[Samples]) -> Samples:
    """A talker as two microphones of the far room hear them, scaled to unit power in the mean of both."""
    channels = np.stack([fftconvolve(source, response)[: len(source)] for response in responses])
    power = np.mean(channels**2)
    return np.asarray(channels / np.sqrt(power)) if power > 0 else channels


def half_wave(far: Samples, amount: float) -> Samples:
    """(14) and (15): α_r of the left channel's positive half, and of the right one's negative half, added."""
    left, right = far
    return np.stack([left + amount * (left + np.abs(left)) / 2, right + amount * (right - np.abs(right)) / 2])


def with_noise(near: Samples, snr_db: float, seed: int) -> Samples:
    """The microphones' samples with white noise so far below the echo of each."""
    noise = np.random.default_rng(seed).standard_normal(near.shape)
    level = np.sqrt(np.mean(near**2, axis=1, keepdims=True)) * 10 ** (-snr_db / 20)
    return np.asarray(near + level * noise)


@cache
def _utterances(group: str) -> Samples:
    from voxpath.voice.speech.samples import SCHEME, samples

    pcm = b"".join(sample.pcm() for sample in samples(f"{SCHEME}{group}"))
    return np.frombuffer(pcm, dtype="<i2") / 32_768


_RECORDED_RATE = 16_000
"""Of the distribution's recordings, in Hz."""


def recorded(rate: int, group: str = "librivox") -> Samples:
    """The distribution's recorded speech, one utterance after another, as parts of full scale.

    Args:
        rate: In Hz.
        group: `librivox`, 25 s of somebody who reads, or `cards`, 10 s of short sentences.

    Raises:
        voxpath.voice.speech.samples.SampleError: They are not installed.
    """
    common = gcd(rate, _RECORDED_RATE)
    return np.asarray(resample_poly(_utterances(group), rate // common, _RECORDED_RATE // common))


_FORMANTS: Sequence[Sequence[float]] = (
    (660, 1720, 2410),
    (270, 2290, 3010),
    (300, 870, 2240),
    (570, 840, 2410),
    (490, 1350, 1690),
)
"""Of American English vowels, men's means in Hz (Peterson and Barney 1952, Table II)."""


def speech_like(count: int, rate: float, seed: int) -> Samples:
    """Syllables with pitch, formants, pauses and hiss: as coloured and unsteady as speech, but not speech.

    Args:
        count: Samples.
        rate: In Hz.
        seed: Of every choice.
    """
    rng = np.random.default_rng(seed)
    out = np.zeros(count)
    at = 0
    while at < count:
        length = min(int(rate * rng.uniform(0.08, 0.3)), count - at)
        voiced = rng.random() < 0.75
        if voiced:
            pitch = rng.uniform(90, 180) * np.linspace(1, rng.uniform(0.8, 1.2), length)
            excitation = np.diff(np.floor(np.cumsum(pitch / rate)), prepend=0.0)
            excitation += 0.1 * rng.standard_normal(length)
            formants = list(_FORMANTS[int(rng.integers(len(_FORMANTS)))])
        else:
            excitation = 0.1 * rng.standard_normal(length)
            formants = [0.3 * rate]
        radius = np.exp(-np.pi * (80 if voiced else 400) / rate)
        angles = [2 * np.pi * frequency / rate for frequency in formants if frequency < 0.5 * rate]
        poles = [radius * np.exp(sign * 1j * angle) for angle in angles for sign in (1, -1)]
        syllable = lfilter([1.0], np.poly(poles).real, excitation) * np.hanning(length)
        peak = np.abs(syllable).max(initial=0.0)
        if peak > 0:
            out[at : at + length] = syllable / peak * rng.uniform(0.3, 1.0)
        at += length
        if rng.random() < 0.2:
            at += int(rate * rng.uniform(0.05, 0.5))
    return out


def synthetic_world(
    length: int, count: int, seed: int, snr_db: float = 30.0
) -> tuple[Samples, Samples, Paths]:
    """AR(1) noise with the pole 0.9 in a far room, half-wave distorted by 0.4, and its echo in ours.

    Args:
        length: Samples of each echo path; the far room's responses are four times as long.
        count: Samples.
        seed: Of rooms, signal and noise.
        snr_db: Of the echo over the microphones' noise.

    Returns:
        Loudspeakers, microphones, and the paths between them.
    """
    rng = np.random.default_rng([seed, 1])
    rooms = [room(4 * length, rng) for _ in range(2)]
    far = half_wave(stereo(autoregressive(count, [0.9], seed), rooms), 0.4)
    paths = synthetic_paths(length, seed)
    return far, with_noise(paths.echo(far), snr_db, seed + 1_000), paths
