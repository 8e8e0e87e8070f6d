"""Words, and how many of them were understood."""

from __future__ import annotations

import re

_ONES = [
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SPOKEN = {"mr": "mister", "mrs": "missus", "dr": "doctor", "st": "saint"}


def words(text: str) -> list[str]:
    """In small letters, without punctuation, numbers and titles as they are spoken."""
    written = re.sub(r"[^\w']+", " ", text.lower()).replace("_", " ").split()
    return [spoken for word in written for spoken in _spoken(word)]


def word_errors(reference: str, transcript: str) -> tuple[int, int]:
    """Least number of words put in, left out and replaced, and the number of words of the reference."""
    said, heard = words(reference), words(transcript)
    row = list(range(len(heard) + 1))
    for i, word in enumerate(said, 1):
        diagonal, row[0] = row[0], i
        for j, other in enumerate(heard, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (word != other))
    return row[-1], len(said)


def _spoken(word: str) -> list[str]:
    """English numbers below a thousand, and titles; everything else as it is."""
    if not re.fullmatch("[0-9]{1,3}", word):
        return [_SPOKEN.get(word, word)]
    hundreds, rest = divmod(int(word), 100)
    said = [_ONES[hundreds], "hundred"] if hundreds else []
    if rest >= len(_ONES):
        tens, rest = divmod(rest, 10)
        said.append(_TENS[tens - 2])
        return said + ([_ONES[rest]] if rest else [])
    return said + ([_ONES[rest]] if rest or not said else [])
