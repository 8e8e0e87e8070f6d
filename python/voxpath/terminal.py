"""Tables for people: aligned on a terminal, whole lines when piped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

_PIPED_WIDTH = 250
"""Wide enough that no table of ours is folded where no terminal bounds it."""


def console(*, stderr: bool = False) -> Console:
    """A console that does not fold what goes into a pipe or a file."""
    found = Console(stderr=stderr, highlight=False, soft_wrap=False)
    if not found.is_terminal:
        found.width = _PIPED_WIDTH
    return found


def table(title: str | None, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table; numbers stand on the right."""
    made = Table(title=title, title_justify="left", box=box.SIMPLE, pad_edge=False)
    for index, name in enumerate(columns):
        cells = [row[index] for row in rows if row[index]]
        numeric = bool(cells) and all(cell[0].isdigit() or cell[0] in "-+." for cell in cells)
        made.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        made.add_row(*row)
    return made


def progress() -> Progress:
    """A bar on standard error, on a terminal only."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console(stderr=True),
        transient=True,
        disable=not console(stderr=True).is_terminal,
    )
