"""What a measure of quality is, and what all of them are given."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from voxpath.voice.call import activity
from voxpath.voice.call.recording import resampled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from voxpath.voice.call.codecs.base import Codec
    from voxpath.voice.call.talk import Talk

SECTION_S = 15.0
MOST_SECTIONS = 4
"""Longer recordings are judged by sections of this length, evenly spread: models of listeners are made for
some seconds, and take longer for an hour than the call."""

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
        """Why what is said is no speech, for which measures are made; none where it may be."""
        said = self.talk.said.at(activity.RATE_HZ)
        if not activity.is_spoken(said):
            return "no speech is found in the recording"
        if activity.is_steady(said):
            return "the recording has a steady level, as noise and tones have and speech has not"
        return None

    @cached_property
    def sections(self) -> list[tuple[float, bool]]:
        """Where each section that is judged begins, in seconds, and whether it has speech.

        A recording that is not long has none, and is judged as a whole.
        """
        said = self.talk.said
        lasts = max(said.duration_s, len(self.talk.heard.values) / self.talk.encoded.rate_hz)
        if lasts <= 2 * SECTION_S:
            return []
        count = min(MOST_SECTIONS, int(lasts // SECTION_S))
        begins = [(lasts - SECTION_S) * number / max(count - 1, 1) for number in range(count)]
        values, rate = said.at(activity.RATE_HZ), activity.RATE_HZ
        return [
            (at, activity.is_spoken(values[int(at * rate) : int((at + SECTION_S) * rate)])) for at in begins
        ]

    def pairs(self, rate_hz: int) -> Iterator[tuple[NDArray[np.int16], NDArray[np.int16]]]:
        """What was said and what was heard, in sections of one length; those without speech are left out."""
        heard = resampled(self.talk.heard.values, self.talk.encoded.rate_hz, rate_hz)
        said = self.talk.said.at(rate_hz)
        length = max(len(said), len(heard))
        said, heard = (np.pad(one, (0, length - len(one))) for one in (said, heard))
        if not self.sections:
            yield said, heard
            return
        section = int(SECTION_S * rate_hz)
        for at, is_spoken in self.sections:
            begin = min(int(at * rate_hz), length - section)
            if is_spoken:
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
