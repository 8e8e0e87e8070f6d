"""Whether the pre-distortion moves the stereo image: what tells a talker's place, before and after it.

The text calls the stereo effect not impacted up to α_r = 0.5, and tells no measure. A place is heard by the
level and the time between the two channels, band by band, and how wide it is by their correlation. What of
them is just noticed is known, and stands in `published.toml`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.signal import butter, fftconvolve, resample_poly, sosfilt

from voxpath.document import Cell, Check, Checks, Section, Table, Text
from voxpath.results.decisions import all_of, within
from voxpath.results.intervals import summarise
from voxpath.studies.base import shown
from voxpath.studies.ficiu2023.experiment import published
from voxpath.voice.aec.signals import half_wave, recorded, room

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voxpath.results.intervals import Summary
    from voxpath.voice.aec.samples import Samples

_RATE = 16_000
_BANDS = (500, 1000, 2000, 4000)
"""Centres of octaves, in Hz."""

_FINER = 12
"""Times as many samples, so that a time is found to 5 µs."""

_AROUND = 64
"""Samples on either side that a correlation is interpolated from."""

_LATEST_S = 1e-3
"""Between ears (ISO 3382-1)."""

AMOUNTS = (0.2, 0.4, 0.5, 0.8, 1.0)
"""α_r."""

LIMIT = 0.5
"""Up to here the text calls the image as it was."""


class Place(NamedTuple):
    """Where a talker is heard.

    Attributes:
        level_db: The left channel above the right one.
        late_s: By how much the right channel is later.
    """

    level_db: float
    late_s: float


PLACES = (Place(0, 0), Place(3, 1e-4), Place(-3, -1e-4), Place(8, 4e-4), Place(-8, -4e-4), Place(15, 7e-4))


class Cues(NamedTuple):
    """What tells a place, in a band.

    Attributes:
        level_db: The left channel above the right one.
        time_us: By how much the right channel is later.
        correlation: The largest of both channels within a millisecond.
    """

    level_db: float
    time_us: float
    correlation: float


def cues(channels: Samples) -> list[Cues]:
    """The cues of two channels of 16 kHz, octave by octave."""
    found = []
    for centre in _BANDS:
        # The highest octave ends where the samples do.
        ends = (centre / np.sqrt(2), centre * np.sqrt(2))
        left, right = sosfilt(butter(4, ends, "bandpass", fs=_RATE, output="sos"), channels)
        power = [float(np.mean(channel**2)) for channel in (left, right)]
        count = len(left)
        spectra = [np.fft.rfft(channel, 2 * count) for channel in (left, right)]
        both = np.fft.irfft(np.conj(spectra[0]) * spectra[1], 2 * count)
        # The bands are narrow, so that a correlation between two samples follows from those around.
        around = resample_poly(np.concatenate([both[-_AROUND:], both[:_AROUND]]), _FINER, 1)
        reach = round(_LATEST_S * _RATE * _FINER)
        near = around[_AROUND * _FINER - reach : _AROUND * _FINER + reach + 1]
        best = int(near.argmax())
        found.append(
            Cues(
                10 * np.log10(power[0] / power[1]),
                1e6 * (best - reach) / (_RATE * _FINER),
                float(near[best] / (count * np.sqrt(power[0] * power[1]))),
            )
        )
    return found


def heard(place: Place, seed: int, seconds: float) -> Samples:
    """Recorded speech at a place, in a far room whose echoes are 12 dB below it."""
    rng = np.random.default_rng([seed, 3])
    spoken = recorded(_RATE)
    start = int(rng.integers(len(spoken)))
    source = np.resize(np.roll(spoken, -start), int(seconds * _RATE))
    late = np.fft.rfftfreq(2 * len(source)) * _RATE
    spectrum = np.fft.rfft(source, 2 * len(source))
    channels = []
    for side in (1, -1):
        gain = 10 ** (side * place.level_db / 40)
        turned = spectrum * np.exp(1j * np.pi * side * late * place.late_s)
        direct = gain * np.fft.irfft(turned)[: len(source)]
        echoes = fftconvolve(source, 0.25 * room(2_000, rng))[: len(source)]
        channels.append(direct + echoes)
    return np.stack(channels)


Moves = dict[float, dict[Place, list[list[Cues]]]]
"""By how much cues move, by α_r and place: for each stretch of speech the cues of every band."""


def moves(stretches: int, seconds: float = 4.0) -> Moves:
    """What the pre-distortion does to every place, in so many stretches of speech."""
    found: Moves = {amount: {place: [] for place in PLACES} for amount in AMOUNTS}
    for place in PLACES:
        for seed in range(stretches):
            plain = heard(place, seed, seconds)
            before = cues(plain)
            for amount in AMOUNTS:
                after = cues(half_wave(plain, amount))
                found[amount][place].append(
                    [
                        Cues(*(a - b for a, b in zip(now, then, strict=True)))
                        for now, then in zip(after, before, strict=True)
                    ]
                )
    return found


def section(found: Moves) -> Section:
    """The check, and the cues by α_r."""
    rows: list[list[str | Cell]] = []
    for amount, places in found.items():
        worst = {name: max(_all(places, index), key=_furthest) for index, name in enumerate(Cues._fields)}
        rows.append([f"{amount:g}", *(shown(one) for one in worst.values())])
    least = published()["claims"]["image"]
    table = Table(
        "What tells a talker's place: the furthest move of any place and octave",
        ("α_r", "level, dB", "time, µs", "correlation"),
        rows,
        (
            f"Just noticed: {least['level_db']:g} dB, {least['time_us']:g} µs, {least['correlation']:g}.",
            "Means over stretches of recorded speech with 95 % intervals.",
            f"Octaves around {', '.join(map(str, _BANDS))} Hz, {len(PLACES)} places.",
        ),
    )
    text = Text(
        [
            (
                "A place is heard by the level and the time between the channels, and how wide it is by "
                "their correlation. Here the two channels of the loudspeakers stand for what both ears "
                "hear: the strictest case, as with headphones. The distortion itself, which is heard too, "
                "is not judged."
            )
        ]
    )
    return Section("The stereo image", [text, Checks("The stereo image", [check(found)]), table])


def check(found: Moves) -> Check:
    """That no cue moves by what is just noticed, up to the text's limit."""
    least = published()["claims"]["image"]
    limits = (least["level_db"], least["time_us"], least["correlation"])
    decided, told = [], []
    for amount in (one for one in found if one <= LIMIT):
        for index, limit in enumerate(limits):
            decided += [within(one, -limit, limit) for one in _all(found[amount], index)]
        worst = [max(_all(found[amount], index), key=_furthest) for index in range(len(limits))]
        told.append(
            f"α_r = {amount:g}: {shown(worst[0])} dB, {shown(worst[1])} µs and {shown(worst[2])} of "
            "correlation at most"
        )
    return Check(str(least["text"]), all_of(decided), "; ".join(told))


def _all(places: Mapping[Place, Sequence[Sequence[Cues]]], index: int) -> list[Summary]:
    """A cue's move, over the stretches, for each place and band."""
    return [
        summarise([stretch[band][index] for stretch in stretches])
        for stretches in places.values()
        for band in range(len(_BANDS))
    ]


def _furthest(one: Summary) -> float:
    return abs(one.mean)
