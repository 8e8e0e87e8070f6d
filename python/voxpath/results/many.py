"""Sequences that are longer than what is held of them: a million runs are not a million objects."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Generic, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_T = TypeVar("_T")


class Made(Sequence[_T], Generic[_T]):
    """So many items, each made when it is asked for."""

    def __init__(self, count: int, make: Callable[[int], _T]) -> None:
        self._count = count
        self._make = make

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> _T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[_T]: ...
    def __getitem__(self, index: int | slice) -> _T | Sequence[_T]:
        """An item; or some of them, which are not made before they are asked for either."""
        if isinstance(index, slice):
            places = range(self._count)[index]
            return Made(len(places), lambda place: self._make(places[place]))
        return self._make(range(self._count)[index])

    def __eq__(self, other: object) -> bool:
        """Whether the items are equal; of a list, too."""
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(_equal, self, other))

    __hash__ = None  # type: ignore[assignment]


def _equal(one: object, other: object) -> bool:
    return one == other


class Joined(Made[_T]):
    """Sequences one behind the other."""

    def __init__(self, parts: Sequence[Sequence[_T]]) -> None:
        self._parts = parts
        self._starts = list(accumulate(map(len, parts), initial=0))
        super().__init__(self._starts.pop(), self._find)

    def _find(self, index: int) -> _T:
        part = bisect_right(self._starts, index) - 1
        return self._parts[part][index - self._starts[part]]

    def __iter__(self) -> Iterator[_T]:
        return chain.from_iterable(self._parts)


class Chosen(Mapping[str, _T], Generic[_T]):
    """By name, the item of one index of several sequences."""

    def __init__(self, sequences: Mapping[str, Sequence[_T]], index: int) -> None:
        self._sequences = sequences
        self._index = index

    def __getitem__(self, name: str) -> _T:
        return self._sequences[name][self._index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sequences)

    def __len__(self) -> int:
        return len(self._sequences)
