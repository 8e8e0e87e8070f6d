"""What `voxpath tcp-script` does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from voxpath import _engine, scripts, texts
from voxpath.cli.actions.common import print_json
from voxpath.cli.parts import FAILED
from voxpath.scripts import KERNEL

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from voxpath.scripts import Ran, Script


def run(paths: Sequence[Path], stack: str, *, ladder: bool, as_json: bool) -> int:
    """Runs scripts; 0, or 1 where one does not hold.

    Raises:
        click.ClickException: Bad input, or the machine does not let us use its kernel.
    """
    try:
        found = [scripts.read(path) for path in paths]
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(f"{error.filename} cannot be read: {error.strerror or error}") from error
    asked = [name for name in stack.split(",") if name]
    known = {*_engine.profiles(), KERNEL}
    for name in asked:
        if name not in known:
            raise click.UsageError(f"--stack {name}: there is no such stack; use {', '.join(sorted(known))}")
    # A user without root's privileges has his own namespaces, as long as this is held.
    isolation = _isolated() if KERNEL in asked else None
    told: list[dict[str, Any]] = []
    for script in found:
        for name in script.stacks:
            if name not in asked if asked else name == KERNEL:
                continue
            ran = _ran(script, name)
            told.append(_told(script, name, ran))
            if not as_json:
                _tell(script, name, ran, ladder)
    del isolation
    if not told:
        raise click.ClickException("none of the scripts names such a stack")
    if as_json:
        print_json({"command": "tcp-script", "build": _engine.BUILD, "ran": told})
    return 0 if all(one["holds"] for one in told) else FAILED


def _isolated() -> _engine.Isolation:
    try:
        return _engine.Isolation()
    except OSError as error:
        raise click.ClickException(str(error)) from error


def _ran(script: Script, stack: str) -> Ran:
    try:
        return scripts.run(script, stack)
    except OSError as error:
        raise click.ClickException(f"{script.path}: {error}") from error


def _told(script: Script, stack: str, ran: Ran) -> dict[str, Any]:
    line, reason = ran.failure or (None, None)
    return {
        "script": str(script.path),
        "stack": stack,
        "holds": ran.failure is None,
        "line": line,
        "reason": reason,
        "ladder": list(ran.ladder),
    }


def _tell(script: Script, stack: str, ran: Ran, ladder: bool) -> None:
    if ran.failure is None:
        click.echo(f"{script.path} on {stack}: holds")
    else:
        line, reason = ran.failure
        click.echo(texts.safe(f"{script.path}:{line} on {stack}: {reason}"))
    if ladder or ran.failure is not None:
        for step in ran.ladder:
            click.echo(texts.safe(f"    {step}"))
