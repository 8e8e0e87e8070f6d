"""What is wrong with a scenario, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Path = tuple[str | int, ...]
"""A place in a scenario: keys and list indices from the top."""


@dataclass(frozen=True, order=True)
class Problem:
    """One thing that keeps a scenario from running.

    Attributes:
        line: Line in the file, from 1; 0 where the problem is the file itself.
        column: Column in characters, from 1; 0 where the problem is the file itself.
        key: Dotted path of the key, such as `flows[0].app.size`; empty where there is none.
        message: What is wrong and what is allowed.
    """

    line: int
    column: int
    key: str
    message: str

    def __str__(self) -> str:
        """`line:column: key: message`, leaving out what is not known."""
        place = f"{self.line}:{self.column}: " if self.line else ""
        key = f"{self.key}: " if self.key else ""
        return f"{place}{key}{self.message}"


class ScenarioError(Exception):
    """A scenario that cannot run: every problem that was found, in the order of the file.

    Attributes:
        source: The file, or what stands for it.
        problems: At least one.
    """

    def __init__(self, source: str, problems: Iterable[Problem]) -> None:
        self.source = source
        self.problems = tuple(sorted(set(problems)))
        super().__init__("\n".join(f"{source}:{'' if found.line else ' '}{found}" for found in self.problems))

    def __reduce__(self) -> tuple[type[ScenarioError], tuple[str, tuple[Problem, ...]]]:
        """Errors cross process boundaries."""
        return type(self), (self.source, self.problems)


class PlanError(Exception):
    """A value that makes no part of a plan, such as a file that cannot be read."""


def dotted(path: Path) -> str:
    """A path as people write it: `flows[0].app.size`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def locate(path: Path, places: Mapping[Path, tuple[int, int]]) -> tuple[int, int]:
    """Line and column of the key, or of the nearest table around it that the document spells out."""
    for end in range(len(path), 0, -1):
        if path[:end] in places:
            return places[path[:end]]
    return (1, 1)
