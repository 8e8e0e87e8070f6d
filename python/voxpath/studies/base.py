"""What studies have in common: published numbers, ours, and the verdict on each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from voxpath import _engine
from voxpath.document import Checks, Map, Outlines, Plot

if TYPE_CHECKING:
    from voxpath.backends.base import Question
    from voxpath.document import Check, Report, Section, Table
    from voxpath.results.answers import Variant
    from voxpath.results.intervals import Summary
    from voxpath.results.rows import Row

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

    @property
    def within_reach(self) -> bool | None:
        """Whether ours and theirs are the same, as far as the data can tell."""
        return {"agrees": True, "differs": False, "contradicts itself": False}.get(self.verdict)


Key = tuple[str, str, str]
"""Table, column and case of a published number."""


def checks_of(sections: Sequence[Section]) -> list[Check]:
    """Every check of a report."""
    return [
        check
        for section in sections
        for part in section.parts
        if isinstance(part, Checks)
        for check in part.checks
    ]


def origin(study: str, quick: bool, **more: str) -> Sequence[tuple[str, str]]:
    """Where a study's page comes from: the command, the engine, and more by name, such as replications."""
    command = f"voxpath study {study}{' --quick' if quick else ''}"
    return (("command", command), ("engine", _engine.BUILD), *more.items())


_FIGURES = (Plot, Map, Outlines)


def pictured(sections: Sequence[Section], *titles: str) -> Plot | Map | Outlines | None:
    """The first figure whose title begins so, the titles in their order; else the first figure at all."""
    figures = [part for section in sections for part in section.parts if isinstance(part, _FIGURES)]
    wanted = (part for title in titles for part in figures if part.title.startswith(title))
    return next(wanted, figures[0] if figures else None)


def decided(check: Check) -> str:
    """What became of a claim, as the beginning of a sentence."""
    if check.holds is None:
        return "Our runs cannot decide this"
    return "This holds" if check.holds else "This does not hold"


def held(checks: Sequence[Check]) -> str:
    """How many checks hold, and which of them do not; what is set aside counts for nothing."""
    counted = [check for check in checks if not check.set_aside]
    failed = [check.claim for check in counted if check.holds is False]
    open_ = [check.claim for check in counted if check.holds is None]
    told = [f"{len(counted) - len(failed) - len(open_)} of {len(counted)} checks hold"]
    told += [f"the data cannot decide {len(open_)}"] if open_ else []
    aside = len(checks) - len(counted)
    told += [f"{aside} more {'is' if aside == 1 else 'are'} not counted"] if aside else []
    verb = "does" if len(failed) == 1 else "do"
    told += [f"{len(failed)} {verb} not hold: {' '.join(failed)}"] if failed else []
    return "; ".join(told) + ("" if failed else ".")


def shown(summary: Summary | None) -> str:
    """A mean with its interval; of a single run three digits, as how much of it is chance is not known."""
    if summary is None:
        return ""
    if summary.half_width is None:
        return f"{summary.mean:.3g}" if abs(summary.mean) < 1000 else f"{summary.mean:.0f}"
    return str(summary)


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
    prediction = ours.prediction or (ours.mean, ours.mean)
    slack = published.tolerance.of(published.value)
    low, high = prediction[0] - slack, prediction[1] + slack
    reason = f"{published.value:.6g} against [{low:.6g}, {high:.6g}]"
    reached = in_reach(published.value, *prediction, slack)
    if reached is None:
        return Comparison(published, ours, "undecided", f"{reason}, an interval as wide as the number")
    return Comparison(published, ours, "agrees" if reached else "differs", reason)


def in_reach(value: float, low: float, high: float, slack: float) -> bool | None:
    """Whether a number lies in an interval, widened by some slack.

    Args:
        value: The number.
        low: Lower end of the interval alone. One that is as wide as the number decides for nothing.
        high: Its upper end.
        slack: By how much the number may lie outside.
    """
    if not low - slack <= value <= high + slack:
        return False
    return None if high > low and high - low >= abs(value) else True


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
