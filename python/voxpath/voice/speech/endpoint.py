"""Where speech begins and ends, on audio time.

Frames of 30 ms are speech or not, by WebRTC's detector (of the package `pocketsphinx`). Speech begins where
most of a window are, and ends after a hangover of frames that mostly are not. No clock is read: the same
audio has the same ends.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from voxpath.voice.speech.pcm import RATE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from voxpath.voice.speech.hearing import Hearing

FRAME_S = 0.03
_FRAME = round(RATE * FRAME_S) * 2


@dataclass(frozen=True)
class Frame:
    """Audio that belongs to a segment of speech."""

    pcm: bytes


@dataclass(frozen=True)
class Begin:
    """Speech begins, with audio time of its first frame."""

    at_s: float


@dataclass(frozen=True)
class End:
    """Speech has ended at `at_s`, as was decided at `decided_s`."""

    at_s: float
    decided_s: float


class Endpointer:
    """Audio in, the audio of segments with their beginnings and ends out."""

    def __init__(self, settings: Hearing) -> None:
        from pocketsphinx import Vad

        self._settings = settings
        self._is_speech = Vad(sample_rate=RATE, frame_length=FRAME_S).is_speech
        self._held = b""
        self._frames = 0
        self._last_speech = 0
        self._open = False
        self._lead: deque[bytes] = deque(maxlen=_frames(settings.lead_s))
        self._onset: deque[bool] = deque(maxlen=_frames(settings.onset_s))
        self._hangover: deque[bool] = deque(maxlen=_frames(settings.hangover_s))

    @property
    def heard_s(self) -> float:
        """Audio time so far, in whole frames."""
        return self._frames * FRAME_S

    def feed(self, pcm: bytes) -> Iterator[Begin | Frame | End]:
        """What the audio's whole frames are."""
        self._held += pcm
        whole = len(self._held) // _FRAME * _FRAME
        held, self._held = self._held[:whole], self._held[whole:]
        for at in range(0, whole, _FRAME):
            yield from self._frame(held[at : at + _FRAME])

    def finish(self) -> Iterator[Frame | End]:
        """Ends what is open, at the end of the audio or where a segment is asked for."""
        if self._open:
            if self._held:
                yield Frame(self._held)
            yield self._end()
        self._held = b""

    def _frame(self, pcm: bytes) -> Iterator[Begin | Frame | End]:
        speech = bool(self._is_speech(pcm))
        self._frames += 1
        if speech:
            self._last_speech = self._frames
        if self._open:
            yield Frame(pcm)
            self._hangover.append(speech)
            if self._is_mostly(self._hangover, speech=False):
                yield self._end()
            return
        self._lead.append(pcm)
        self._onset.append(speech)
        if self._is_mostly(self._onset, speech=True):
            self._open = True
            self._hangover.clear()
            yield Begin((self._frames - len(self._lead)) * FRAME_S)
            yield from (Frame(one) for one in self._lead)
            self._lead.clear()

    def _is_mostly(self, frames: deque[bool], *, speech: bool) -> bool:
        count = sum(one is speech for one in frames)
        return len(frames) == frames.maxlen and count >= self._settings.share * len(frames)

    def _end(self) -> End:
        self._open = False
        self._onset.clear()
        return End(self._last_speech * FRAME_S, self.heard_s)


def _frames(seconds: float) -> int:
    return max(1, round(seconds / FRAME_S))
