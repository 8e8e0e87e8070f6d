"""Vosk (Kaldi), with a model of the user's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import vosk

from voxpath.voice.speech.pcm import RATE
from voxpath.voice.speech.recognisers import Heard, UnavailableError, Word

if TYPE_CHECKING:
    from pathlib import Path


def load(model: Path | None) -> Vosk:
    """The model in a directory."""
    if model is None:
        raise UnavailableError("vosk brings no model: --model names a directory with one")
    vosk.SetLogLevel(-1)
    try:
        return Vosk(vosk.Model(str(model)))
    except Exception as error:
        # It raises the bare class.
        raise UnavailableError(f"{model} is no model of Vosk's: {error}") from error


class Vosk:
    """A recogniser for each segment, on one model."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.reset()

    def reset(self) -> None:
        """Each segment has a recogniser of its own."""
        self._recogniser: Any = None
        self._before: list[dict[str, Any]] = []

    def begin(self) -> None:
        """A segment begins."""
        self._recogniser = vosk.KaldiRecognizer(self._model, RATE)
        self._recogniser.SetWords(True)
        self._before = []

    def feed(self, pcm: bytes) -> None:
        """Hears; ends that Vosk finds by itself do not end the segment."""
        if self._recogniser.AcceptWaveform(pcm):
            self._before.append(json.loads(self._recogniser.Result()))

    def partial(self) -> str:
        """What it says so far."""
        now = json.loads(self._recogniser.PartialResult())["partial"]
        return " ".join(filter(None, [*(one["text"] for one in self._before), now]))

    def finish(self) -> Heard:
        """What it says in the end."""
        parts = [*self._before, json.loads(self._recogniser.FinalResult())]
        self._recogniser = None
        words = tuple(
            Word(one["word"], one["start"], one["end"] - one["start"], one["conf"])
            for part in parts
            for one in part.get("result", [])
        )
        return Heard(" ".join(filter(None, (part["text"] for part in parts))), words)

    def adaptation(self) -> None:
        """Vosk does not give its own away."""

    def adapt(self, state: str) -> None:
        """Nothing to begin with."""
        del state
