"""What `voxpath new` does: it copies an example, with the files that it refers to."""

from __future__ import annotations

import shlex
import tomllib
from typing import TYPE_CHECKING

import click

from voxpath import terminal
from voxpath.cli.actions.common import write_new
from voxpath.files import examples
from voxpath.names import did_you_mean
from voxpath.scenario import read

if TYPE_CHECKING:
    from pathlib import Path


def listed() -> int:
    """Prints the examples; 0."""
    rows = [[name, tomllib.loads(path.read_text("utf-8"))["name"]] for name, path in examples().items()]
    terminal.print_table(None, ["example", "what it is"], rows)
    return 0


def new(file: Path, source: str) -> int:
    """Writes an example; 0.

    Raises:
        click.ClickException: There is no such example, or something is in the place of a file.
    """
    known = examples()
    if source not in known:
        raise click.BadParameter(
            f"{source!r} is no example; {did_you_mean(source, known)}", param_hint="--from"
        )
    if file.suffix != ".toml":
        raise click.BadParameter(f"{file.name!r} does not end in .toml", param_hint="FILE")
    wanted = {file: known[source].read_bytes()}
    document = read(known[source])
    wanted |= {file.parent / name: data for name, data in document.plan.files.items()}
    write_new(wanted)
    out = terminal.console()
    out.print(f"wrote {', '.join(map(str, wanted))}")
    quoted = shlex.quote(str(file))
    out.print(f"next: voxpath run {quoted}, or voxpath report {quoted} for a page")
    return 0
