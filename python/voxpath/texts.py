"""Texts of anybody's, made fit for our terminal."""

from __future__ import annotations

import re


def safe(text: str) -> str:
    """A text of anybody's, without what would steer our terminal; its lines stay."""
    return "\n".join(
        "".join(character for character in _SEQUENCE.sub("", line) if character.isprintable())
        for line in text.split("\n")
    )


_SEQUENCE = re.compile(
    r"""
    (?: \x1b\[ | \x9b ) [0-?]* [ -/]* [@-~]?                     # CSI: colours, the cursor
    | (?: \x1b[]PX^_] | [\x9d\x90\x98\x9e\x9f] ) .*? (?: \x07 | \x1b\\ | \x9c | $ )  # OSC and others: texts
    | \x1b [ -/]* [0-~]?                                       # all others
    """,
    re.VERBOSE,
)
"""Control sequences of ECMA-48, whole or cut off."""


def plain(line: str) -> str:
    """What a line of a program shows in the end: bars of progress write it again and again."""
    return safe(line.rstrip("\r").rpartition("\r")[2])
