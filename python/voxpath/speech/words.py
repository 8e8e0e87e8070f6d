"""Words, and how many of them were understood."""

from __future__ import annotations

import re


def words(text: str) -> list[str]:
    """In small letters, without punctuation."""
    return re.sub(r"[^\w']+", " ", text.lower()).replace("_", " ").split()


def word_errors(reference: str, transcript: str) -> tuple[int, int]:
    """Least number of words put in, left out and replaced, and the number of words of the reference."""
    said, heard = words(reference), words(transcript)
    row = list(range(len(heard) + 1))
    for i, word in enumerate(said, 1):
        diagonal, row[0] = row[0], i
        for j, other in enumerate(heard, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (word != other))
    return row[-1], len(said)
