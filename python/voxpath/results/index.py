"""Which runs lie in which pack of a store."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_FEW = 32
"""So many runs are looked for pack by pack; to sort the names takes longer."""

_LENGTH = 32
"""Of a run's name (`Identity.name`)."""

_NAME, _PACK = "name", "pack"


class Index:
    """Which runs there are; of a million it takes some fifty megabytes.

    Attributes:
        packs: Those that are what was written, as far as it was looked, the oldest first.
        lost: Runs of other packs, as far as these can still be read.
    """

    def __init__(self, packs: Sequence[Path], names: Sequence[pl.Series], lost: Mapping[str, Path]) -> None:
        """Of packs with these runs; of a run that is in several of them the last counts."""
        self.packs = packs
        self.lost = lost
        self._unsorted = list(names)
        self._asked = 0

    def every(self) -> Iterator[str]:
        """The names, in order."""
        names, places = self._sorted
        return (_name(names, place).decode() for place in range(len(places)))

    def find(self, name: str) -> Path | None:
        """The pack of a run."""
        self._asked += 1
        if self._unsorted and self._asked <= _FEW:
            last = len(self._unsorted) - 1
            found = (last - back for back, some in enumerate(reversed(self._unsorted)) if name in some)
            return next((self.packs[place] for place in found), None)
        names, places = self._sorted
        wanted = name.encode()
        place = bisect_left(range(len(places)), wanted, key=lambda place: _name(names, place))
        if place == len(places) or _name(names, place) != wanted:
            return None
        return self.packs[places[place]]

    @cached_property
    def _sorted(self) -> tuple[bytes, array[int]]:
        """The names side by side, and of each of them the pack."""
        known = pl.concat(
            [
                pl.DataFrame({_NAME: some}).with_columns(pl.lit(place, pl.UInt32).alias(_PACK))
                for place, some in enumerate(self._unsorted)
            ]
            or [pl.DataFrame(schema={_NAME: pl.String, _PACK: pl.UInt32})]
        )
        self._unsorted.clear()
        known = known.unique(_NAME, keep="last", maintain_order=True).sort(_NAME)
        places = array("I", known.get_column(_PACK).to_list())
        joined: str = known.select(pl.col(_NAME).str.join()).item()
        return joined.encode(), places


def _name(names: bytes, place: int) -> bytes:
    return names[place * _LENGTH : (place + 1) * _LENGTH]
