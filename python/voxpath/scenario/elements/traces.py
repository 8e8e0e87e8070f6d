"""Files that a scenario refers to: recorded opportunities, losses and delays.

What a file says becomes a part of the plan, so that a run's identity covers it, and a copy stands beside the
scenario in the run's folder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from voxpath import _engine, files
from voxpath.scenario.planning import PlanError

MAX_BYTES = 4 * 2**20
"""The largest file that is read."""

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
            raise TraceError(f"{name!r} is larger than {_engine.format_size(MAX_BYTES)}")
        return raw


def opportunities(traces: Traces, name: str) -> list[int]:
    """A packet-delivery trace in Mahimahi's format: a millisecond a line, not descending.

    Raises:
        TraceError: It is none.
    """
    found: list[int] = []
    for number, line in traces.lines(name):
        if not re.fullmatch(r"[0-9]{1,9}", line):
            raise _fault(name, number, f"{line!r} is not a whole number of milliseconds")
        found.append(int(line))
        if len(found) > 1 and found[-1] < found[-2]:
            raise _fault(name, number, f"{line} comes after {found[-2]}: times do not descend")
    if found[-1] == 0:
        raise TraceError(f"{name!r} takes no time: its last opportunity is above zero")
    return found


def delays(traces: Traces, name: str) -> list[tuple[int, int]]:
    """A moment and the delay from then on in a line, such as `1.5 s, 40 ms`; ascending from zero.

    Raises:
        TraceError: It is none.
    """
    found: list[tuple[int, int]] = []
    for number, line in traces.lines(name):
        texts = line.split(",")
        if len(texts) != 2:
            raise _fault(name, number, f"{line!r} is not a moment and a delay, such as '1.5 s, 40 ms'")
        try:
            at, delay = (_engine.parse_span(text.strip()) for text in texts)
        except ValueError as error:
            raise _fault(name, number, str(error)) from None
        if not found and at:
            raise _fault(name, number, "the first moment is not zero")
        if found and at <= found[-1][0]:
            raise _fault(name, number, f"{texts[0]} does not come after the line before")
        found.append((at, delay))
    return found


def _fault(name: str, line: int, message: str) -> TraceError:
    return TraceError(f"{name!r}, line {line}: {message}")
