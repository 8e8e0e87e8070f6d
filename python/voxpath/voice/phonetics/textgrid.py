"""Praat's TextGrids: intervals of time with labels, tier by tier; long and short text files.

Read by the rule of Praat's own manual ("TextGrid file formats"): only free-standing numbers, texts in quotes
and flags in angle brackets count, all else is for people. Point tiers are skipped.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from voxpath import files
from voxpath.voice.phonetics.problems import PhoneticsError, problem

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SLACK_S = 1e-6
"""Times closer than this are the same; Praat writes 15 digits."""

_TOKEN = re.compile(
    r'"(?P<text>(?:[^"]|"")*)"|(?<!\S)(?P<number>[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)(?!\S)|<(?P<flag>\w+)>'
)
_COMMENT = re.compile(r'("(?:[^"]|"")*")|![^\n]*')


@dataclass(frozen=True)
class Interval:
    """A stretch of time with a label; an empty one says that there is nothing to say."""

    start_s: float
    end_s: float
    label: str

    @property
    def middle_s(self) -> float:
        """Half-way."""
        return (self.start_s + self.end_s) / 2


@dataclass(frozen=True)
class Tier:
    """Intervals one after the other."""

    name: str
    intervals: Sequence[Interval]

    @property
    def labelled(self) -> list[Interval]:
        """Those that have a label."""
        return [interval for interval in self.intervals if interval.label.strip()]

    def at(self, time_s: float) -> Interval | None:
        """The interval around a time."""
        return next((one for one in self.intervals if one.start_s <= time_s < one.end_s), None)


@dataclass(frozen=True)
class TextGrid:
    """An annotation.

    Attributes:
        source: The file's name, for messages.
        duration_s: Of what is annotated.
        tiers: Of intervals, in the file's order.
    """

    source: str
    duration_s: float
    tiers: Sequence[Tier]

    def tier(self, name: str | None) -> Tier:
        """The tier of a name, or the only one.

        Raises:
            PhoneticsError: There is none, or a name is needed, or nothing in it has a label.
        """
        names = ", ".join(repr(tier.name) for tier in self.tiers)
        if not self.tiers:
            raise problem("has no tier of intervals", self.source)
        if name is None:
            if len(self.tiers) > 1:
                raise problem(f"has several tiers, say which: {names}", self.source)
            found = self.tiers[0]
        else:
            of_name = [tier for tier in self.tiers if tier.name == name]
            if not of_name:
                raise problem(f"has no tier {name!r}; it has {names}", self.source)
            found = of_name[0]
        if not found.labelled:
            raise problem("is empty: no interval has a label", self.source, found.name)
        return found


def read(path: Path | str) -> TextGrid:
    """Reads a TextGrid.

    Raises:
        PhoneticsError: There is no such file, it is no TextGrid, or its intervals are out of order.
    """
    try:
        data = files.read(path)
    except OSError as error:
        raise PhoneticsError(f"{path}: cannot be read: {error.strerror or error}") from None
    encoding = "utf-16" if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        raise PhoneticsError(f"{path}: is no text in UTF-8 or UTF-16, as TextGrids are") from None
    return parse(text, str(path))


def parse(text: str, source: str) -> TextGrid:
    """A TextGrid from its text.

    Raises:
        PhoneticsError: It is none, or its intervals are out of order.
    """
    words = _Words(text, source)
    # `File type = "ooTextFile"`; short files leave the words before the values out.
    if words.text() != "ooTextFile" or words.text() != "TextGrid":
        raise problem('is no TextGrid: it begins with "ooTextFile" and "TextGrid"', source)
    start, end = words.number(), words.number()
    if not end > start:
        raise problem(f"ends at {end:g} s, before it begins ({start:g} s)", source)
    tiers = []
    for _ in range(words.count() if words.flag() == "exists" else 0):
        kind, name = words.text(), words.text()
        words.number(), words.number()
        rows = range(words.count())
        if kind == "IntervalTier":
            intervals = [Interval(words.number(), words.number(), words.text()) for _ in rows]
            _check(intervals, start, end, source, name)
            tiers.append(Tier(name, intervals))
        elif kind == "TextTier":
            for _ in rows:
                words.number(), words.text()
        else:
            raise problem(f"has a tier of kind {kind!r}; there are IntervalTier and TextTier", source, name)
    return TextGrid(source, end, tiers)


def _check(intervals: Sequence[Interval], start: float, end: float, source: str, tier: str) -> None:
    before = start
    for one in intervals:
        if not one.end_s > one.start_s:
            told = f"the interval {one.label!r} ends at {one.end_s:g} s, before it begins"
            raise problem(told, source, tier, one.start_s)
        if one.start_s < before - SLACK_S:
            told = f"the interval {one.label!r} overlaps the one before, which ends at {before:g} s"
            raise problem(told, source, tier, one.start_s)
        before = one.end_s
    if before > end + SLACK_S:
        raise problem(f"goes on after the end of the annotation, {end:g} s", source, tier, before)


class _Words:
    """What counts in a file, in its order."""

    def __init__(self, text: str, source: str) -> None:
        bare = _COMMENT.sub(lambda found: found[1] or "", text)
        self._found = _TOKEN.finditer(bare)
        self._source = source

    def _next(self, kind: str) -> str:
        for found in self._found:
            if found.lastgroup == kind:
                return found[kind]
            raise problem(f"has {found[0][:40]!r} where a {kind} should stand", self._source)
        raise problem(f"ends where a {kind} should stand", self._source)

    def text(self) -> str:
        return self._next("text").replace('""', '"')

    def number(self) -> float:
        word = self._next("number")
        found = float(word)
        if not math.isfinite(found):
            raise problem(
                f"has {word[:40]!r} where a number should stand: it is too large for one", self._source
            )
        return found

    def count(self) -> int:
        found = self.number()
        if found < 0 or found != int(found):
            raise problem(f"has {found:g} where a count should stand: a whole number from 0", self._source)
        return int(found)

    def flag(self) -> str:
        return self._next("flag")


def render(grid: TextGrid) -> str:
    """A TextGrid as a short text file, gaps filled with intervals without a label."""
    lines = ['File type = "ooTextFile"', 'Object class = "TextGrid"', ""]
    lines += ["0", f"{grid.duration_s:.9g}", "<exists>", str(len(grid.tiers))]
    for tier in grid.tiers:
        whole = _without_gaps(tier.intervals, grid.duration_s)
        lines += ['"IntervalTier"', _quoted(tier.name), "0", f"{grid.duration_s:.9g}", str(len(whole))]
        for one in whole:
            lines += [f"{one.start_s:.9g}", f"{one.end_s:.9g}", _quoted(one.label)]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _without_gaps(intervals: Sequence[Interval], end: float) -> list[Interval]:
    found: list[Interval] = []
    before = 0.0
    for one in intervals:
        if one.start_s > before + SLACK_S:
            found.append(Interval(before, one.start_s, ""))
        found.append(one)
        before = one.end_s
    if end > before + SLACK_S:
        found.append(Interval(before, end, ""))
    return found


def of_tiers(source: str, duration_s: float, **tiers: Sequence[Interval]) -> TextGrid:
    """An annotation made here."""
    return TextGrid(source, duration_s, [Tier(name, intervals) for name, intervals in tiers.items()])
