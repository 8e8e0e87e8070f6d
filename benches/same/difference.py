"""What differs between two recordings: what one of them lacks apart from what has other values."""
# SPDX-License-Identifier: Apache-2.0

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

import polars as pl
from same.recording import OWNER, Recording, RecordingError

KEYS: Mapping[str, Sequence[str]] = {
    "flows": ("flow",),
    "requests": ("flow", "request"),
    "elements": ("place", "element"),
    "connections": ("flow", "end", "subflow"),
    "messages": ("flow", "message"),
    "pages": ("flow", "page"),
    "datagrams": ("flow", "datagram"),
    "sessions": ("flow",),
    "results": ("flow", "result"),
    "series": ("flow", "end", "subflow", "metric"),
    "captures": ("host",),
    "summary": ("flow", "metric", "estimator"),
    "comparisons": ("table", "column", "case"),
    "report": ("path", "index"),
}
"""Columns that tell the rows of one owner apart. Rows of other tables, and rows that are alike in these, by their order."""

_ORDER = "row"
"""Which of the rows that are alike in owner and keys; no table has such a column."""

_EXAMPLES = 3

Kind = Literal["only in A", "only in B", "moved", "differs"]


class ExpectationError(Exception):
    """A file of expected differences says something that cannot be."""


@dataclass
class Expectation:
    """A difference that is meant to be.

    Attributes:
        kind: What of.
        table: Which, with `*` and `?` as in file names.
        reason: Why it is so.
        column: Which, likewise; every one without, and the table itself.
        subject: Which, likewise.
        sql: Of a column that moved: a query over B's tables that gives the column `value` beside those that tell A's
            rows apart (`subject`, `cell`, `replication`, and `KEYS` of the table).
        seen: Whether there is such a difference.
    """

    kind: Kind
    table: str
    reason: str
    column: str = "*"
    subject: str = "*"
    sql: str = ""
    seen: bool = field(default=False, init=False)

    def covers(self, kind: Kind, table: str, column: str, subject: str = "*") -> bool:
        """Whether it is of this difference; then it has been seen."""
        found = (
            kind == self.kind
            and fnmatchcase(table, self.table)
            and fnmatchcase(column, self.column)
            and fnmatchcase(subject, self.subject)
        )
        self.seen = self.seen or found
        return found


def expectations(path: Path) -> list[Expectation]:
    """Reads a file of expected differences, a `[[difference]]` each.

    Raises:
        ExpectationError: A key is missing or unknown, or a value cannot be.
    """
    try:
        listed = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ExpectationError(f"{path}: {error}") from None
    found = []
    for number, entry in enumerate(listed.get("difference", []), 1):
        try:
            one = Expectation(**entry)
        except TypeError as error:
            raise ExpectationError(f"{path}: difference {number}: {error}") from None
        if one.kind not in ("only in A", "only in B", "moved", "differs"):
            raise ExpectationError(
                f"{path}: difference {number}: kind {one.kind!r} is none of only in A, only in B, moved, differs"
            )
        if (one.kind == "moved") != bool(one.sql):
            raise ExpectationError(f"{path}: difference {number}: what moved, and nothing else, has sql")
        if not one.reason.strip():
            raise ExpectationError(f"{path}: difference {number}: why it is so is missing")
        found.append(one)
    if unknown := set(listed) - {"difference"}:
        raise ExpectationError(f"{path}: unknown: {', '.join(sorted(unknown))}; allowed: difference")
    return found


@dataclass(frozen=True)
class Lack:
    """What one side does not have: a subject, a table, a column, or rows of a table."""

    kind: Literal["only in A", "only in B"]
    table: str = ""
    column: str = ""
    rows: int = 0
    subject: str = "*"
    examples: Sequence[str] = ()

    def __str__(self) -> str:
        """A line, and one for each example."""
        place = f"{self.table}.{self.column}" if self.column else f"table {self.table}"
        if self.rows:
            place = f"{self.subject}: {self.table}: {self.rows} rows"
        if not self.table:
            place = f"subject {self.subject}"
        return "\n".join((f"  {place}", *(f"    {example}" for example in self.examples)))


@dataclass(frozen=True)
class Change:
    """Values of a column that are not equal."""

    subject: str
    table: str
    column: str
    rows: int
    of: int
    examples: Sequence[str]

    def __str__(self) -> str:
        """A line, and one for each example."""
        head = f"  {self.subject}: {self.table}.{self.column}: {self.rows} of {self.of} rows"
        return "\n".join((head, *(f"    {example}" for example in self.examples)))


@dataclass(frozen=True)
class Difference:
    """What differs, and what of it was not expected.

    Attributes:
        lacks: What one side lacks.
        changes: Values that are not equal.
        expected: How many differences were expected, by their reason.
        unseen: Expectations that are of nothing.
        rows: How many rows were laid beside each other.
    """

    lacks: Sequence[Lack]
    changes: Sequence[Change]
    expected: Mapping[str, int]
    unseen: Sequence[Expectation]
    rows: int

    @property
    def is_none(self) -> bool:
        """Whether nothing differs that was not expected."""
        return not self.lacks and not self.changes

    def lines(self, most: int) -> Iterator[str]:
        """For a reader; of what is alike in kind, table and column no more than `most`."""
        for kind in ("only in A", "only in B"):
            lacks = [lack for lack in self.lacks if lack.kind == kind]
            if lacks:
                yield f"{kind}:"
                yield from _first(lacks, most)
        if self.changes:
            yield "other values (A -> B):"
            yield from _first(self.changes, most)
        for reason, count in self.expected.items():
            yield f"expected, {count} times: {reason}"
        for one in self.unseen:
            yield f"expected and not seen: {one.kind}: {one.table}.{one.column} of {one.subject}: {one.reason}"
        if self.is_none:
            yield f"{self.rows} rows are equal" + (", but for what was expected" if self.expected else "")


def _first(items: Sequence[Lack] | Sequence[Change], most: int) -> Iterator[str]:
    told: dict[tuple[str, str], int] = {}
    for item in items:
        place = (item.table, item.column)
        told[place] = told.get(place, 0) + 1
        if told[place] <= most:
            yield str(item)
    for (table, column), count in told.items():
        if count > most:
            yield f"  {count - most} more of {table}{f'.{column}' if column else ''}"


def difference(a: Recording, b: Recording, expected: Sequence[Expectation] = ()) -> Difference:
    """Lays one recording beside another.

    Raises:
        ExpectationError: A query of the expectations cannot be asked.
        RecordingError: They are of different random plans.
    """
    if a.plans and b.plans and a.plans != b.plans:
        raise RecordingError("A and B have other random plans: record B with FROM=A")
    return _Comparison(a, b, expected).made()


class _Comparison:
    def __init__(self, a: Recording, b: Recording, expected: Sequence[Expectation]) -> None:
        self._expected = expected
        self._lacks: list[Lack] = []
        self._changes: list[Change] = []
        self._counts: dict[str, int] = {}
        self._rows = 0
        subjects = a.subjects & b.subjects
        for kind, alone in (("only in A", a.subjects - subjects), ("only in B", b.subjects - subjects)):
            for subject in sorted(alone):
                self._lack(Lack(kind, subject=subject))
        self._a, self._b = a.of(subjects), b.of(subjects)

    def made(self) -> Difference:
        for name in sorted({*self._a, *self._b}):
            a, b = self._a.get(name), self._b.get(name)
            if a is None:
                self._lack(Lack("only in B", name))
            elif b is None:
                self._lack_of_a(a, name, a.columns)
            else:
                self._compare(name, a, b)
        unseen = [one for one in self._expected if not one.seen]
        return Difference(self._lacks, self._changes, self._counts, unseen, self._rows)

    def _lack(self, lack: Lack) -> None:
        if not self._is_expected(lack.kind, lack.table, lack.column, lack.subject):
            self._lacks.append(lack)

    def _lack_of_a(self, a: pl.DataFrame, name: str, columns: Sequence[str]) -> None:
        """What A alone has: moved, or lacking in B."""
        own = {*OWNER, *KEYS.get(name, ())}
        whole = name not in self._b
        gone = []
        for column in columns:
            moved = next((one for one in self._expected if one.covers("moved", name, column)), None)
            if moved is not None:
                self._counts[moved.reason] = self._counts.get(moved.reason, 0) + 1
                self._compare_moved(name, column, a, moved)
            elif not (whole and column in own):
                gone.append(column)
        if whole and len(gone) == len(set(columns) - own):
            self._lack(Lack("only in A", name))
        else:
            for column in gone:
                self._lack(Lack("only in A", name, column))

    def _is_expected(self, kind: Kind, table: str, column: str, subject: str) -> bool:
        for one in self._expected:
            if one.covers(kind, table, column, subject):
                self._counts[one.reason] = self._counts.get(one.reason, 0) + 1
                return True
        return False

    def _compare(self, name: str, a: pl.DataFrame, b: pl.DataFrame) -> None:
        for column in b.columns:
            if column not in a.columns:
                self._lack(Lack("only in B", name, column))
        self._lack_of_a(a, name, [column for column in a.columns if column not in b.columns])
        common = [column for column in a.columns if column in b.columns]
        keys = [*OWNER, *(key for key in KEYS.get(name, ()) if key in common)]
        self._compare_rows(name, a.select(common), b.select(common), keys)

    def _compare_moved(self, name: str, column: str, a: pl.DataFrame, moved: Expectation) -> None:
        keys = [*OWNER, *KEYS.get(name, ())]
        try:
            found = pl.SQLContext(dict(self._b)).execute(moved.sql, eager=True)
            theirs = found.select(*keys, pl.col("value").alias(column))
        except pl.exceptions.PolarsError as error:
            raise ExpectationError(f"{name}.{column}: {moved.sql!r}: {error}") from None
        # Rows without the value need not be where it moved to.
        ours = a.select(*keys, column).drop_nulls(column)
        self._compare_rows(name, ours, theirs.drop_nulls(column), keys)

    def _compare_rows(self, name: str, a: pl.DataFrame, b: pl.DataFrame, keys: Sequence[str]) -> None:
        ordered = [_in_order(frame, keys) for frame in (a, b)]
        keys = [*keys, _ORDER]
        # A column without any value has no type of its own.
        typed = ordered[1].cast(
            {column: ordered[0].schema[column] for column in keys if ordered[1].schema[column] == pl.Null}
        )
        both = (
            ordered[0]
            .with_columns(pl.lit(True).alias("in a"))
            .join(
                typed.with_columns(pl.lit(True).alias("in b")),
                on=keys,
                how="full",
                coalesce=True,
                nulls_equal=True,
                suffix=" of b",
                maintain_order="left_right",
            )
        )
        for kind, marked in (("only in A", "in b"), ("only in B", "in a")):
            alone = both.filter(pl.col(marked).is_null())
            for (subject,), rows in alone.group_by("subject", maintain_order=True):
                examples = [_place(row, keys) for row in rows.head(_EXAMPLES).iter_rows(named=True)]
                self._lack(Lack(kind, name, "", rows.height, str(subject), examples))
        both = both.filter(pl.col("in a") & pl.col("in b"))
        self._rows += both.height
        of = dict(both.group_by("subject").len().iter_rows())
        for column in [column for column in ordered[0].columns if column not in keys]:
            if not _comparable(ordered[0].schema[column], ordered[1].schema[column]):
                types = f"{ordered[0].schema[column]} -> {ordered[1].schema[column]}"
                if not self._is_expected("differs", name, column, "*"):
                    self._changes.append(Change("*", name, column, both.height, both.height, [types]))
                continue
            other = both.filter(pl.col(column).ne_missing(pl.col(f"{column} of b")))
            for (subject,), rows in other.group_by("subject", maintain_order=True):
                if self._is_expected("differs", name, column, str(subject)):
                    continue
                examples = [
                    f"{_place(row, keys)}: {row[column]!r} -> {row[f'{column} of b']!r}"
                    for row in rows.head(_EXAMPLES).iter_rows(named=True)
                ]
                self._changes.append(Change(str(subject), name, column, rows.height, of[subject], examples))


def _in_order(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """With the number of each row among those that are alike in owner and keys."""
    return frame.with_columns(pl.int_range(pl.len()).over(keys).alias(_ORDER))


def _comparable(a: pl.DataType, b: pl.DataType) -> bool:
    return a == b or pl.Null in (a, b) or (a.is_numeric() and b.is_numeric())


def _place(row: Mapping[str, Any], keys: Sequence[str]) -> str:
    """Which row of a subject it is."""
    return ", ".join(f"{key} {row[key]}" for key in keys if key != "subject" and row[key] not in (0, None))
