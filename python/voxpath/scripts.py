"""Conformance scripts of TCP: read and run. The format and its runner are the engine's (`crates/script`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from voxpath import _engine, files, terminal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FAILED = 1
KERNEL = "kernel"


@dataclass(frozen=True)
class Script:
    """A script and what its head says.

    Attributes:
        path: Its file.
        text: The whole of it.
        rules: The rules that it covers, by name.
        stacks: What it runs on.
        differs: Why the kernel does otherwise than `linux` somewhere in it.
        simulated: Why the kernel is left out.
    """

    path: Path
    text: str
    rules: Sequence[str]
    stacks: Sequence[str]
    differs: str | None
    simulated: str | None


@dataclass(frozen=True)
class Ran:
    """What came of a run.

    Attributes:
        ladder: What left and what arrived.
        failure: The line of the script that does not hold, and why; none if all holds.
    """

    ladder: Sequence[str]
    failure: tuple[int, str] | None


def read(path: Path) -> Script:
    """Reads a script.

    Raises:
        ValueError: It is none; the message begins with file, line and column.
        OSError: It cannot be read.
    """
    try:
        text = files.read(path).decode("utf-8")
        rules, stacks, differs, simulated = _engine.parse_script(text)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: it is not UTF-8: {error.reason} at byte {error.start}") from error
    except ValueError as error:
        raise ValueError(f"{path}:{error}") from error
    return Script(path, text, rules, stacks, differs, simulated)


def run(script: Script, stack: str) -> Ran:
    """Runs a script on one of its stacks.

    Raises:
        OSError: The machine does not let us use its kernel.
    """
    return Ran(*_engine.run_script(script.text, stack))


def command(paths: Sequence[Path], stack: str, ladder: bool) -> int:
    """`voxpath tcp-script`."""
    try:
        scripts = [read(path) for path in paths]
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
    for script in scripts:
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
        ran = run(script, stack)
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
