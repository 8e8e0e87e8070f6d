"""What turns speech into text, behind one interface.

| name | extra | model |
| --- | --- | --- |
| `pocketsphinx` | `speech` | US English, in the package |
| `sherpa` | `speech-sherpa` | a directory that `--model` names |
| `vosk` | `speech-vosk` | a directory that `--model` names |
| `whisper` | `speech-whisper` | English (`tiny.en`), in a package |
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from voxpath.extras import install

DEFAULT = "pocketsphinx"
NAMES = ("pocketsphinx", "sherpa", "vosk", "whisper")


@dataclass(frozen=True)
class Word:
    """A word and when it was said, in seconds."""

    word: str
    start_s: float
    length_s: float
    confidence: float

    def later(self, by_s: float) -> Word:
        """The same, with another beginning of time."""
        return replace(self, start_s=self.start_s + by_s)


@dataclass(frozen=True)
class Heard:
    """What was understood of a segment; its words count from the segment's beginning."""

    text: str
    words: tuple[Word, ...] = ()


class Recogniser(Protocol):
    """A model in memory: sessions of segments one after the other, each begun, fed and finished."""

    def reset(self) -> None:
        """A session begins: nothing is left of those before it, wherever they ended."""
        ...

    def begin(self) -> None:
        """A segment begins."""
        ...

    def feed(self, pcm: bytes) -> None:
        """Hears 16 kHz, 16 bits, one channel."""
        ...

    def partial(self) -> str:
        """What is understood so far; empty where it is too early."""
        ...

    def finish(self) -> Heard:
        """The segment ends."""
        ...

    def adaptation(self) -> str | None:
        """What was learnt of speaker and channel, to be given back in another session; none if nothing is."""
        ...

    def adapt(self, state: str) -> None:
        """Takes what another session learnt.

        Raises:
            ValueError: It is nothing that this recogniser gave; nothing has changed.
        """
        ...


Make = Callable[[Path | None], Recogniser]


class UnavailableError(Exception):
    """A recogniser that cannot be used here, and what it needs."""


def load(name: str, model: Path | str | None) -> Recogniser:
    """A recogniser with its model in memory.

    Raises:
        UnavailableError: Its package or its model is missing.
    """
    try:
        make: Make = importlib.import_module(f"voxpath.voice.speech.recognisers.{name}").load
        return make(None if model is None else Path(model))
    except ImportError as error:
        extra = "speech" if name == DEFAULT else f"speech-{name}"
        raise UnavailableError(f"{error.name} is missing: {install(extra)}") from error
