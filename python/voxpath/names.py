"""Names as they are told: several, and those that are allowed where one is not known."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """A hint at the nearest known name, and all names that are allowed."""
    names = list(known)
    close = difflib.get_close_matches(given, names, n=1, cutoff=0.6)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}{listing(names)}"


def listing(names: Iterable[str], most: int = 20) -> str:
    """`allowed: a, b, c`, cut where a topology has thousands of hosts."""
    all_names = list(names)
    if not all_names:
        return "there is none"
    rest = f", and {len(all_names) - most} more" if len(all_names) > most else ""
    return f"allowed: {', '.join(all_names[:most])}{rest}"


_LISTED_NAMES = 8


def listed(names: Sequence[str]) -> str:
    """Names as people list them; of many the first, and how many more."""
    shown, last = list(names[:-1]), names[-1]
    if len(names) > _LISTED_NAMES:
        shown, last = list(names[: _LISTED_NAMES - 1]), f"{len(names) - _LISTED_NAMES + 1} more"
    return f"{', '.join(shown)} and {last}" if shown else last
