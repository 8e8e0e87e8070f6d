"""The axes of a sweep as directions of a drawing: numbers with a unit where the values are such."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from voxpath.document import Axis
from voxpath.scenario import cells
from voxpath.scenario.quantities import in_one_unit
from voxpath.scenario.sweep import short_names, text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voxpath.document import Scale
    from voxpath.scenario import Document

_LOGARITHMIC = 20
"""Largest over smallest value from which positive values are drawn on a logarithmic axis."""


@dataclass(frozen=True)
class Direction:
    """What is varied, and where each cell lies on it.

    Attributes:
        name: The last part of the key.
        texts: The values as they are written.
        numbers: The same as numbers; their indices where they are none, or would not be told apart.
        axis: How they are drawn.
        ordered: Whether a line may join what is found at neighbours.
        places: The index of each cell's value.
    """

    name: str
    texts: tuple[str, ...]
    numbers: tuple[float, ...]
    axis: Axis
    ordered: bool
    places: tuple[int, ...]

    @property
    def names(self) -> bool:
        """Whether names stand at the axis, not numbers."""
        return bool(self.axis.names)


def directions(document: Document) -> list[Direction]:
    """What a scenario's sweep varies, the best horizontal axis first: of quantities that with most values.

    Zipped axes are one direction.
    """
    sweep = document.scenario.sweep
    if sweep is None or not sweep.axes:
        return []
    points = list(cells.points(sweep))
    names = short_names(list(sweep.axes))
    if sweep.mode == "zip":
        texts = [", ".join(map(text_of, point.values.values())) for point in points]
        return [_named(", ".join(names), texts, tuple(range(len(points))), ordered=False)]
    found = [
        _direction(name, values, tuple(point.indices[axis] for point in points))
        for axis, (name, values) in enumerate(zip(names, sweep.axes.values(), strict=True))
        if len(values) > 1
    ]
    return sorted(found, key=lambda one: (not one.ordered, -len(one.texts)))


def _direction(name: str, values: Sequence[Any], places: tuple[int, ...]) -> Direction:
    texts = [text_of(value) for value in values]
    found = _numbers(values)
    if found is None:
        return _named(name, _kinds(values) or texts, places, ordered=False)
    numbers, unit = found
    positive = [number for number in numbers if number > 0]
    scale = scale_of(positive)
    if scale == "log" and len(positive) < len(numbers):
        # Zero has no place on a logarithmic axis, and beside it the others would have none on a linear one.
        order = sorted(range(len(texts)), key=numbers.__getitem__)
        ranks = tuple(order.index(place) for place in places)
        return _named(name, [texts[index] for index in order], ranks, ordered=True)
    return Direction(name, tuple(texts), tuple(numbers), Axis(name, unit, scale), ordered=True, places=places)


def _named(name: str, texts: Sequence[str], places: tuple[int, ...], *, ordered: bool) -> Direction:
    axis = Axis(name, names=tuple(texts))
    return Direction(name, tuple(texts), tuple(map(float, range(len(texts)))), axis, ordered, places)


def _kinds(values: Sequence[Any]) -> list[str] | None:
    """Tables by their kinds, where these tell all values apart: room at an axis is short."""
    texts = [
        value["kind"] if isinstance(value, dict) and "kind" in value else text_of(value) for value in values
    ]
    return texts if len(set(texts)) == len(texts) else None


def _numbers(values: Sequence[Any]) -> tuple[list[float], str] | None:
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        return [float(value) for value in values], ""
    if all(isinstance(value, str) for value in values):
        return in_one_unit(values)
    return None


def scale_of(values: Sequence[float]) -> Scale:
    """Logarithmic where all are positive and span more than a decade."""
    return "log" if values and min(values) > 0 and max(values) >= _LOGARITHMIC * min(values) else "linear"
