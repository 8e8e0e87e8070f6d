"""Keys of a plan whose values are in a file that the scenario names."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from voxpath.scenario.table import From

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from voxpath.scenario.problems import Path
    from voxpath.scenario.traces import Traces


def by_line(parse: Callable[[str], Sequence[Any]], is_text: bool = False) -> From:
    """What a key of the plan holds of the file that the table's key `file` names: what its lines hold.

    It is one list, or one text where the plan has a text. Only the format of a line is checked here. The
    engine checks the values, and its message gets the line that the value was read from.
    """

    def value(table: Any, files: Traces) -> Any:
        parts = (part for _, part in files.parsed(table.file, parse))
        return "".join(map(str, parts)) if is_text else list(chain.from_iterable(parts))

    def source(table: Any, place: Path, files: Traces) -> str:
        name: str = table.file
        left = place[0] if place else None
        if isinstance(left, int):
            for number, parts in files.parsed(name, parse):
                if left < len(parts):
                    return f"{name!r}, line {number}"
                left -= len(parts)
        return repr(name)

    return From("file", value, source=source)
