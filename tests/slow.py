"""Which tests `make check` leaves out: those of `slow.txt`, made of what pytest says of durations."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

LIST = Path(__file__).with_name("slow.txt")
LIMIT_S = 1.0
"""A test that takes longer, all of its cases and set-ups together, is slow."""

_LINE = re.compile(r"^([0-9.]+)s (?:call|setup|teardown) +([^\s\[]+)")


def slow(said: str) -> list[str]:
    """The slow tests among what pytest prints with `--durations=0`, by name."""
    spent: dict[str, float] = defaultdict(float)
    for line in said.splitlines():
        if found := _LINE.match(line):
            spent[found[2]] += float(found[1])
    return sorted(name for name, seconds in spent.items() if seconds > LIMIT_S)


def listed() -> frozenset[str]:
    """The tests of the list."""
    return frozenset(LIST.read_text().splitlines())


if __name__ == "__main__":
    LIST.write_text("".join(f"{name}\n" for name in slow(Path(sys.argv[1]).read_text())))
