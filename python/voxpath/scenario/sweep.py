"""The `[sweep]` table: which keys of the scenario are varied, and how often each cell is run.

An axis is a dotted key of the scenario, as error messages write it, with a list of values in its place:
`"topology.bottleneck.loss" = ["0 %", "0.1 %"]`. What an axis's values must be is for the key itself to say:
`cells` puts each into the scenario and has it read like any other.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from voxpath.names import did_you_mean
from voxpath.scenario.table import Table, faults

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voxpath.scenario.problems import Path

MAX_CELLS = 100_000
"""The most cells of a sweep; more is a slip of the pen."""

_NOT_SWEPT = {
    "seed": "is no axis: replications vary the random streams, and every cell has the same ones",
    "name": "is no axis: the name of a scenario is for people and changes nothing",
    "sweep": "is no axis: a sweep does not vary itself",
}


class Sweep(Table):
    """What is varied from run to run. Every other key is an axis: a dotted key with a list of its values."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "additionalProperties": {"type": "array", "minItems": 1},
            "minProperties": 1,
        },
    )

    replications: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        1, description="Runs of each cell, which differ in their random streams alone."
    )
    mode: Literal["product", "zip"] | None = Field(
        None,
        description="product (default): every value of an axis with every value of the others; "
        "zip: the first values of all axes, then the second ones, and so on.",
    )

    @property
    def axes(self) -> dict[str, list[Any]]:
        """The values of each axis, by its key as it is written."""
        return dict(self.__pydantic_extra__ or {})

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each axis has."""
        return tuple(len(values) for values in self.axes.values())

    @model_validator(mode="before")
    @classmethod
    def _not_empty(cls, data: Any) -> Any:
        if isinstance(data, dict) and not data:
            raise ValueError("is empty: it sweeps nothing; give an axis or replications, or leave it out")
        return data

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        found: list[tuple[Path, str]] = []
        paths: dict[Path, str] = {}
        for key, values in self.axes.items():
            if (fault := _fault_of_axis(key, values)) is not None:
                found.append(((key,), fault))
                continue
            path = split(key)
            found.extend(((key,), what) for other in paths if (what := _overlap(path, other, paths[other])))
            paths[path] = key
            found.extend(((key, index), what) for index, what in _repetitions(values))
        if self.mode is not None and len(self.axes) < 2:
            found.append((("mode",), "has no effect with fewer than two axes"))
        if not found and self.mode == "zip" and len(set(self.shape)) > 1:
            lengths = ", ".join(f"{key} has {len(values)}" for key, values in self.axes.items())
            found.append((("mode",), f"zip pairs values one by one, but {lengths}"))
        if found:
            raise faults(*found)
        return self


def split(key: str) -> Path:
    """The path of a dotted key, such as `flows[0].app.size`; names with dots stand in quotes.

    Raises:
        ValueError: It is not written like one.
    """
    path: list[str | int] = []
    position = 0
    while position < len(key) or not path:
        found = _PART.match(key, position)
        if found is None:
            raise ValueError(
                f"{key!r} is not a key: write it as messages do, such as topology.bottleneck.loss "
                "or flows[0].app.size; a name with dots in it stands in quotes"
            )
        quoted, bare, index = found.groups()
        path.append(int(index) if index is not None else bare if bare is not None else quoted)
        position = found.end()
        if key[position : position + 1] == ".":
            position += 1
            if position == len(key):
                path.clear()
    return tuple(path)


_PART = re.compile(
    r"""(?:^|(?<=\.))(?:"([^"]+)"|([A-Za-z0-9_-]+))(?=[.\[]|$)|(?<=[^.])\[([0-9]{1,9})\](?=[.\[]|$)"""
)


def _fault_of_axis(key: str, values: Any) -> str | None:
    """What is wrong with an axis as such, whatever its values mean."""
    if isinstance(values, dict):
        inner = next(iter(values), "...")
        return f'is a table: write the whole key of an axis in quotes, such as "{key}.{inner}" = [...]'
    try:
        path = split(key)
    except ValueError as error:
        return str(error)
    if path[0] in _NOT_SWEPT:
        return _NOT_SWEPT[str(path[0])]
    if not isinstance(values, list):
        hint = did_you_mean(key, Sweep.model_fields)
        return f"must be a list of values: it is an axis; other keys of a sweep: {hint}"
    if not values:
        return "is an empty list: an axis has one value at least"
    return None


def _overlap(path: Path, other: Path, name: str) -> str | None:
    shorter = min(len(path), len(other))
    if path[:shorter] == other[:shorter]:
        return f"overlaps with the axis {name}: both set the same key"
    return None


def _repetitions(values: list[Any]) -> list[tuple[int, str]]:
    found = []
    for index, value in enumerate(values):
        first = next(
            i for i, earlier in enumerate(values) if type(earlier) is type(value) and earlier == value
        )
        if first < index:
            found.append((index, f"{text_of(value)} is there already, as value {first}"))
    return found


def text_of(value: Any) -> str:
    """A value of an axis as people read it: a text as it is, a table with its keys."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {text_of(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(text_of, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def short_names(axes: Sequence[str]) -> list[str]:
    """The last part of each axis's key, or more where that would not tell them apart."""
    names = []
    for axis in axes:
        path = [str(part) for part in split(axis)]
        others = [[str(part) for part in split(other)] for other in axes if other != axis]
        length = next(
            length
            for length in range(1, len(path) + 1)
            if all(other[-length:] != path[-length:] for other in others) or length == len(path)
        )
        names.append(".".join(path[-length:]))
    return names
