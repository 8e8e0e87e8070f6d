"""What studies have in common: published numbers, ours, and the verdict on each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from voxpath.backends.base import Backend, Row
    from voxpath.report.document import Report
    from voxpath.results.intervals import Summary

Verdict = Literal["agrees", "differs", "no answer"]


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
        case: Which row of it.
        metric: What it measures, a name of the metric dictionary.
        printed: As it is printed.
        value: As it is meant: without offsets that the publication itself names, misprints put right.
        tolerance: How far off still agrees.
        note: Why `value` is not `printed`.
    """

    table: str
    case: str
    metric: str
    printed: float
    value: float
    tolerance: Tolerance
    note: str = ""


@dataclass(frozen=True)
class Comparison:
    """A published number beside ours.

    Attributes:
        published: Theirs; none where nothing was published.
        ours: Ours; none where there is no answer.
        verdict: Whether they agree; none where there is nothing to agree with.
        reason: The interval that decided, or why there is no answer.
    """

    published: Published | None
    ours: Summary | None
    verdict: Verdict | None
    reason: str


def compare(published: Published | None, row: Row | None) -> Comparison:
    """A published single value agrees if it lies in our 95 % prediction interval, widened by its tolerance.

    Where some runs have no value there is no verdict: the others are not a fair sample.
    """
    ours = None if row is None else row.summary
    if published is None:
        return Comparison(None, ours, None, "nothing was published")
    if row is None or ours is None or row.status != "ok":
        return Comparison(published, ours, "no answer", "not asked" if row is None else row.reason)
    low, high = ours.prediction or (ours.mean, ours.mean)
    slack = published.tolerance.of(published.value)
    low, high = low - slack, high + slack
    verdict: Verdict = "agrees" if low <= published.value <= high else "differs"
    return Comparison(published, ours, verdict, f"{published.value:g} against [{low:.6g}, {high:.6g}]")


@dataclass(frozen=True)
class Answer:
    """What a study found: one table for the terminal, and the comparisons behind it.

    Attributes:
        title: Of the table.
        columns: Its head.
        rows: Its cells.
        notes: What must be known to read it.
        comparisons: By case, metric and variant.
        report: The same at length.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str]
    comparisons: Mapping[tuple[str, str, str], Comparison]
    report: Report


@dataclass(frozen=True)
class Study:
    """A study.

    Attributes:
        name: As on the command line.
        title: The publication.
        backends: Those that the study asks, by name.
        replications: In full.
        quick: With `--quick`.
        run: Asks backends for a number of replications.
    """

    name: str
    title: str
    backends: tuple[str, ...]
    replications: int
    quick: int
    run: Callable[[Sequence[Backend], int], Answer]
