"""What `voxpath tcp-script` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from voxpath import _engine, scripts, terminal
from voxpath.cli.parts import FAILED
from voxpath.scripts import KERNEL

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from voxpath.scripts import Script


def run(paths: Sequence[Path], stack: str, ladder: bool) -> int:
    """Runs scripts; 0, or 1 where one does not hold.

    Raises:
        click.ClickException: Bad input, or the machine does not let us use its kernel.
    """
    try:
        found = [scripts.read(path) for path in paths]
    except (ValueError, OSError) as error:
        raise click.ClickException(str(error)) from error
    asked = [name for name in stack.split(",") if name]
    known = {*_engine.profiles(), KERNEL}
    for name in asked:
        if name not in known:
            raise click.UsageError(f"--stack {name}: there is no such stack; use {', '.join(sorted(known))}")
    # A user without root's privileges has his own namespaces, as long as this is held.
    isolation = _isolated() if KERNEL in asked else None
    failed = ran = 0
    for script in found:
        for name in script.stacks:
            if name not in asked if asked else name == KERNEL:
                continue
            ran += 1
            failed += not _tell(script, name, ladder)
    del isolation
    if ran == 0:
        raise click.ClickException("none of the scripts names such a stack")
    return FAILED if failed else 0


def _isolated() -> _engine.Isolation:
    try:
        return _engine.Isolation()
    except OSError as error:
        raise click.ClickException(str(error)) from error


def _tell(script: Script, stack: str, ladder: bool) -> bool:
    try:
        ran = scripts.run(script, stack)
    except OSError as error:
        raise click.ClickException(f"{script.path}: {error}") from error
    if ran.failure is None:
        click.echo(f"{script.path} on {stack}: holds")
    else:
        line, reason = ran.failure
        click.echo(terminal.safe(f"{script.path}:{line} on {stack}: {reason}"))
    if ladder or ran.failure is not None:
        for step in ran.ladder:
            click.echo(terminal.safe(f"    {step}"))
    return ran.failure is None
