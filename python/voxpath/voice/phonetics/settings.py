"""How formants are looked for."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Literal

from voxpath.voice.phonetics import praat

Method = Literal["burg", "dap"]
"""How formants are found: Praat's linear prediction, or discrete all-pole modelling of the harmonics."""

PITCH_HZ = (60.0, 500.0)
"""Where a voice's pitch is looked for."""

PERIODS_PER_S = 120.0
"""Of the voice in the window, for each second of Praat's window: 3 for 25 ms, whatever the pitch. With a
whole number of periods, harmonics lie at the zeros of each other's Hann window."""


@dataclass(frozen=True)
class Settings:
    """How formants are looked for; the defaults are Praat's usual ones for a man's voice.

    Attributes:
        ceiling_hz: Formants lie below it: 5000 Hz for men, 5500 Hz for women, more for children.
        poles: Formants looked for below the ceiling.
        window_s: Effective length of the Gaussian window; the whole one is twice as long.
        step_s: Between frames.
        emphasis_hz: From here on the spectrum is raised by 6 dB an octave.
        middle: The part of a vowel that counts, around its middle.
        method: `burg` needs no voice; `dap` finds nothing where there is none, and is not drawn to harmonics.
    """

    ceiling_hz: float = 5000.0
    poles: float = 5.0
    window_s: float = 0.025
    step_s: float = 0.00625
    emphasis_hz: float = 50.0
    middle: float = 0.5
    method: Method = "burg"

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, str) and not (math.isfinite(value) and value > 0):
                raise ValueError(f"{field.name} has to be above 0, not {value:g}")
        if self.middle > 1:
            raise ValueError(f"middle is a part of the vowel, at most 1, not {self.middle:g}")

    @property
    def periods(self) -> float:
        """Of the voice, in a window of discrete all-pole modelling."""
        return PERIODS_PER_S * self.window_s

    @property
    def told(self) -> list[tuple[str, str]]:
        """The settings as a report shows them."""
        if self.method == "burg":
            method, window = "Burg", f"Gaussian, {1000 * self.window_s:g} ms effective"
        else:
            low, high = PITCH_HZ
            method = f"discrete all-pole model of the harmonics, pitch from {low:g} to {high:g} Hz"
            window = f"Hann, {self.periods:.3g} periods of the voice"
        return [
            ("method", f"{method}, {praat.version()}"),
            ("ceiling", f"{self.ceiling_hz:g} Hz, {self.poles:g} formants below it"),
            ("window", window),
            ("time step", f"{1000 * self.step_s:g} ms"),
            ("pre-emphasis", f"from {self.emphasis_hz:g} Hz"),
            ("part of the vowel", f"the middle {100 * self.middle:g} %"),
        ]
