"""The printed tables against themselves: every number that follows from others, computed again.

A number agrees if what its rows give is rounded to it, or cut (towards 0). What does not is a contradiction
of the publication, whatever anybody measures. Measured rows are taken as they are printed: nothing here could
refuse them. What the text concludes from them is held against them by intervals (`checks`).
"""

from __future__ import annotations

import itertools
import math
import statistics
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from voxpath.document import Cell, Check, Table
from voxpath.results.decisions import above, all_of, below, between
from voxpath.results.intervals import summarise
from voxpath.studies.base import Comparison, Published, Tolerance, compare, contradiction, shown
from voxpath.voice.phonetics import summary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from voxpath.document import Mark
    from voxpath.studies.base import Verdict

_OPERATIONS: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": statistics.fmean,
    "sd": statistics.stdev,
    "min": min,
    "max": max,
    "same": lambda of: of[0],
    "difference": lambda of: of[0] - sum(of[1:]),
    "change": lambda of: 100 * (of[0] / of[1] - 1),
    "change of differences": lambda of: 100 * ((of[0] - of[1]) / of[2] - 1),
    "ratio of rises": lambda of: (of[0] - of[1]) / (of[2] if len(of) == 3 else of[2] - of[3]),
}
"""How a number follows from others; changes are in per cent, rises are from the first to the second."""

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Derived:
    """A number that the publication derives.

    Attributes:
        where: Table or section.
        what: Which number.
        printed: As it is printed.
        op: How it follows.
        of: From which cells, `table.column.row`.
        note: The right reading.
        digits: Decimals that the numbers it is made of allow; those printed otherwise.
        about: Whether the text has it with the word "about": then less than a unit of the last digit off is
            near enough.
    """

    where: str
    what: str
    printed: str
    op: str
    of: Sequence[str]
    note: str = ""
    digits: int | None = None
    about: bool = False

    @property
    def unit_of_last_digit(self) -> float:
        """Of what is printed, or of what it is made of."""
        printed = len(self.printed.partition(".")[2])
        return float(10.0 ** -(printed if self.digits is None else self.digits))

    @property
    def value(self) -> float:
        """Computed from the printed cells."""
        return _OPERATIONS[self.op]([cell(name) for name in self.of])

    @property
    def agrees(self) -> bool:
        """Whether rounding or cutting gives what is printed."""
        printed, unit = float(self.printed), self.unit_of_last_digit
        if self.about:
            return abs(self.value - printed) < unit - _ROUNDING
        rounds = abs(self.value - printed) <= unit / 2 + _ROUNDING
        away = math.copysign(1, self.value) * (self.value - printed)
        return rounds or -_ROUNDING <= away < unit - _ROUNDING


@cache
def _data() -> Mapping[str, Any]:
    return tomllib.loads(files(__package__).joinpath("published.toml").read_text("utf-8"))


def cell(name: str) -> float:
    """A printed cell, `table.column.row`."""
    table, column, row = name.split(".")
    found = _data()[table]
    return float(found["rows"][row][found["columns"].index(column)])


def row(table: str, name: str) -> list[float]:
    """A printed row."""
    return [float(value) for value in _data()[table]["rows"][name]]


def derived() -> list[Derived]:
    """Every number that follows from others."""
    return [Derived(**entry) for entry in _data()["derived"]]


def comparisons() -> list[Comparison]:
    """A verdict for each number that is derived, and no answer to those of which nothing is printed."""
    found = []
    for one in derived():
        printed = float(one.printed)
        published = Published(
            one.where,
            one.what,
            "",
            "",
            printed,
            printed,
            Tolerance(absolute=one.unit_of_last_digit),
            one.note,
        )
        ours = summarise([one.value])
        told = f"{one.op} of {', '.join(one.of)} gives {one.value:.6g}"
        if one.agrees:
            found.append(Comparison(published, ours, "agrees", told))
        else:
            found.append(contradiction(published, ours, f"{told}: {one.note}" if one.note else told))
    return [*found, *_unanswered()]


def _unanswered() -> list[Comparison]:
    return [
        compare(
            Published(
                one["where"], one["what"], "", "", float(one["printed"]), float(one["printed"]), Tolerance()
            ),
            None,
            f"follows from nothing that is printed: {one['note']}",
        )
        for one in _data()["unanswered"]
    ]


MARKS: Mapping[Verdict, Mark] = {"agrees": "good", "contradicts itself": "bad", "no answer": "open"}
"""How verdicts on printed numbers are meant."""


def table(where: str, judged: Sequence[Comparison]) -> Table:
    """The numbers of a table or section with their verdicts."""
    rows: list[list[str | Cell]] = [
        [
            item.published.column,
            f"{item.published.printed:g}",
            "" if item.ours is None else f"{item.ours.mean:.6g}",
            Cell(item.verdict, MARKS[item.verdict], item.reason),
        ]
        for item in judged
        if item.published.table == where
    ]
    return Table(f"{where}, recomputed", ["number", "printed", "recomputed", "verdict"], rows)


def subsets(column: str) -> list[tuple[str, ...]]:
    """Which choices of the rows of /a/ in Table I have the printed average."""
    rows = [name for name in _data()["table1"]["rows"] if name[:2] in {"a_", "a1", "a2", "a3"}]
    rows = [name for name in rows if name not in {"a_T_average", "a_plain"}]
    printed = cell(f"table1.{column}.a_T_average")
    return [
        chosen
        for count in range(2, len(rows) + 1)
        for chosen in itertools.combinations(rows, count)
        if abs(statistics.fmean(cell(f"table1.{column}.{name}") for name in chosen) - printed)
        <= 1e-4 + _ROUNDING
    ]


def checks() -> list[Check]:
    """What is known of the tables beyond single numbers, and what the text concludes from them."""
    made = []
    for column in _data()["table1"]["columns"]:
        found = subsets(column)
        made.append(
            Check(
                f"Some choice of the printed rows has the printed average of /a/, {column}.",
                bool(found),
                "; ".join(", ".join(chosen) for chosen in found)
                or "none of the 57 choices of two rows or more",
            )
        )
    shift = [a - b for a, b in zip(row("table2", "a_T_average"), row("text", "plain"), strict=True)]
    percent = [
        100 * (a / b - 1) for a, b in zip(row("table2", "a_T_average"), row("table2", "a_plain"), strict=True)
    ]
    signs = [math.copysign(1, a) == math.copysign(1, b) for a, b in zip(shift, percent, strict=True)]
    made.append(
        Check(
            "Differences in Hz and in per cent beside T have the same sign.",
            all(signs),
            "; ".join(
                f"F{i + 1} {a:+.1f} Hz, {b:+.1f} %"
                for i, (a, b) in enumerate(zip(shift, percent, strict=True))
            ),
        )
    )
    return [*made, *correlation(), superposition(), narrower()]


def tract_claim(name: str) -> str:
    """A sentence that a known vocal tract answers."""
    return str(_data()["claims_tract"][name])


def correlation() -> list[Check]:
    """The central claim, over the vowels that both tables have: as it is, and without the word with both."""
    claim = _data()["claims"]["correlation"]
    alone = [name for name in claim["rows"] if name != claim["both"]]
    return [
        correlated(claim["text"], _raised(claim["rows"]), 1),
        correlated("The same without PTah: the correlation does not rest on one word.", _raised(alone), 1),
    ]


def _raised(names: Sequence[str]) -> summary.Correlation | None:
    """Of the rise of the larynx and F1 in some rows."""
    rises = [cell("table1.larynx.rest") - cell(f"table1.larynx.{name}") for name in names]
    return summary.correlation(rises, [cell(f"table2.F1.{name}") for name in names])


def correlated(claim: str, found: summary.Correlation | None, sign: int, set_aside: str = "") -> Check:
    """That a correlation surely has a sign.

    Args:
        claim: A sentence.
        found: Of vowels; none where there are too few.
        sign: The one that is claimed.
        set_aside: Why it does not count, if it does not.
    """
    if found is None or found.interval is None:
        return Check(claim, None, "too few vowels, or nothing varies", set_aside)
    low, high = found.interval
    told = f"r = {found.r:+.2f} [{low:+.2f}, {high:+.2f}], n = {found.n}"
    return Check(claim, above(found.interval) if sign > 0 else below(found.interval), told, set_aside)


_VOWELS_BESIDE_T = 5
"""That the average beside T is made of; of P and PTah it is one vowel, as far as the publication says."""

_Ends = tuple[float, float]

_NORMAL = statistics.NormalDist().inv_cdf(0.975)


def superposition() -> Check:
    """F1 and F2 in PTah against the sum of what P and T do, every vowel with the plain one's spread."""
    claim = _data()["claims"]["superposition"]
    decided, told = [], []
    for index, spread in enumerate(row("text", "plain_sd")[:2]):
        name = f"F{index + 1}"
        plain = cell(f"text.{name}.plain")
        both, *parts = (cell(f"table2.{name}.{one}") - plain for one in ("a_PTah", "a_P", "a_T_average"))
        total = sum(parts)

        def off(factor: float, both: float = both, total: float = total, spread: float = spread) -> _Ends:
            """Where the shift of PTah lies, less a multiple of the sum of the others."""
            reach = _NORMAL * spread * math.sqrt(1 + factor**2 * (1 + 1 / _VOWELS_BESIDE_T))
            return both - factor * total - reach, both - factor * total + reach

        decided.append(between(off(1 - claim["share"]), off(1 + claim["share"])))
        low, high = off(1.0)
        told.append(
            f"{name} {both:+.0f} Hz, the sum is {total:+.0f} Hz: "
            f"{(low + high) / 2:+.0f} ± {(high - low) / 2:.0f} Hz off"
        )
    return Check(claim["text"], all_of(decided), "; ".join(told))


def narrower() -> Check:
    """The introduction's definition of a secondary articulation against the openings."""
    claim = _data()["claims"]["narrower"]
    secondary, primary = summarise([cell(name) for name in claim["secondary"]]), cell(claim["primary"])
    told = f"T {shown(secondary)} cm, P {primary:g} cm"
    return Check(claim["text"], above(secondary, primary), told)
