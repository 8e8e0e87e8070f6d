"""The cells of a sweep: the scenario with other values for some keys, read and resolved by the same code."""

from __future__ import annotations

import copy
import hashlib
import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from voxpath.scenario.problems import Path, dotted
from voxpath.scenario.sweep import MAX_CELLS, split, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from voxpath.scenario.resolve import Plan
    from voxpath.scenario.sweep import Sweep

    _Resolve = Callable[[dict[str, Any]], tuple[Plan | None, list[tuple[Path, str]]]]
_MOST_CELLS_WITH_FAULTS = 200
"""Further cells are not looked at: what is wrong is told by then."""


@dataclass(frozen=True)
class Point:
    """Where a cell lies on the axes.

    Attributes:
        indices: Which value of each axis.
        values: These values, by the axis's key.
    """

    indices: tuple[int, ...]
    values: Mapping[str, Any]

    @property
    def label(self) -> str:
        """`topology.bottleneck.loss = 0.1 %, ...`; empty where there is no axis."""
        return ", ".join(f"{key} = {text_of(value)}" for key, value in self.values.items())


def points(sweep: Sweep | None) -> Iterator[Point]:
    """The cells in their order: the last axis varies fastest. Without axes there is one cell."""
    axes = sweep.axes if sweep else {}
    ranges = [range(len(values)) for values in axes.values()]
    zipped = sweep is not None and sweep.mode == "zip"
    for indices in zip(*ranges, strict=True) if zipped else itertools.product(*ranges):
        yield Point(
            indices,
            {key: values[index] for (key, values), index in zip(axes.items(), indices, strict=True)},
        )


def count(sweep: Sweep | None) -> int:
    """How many cells there are."""
    if sweep is None or not sweep.axes:
        return 1
    return sweep.shape[0] if sweep.mode == "zip" else math.prod(sweep.shape)


def replaced(data: dict[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a scenario with other values for some keys, and without the sweep.

    Raises:
        AxisError: A key leads through something that is neither a table nor a list.
    """
    made = copy.deepcopy({key: value for key, value in data.items() if key != "sweep"})
    for key, value in values.items():
        path = split(key)
        table: Any = made
        for depth, part in enumerate(path[:-1]):
            table = _step(table, part, path[:depth], key)
        _put(table, path[-1], value, path[:-1], key)
    return made


class AxisError(Exception):
    """An axis whose key cannot be in the scenario.

    Attributes:
        key: The axis.
    """

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


def _step(table: Any, part: str | int, above: Path, key: str) -> Any:
    """What stands at a key of a table or at an index of a list; tables that are not there are begun."""
    if isinstance(part, str) and isinstance(table, dict):
        return table.setdefault(part, {})
    _check_index(table, part, above, key)
    return table[part]


def _put(table: Any, part: str | int, value: Any, above: Path, key: str) -> None:
    if not (isinstance(part, str) and isinstance(table, dict)):
        _check_index(table, part, above, key)
    table[part] = copy.deepcopy(value)


def _check_index(table: Any, part: str | int, above: Path, key: str) -> None:
    place = dotted(above) or "the scenario"
    if isinstance(part, str):
        what = "a list: give the index in brackets" if isinstance(table, list) else f"{table!r}, no table"
        raise AxisError(key, f"has no key {part!r}: {place} is {what}")
    if not isinstance(table, list):
        raise AxisError(key, f"has no index {part}: {place} is no list")
    if part >= len(table):
        allowed = f"0 to {len(table) - 1}" if len(table) > 1 else "0"
        raise AxisError(key, f"has no index {part}: allowed in {place}: {allowed}")


def check(data: dict[str, Any], sweep: Sweep, resolve: _Resolve) -> list[tuple[Path, str]]:
    """What is wrong with the cells of a sweep; places are those of the axes and their values.

    Args:
        data: The scenario as it is written.
        sweep: Its sweep.
        resolve: From the data of a cell to its plan, or to problems.
    """
    cells = count(sweep)
    if cells > MAX_CELLS:
        return [(("sweep",), f"has {cells} cells: at most {MAX_CELLS} are allowed")]
    faults = _Faults(sweep)
    plans: dict[tuple[int, ...], bytes] = {}
    for point in points(sweep):
        try:
            plan, problems = resolve(replaced(data, point.values))
        except AxisError as error:
            return [(("sweep", error.key), str(error))]
        if problems or plan is None:
            faults.add(point, problems)
            if len(faults.cells) >= _MOST_CELLS_WITH_FAULTS:
                break
        else:
            plans[point.indices] = hashlib.sha256(plan.json.encode()).digest()
    if faults.cells:
        return faults.told()
    if sweep.mode == "zip":
        return _without_effect_zipped(data, sweep, plans, resolve)
    return _without_effect(sweep, plans)


class _Faults:
    """Problems of cells, gathered by the axis value that brings them about."""

    def __init__(self, sweep: Sweep) -> None:
        self.cells: list[Point] = []
        self._sweep = sweep
        self._keys = list(sweep.axes)
        self._paths = [split(key) for key in self._keys]
        self._at: dict[tuple[Path, str], dict[tuple[int, ...], Point]] = {}

    def add(self, point: Point, problems: Sequence[tuple[Path, str]]) -> None:
        self.cells.append(point)
        for problem in problems:
            self._at.setdefault(problem, {})[point.indices] = point

    def told(self) -> list[tuple[Path, str]]:
        """Each problem once, at the value or the axis that it comes from."""
        return list(dict.fromkeys(itertools.chain.from_iterable(map(self._tell, self._at.items()))))

    def _tell(
        self, problem: tuple[tuple[Path, str], dict[tuple[int, ...], Point]]
    ) -> Iterator[tuple[Path, str]]:
        (path, message), cells = problem
        for axis, own in enumerate(self._paths):
            common = min(len(own), len(path))
            if own[:common] != path[:common]:
                continue
            key = self._keys[axis]
            indices = sorted({cell[axis] for cell in cells})
            if len(path) < len(own):
                yield ("sweep", key), f"{dotted(path)}: {message}"
            elif path == own and len(indices) == self._sweep.shape[axis] > 1:
                # Whatever the value: it is the key that is wrong.
                yield ("sweep", key), message
            else:
                for index in indices:
                    yield ("sweep", key, index, *path[len(own) :]), message
            return
        for axis, key in enumerate(self._keys):
            indices = sorted({cell[axis] for cell in cells})
            alone = self._sweep.mode == "zip" or len(self._keys) == 1
            if len(indices) < self._sweep.shape[axis] or alone:
                for index in indices:
                    value = text_of(self._sweep.axes[key][index])
                    yield ("sweep", key, index), f"with {value}, {dotted(path)}: {message}"
                return
        first = next(iter(cells.values()))
        yield ("sweep",), f"with {first.label}, {dotted(path)}: {message}"


def _without_effect(sweep: Sweep, plans: Mapping[tuple[int, ...], bytes]) -> list[tuple[Path, str]]:
    """Values that change no plan, whatever the other axes say."""
    found: list[tuple[Path, str]] = []
    for axis, (key, values) in enumerate(sweep.axes.items()):
        seen: dict[bytes, int] = {}
        for index in range(len(values)):
            whole = hashlib.sha256()
            for indices, plan in plans.items():
                if indices[axis] == index:
                    whole.update(plan)
            first = seen.setdefault(whole.digest(), index)
            if first < index:
                found.append((("sweep", key, index), _same(values, first, index)))
    return found


def _without_effect_zipped(
    data: dict[str, Any], sweep: Sweep, plans: Mapping[tuple[int, ...], bytes], resolve: _Resolve
) -> list[tuple[Path, str]]:
    """Axes that change no plan, and cells that are the same."""
    found: list[tuple[Path, str]] = []
    for key, values in sweep.axes.items():
        if len(values) > 1 and all(
            plan is not None and hashlib.sha256(plan.json.encode()).digest() == plans[point.indices]
            for point in points(sweep)
            for plan, _ in [resolve(replaced(data, {**point.values, key: values[0]}))]
        ):
            found.append((("sweep", key), "has no effect: the cells are the same without it"))
    seen: dict[bytes, int] = {}
    for number, plan in enumerate(plans.values()):
        first = seen.setdefault(plan, number)
        if first < number and not found:
            key = next(iter(sweep.axes))
            found.append((("sweep", key, number), f"cell {number} is the same as cell {first}"))
    return found


def _same(values: Sequence[Any], first: int, index: int) -> str:
    return (
        f"{text_of(values[index])} has the same effect as value {first}, {text_of(values[first])}, "
        "in every cell: it is the same, or the key has no effect here"
    )
