"""What studies have in common: published numbers, ours, and the verdict on each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from voxpath.backends.base import Question, Row
    from voxpath.report.document import Check, Report, Table
    from voxpath.results.answers import Variant
    from voxpath.results.intervals import Summary

Verdict = Literal["agrees", "undecided", "differs", "contradicts itself", "no answer"]
"""What is said of a published number.

- agrees: it lies in our 95 % prediction interval, widened by its tolerance;
- undecided: it does, but the interval alone is as wide as the number, so that being in it says nothing;
- differs: it does not;
- contradicts itself: the publication's own numbers or definitions exclude it, whatever we find;
- no answer: we have none.
"""

COMPUTE = "compute"
"""The backend of a study that asks nothing of a network: it computes by itself."""

Ask = Callable[[Sequence["Question"], Collection[str]], "Sequence[Variant]"]
"""Has the chosen backends that are named answer questions, all at once so that they share the workers."""


@dataclass(frozen=True)
class Tolerance:
    """How far a published value may lie outside our prediction interval and still agree.

    Attributes:
        relative: Of the published value.
        absolute: In the metric's unit.
    """

    relative: float = 0.0
    absolute: float = 0.0

    def of(self, value: float) -> float:
        """The larger of the two, in the metric's unit."""
        return max(self.absolute, self.relative * abs(value))


@dataclass(frozen=True)
class Published:
    """A published number.

    Attributes:
        table: Where it stands, such as `Table 4`.
        column: Which column of it.
        case: Which row of it.
        unit: Of the number.
        printed: As it is printed.
        value: As it is meant: without offsets that the publication itself names, misprints put right.
        tolerance: How far off still agrees.
        note: Why `value` is not `printed`.
    """

    table: str
    column: str
    case: str
    unit: str
    printed: float
    value: float
    tolerance: Tolerance
    note: str = ""


@dataclass(frozen=True)
class Comparison:
    """A published number beside ours.

    Attributes:
        published: Theirs.
        ours: Ours; none where there is no answer.
        verdict: What is said of theirs.
        reason: The interval that decided, or why there is no answer.
        cause: Why they differ, where they do: a cause, or a candidate for one.
    """

    published: Published
    ours: Summary | None
    verdict: Verdict
    reason: str
    cause: Check | None = None

    @property
    def key(self) -> Key:
        """Which number it is."""
        return (self.published.table, self.published.column, self.published.case)

    @property
    def fits(self) -> bool:
        """Whether ours does not exclude theirs."""
        return self.verdict in {"agrees", "undecided"}


Key = tuple[str, str, str]
"""Table, column and case of a published number."""


def with_causes(items: Sequence[Comparison], causes: Mapping[Key, Check]) -> list[Comparison]:
    """The same, those that differ with the cause that is known."""
    return [
        replace(item, cause=causes.get(item.key)) if item.verdict == "differs" else item for item in items
    ]


def compare(published: Published, ours: Summary | None, missing: str = "not asked") -> Comparison:
    """Lays a published single value beside ours.

    Args:
        published: Theirs.
        ours: Ours; a value without spread stands for an interval of no width.
        missing: Why there is none of ours.
    """
    if ours is None:
        return Comparison(published, None, "no answer", missing)
    low, high = ours.prediction or (ours.mean, ours.mean)
    width = high - low
    slack = published.tolerance.of(published.value)
    low, high = low - slack, high + slack
    reason = f"{published.value:.6g} against [{low:.6g}, {high:.6g}]"
    if not low <= published.value <= high:
        return Comparison(published, ours, "differs", reason)
    if width > 0 and width >= abs(published.value):
        return Comparison(published, ours, "undecided", f"{reason}, an interval as wide as the number")
    return Comparison(published, ours, "agrees", reason)


def compare_row(published: Published, row: Row | None) -> Comparison:
    """Lays a published single value beside the answer of a backend.

    Where some runs have no value there is no verdict: the others are not a fair sample.
    """
    if row is None:
        return compare(published, None)
    if row.status != "ok":
        return Comparison(published, row.summary, "no answer", row.reason)
    return compare(published, row.summary, row.reason)


def contradiction(published: Published, ours: Summary | None, reason: str) -> Comparison:
    """A published number that the publication itself excludes."""
    return Comparison(published, ours, "contradicts itself", reason)


@dataclass(frozen=True)
class Answer:
    """What a study found.

    Attributes:
        table: The one for the terminal.
        comparisons: Every published number beside ours.
        report: Everything.
    """

    table: Table
    comparisons: Sequence[Comparison]
    report: Report


@dataclass(frozen=True)
class Study:
    """A study.

    Attributes:
        name: As on the command line.
        title: The publication.
        backends: Those that the study asks, by name.
        run: Asks; in full, or few runs where the second argument says so (`--quick`).
        on_request: Those that it can ask beside them: they take long, or need what not every machine has.
        real_at_once: Runs on real hosts that go on at the same time, unless somebody says how many.
    """

    name: str
    title: str
    backends: tuple[str, ...]
    run: Callable[[Ask, bool], Answer]
    on_request: tuple[str, ...] = ()
    real_at_once: int = 1
