"""Recorded speech with its words, and its vowels by forced alignment.

Debian's pocketsphinx-testdata (BSD-2): a reader of LibriVox, five sentences of 3 to 7 s, and a speaker who
names playing cards, five times 1 to 4 s. Both are men: their pitch is 100 Hz.
"""

from __future__ import annotations

import re
import wave
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from voxpath.extras import install
from voxpath.voice.audio.problems import AudioError
from voxpath.voice.phonetics.textgrid import Interval, TextGrid, of_tiers

if TYPE_CHECKING:
    from numpy.typing import NDArray

FOLDER = Path("/usr/share/pocketsphinx/test/data")
RATE_HZ = 16000
CEILING_HZ = 5000.0
"""Of the speakers' formants: men."""
VOICES = {"reader": ("librivox", "transcription"), "cards": ("cards", "cards.transcription")}
"""By name: the folder of its recordings, and the file of its words."""

_FRAME_S = 0.01
"""Of the aligner."""
_SHORTEST_S = 0.05
"""A vowel has to last for its middle to have frames."""
_VOWELS = frozenset(
    ["AA", "AE", "AH", "AO", "AW", "AY", "EH", "ER", "EY", "IH", "IY", "OW", "OY", "UH", "UW"]
)
_LINE = re.compile(r"<s> (?P<words>.*?) *</s> \((?P<name>.*)\)")


@dataclass(frozen=True)
class Recording:
    """A sentence.

    Attributes:
        voice: Of `VOICES`.
        name: Of the file.
        words: What is said.
        values: Samples, 16 kHz.
    """

    voice: str
    name: str
    words: str
    values: NDArray[np.int16]

    @property
    def duration_s(self) -> float:
        """How long it is."""
        return len(self.values) / RATE_HZ


def recordings(voice: str) -> list[Recording]:
    """All sentences of a voice.

    Raises:
        AudioError: They are not installed.
    """
    folder, words = VOICES[voice]
    listed = FOLDER / folder / words
    if not listed.is_file():
        raise AudioError(
            f"there is no recorded speech in {listed.parent}: apt-get install pocketsphinx-testdata"
        )
    found = []
    for line in listed.read_text("utf-8").splitlines():
        said = _LINE.fullmatch(line.strip())
        if said is not None:
            with wave.open(str(listed.parent / f"{said['name']}.wav")) as file:
                values = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.int16)
            found.append(Recording(voice, said["name"].rpartition("_")[2], said["words"].strip(), values))
    return found


def align(recording: Recording) -> TextGrid:
    """The vowels of a sentence: where its known words put them (pocketsphinx, forced alignment).

    Raises:
        AudioError: The aligner is not installed, or cannot align.
    """
    try:
        from pocketsphinx import Decoder
    except ImportError:
        raise AudioError(f"pocketsphinx is not installed: {install('vowels')}") from None
    decoder = Decoder(lm=None, loglevel="FATAL", samprate=RATE_HZ)
    decoder.set_align_text(recording.words)
    raw = recording.values.tobytes()
    for stage in ("words", "sounds"):
        # The words first, then the sounds inside of them.
        if stage == "sounds":
            decoder.set_alignment()
        decoder.start_utt()
        decoder.process_raw(raw, full_utt=True)
        decoder.end_utt()
        if stage == "words" and decoder.hyp() is None:
            raise AudioError(f"{recording.name}: the words cannot be aligned with the sound")
    vowels = [
        Interval(sound.start * _FRAME_S, (sound.start + sound.duration) * _FRAME_S, sound.name)
        for word in decoder.get_alignment()
        for sound in word
        if sound.name in _VOWELS and sound.duration * _FRAME_S >= _SHORTEST_S
    ]
    return of_tiers(recording.name, recording.duration_s, vowel=vowels)
