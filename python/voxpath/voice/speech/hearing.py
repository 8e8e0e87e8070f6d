"""How a session hears: how speech is found, and how long there may be none; as its operator or client says.

What is asked is a table of numbers by these names, in a query, in what a worker is told, and as options.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from voxpath.voice.speech.protocol import MessageError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Range:
    """A number that may be asked."""

    least: float
    most: float
    otherwise: float
    meaning: str


RANGES = {
    "silence": Range(0.0, 86_400.0, 30.0, "Seconds of audio without speech that end a session; 0: none do."),
    "onset": Range(0.03, 3.0, 0.21, "Seconds that are looked at for the beginning of speech."),
    "hangover": Range(
        0.03, 10.0, 0.75, "Seconds that are looked at for its end: so much later it is decided."
    ),
    "lead": Range(0.03, 3.0, 0.45, "Seconds that are recognised of those before its beginning was decided."),
    "share": Range(0.5, 1.0, 0.8, "Of what is looked at, that must be speech, or not be."),
}


def read(asked: Mapping[str, object]) -> dict[str, float]:
    """What is asked of these, among other things.

    Raises:
        MessageError: It is nothing that can be had.
    """
    found = {name: number(name, asked[name], *_ends(name)) for name in RANGES if name in asked}
    lead, onset = (found.get(name, RANGES[name].otherwise) for name in ("lead", "onset"))
    if lead < onset:
        raise MessageError(f"lead {lead:g}: it has the onset in it, which is {onset:g}")
    return found


def number(name: str, given: object, least: float, most: float) -> float:
    """A number that is asked, in the form of a query or of JSON.

    Raises:
        MessageError: It is none, or beyond these ends.
    """
    try:
        value = math.nan if isinstance(given, bool) else float(given)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not least <= value <= most:
        raise MessageError(f"{name} {given!r:.80}: a number from {least:g} to {most:g} is expected")
    return value


def _ends(name: str) -> tuple[float, float]:
    return RANGES[name].least, RANGES[name].most


@dataclass(frozen=True)
class Hearing:
    """How a session hears; what each of it means stands in `RANGES`."""

    silence_s: float
    onset_s: float
    hangover_s: float
    lead_s: float
    share: float

    @classmethod
    def of(cls, asked: Mapping[str, float]) -> Hearing:
        """As it was asked, and where nothing was, as usual."""
        told = {name: one.otherwise for name, one in RANGES.items()} | dict(asked)
        return cls(told["silence"], told["onset"], told["hangover"], told["lead"], told["share"])
