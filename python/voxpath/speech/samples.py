"""Recorded speech with what is said in it, from packages of the distribution (`make setup` installs them).

A sample is named `sample:SET/NAME`; `sample:SET` are all of a set. Its audio is 16 kHz, 16 bits, one channel.
"""

from __future__ import annotations

import re
import wave
from dataclasses import dataclass
from pathlib import Path

SCHEME = "sample:"
_TESTDATA = Path("/usr/share/pocketsphinx/test/data")
_SETS = {
    "cards": (_TESTDATA / "cards", "cards.transcription"),
    "librivox": (_TESTDATA / "librivox", "transcription"),
}
_LINE = re.compile(r"(?:<s>)?\s*(.*?)\s*(?:</s>)?\s*\((\S+)\)")


class SampleError(Exception):
    """A sample that is not there."""


@dataclass(frozen=True)
class Sample:
    """An utterance."""

    name: str
    path: Path
    reference: str

    def pcm(self) -> bytes:
        """Its samples."""
        with wave.open(str(self.path)) as file:
            return bytes(file.readframes(file.getnframes()))


def samples(name: str) -> list[Sample]:
    """Those of a set, or the one that is named.

    Raises:
        SampleError: There are none.
    """
    group, _, one = name.removeprefix(SCHEME).partition("/")
    if group not in _SETS:
        raise SampleError(f"{name}: the sets are {', '.join(_SETS)}")
    folder, listing = _SETS[group]
    if not folder.is_dir():
        raise SampleError(f"{name}: {folder} is missing: apt-get install pocketsphinx-testdata")
    found = []
    for line in (folder / listing).read_text("utf-8").splitlines():
        match = _LINE.match(line)
        if match is not None and (folder / f"{match[2]}.wav").is_file():
            found.append(Sample(f"{group}/{match[2]}", folder / f"{match[2]}.wav", match[1]))
    chosen = [sample for sample in found if one in ("", sample.name.partition("/")[2])]
    if not chosen:
        raise SampleError(f"{name}: {group} has {', '.join(s.name.partition('/')[2] for s in found)}")
    return chosen
