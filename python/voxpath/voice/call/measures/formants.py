"""How far the resonances of the voice moved, by our own instrument (`voxpath vowels`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from voxpath.extras import install
from voxpath.voice.call.measures.base import Score
from voxpath.voice.call.recording import resampled

if TYPE_CHECKING:
    from voxpath.voice.call.measures.base import Evidence

_RATE_HZ = 16_000
_STEP_S = 0.01
_LOUD_DB = -25.0
"""Below the loudest part: what is softer has no formants to speak of."""
_LONGEST_S = 60.0


class Formants:
    """Median size of the shifts of each formant over the loud parts."""

    name: ClassVar[str] = "formants"
    title: ClassVar[str] = "formants"
    standard: ClassVar[str] = "Burg's method, 5 formants below 5000 Hz, as voxpath vowels has it"
    valid: ClassVar[str] = "voices of men (5000 Hz); loud frames of 10 ms; hears no delay"
    scale: ClassVar[str] = "less is better"
    slow: ClassVar[bool] = False

    def score(self, evidence: Evidence) -> Score:
        """Frame by frame, of what was heard against what was said."""
        if evidence.adapts:
            return Score.none("the adaptive jitter buffer stretches time, so that frames are not aligned")
        if evidence.is_silent:
            return Score.none("nothing is said")
        if evidence.speechless is not None or evidence.mute is not None:
            return Score.none(str(evidence.speechless or evidence.mute))
        if evidence.talk.said.duration_s > _LONGEST_S:
            return Score.none(f"the recording is longer than {_LONGEST_S:g} s")
        try:
            from voxpath.voice.phonetics import formants, praat
            from voxpath.voice.phonetics.settings import Settings

            library = praat.library()
        except (ImportError, ValueError):
            return Score.none(f"Praat is not installed: {install('vowels')}")
        settings = Settings(step_s=_STEP_S)
        said = evidence.talk.said.at(_RATE_HZ)
        heard = resampled(evidence.talk.heard.values, evidence.talk.encoded.rate_hz, _RATE_HZ)
        length = min(len(said), len(heard))
        if length < _RATE_HZ * 4 * settings.window_s:
            return Score.none("the recording is too short")
        one, other = (
            formants.track(library.Sound(values[:length] / 32768, _RATE_HZ), settings)
            for values in (said, heard)
        )
        half = int(_STEP_S * _RATE_HZ / 2)
        places = np.clip((one.times_s * _RATE_HZ).astype(int), half, length - half)
        powers = np.array([np.mean(said[at - half : at + half].astype(float) ** 2) for at in places])
        loud = powers > powers.max() * 10 ** (_LOUD_DB / 10)
        shifts = np.abs(other.hz[loud] - one.hz[loud])
        if not loud.any() or np.isnan(shifts).all(axis=0).any():
            return Score.none("there are no formants to compare")
        moved = np.nanmedian(shifts, axis=0)
        lost = int(np.isnan(shifts).any(axis=1).sum())
        text = ", ".join(f"F{number} {hz:.0f}" for number, hz in enumerate(moved, 1)) + " Hz"
        told = f"median of {int(loud.sum())} frames, {lost} of them incomplete"
        if evidence.doubt is not None:
            told += f"; {evidence.doubt}; only a voice has formants"
        return Score(text, float(moved.mean()), told)
