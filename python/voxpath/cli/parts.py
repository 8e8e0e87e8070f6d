"""What commands are made of: help that keeps its examples, completion, directories."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from voxpath.options import EMPTY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Decorated = TypeVar("Decorated", bound="Callable[..., Any]")

FAILED, BAD_INPUT = 1, 2


class Group(click.Group):
    """Commands whose help keeps the layout of its examples."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the examples as they are."""
        _verbatim(self.epilog, formatter)
        del ctx


class Command(click.Command):
    """A command whose help keeps the layout of its examples."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the examples as they are."""
        _verbatim(self.epilog, formatter)
        del ctx


def _verbatim(text: str | None, formatter: click.HelpFormatter) -> None:
    if text:
        formatter.write_paragraph()
        formatter.write(text.strip("\n") + "\n")


def names(known: Callable[[], Iterable[str]]) -> Callable[..., list[str]]:
    """Completes the last of some names with commas between; they are looked up when a shell asks."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        del context, parameter
        before, comma, begun = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in known() if name.startswith(begun)]

    return complete


class Integer(click.IntRange):
    """A whole number between bounds. Errors and help call it what people do, not an "integer range"."""

    name = "integer"


class Number(click.FloatRange):
    """A number between bounds, likewise."""

    name = "number"


class Directory(click.Path):
    """A directory's path; an empty text, which would be the current directory, is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuses an empty text."""
        if not value:
            self.fail(EMPTY, param, ctx)
        return super().convert(value, param, ctx)


JSON = click.option("--json", is_flag=True, help="Print JSON, for programs, in place of tables.")
"""docs/json.md describes what it prints."""


def save(what: str, *, formats: bool = True) -> Callable[[Decorated], Decorated]:
    """The option --save, for what a command writes to a file."""
    suffix = ": .csv, .json or .parquet" if formats else ""
    return click.option("--save", type=click.Path(path_type=Path), help=f"Write {what} to a file{suffix}.")
