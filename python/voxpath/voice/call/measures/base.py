"""What a measure of quality is, and what all of them are given."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from voxpath.extras import install
from voxpath.voice.call import activity
from voxpath.voice.call.recording import resampled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from voxpath.voice.call.codecs.base import Codec
    from voxpath.voice.call.talk import Talk

WHOLE_S = 19.0
"""What lasts longer is judged by its sections. P.862's code has room for 50 utterances, and writes beyond it
where there are more: one and the silence behind it take 0.4 s at least (`MINUTTLENGTH` and `JOINTIME`)."""
SECTION_S = 15.0
MOST_SECTIONS = 4
"""A long recording is judged by at most so many, evenly spread over those with speech: models of listeners
are made for some seconds, and take longer for an hour than the call."""

LEAST_S = 8.0
"""Of speech, for which the models of listeners are made (ITU-T P.862.3, section 7)."""


@dataclass(frozen=True)
class Score:
    """What a measure says.

    Attributes:
        text: The value with its unit; `not applicable` without one.
        value: The same as a number; none where it does not apply.
        reason: Why it does not apply, or what is to be known of the value.
    """

    text: str
    value: float | None
    reason: str = ""

    @classmethod
    def none(cls, reason: str) -> Score:
        """It does not apply."""
        return cls("not applicable", None, reason)


@dataclass(frozen=True)
class Evidence:
    """One direction of a call, as measures take it, in whatever process.

    Attributes:
        talk: The direction.
        codec: That encoded it.
        adapts: Whether time runs faster and slower in what was heard.
    """

    talk: Talk
    codec: Codec
    adapts: bool
    known: dict[str, Any] = field(default_factory=dict, compare=False)
    """What is found once and asked for again, by the name of the measure whose it is."""

    @cached_property
    def is_silent(self) -> bool:
        """Whether nothing is said."""
        return self.talk.said.is_silent

    @cached_property
    def speechless(self) -> str | None:
        """Why there is nothing to judge in what is said, whatever judges it; none where there may be."""
        if self.is_silent:
            return "nothing is said"
        sections = self._with_speech
        is_spoken = activity.is_enough(self._activity) if sections is None else bool(sections)
        return None if is_spoken else "no speech is found in the recording"

    @property
    def mute(self) -> str | None:
        """That the codec makes silence of what is said, if it does: low rates have no bits for more."""
        if "mute" not in self.known:
            clean = self.talk.clean
            is_mute = not self.is_silent and bool(len(clean)) and int(clean.max()) - int(clean.min()) <= 2
            self.known["mute"] = f"the codec gives silence: {self.talk.encoded.told}" if is_mute else None
        mute: str | None = self.known["mute"]
        return mute

    @cached_property
    def doubt(self) -> str | None:
        """What speaks against speech in what is said, or that it was not looked for; none without a doubt."""
        if not activity.is_looked_for():
            return f"speech was not looked for: pocketsphinx is not installed: {install('call')}"
        values, length = self._said, int(SECTION_S * activity.RATE_HZ)
        if self.sections is not None:
            begins = [int(at * activity.RATE_HZ) for at in self.sections]
            values = np.concatenate([values[:0], *(values[at : at + length] for at in begins)])
        swing = activity.steady_db(values)
        if swing is None:
            return None
        return f"the recording's level changes by {swing:.1f} dB only, as that of noise and tones does"

    @cached_property
    def sections(self) -> list[float] | None:
        """Where each section that is judged begins, in seconds; all of them have speech.

        None of a recording that is not long, which is judged as a whole.
        """
        sections = self._with_speech
        if sections is None or len(sections) <= MOST_SECTIONS:
            return sections
        chosen = np.rint(np.linspace(0, len(sections) - 1, MOST_SECTIONS)).astype(int)
        return [sections[place] for place in chosen]

    @property
    def places(self) -> str:
        """Which sections are judged, in words."""
        count = len(self.sections or ()), len(self._with_speech or ())
        told = f"{count[0]}" if count[0] == count[1] else f"{count[0]} of the {count[1]}"
        begins = ", ".join(f"{at:.1f}" for at in self.sections or ())
        return (
            f"{told} section{'' if count[1] == 1 else 's'} of {SECTION_S:g} s with speech, from {begins} s on"
        )

    @cached_property
    def _said(self) -> NDArray[np.int16]:
        return self.talk.said.at(activity.RATE_HZ)

    @cached_property
    def _activity(self) -> NDArray[np.bool_]:
        return activity.found(self._said)

    @cached_property
    def _with_speech(self) -> list[float] | None:
        """Where sections with speech begin: each where speech does, after the end of the one before."""
        said = self.talk.said.duration_s
        lasts = max(said, len(self.talk.heard.values) / self.talk.encoded.rate_hz)
        if lasts <= WHOLE_S:
            return None
        found, length = self._activity, round(SECTION_S / activity.FRAME_S)
        last = max(0, len(found) - length)
        begins, at = [], 0
        for place in np.flatnonzero(found).tolist():
            # At the end of the recording a section begins earlier, to have its length.
            begin = min(place, last)
            if place >= at and activity.is_enough(found[begin : begin + length]):
                begins.append(round(begin * activity.FRAME_S, 2))
                at = begin + length
        return begins

    def pairs(self, rate_hz: int) -> Iterator[tuple[NDArray[np.int16], NDArray[np.int16]]]:
        """What was said and what was heard: all of it, or each of the sections, which have one length."""
        heard = resampled(self.talk.heard.values, self.talk.encoded.rate_hz, rate_hz)
        said = self.talk.said.at(rate_hz)
        length = max(len(said), len(heard))
        said, heard = (np.pad(one, (0, length - len(one))) for one in (said, heard))
        if self.sections is None:
            yield said, heard
            return
        section = int(SECTION_S * rate_hz)
        for at in self.sections:
            begin = min(int(at * rate_hz), length - section)
            yield said[begin : begin + section], heard[begin : begin + section]


class Measure(Protocol):
    """A measure.

    Attributes:
        name: By which it is chosen.
        title: As pages call it.
        standard: Where it stands.
        valid: What it is made for.
        scale: From worst to best.
        slow: Whether it takes seconds.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    standard: ClassVar[str]
    valid: ClassVar[str]
    scale: ClassVar[str]
    slow: ClassVar[bool]

    def score(self, evidence: Evidence) -> Score:
        """Judges one direction."""
        ...
