"""Tables for people: aligned on a terminal, whole lines when piped."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Self

import click
import rich.progress
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.table import Table

from voxpath import interrupts
from voxpath.columns import fit
from voxpath.texts import safe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import RenderableType

    from voxpath.columns import Fitted

_PIPED_WIDTH = 250
"""Wide enough that no table of ours is folded where no terminal bounds it."""

_SECONDS_UNTIL_RATE = 1.0
"""How long after the first is done a rate means something."""

_SECONDS_BETWEEN_LINES = 5
"""Of progress, where no terminal shows a bar."""


def console(*, stderr: bool = False) -> Console:
    """A console that does not fold what goes into a pipe or a file."""
    # What scenarios name is no markup, whatever brackets it has.
    found = _Console(stderr=stderr, highlight=False, soft_wrap=False, markup=False)
    if not found.is_terminal:
        found.width = _PIPED_WIDTH
    return found


def complain(text: str) -> None:
    """Says on standard error what failed."""
    click.echo(f"Error: {safe(text)}", err=True)


def warn(text: str) -> None:
    """Says on standard error what deserves a look."""
    click.echo(f"Warning: {safe(text)}", err=True)


def tell(text: str) -> None:
    """Says on standard error where something is to be seen."""
    click.echo(safe(text), err=True)


class _Console(Console):
    """A console that prints texts of anybody's."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Prints texts without what would steer the terminal."""
        super().print(*(safe(each) if isinstance(each, str) else each for each in objects), **options)


def print_table(
    title: str | None,
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    spare: Sequence[str] = (),
    out: Console | None = None,
    above: Sequence[str] = (),
) -> None:
    """Prints a table as wide as the terminal at most; numbers stand on the right, and none is broken.

    Args:
        title: Above it.
        heads: Of the columns.
        rows: Cells, each row as long as the heads.
        spare: Heads of columns that a narrow terminal leaves out, the least important first. Where that is
            not enough, each row becomes a block of lines.
        out: Where; standard output without it.
        above: Heads of columns by which the rows are taken apart into tables where that makes room, the
            first of them first: what they say stands above each table.
    """
    out = out or console()
    rows = [[safe(cell) for cell in row] for row in rows]
    width = out.width if out.is_terminal else None
    if title:
        out.print(title, style="italic")
    left_out: list[str] = []
    for told, inner_heads, inner in _apart(heads, rows, width, spare, above):
        fitted = fit(inner_heads, inner, width, spare)
        left_out += [head for head in fitted.left_out if head not in left_out]
        if told:
            out.print(told)
        if width is None:
            # Who reads a pipe gets whole lines, however long.
            out.width = max(out.width, fitted.width)
        out.print(_table(fitted))
    if left_out:
        out.print(
            f"left out for want of room: {'; '.join(left_out)} (a wider terminal shows them, "
            "and so does | less -S)"
        )


def _apart(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int | None,
    spare: Sequence[str],
    above: Sequence[str],
) -> Iterator[tuple[str, Sequence[str], Sequence[Sequence[str]]]]:
    """The tables into which one is taken apart, each with what stands above it."""
    known = [head for head in above if head in heads]
    for count in range(len(known) + 1):
        places = [heads.index(head) for head in known[:count]]
        kept = [index for index in range(len(heads)) if index not in places]
        groups: dict[tuple[str, ...], list[list[str]]] = {}
        for row in rows:
            groups.setdefault(tuple(row[i] for i in places), []).append([row[i] for i in kept])
        inner = [heads[index] for index in kept]
        if not any(fit(inner, group, width, spare).stacked for group in groups.values()):
            for values, group in groups.items():
                yield "; ".join(values), inner, group
            return
    yield "", heads, rows


def _table(fitted: Fitted) -> Table:
    made = Table(box=box.SIMPLE, pad_edge=False, show_header=not fitted.stacked)
    for index, name in enumerate(fitted.columns):
        cells = [row[index] for row in fitted.rows if row[index]]
        numeric = bool(cells) and all(cell[0].isdigit() or cell[0] in "-+." for cell in cells)
        right = numeric and not fitted.stacked
        made.add_column(name, justify="right" if right else "left", no_wrap=True, overflow="crop")
    for row in fitted.rows:
        made.add_row(*row)
    return made


class _Bar(rich.progress.Progress):
    """A progress bar with something below it."""

    below: RenderableType | None = None

    def get_renderables(self) -> Iterable[RenderableType]:
        """The bar, and what stands below it."""
        yield from super().get_renderables()
        if self.below is not None:
            yield self.below


class Progress:
    """How far something is, how fast it goes and how long it still takes, on standard error.

    On a terminal a bar; elsewhere a line every few seconds, the first when it has taken a second.
    """

    def __init__(self, description: str, total: int | None) -> None:
        # What scenarios name.
        self._description = description = safe(description)
        self._total = total
        self._done = 0
        self._made = 0
        self._told = time.monotonic() + 1 - _SECONDS_BETWEEN_LINES
        self._first: float | None = None
        out = console(stderr=True)
        self._at = ""
        self._bar = _Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[pace]}", markup=False),
            console=out,
            transient=True,
            disable=not out.is_terminal,
        )
        self._task = self._bar.add_task(description, total=total, pace="")

    def __enter__(self) -> Self:
        # It starts a thread, and hides the cursor until it has ended.
        with interrupts.deferred():
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        with interrupts.deferred():
            self._bar.stop()

    @property
    def done(self) -> str:
        """How many are done, of how many; empty where none is."""
        of = "" if self._total is None else f" of {self._total}"
        return f"{self._done}{of}" if self._done else ""

    def advance(self, *, made: bool = True) -> None:
        """One more is done.

        Args:
            made: Whether it took any time; what was there already says nothing about the rate.
        """
        self._done += 1
        if made and self._first is None:
            # What comes before the first is done, such as starting workers, says nothing about the rest.
            self._first = time.monotonic()
        elif made:
            self._made += 1
        self._at, self._bar.below = "", None
        if not self._bar.disable:
            self._bar.update(self._task, advance=1, pace=self._pace())
        else:
            self._tell()

    def look(self, at: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Shows what is under way.

        Args:
            at: How far in it is.
            columns: Of a table that a terminal shows.
            rows: Of the table; without any there is none.
        """
        self._at = at
        if self._bar.disable:
            self._tell()
            return
        width = self._bar.console.width
        self._bar.below = _table(fit(columns, rows, width, columns[1:][::-1])) if rows else None
        self._bar.update(self._task, pace=", ".join(filter(None, (at, self._pace()))))

    def _tell(self) -> None:
        """Says in a line how far it is, if it is time."""
        if time.monotonic() - self._told >= _SECONDS_BETWEEN_LINES:
            self._told = time.monotonic()
            total = "" if self._total is None else f" of {self._total}"
            told = ", ".join(filter(None, (f"{self._done}{total}", self._at, self._pace())))
            print(f"{self._description}: {told}", file=sys.stderr, flush=True)  # noqa: T201

    def _pace(self) -> str:
        seconds = 0.0 if self._first is None else time.monotonic() - self._first
        if seconds < _SECONDS_UNTIL_RATE or not self._made:
            return ""
        rate = self._made / seconds
        speed = f"{rate:.3g}/s" if rate >= 1 else f"{1 / rate:.3g} s each"
        if self._total is None:
            return speed
        return f"{speed}, {_duration((self._total - self._done) / rate)} left"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
