"""`voxpath new`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from voxpath.cli.parts import Command, names

if TYPE_CHECKING:
    from collections.abc import Iterable


def _examples() -> Iterable[str]:
    from voxpath.files import examples

    return examples()


@click.command(
    cls=Command,
    epilog="""
Examples:
  voxpath new
  voxpath new mine.toml
  voxpath new mine.toml --from call
  voxpath new --list
""",
)
@click.argument("file", required=False, default=Path("first.toml"), type=click.Path(path_type=Path))
@click.option(
    "--from",
    "source",
    default="first",
    show_default=True,
    shell_complete=names(_examples),
    help="Which example.",
)
@click.option("--list", "listing", is_flag=True, help="List the examples, and write nothing.")
def new(file: Path, source: str, listing: bool) -> int:
    """Writes a scenario to begin with to a FILE (by default first.toml), and says what to do with it."""
    from voxpath.cli.actions import new as action

    return action.listed() if listing else action.new(file, source)
