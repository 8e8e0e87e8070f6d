"""Formants by discrete all-pole modelling: resonances fitted to the harmonics alone.

A voice shows its vocal tract at the multiples of its pitch and nowhere else. Linear prediction (Burg's
method) takes the harmonics for peaks of the tract and is drawn to the nearest one, by about a tenth of the
pitch (Vallabha and Tuller 2002). Here the model's spectrum is held against the one at the harmonics only, by
the discrete Itakura-Saito distance (El-Jaroudi and Makhoul 1991). Left alone, that puts a pole without
bandwidth onto a harmonic where few of them surround a formant; so the poles are formants with bandwidths, and
bandwidths far from those of vocal tracts cost something. What is heard where it is quietest between the
harmonics is noise, and stands beside the model at them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from voxpath.voice.phonetics.settings import PITCH_HZ

if TYPE_CHECKING:
    from voxpath.voice.phonetics.settings import Settings

TOLERANCE = 4.0
"""Of the harmonics' power: it scatters around the model as a gamma distribution of this shape, about 2 dB.
What is no resonance (the glottis, noise) has to go somewhere."""

BANDWIDTH_SPREAD = math.log(2)
"""Standard deviation of a bandwidth's logarithm around its usual value: a factor of two."""

LEAST_PERIODS = 2.0
"""In a window: with fewer its harmonics are not told apart."""

LEAST_S = 0.052
"""Of a sound, for its pitch: a little more than three of the longest periods."""

_LEAST_HZ = 50.0
"""From the ends of the band, as Praat's."""
_BANDWIDTHS_HZ = (10.0, 1500.0)
_QUIET = 0.25
"""The part of the places between harmonics that have nothing but white noise, whose powers are exponentially
distributed; elsewhere a voice that is not quite regular is heard between its harmonics too."""
_ROUNDS = 30
_ENOUGH = 1e-5
"""Of the distance: a round that gains less was the last."""
_HZ = 100.0
"""Unit of frequencies in the search, so that its steps are of like size."""

Array = NDArray[np.float64]


def usual_bandwidth(frequency_hz: Array) -> Array:
    """Of a formant: 50 (1 + F² / 6 MHz²) Hz (Tappert, Mártony and Fant 1963)."""
    found: Array = 50 * (1 + frequency_hz**2 / 6e6)
    return found


def pitch(sound: Any, times_s: Array) -> Array:
    """The pitch at some times by Praat's autocorrelation; `nan` where there is no voice."""
    if sound.duration < LEAST_S:
        return np.full(len(times_s), math.nan)
    found = sound.to_pitch(None, *PITCH_HZ)
    return np.asarray([found.get_value_at_time(time) for time in times_s], float)


def track(sound: Any, times_s: Array, settings: Settings, count: int) -> Array:
    """The lowest formants at some times.

    Returns:
        A row for each time, a column for each formant; `nan` where there is no voice.
    """
    hz = np.full((len(times_s), count), math.nan)
    voice = pitch(sound, times_s)
    voiced = np.isfinite(voice)
    if voiced.any():
        seen = _harmonics(sound, times_s[voiced], voice[voiced], settings)
        hz[voiced] = fit(seen, round(settings.poles))[:, :count]
    return hz


@dataclass(frozen=True)
class Harmonics:
    """Spectra at the multiples of the pitch, a row for each frame.

    Attributes:
        power: Of each harmonic, in parts of the frame's mean; 0 above the ceiling.
        noise: At each harmonic, from where it is quietest between them; likewise.
        there: Which of them lie below the ceiling.
        angle: Their frequencies, in radians per sample at twice the ceiling.
        ceiling_hz: Of the formants.
    """

    power: Array
    noise: Array
    there: NDArray[np.bool_]
    angle: Array
    ceiling_hz: float


def _harmonics(sound: Any, times_s: Array, voice_hz: Array, settings: Settings) -> Harmonics:
    rate, values, origin = sound.sampling_frequency, sound.values[0], sound.x1
    most = int(settings.ceiling_hz // voice_hz.min())
    power, noise = np.zeros((2, len(times_s), most))
    for row, (time, hz) in enumerate(zip(times_s, voice_hz, strict=True)):
        half = settings.periods / hz / 2
        first = max(0, math.ceil((time - half - origin) * rate))
        last = min(len(values), math.floor((time + half - origin) * rate) + 1)
        away = np.arange(first, last) / rate + origin - time
        window = 0.5 + 0.5 * np.cos(math.pi * away / half)
        # Powers of half of the pitch's phasor are all harmonics, and half-way between them.
        turning = np.exp(-1j * math.pi * hz * away)
        count = int(settings.ceiling_hz // hz)
        phasors = np.cumprod(np.broadcast_to(turning, (2 * count, len(away))), axis=0)
        # Not by a matrix product: libraries spread so small ones over threads, at many times the cost.
        found = np.abs(np.einsum("ks,s->k", phasors, values[first:last] * window)) ** 2
        power[row, :count] = found[1::2]
        noise[row, :count] = np.quantile(found[::2], _QUIET) / -math.log(1 - _QUIET)
    hz = voice_hz[:, None] * np.arange(1, most + 1)
    there = hz <= settings.ceiling_hz
    # Praat's pre-emphasis: a difference of samples, less steep below a frequency.
    kept = math.exp(-2 * math.pi * settings.emphasis_hz / rate)
    gain = np.abs(1 - kept * np.exp(-2j * math.pi * hz / rate)) ** 2 * there
    mean = (power * gain).sum(axis=1, keepdims=True) / there.sum(axis=1, keepdims=True)
    gain /= np.maximum(mean, 1e-300)
    angle = math.pi * hz / settings.ceiling_hz
    return Harmonics(power * gain, noise * gain, there, angle, settings.ceiling_hz)


def fit(seen: Harmonics, poles: int) -> Array:
    """The resonances of each frame, lowest first: Levenberg and Marquardt's search, all frames at once."""
    here = _start(seen, poles)
    rows = len(here)
    cost, slope, steep = _cost(here, seen)
    damping = np.full(rows, 1e-2)
    diagonal = np.arange(here.shape[1])
    low = np.concatenate(
        [[-np.inf], np.full(poles, _LEAST_HZ / _HZ), np.full(poles, math.log(_BANDWIDTHS_HZ[0]))]
    )
    high = np.concatenate(
        [
            [np.inf],
            np.full(poles, (seen.ceiling_hz - _LEAST_HZ) / _HZ),
            np.full(poles, math.log(_BANDWIDTHS_HZ[1])),
        ]
    )
    for _ in range(_ROUNDS):
        damped = steep.copy()
        damped[:, diagonal, diagonal] *= 1 + damping[:, None]
        step = np.linalg.solve(damped, slope[:, :, None])[:, :, 0]
        there = np.clip(here - step, low, high)
        found = _cost(there, seen)
        better = found[0] < cost
        gained = np.where(better, cost - found[0], math.inf if not better.all() else 0.0)
        here[better], slope[better], steep[better] = there[better], found[1][better], found[2][better]
        cost = np.where(better, found[0], cost)
        damping = np.where(better, damping / 4, damping * 6)
        if (gained < _ENOUGH).all():
            break
    return np.sort(here[:, 1 : 1 + poles] * _HZ, axis=1)


def _cost(here: Array, seen: Harmonics) -> tuple[Array, Array, Array]:
    """What a model costs, its gradient, and its expected second derivatives (Fisher's scoring).

    What the bandwidths cost is differentiated by the bandwidths alone.
    """
    poles = (here.shape[1] - 1) // 2
    log, change = _spectrum(here, seen)
    alone = np.exp(np.clip(log, -60, 60))
    whole = alone + seen.noise
    change *= (alone / whole * seen.there)[:, :, None]
    ratio = seen.power / whole
    off = here[:, 1 + poles :] - np.log(usual_bandwidth(here[:, 1 : 1 + poles] * _HZ))
    weight = 1 / BANDWIDTH_SPREAD**2
    cost = TOLERANCE * (ratio + seen.there * np.log(whole)).sum(axis=1) + weight * (off**2).sum(axis=1) / 2
    slope = TOLERANCE * np.einsum("nk,nkq->nq", seen.there - ratio, change)
    slope[:, 1 + poles :] += weight * off
    steep = TOLERANCE * np.matmul(change.transpose(0, 2, 1), change)
    wides = np.arange(1 + poles, here.shape[1])
    steep[:, wides, wides] += weight
    return cost, slope, steep


def _spectrum(here: Array, seen: Harmonics) -> tuple[Array, Array]:
    """The logarithm of a model's power at the harmonics, and its derivatives.

    A row of `here` has half the logarithm of the gain, the frequencies in units of `_HZ`, and the logarithms
    of the bandwidths.
    """
    poles = (here.shape[1] - 1) // 2
    hz, wide = here[:, 1 : 1 + poles] * _HZ, np.exp(here[:, 1 + poles :])
    per_hz = math.pi / seen.ceiling_hz
    radius, turn = np.exp(-per_hz * wide / 2), per_hz * hz
    z = np.exp(-1j * seen.angle)[:, :, None]
    along = (2 * radius * np.cos(turn))[:, None] * z
    round_ = (radius**2)[:, None] * z * z
    factor = 1 - along + round_
    log = 2 * here[:, :1] - 2 * np.log(np.abs(factor)).sum(axis=2)
    change = np.empty((*seen.power.shape, here.shape[1]))
    change[:, :, 0] = 2
    change[:, :, 1 : 1 + poles] = -2 * _HZ * per_hz * ((2 * radius * np.sin(turn))[:, None] * z / factor).real
    change[:, :, 1 + poles :] = per_hz * wide[:, None] * ((2 * round_ - along) / factor).real
    return log, change


def _start(seen: Harmonics, poles: int) -> Array:
    """Where the search begins: linear prediction from the harmonics' autocorrelation, usual bandwidths."""
    order = 2 * poles
    lags = np.cos(seen.angle[:, :, None] * np.arange(order + 1))
    correlation = np.einsum("nk,nkp->np", seen.power, lags)
    correlation /= np.maximum(correlation[:, :1], 1e-300)
    places = np.abs(np.subtract.outer(np.arange(order + 1), np.arange(order + 1)))
    # White noise of 60 dB less keeps few harmonics from being singular.
    inverse = np.linalg.inv(correlation[:, places] + 1e-6 * np.eye(order + 1))
    companion = np.zeros((len(seen.power), order, order))
    companion[:, 0] = -inverse[:, 1:, 0] / inverse[:, :1, 0]
    companion[:, np.arange(1, order), np.arange(order - 1)] = 1
    hz = np.angle(np.linalg.eigvals(companion)) * seen.ceiling_hz / math.pi
    here = np.zeros((len(hz), 1 + order))
    for row, found in zip(here, hz, strict=True):
        row[1 : 1 + poles] = _filled(np.sort(found[found > 0]), poles, seen.ceiling_hz) / _HZ
    here[:, 1 + poles :] = np.log(usual_bandwidth(here[:, 1 : 1 + poles] * _HZ))
    # The gain that costs least: the mean of the ratios to a model of gain 1.
    ratio = seen.power * np.exp(-np.clip(_spectrum(here, seen)[0], -60, 60))
    here[:, 0] = 0.5 * np.log(np.maximum(ratio.sum(axis=1) / seen.there.sum(axis=1), 1e-300))
    return here


def _filled(hz: Array, poles: int, ceiling_hz: float) -> Array:
    """So many frequencies: poles without frequency are put into the widest gaps."""
    while len(hz) < poles:
        edges = np.concatenate([[0.0], hz, [ceiling_hz]])
        gap = int(np.diff(edges).argmax())
        hz = np.insert(hz, gap, (edges[gap] + edges[gap + 1]) / 2)
    return np.clip(hz[:poles], _LEAST_HZ, ceiling_hz - _LEAST_HZ)
