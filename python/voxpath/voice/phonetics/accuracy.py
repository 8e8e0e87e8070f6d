"""How right formants are: errors of the instrument at vowels whose resonances are known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from voxpath.document import Cell, Table
from voxpath.voice.phonetics import formants, klatt, praat

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from voxpath.voice.phonetics.settings import Settings

MEN = {
    "i": (270.0, 2290.0, 3010.0),
    "ɪ": (390.0, 1990.0, 2550.0),  # noqa: RUF001
    "ɛ": (530.0, 1840.0, 2480.0),
    "æ": (660.0, 1720.0, 2410.0),
    "ɑ": (730.0, 1090.0, 2440.0),  # noqa: RUF001
    "ɔ": (570.0, 840.0, 2410.0),
    "ʊ": (440.0, 1020.0, 2240.0),
    "u": (300.0, 870.0, 2240.0),
    "ʌ": (640.0, 1190.0, 2390.0),
    "ɝ": (490.0, 1350.0, 1690.0),
}
"""Mean F1 to F3 of men's American vowels (Peterson and Barney 1952, table II)."""

F4_HZ = 3500.0
"""Of all of them."""

JUDGED = 3
"""That are judged."""

BANDS_HZ = ((80, 100, 120, 150, 180, 200), (250,), (300,))
"""Pitches that are told together."""

LIMIT_PERCENT = 5.0

_DURATION_S = 0.16
_WINDOWS = 2.5
"""In a vowel at least: a whole window is two effective ones, and it has to move."""


@dataclass(frozen=True)
class Voice:
    """How a vowel is spoken.

    Attributes:
        name: For the table.
        glide: Of the pitch, over the vowel.
        jitter: Of its periods.
        noise_db: White noise against the vowel.
        widened: Times the usual bandwidths.
    """

    name: str
    glide: float = 0.05
    jitter: float = 0.0
    noise_db: float | None = None
    widened: float = 1.0


VOICES = (
    Voice("pitch gliding by 5 %"),
    Voice("periods scattering by 1 %", jitter=0.01),
    Voice("noise of -30 dB", noise_db=-30.0),
    Voice("bandwidths of 0.6", widened=0.6),
    Voice("bandwidths of 1.6", widened=1.6),
)


def errors(resonances_hz: Sequence[float], pitch_hz: float, voice: Voice, settings: Settings) -> list[float]:
    """Of F1 to F3, in per cent; infinite where the instrument finds none."""
    values = klatt.vowel(
        [*resonances_hz, F4_HZ][: JUDGED + 1],
        pitch_hz,
        _DURATION_S,
        glide=voice.glide,
        jitter=voice.jitter,
        noise_db=voice.noise_db,
        widened=voice.widened,
    )
    whole = formants.track(praat.library().Sound(values, klatt.RATE_HZ), settings)
    reach = settings.middle * _DURATION_S / 2
    found = formants.over(whole, _DURATION_S / 2 - reach, _DURATION_S / 2 + reach)[0]
    return [
        100 * abs(hz / known - 1) if math.isfinite(hz) else math.inf
        for hz, known in zip(found, resonances_hz[:JUDGED], strict=False)
    ]


def worst(
    voice: Voice, settings: Settings, vowels: Mapping[str, Sequence[float]] = MEN
) -> Iterator[list[tuple[float, str]]]:
    """By band of pitches: the largest error of each formant, and the vowel and pitch that have it."""
    for band in BANDS_HZ:
        found = [
            [(error, f"{name} at {pitch} Hz") for error in errors(hz, pitch, voice, settings)]
            for name, hz in vowels.items()
            for pitch in band
        ]
        yield [max(column) for column in zip(*found, strict=True)]


def judged(settings: Settings) -> list[tuple[Voice, Sequence[int], list[tuple[float, str]]]]:
    """By voice and band of pitches: the largest error of each formant in per cent, and where it is.

    Raises:
        ValueError: The vowels do not hold the ceiling, or the window.
    """
    if settings.ceiling_hz > klatt.RATE_HZ / 2:
        told = (
            f"the vowels have {klatt.RATE_HZ:g} samples/s, which hold nothing above {klatt.RATE_HZ / 2:g} Hz"
        )
        raise ValueError(f"{told}, and formants are looked for up to {settings.ceiling_hz:g} Hz")
    if _WINDOWS * settings.window_s > _DURATION_S:
        told = f"the vowels last {1000 * _DURATION_S:g} ms, and a window of {1000 * settings.window_s:g} ms"
        raise ValueError(f"{told} leaves no frames to them; {1000 * _DURATION_S / _WINDOWS:g} ms is the most")
    formants.check_window(settings)
    return [
        (voice, band, found)
        for voice in VOICES
        for band, found in zip(BANDS_HZ, worst(voice, settings), strict=True)
    ]


def rows(settings: Settings) -> list[dict[str, object]]:
    """A row for each voice, band and formant, for programs; an error is infinite where none was found.

    Raises:
        ValueError: As of `judged`.
    """
    return [
        {
            "voice": voice.name,
            "pitches_hz": list(band),
            "formant": number,
            "error_percent": error,
            "at": where,
            "limit_percent": LIMIT_PERCENT,
            "within": error <= LIMIT_PERCENT,
        }
        for voice, band, found in judged(settings)
        for number, (error, where) in enumerate(found, 1)
    ]


def table(settings: Settings) -> Table:
    """The largest errors by voice, band and formant.

    Raises:
        ValueError: As of `judged`.
    """
    lines: list[list[str | Cell]] = []
    for voice, band, found in judged(settings):
        first, where = found[0]
        lines.append(
            [
                voice.name,
                f"{band[0]} to {band[-1]}" if len(band) > 1 else str(band[0]),
                *(
                    Cell(f"{error:.1f}", "good" if error <= LIMIT_PERCENT else "bad", where)
                    for error, where in found
                ),
                where if np.isfinite(first) else f"{where}: none",
            ]
        )
    return Table(
        f"Largest errors of {len(MEN)} vowels",
        ["voice", "pitch Hz", *(f"F{index + 1} %" for index in range(JUDGED)), "F1's at"],
        lines,
        ["Klatt's cascade with the mean formants of men's American vowels (Peterson and Barney 1952)."],
    )
