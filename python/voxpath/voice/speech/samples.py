"""Recorded speech with what is said in it, from packages of the distribution (`make setup` installs them).

A sample is named `sample:SET/NAME`; `sample:SET` are all of a set. Its audio is 16 kHz, 16 bits, one channel.

- `cards`, `librivox`: Debian's pocketsphinx-testdata (BSD-2-Clause), 1 to 7 s.
- `prompts`: ten prompts of growing length, 2 to 30 s, of Debian's asterisk-core-sounds-en-g722, spoken by
  Allison Smith (CC-BY-SA-3.0); every other prompt of the package that has a transcript goes by its name.
"""

from __future__ import annotations

import gzip
import re
import wave
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SCHEME = "sample:"
GROWING = (
    "please-try-call-later",
    "demo-nomatch",
    "agent-alreadyon",
    "queue-periodic-announce",
    "tt-allbusy",
    "demo-nogo",
    "dir-intro-fn",
    "demo-abouttotry",
    "demo-echotest",
    "demo-congrats",
)
"""The set `prompts`, each longer than the one before."""
_TESTDATA = Path("/usr/share/pocketsphinx/test/data")
_LINE = re.compile(r"(?:<s>)?\s*(.*?)\s*(?:</s>)?\s*\((\S+)\)")
_PROMPTS = Path("/usr/share/asterisk/sounds/en_US_f_Allison")
_SAID = Path("/usr/share/doc/asterisk-core-sounds-en/core-sounds-en.txt.gz")
_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_UNSPOKEN = re.compile(r"\(.*?\)|\.\.\.")


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
        if self.path.suffix == ".g722":
            return _g722(self.path)
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
    found = _SETS[group](name)
    whole = GROWING if group == "prompts" else found
    wanted = [one] if one else list(whole)
    unknown = [each for each in wanted if each not in found]
    if unknown:
        raise SampleError(f"{name}: {group} has {', '.join(whole)}" + _OTHERS * (group == "prompts"))
    return [Sample(f"{group}/{each}", *found[each]) for each in wanted]


_OTHERS = " (these by the set's name), and every prompt of the package"

_Found = dict[str, tuple[Path, str]]
"""By their names: where they are, and what is said."""


def _testdata(folder: Path, listing: str) -> Callable[[str], _Found]:
    def found(name: str) -> _Found:
        _check(name, folder, "pocketsphinx-testdata")
        lines = map(_LINE.match, (folder / listing).read_text("utf-8").splitlines())
        paths = {match[2]: (folder / f"{match[2]}.wav", match[1]) for match in lines if match}
        return {each: there for each, there in paths.items() if there[0].is_file()}

    return found


def _prompts(name: str) -> _Found:
    _check(name, _PROMPTS, "asterisk-core-sounds-en-g722")
    _check(name, _SAID, "asterisk-core-sounds-en (with its documentation)")
    found = {}
    with gzip.open(_SAID, "rt", encoding="utf-8", errors="replace") as file:
        for line in file:
            prompt, colon, said = line.partition(":")
            path = _PROMPTS / f"{prompt}.g722"
            text = re.sub(r"\b\d\b", lambda digit: _DIGITS[int(digit[0])], _UNSPOKEN.sub("", said)).strip()
            if colon and text and path.is_file():
                found[prompt] = (path, text)
    return found


def _check(name: str, needed: Path, package: str) -> None:
    if not needed.exists():
        raise SampleError(f"{name}: {needed} is missing: apt-get install {package}")


def _g722(path: Path) -> bytes:
    import av

    with av.open(str(path), format="g722") as container:
        return b"".join(frame.to_ndarray().astype("<i2").tobytes() for frame in container.decode(audio=0))


_SETS: Mapping[str, Callable[[str], _Found]] = {
    "cards": _testdata(_TESTDATA / "cards", "cards.transcription"),
    "librivox": _testdata(_TESTDATA / "librivox", "transcription"),
    "prompts": _prompts,
}
