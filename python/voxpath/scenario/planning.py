"""From tables to the plan, and from a place in the plan back to the key that it came from.

Both read one mapping, which each table declares (`Table.PLAN`). So a key is renamed at one place, and what
the engine finds wrong with the plan is told with the scenario's key.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, get_args

from voxpath.scenario.problems import Path, PlanError
from voxpath.scenario.quantities import Unit
from voxpath.scenario.table import From, Keys, Outside, Table

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from voxpath.scenario.traces import Traces


def plan(table: Table, files: Traces, faults: list[tuple[Path, str]]) -> Any:
    """A table's part of the plan; places of what is wrong count from the table."""
    parts = {
        key: _part(table, origin, files, faults)
        for key, origin in keys(type(table)).items()
        if not isinstance(origin, Outside)
    }
    if parts and all(isinstance(key, int) for key in parts):
        return [parts[index] for index in range(len(parts))]
    return parts


def outside(table: Table, key: str, files: Traces, otherwise: Any) -> Any:
    """What a table says of a key of the plan beside its own part; `otherwise` if it says nothing."""
    origin = keys(type(table)).get(key)
    return origin.value(table, files) if isinstance(origin, Outside) else otherwise


def place_of(table: Table, path: Path) -> Path:
    """The place in a table that a place in its part of the plan comes from, as closely as the table says."""
    if not path:
        return ()
    origin = keys(type(table)).get(path[0])
    if origin is None:
        return ()
    name = _key(origin)
    value = getattr(table, name)
    own = isinstance(value, Table) and len(path) > 1 and path[1] in keys(type(value))
    if isinstance(origin, From) and len(path) > 1 and not own:
        # What a key of the plan is made of may stand in it under the name of another key.
        for other in origin.also:
            field = type(table).model_fields[other]
            if path[1] == other + _suffix(field.annotation, field.metadata):
                return (_written(table, other), *_inside(getattr(table, other), path[1], path[2:]))
    return (_written(table, name), *_inside(value, path[0], path[1:]))


@cache
def keys(table: type[Table]) -> Keys:
    """Each key of a table's part of the plan, and what of the table it comes from."""
    declared: dict[str | int, str | From] = {}
    for base in reversed(table.__mro__):
        declared |= base.__dict__.get("PLAN", {})
    taken = {key for origin in declared.values() for key in _sources(origin)}
    if any(isinstance(key, int) for key in declared):
        return declared
    plain: dict[str | int, str | From] = {
        (field.alias or name) + _suffix(field.annotation, field.metadata): name
        for name, field in table.model_fields.items()
        if name not in taken
    }
    return {**plain, **declared}


@dataclass(frozen=True)
class Origin:
    """Where a part of the plan comes from.

    Attributes:
        places: Places in the scenario that may spell it out, the nearest first.
        table: What declares the keys of the part; without one they are those of the plan.
    """

    places: tuple[Path, ...]
    table: Table | None = field(default=None, repr=False)


Origins = dict[Path, Origin]
"""Of places in the plan; what is not there comes from where the nearest place around it comes from."""


def origin_of(path: Path, origins: Origins, written: Container[Path]) -> Path:
    """Where in the scenario a place of the plan comes from, as closely as it is written there."""
    for end in range(len(path), -1, -1):
        origin = origins.get(path[:end])
        if origin is None:
            continue
        rest = path[end:] if origin.table is None else place_of(origin.table, path[end:])
        for length in range(len(rest), 0, -1):
            for place in origin.places:
                if (*place, *rest[:length]) in written:
                    return (*place, *rest[:length])
        # A plan may have a key deeper than the scenario.
        inner = path[end:]
        for begin in range(len(inner)):
            for place in origin.places:
                for key in _spellings(inner[-1]):
                    if (*place, *inner[begin:-1], key) in written:
                        return (*place, *inner[begin:-1], key)
        return origin.places[-1]
    return ()


def unwritten(path: Path, origins: Origins, place: Path) -> Path:
    """The keys behind `place` by which the scenario would spell out a place of the plan; none if it does.

    Args:
        path: The place in the plan.
        origins: Where the parts of the plan come from.
        place: What `origin_of` answers for it.
    """
    for end in range(len(path), -1, -1):
        origin = origins.get(path[:end])
        if origin is None:
            continue
        rest = () if origin.table is None else place_of(origin.table, path[end:])
        for near in origin.places:
            if (*near, *rest)[: len(place)] == place:
                return (*near, *rest)[len(place) :]
        return ()
    return ()


def _spellings(key: str | int) -> Iterator[str | int]:
    """A plan's key as a scenario may have it: without its unit, and in the singular."""
    yield key
    if isinstance(key, str):
        bare = re.sub("_(s|ns|bytes|bps)$", "", key)
        yield from (bare, bare.removesuffix("s"))


def source_of(path: Path, origins: Origins, files: Traces) -> str | None:
    """The file that a place of the plan was read from, with the line where it is known."""
    for end in range(len(path), -1, -1):
        origin = origins.get(path[:end])
        if origin is not None:
            return None if origin.table is None else _source(origin.table, path[end:], files)
    return None


def _source(table: Table, path: Path, files: Traces) -> str | None:
    origin = keys(type(table)).get(path[0]) if path else None
    if origin is None:
        return None
    if isinstance(origin, From) and origin.source is not None:
        return origin.source(table, path[1:], files)
    value = getattr(table, _key(origin))
    return _source(value, path[1:], files) if isinstance(value, Table) else None


def _part(table: Table, origin: str | From, files: Traces, faults: list[tuple[Path, str]]) -> Any:
    name = _key(origin)
    found: list[tuple[Path, str]] = []
    try:
        value = getattr(table, name) if isinstance(origin, str) else origin.value(table, files)
        return _plain(value, files, found)
    except PlanError as error:
        found.append(((), str(error)))
    finally:
        faults += [((_written(table, name), *place), message) for place, message in found]
    return None


def _plain(value: Any, files: Traces, faults: list[tuple[Path, str]]) -> Any:
    if isinstance(value, Table):
        return plan(value, files, faults)
    if isinstance(value, (tuple, list)):
        parts = []
        for index, one in enumerate(value):
            found: list[tuple[Path, str]] = []
            parts.append(_plain(one, files, found))
            faults += [((index, *place), message) for place, message in found]
        return parts
    return value


def _inside(value: Any, key: str | int, rest: Path) -> Path:
    """The place in the value of a key, which the plan holds under `key`."""
    if isinstance(value, Table):
        if rest:
            return place_of(value, rest)
        beside = keys(type(value)).get(key)
        return (_written(value, beside.key),) if isinstance(beside, Outside) else ()
    if isinstance(value, tuple) and rest and isinstance(rest[0], int) and rest[0] < len(value):
        return (rest[0], *_inside(value[rest[0]], rest[0], rest[1:]))
    return ()


def _key(origin: str | From) -> str:
    return origin if isinstance(origin, str) else origin.key


def _sources(origin: str | From) -> Iterator[str]:
    yield _key(origin)
    if isinstance(origin, From):
        yield from origin.also


def _written(table: Table, name: str) -> str:
    """A key as scenarios write it."""
    return type(table).model_fields[name].alias or name


def _suffix(annotation: Any, metadata: list[Any]) -> str:
    """The unit of a type, as it stands behind the name of a key; that of a type that may be left out too."""
    for mark in metadata:
        if isinstance(mark, Unit):
            return f"_{mark.name}"
    for part in get_args(annotation):
        found = _suffix(part, list(getattr(part, "__metadata__", ())))
        if found:
            return found
    return ""
