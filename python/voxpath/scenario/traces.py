"""Files that a scenario refers to.

What a file says becomes a part of the plan, so that a run's identity covers it, and a copy stands beside the
scenario in the run's folder.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from voxpath import _engine, files
from voxpath.scenario.problems import PlanError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MAX_BYTES = 16 * 2**20
"""The largest file that is read: every plan holds its values, and 16 MiB of lines take seconds to read."""

_RESULTS = (".json", ".parquet", ".pcapng", ".toml")
"""Endings of what else stands in a run's folder."""


class TraceError(PlanError):
    """A file that cannot be read, or does not say what it should."""


@dataclass(frozen=True)
class Traces:
    """The files of one scenario.

    Attributes:
        base: The directory that their names start from.
        files: Contents of those that were read, by the name that the scenario gives.
    """

    base: Path
    files: dict[str, bytes] = field(default_factory=dict)

    def raw(self, name: str) -> bytes:
        """The octets of a file.

        Raises:
            TraceError: It is no file that a scenario may refer to.
        """
        if name not in self.files:
            self.files[name] = self._read(name)
        return self.files[name]

    def text(self, name: str) -> str:
        """The text of a file.

        Raises:
            TraceError: It is no file that a scenario may refer to, or no text.
        """
        try:
            return self.raw(name).decode("utf-8")
        except UnicodeDecodeError as error:
            raise TraceError(f"{name!r} is not UTF-8: byte {error.start}") from None

    def lines(self, name: str) -> list[tuple[int, str]]:
        """The lines of a file that say something, with their numbers; what follows a '#' does not.

        Raises:
            TraceError: It is no file that a scenario may refer to, or says nothing.
        """
        text = self.text(name)
        numbered = ((number, line.split("#")[0].strip()) for number, line in enumerate(text.splitlines(), 1))
        lines = [(number, line) for number, line in numbered if line]
        if not lines:
            raise TraceError(f"{name!r} is empty")
        return lines

    def parsed(self, name: str, parse: Callable[[str], Sequence[Any]]) -> Iterator[tuple[int, Sequence[Any]]]:
        """What each line of a file holds, with the line's number.

        Raises:
            TraceError: It is no file that a scenario may refer to, or `parse` raises `ValueError` for a line.
        """
        for number, line in self.lines(name):
            try:
                yield number, parse(line)
            except ValueError as error:
                raise TraceError(f"{name!r}, line {number}: {error}") from None

    def _read(self, name: str) -> bytes:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts:
            raise TraceError(
                f"{name!r} is not below the scenario's directory: runs keep a copy under its name"
            )
        if path.suffix in _RESULTS:
            raise TraceError(f"{name!r} ends like a result, {', '.join(_RESULTS)}: give it another name")
        try:
            with files.regular_below(self.base, path) as file:
                raw = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise TraceError(f"{name!r} cannot be read: {error.strerror or error}") from None
        except ValueError as error:
            # A name with a zero byte, which no file has.
            raise TraceError(f"{name!r} cannot be read: {error}") from None
        if len(raw) > MAX_BYTES:
            raise TraceError(
                f"{name!r} is larger than {_engine.format_size(MAX_BYTES)}, the most that is read: keep a "
                "part of it, as by head -n"
            )
        return raw
