"""How well recognisers do here: words that are wrong, and processor time per second of audio."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from voxpath.voice.speech.formats import reader_of
from voxpath.voice.speech.pcm import RATE
from voxpath.voice.speech.session import Final, Session
from voxpath.voice.speech.words import word_errors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from voxpath.voice.speech.recognisers import Recogniser
    from voxpath.voice.speech.samples import Sample

_BLOCK = RATE // 2
"""Octets that are heard at a time: a quarter of a second, as clients send it."""


@dataclass(frozen=True)
class Trial:
    """What a recogniser made of samples that were streamed to it, each as a session of its own."""

    words: int
    errors: int
    audio_s: float
    processor_s: float
    """Of all threads."""

    @property
    def word_error_rate(self) -> float:
        """Wrong words per word that was said."""
        return self.errors / self.words

    @property
    def real_time_factor(self) -> float:
        """Processor time per second of audio; what one core can keep up with is below 1."""
        return self.processor_s / self.audio_s

    def to_json(self) -> dict[str, float]:
        """Everything, derived figures too."""
        return asdict(self) | {name: getattr(self, name) for name in ("word_error_rate", "real_time_factor")}


def trial(recogniser: Recogniser, spoken: Iterable[Sample]) -> Trial:
    """Streams samples through sessions as a worker has them."""
    words = errors = octets = 0
    begun = time.process_time()
    for sample in spoken:
        pcm = sample.pcm()
        wrong, said = word_errors(sample.reference, transcript(recogniser, pcm))
        words, errors, octets = words + said, errors + wrong, octets + len(pcm)
    return Trial(words, errors, octets / 2 / RATE, time.process_time() - begun)


def transcript(recogniser: Recogniser, pcm: bytes, state: str | None = None) -> str:
    """What is understood of 16 kHz, 16 bits, one channel, in one session."""
    session = Session(recogniser, reader_of("audio/x-raw"))
    if state is not None:
        recogniser.adapt(state)
    events = [event for at in range(0, len(pcm), _BLOCK) for event in session.feed(pcm[at : at + _BLOCK])]
    events += session.finish()
    return " ".join(event.text for event in events if isinstance(event, Final))
