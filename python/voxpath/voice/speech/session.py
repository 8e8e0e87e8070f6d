"""Audio in, results out: what a worker does with one client's audio, without a socket and without a clock.

What is recognised depends on the audio alone: it is cut anew (`formats.py`), its ends are found on audio time
(`endpoint.py`), and partial results are looked for at fixed places of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from voxpath.voice.speech.endpoint import Begin, End, Endpointer, Frame
from voxpath.voice.speech.hearing import Hearing
from voxpath.voice.speech.pcm import to_pcm

if TYPE_CHECKING:
    from collections.abc import Iterator

    from voxpath.voice.speech.pcm import Reader, Samples
    from voxpath.voice.speech.recognisers import Recogniser, Word

PARTIAL_EVERY_S = 0.25


@dataclass(frozen=True)
class Partial:
    """What is understood of a segment so far; only told when it has changed."""

    segment: int
    text: str
    heard_s: float


@dataclass(frozen=True)
class Final:
    """What was understood of a segment, in seconds of audio since the session's beginning."""

    segment: int
    text: str
    start_s: float
    end_s: float
    decided_s: float
    words: tuple[Word, ...] = ()


class NoSpeechError(Exception):
    """Nobody has spoken for long."""


@dataclass
class Session:
    """One client's audio."""

    recogniser: Recogniser
    reader: Reader
    hearing: Hearing = field(default_factory=lambda: Hearing.of({}))

    def __post_init__(self) -> None:
        self.recogniser.reset()
        self._endpointer = Endpointer(self.hearing)
        self._segment = 0
        self._started_s = 0.0
        self._text = ""
        self._looked_s = 0.0
        self._quiet_since_s = 0.0
        self._open = self._stopped = False

    @property
    def heard_s(self) -> float:
        """Audio time so far."""
        return self._endpointer.heard_s

    def feed(self, data: bytes) -> Iterator[Partial | Final]:
        """Results that these octets bring.

        Raises:
            FormatError: The audio cannot be read.
            NoSpeechError: It has been silent for too long.
        """
        for samples in self.reader.feed(data):
            yield from self._hear(samples)
            if self._stopped:
                return

    def finish(self) -> Iterator[Partial | Final]:
        """Results at the end of the audio."""
        for samples in self.reader.finish():
            yield from self._hear(samples)
            if self._stopped:
                return
        yield from self.cut()

    def cut(self) -> Iterator[Partial | Final]:
        """Ends the segment here."""
        for event in self._endpointer.finish():
            yield from self._handle(event)

    def stop(self) -> None:
        """Nobody is there any more who wants to know: what is going on in another thread soon ends."""
        self._stopped = True

    def close(self) -> None:
        """Lets reader and recogniser go, wherever they are."""
        self.reader.close()
        if self._open:
            self._open = False
            self.recogniser.finish()

    def _hear(self, samples: Samples) -> Iterator[Partial | Final]:
        for event in self._endpointer.feed(to_pcm(samples)):
            if self._stopped:
                return
            yield from self._handle(event)
        quiet_s, most_s = self.heard_s - self._quiet_since_s, self.hearing.silence_s
        if not self._open and most_s and quiet_s > most_s:
            raise NoSpeechError(f"no speech within {most_s:g} s of audio")

    def _handle(self, event: Begin | Frame | End) -> Iterator[Partial | Final]:
        match event:
            case Begin(at_s):
                self._open, self._text = True, ""
                self._started_s = self._looked_s = at_s
                self.recogniser.begin()
            case Frame(pcm):
                self.recogniser.feed(pcm)
                if self.heard_s - self._looked_s >= PARTIAL_EVERY_S:
                    self._looked_s = self.heard_s
                    yield from self._partial()
            case End(at_s, decided_s):
                self._open = False
                self._quiet_since_s = decided_s
                yield from self._final(at_s, decided_s)

    def _partial(self) -> Iterator[Partial]:
        text = self.recogniser.partial()
        if text and text != self._text:
            self._text = text
            yield Partial(self._segment, text, self.heard_s)

    def _final(self, at_s: float, decided_s: float) -> Iterator[Final]:
        heard = self.recogniser.finish()
        # What sounded like speech and was none is not told, unless something was told of it before.
        if heard.text or self._text:
            words = tuple(word.later(self._started_s) for word in heard.words)
            yield Final(self._segment, heard.text, self._started_s, at_s, decided_s, words)
            self._segment += 1
