"""Tables of a bounded width: which columns there is room for, and where their texts are broken.

A number, with its interval and its unit, is never broken, and neither is a name: where there is no room,
columns are left out, and said to be; where that is not enough, each row becomes a block of lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len, chop_cells

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_PROSE = 24
"""Cells that are wider, and have more than one word, may be broken between words."""

_BETWEEN = 3
"""Between two columns; 1 before the first and 2 behind the last one stay free."""
_EDGES = 2

_GLUE = re.compile(
    r"(?<=\d) (?=[±\[])|(?<=±) (?=[\d-])|(?<=[\d…],) (?=[-\d…])|(?<=\d) (?=[^\s\d]{1,6}(?:[\s,;.)]|$))"
)
"""Spaces inside of a number: around ±, between an interval's ends, before a unit."""
_GLUED = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class Fitted:
    """What there is room for.

    Attributes:
        columns: Heads.
        rows: Cells; lines of a cell end with a line feed.
        left_out: Heads of columns for which there is no room.
        stacked: Whether `rows` are pairs of a head and a cell, an empty pair after each row of the table.
    """

    columns: list[str]
    rows: list[list[str]]
    left_out: list[str]
    stacked: bool = False

    @property
    def width(self) -> int:
        """Of a line."""
        columns = [[head, *cells] for head, *cells in zip(self.columns, *self.rows, strict=True)]
        return sum(map(_widest, columns)) + _EDGES + _BETWEEN * max(0, len(columns) - 1)


def fit(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int | None,
    spare: Sequence[str] = (),
) -> Fitted:
    """Fits a table into a width.

    Args:
        columns: Heads.
        rows: Cells, each row as long as the heads.
        width: How many characters there are in a line; none without a bound.
        spare: Heads of columns that may be left out, the least important first.
    """
    if width is None:
        return Fitted(list(columns), [list(row) for row in rows], [])
    wanting = [head for head in spare if head in columns]
    for roomy in (True, False):
        for count in range(len(wanting) + 1) if roomy else [len(wanting)]:
            kept = [index for index, head in enumerate(columns) if head not in wanting[:count]]
            made = _Columns(
                [columns[index] for index in kept], [[row[index] for index in kept] for row in rows]
            )
            widths = made.widths(width, roomy=roomy)
            if widths is not None:
                return Fitted(*made.broken(widths), [head for head in columns if head in wanting[:count]])
    return _stacked(columns, rows, width)


@dataclass(frozen=True)
class _Columns:
    heads: list[str]
    rows: list[list[str]]

    def widths(self, width: int, *, roomy: bool) -> list[int] | None:
        """How wide each column is; none where there is no room for them."""
        room = width - _EDGES - _BETWEEN * (len(self.heads) - 1) if self.heads else 0
        least = [self._least(index, roomy=roomy) for index in range(len(self.heads))]
        if sum(least) > room:
            return None
        widest = [_widest([head, *self._cells(index)]) for index, head in enumerate(self.heads)]
        found = widest
        # The widest give way first: short texts stay on one line.
        while sum(found) > room:
            index = max(range(len(found)), key=lambda index: (found[index] - least[index] > 0, found[index]))
            found[index] = max(least[index], found[index] - max(1, (sum(found) - room) // 8))
        return found

    def _cells(self, index: int) -> list[str]:
        return [row[index] for row in self.rows]

    def _least(self, index: int, *, roomy: bool) -> int:
        found = _longest_word(self.heads[index])
        for cell in self._cells(index):
            for line in cell.splitlines():
                whole, word = cell_len(line), _longest_word(line)
                found = max(found, whole if whole <= _PROSE else max(word, _PROSE) if roomy else word)
        return found

    def broken(self, widths: Sequence[int]) -> tuple[list[str], list[list[str]]]:
        """Heads and cells with a line feed at the end of each line."""
        heads = [_broken(head, width) for head, width in zip(self.heads, widths, strict=True)]
        return heads, [
            [_broken(cell, width) for cell, width in zip(row, widths, strict=True)] for row in self.rows
        ]


def _stacked(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Fitted:
    head = max((cell_len(head) for head in columns), default=0)
    room = max(1, width - head - _EDGES - _BETWEEN)
    lines = [
        [*([[head, _broken(cell, room)] for head, cell in zip(columns, row, strict=True) if cell]), ["", ""]]
        for row in rows
    ]
    return Fitted(["", ""], [line for block in lines for line in block][:-1], [], stacked=True)


def _widest(texts: Iterable[str]) -> int:
    return max((cell_len(line) for text in texts for line in text.splitlines()), default=0)


def _words(text: str) -> list[str]:
    return _GLUE.sub(_GLUED, text).split(" ")


def _longest_word(text: str) -> int:
    return max(map(cell_len, _words(text)), default=0)


def _broken(text: str, width: int) -> str:
    """The text in lines of at most that width, broken between words; a word that is longer, anywhere."""
    lines: list[str] = []
    for paragraph in text.splitlines():
        line = ""
        for word in _words(paragraph):
            longer = f"{line} {word}" if line else word
            if cell_len(longer) <= width:
                line = longer
                continue
            if line:
                lines.append(line)
            *full, line = chop_cells(word, width) or [""]
            lines += full
        lines.append(line)
    return "\n".join(lines).replace(_GLUED, " ")
