"""Conformance scripts of TCP: read and run. The format and its runner are the engine's (`crates/script`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from voxpath import _engine, files

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

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
