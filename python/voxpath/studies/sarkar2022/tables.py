"""The tables of numbers: one for the terminal, one per published table for the report."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

from voxpath.document import Cell as Entry
from voxpath.document import Mark, Table, Text
from voxpath.studies.base import shown
from voxpath.studies.sarkar2022.questions import KERNEL, Cell
from voxpath.studies.sarkar2022.verdicts import published, source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voxpath.document import Check
    from voxpath.results.rows import Row
    from voxpath.studies.base import Comparison, Verdict
    from voxpath.studies.sarkar2022.questions import Found

MARKS: Mapping[Verdict, Mark] = {
    "agrees": "good",
    "undecided": "open",
    "differs": "bad",
    "contradicts itself": "bad",
    "no answer": "open",
}

NOT_ASKED = Text(("Not asked: this part needs the backend sim.",))
"""In place of what only runs can show."""

MEASURED = (
    ("Table 4", "response time"),
    ("Table 5", "retransmissions"),
    ("Table 6", "frames sent"),
    ("Table 8", "response time"),
)
"""What the terminal shows number by number."""

FORMULAS = (
    ("window_limit", "window limit"),
    ("cardwell", "Cardwell"),
    ("expected_transmissions", "n p / (1 - p)"),
)
"""Estimators that stand beside the simulator, the first that applies."""

ESTIMATORS = ("window_limit", "cardwell", "pftk_full", "pftk_short", "expected_transmissions")
"""Estimators that the report shows, each by its name."""

NOTES = (
    "published: Tables 4 and 6 without the 10 s before the transfer and without the ARP request.",
    "agrees: in our 95 % prediction interval, widened by its tolerance (published.toml).",
    "undecided: in it too, but the interval alone is as wide as the number, or wider.",
)


_DOUBT = {False: "does not hold", None: "cannot be decided"}


def verdict(item: Comparison) -> Entry:
    """A verdict with what decided it and, where they differ, why."""
    reason = item.reason
    if item.verdict == "differs":
        known = "unknown" if item.cause is None else item.cause.claim
        doubt = "" if item.cause is None or item.cause.holds else f" (this {_DOUBT[item.cause.holds]})"
        reason += f". Explanation: {known}{doubt}"
    return Entry(item.verdict, MARKS[item.verdict], reason)


def terminal(found: Found, items: Sequence[Comparison], title: str, held: str) -> Table:
    """The measured numbers, how many of all agree, and whether the checks hold."""
    rows: list[list[str | Entry]] = []
    for table, column in MEASURED:
        for item in items:
            number = item.published
            if (number.table, number.column) == (table, column):
                what = f"{column}, {number.unit}" if number.unit else column
                by_kernel = source(table.lower().replace(" ", ""), found) == KERNEL
                if by_kernel:
                    simulated = found.summary(Cell("linux", number.case), "completion_s")
                    rows.append(
                        [
                            table,
                            f"{what}, simulator",
                            number.case,
                            f"{number.value:.6g}",
                            shown(simulated),
                            "",
                            "",
                        ]
                    )
                    what += ", kernel"
                rows.append(
                    [
                        table,
                        what,
                        number.case,
                        f"{number.value:.6g}",
                        shown(item.ours),
                        formula(found, table, number.case),
                        verdict(item),
                    ]
                )
    return Table(
        title,
        ("table", "what", "loss", "published", "ours", "formula", "verdict"),
        rows,
        (*NOTES, f"all {len(items)} published numbers: {tally(items)}", held),
    )


def tally(items: Sequence[Comparison]) -> str:
    """How many have which verdict."""
    counted = Counter(item.verdict for item in items)
    return ", ".join(f"{counted[name]} {_SAID[name]}" for name in MARKS if counted[name])


_SAID: Mapping[Verdict, str] = {
    "agrees": "agree",
    "undecided": "undecided",
    "differs": "differ",
    "contradicts itself": "contradicted by the publication itself",
    "no answer": "without an answer",
}


def overview(items: Sequence[Comparison]) -> Table:
    """How many numbers of each published table have which verdict."""
    names = list(MARKS)
    rows: list[list[str | Entry]] = []
    for table, group in groupby(items, key=lambda item: item.published.table):
        counted = Counter(item.verdict for item in group)
        rows.append([table, str(counted.total()), *(str(counted[name] or "") for name in names)])
    return Table("Verdicts", ("table", "numbers", *names), rows)


_TAKEN_OVER = (
    "Percentages of Tables 4 and 8 and the simulated column of Table 7 were compared later, and take over "
    "the tolerances of the times and of Table 5."
)


def computed(title: str, claims: Sequence[Check]) -> Table:
    """What follows from published numbers alone: no run could have it otherwise, so that it is no check."""
    rows: list[list[str | Entry]] = [
        [claim.claim, claim.evidence, "" if claim.holds else Entry("does not follow", "bad")]
        for claim in claims
    ]
    return Table(title, ("claim", "computation", ""), rows)


def tolerances() -> Table:
    """When each tolerance was written, and whether runs are judged by it."""
    rows: list[list[str | Entry]] = [
        [name.replace("table", "Table "), _slack(table["tolerance"]), table["tolerance_set"]]
        for name, table in published().items()
        if name.startswith("table")
    ]
    return Table("Tolerances (published.toml)", ("table", "tolerance", "set"), rows, (_TAKEN_OVER,))


def _slack(tolerance: Mapping[str, float]) -> str:
    if "relative" in tolerance:
        return f"{100 * tolerance['relative']:g} %"
    return f"{tolerance['absolute']:g}"


def of(items: Sequence[Comparison]) -> list[Table]:
    """Each published table, number by number."""
    tables = []
    for name, group in groupby(items, key=lambda item: item.published.table):
        data = published()[name.lower().replace(" ", "")]
        rows: list[list[str | Entry]] = []
        for item in group:
            number = item.published
            judged = verdict(item)
            meant = "" if number.value == number.printed else f"{number.value:.6g}"
            rows.append(
                [
                    number.case,
                    f"{number.column}, {number.unit}" if number.unit else number.column,
                    shown(item.ours),
                    judged,
                    f"{number.printed:.7g}",
                    Entry(meant, None, number.note) if meant else "",
                    judged.reason,
                ]
            )
        columns = ("case", "what", "ours", "verdict", "printed", "as meant", "decided by")
        note = " ".join(data.get("note", "").split())
        tables.append(Table(f"{name}: {data['title']}", columns, rows, (note,) if note else ()))
    return tables


def closed_forms(found: Found, items: Sequence[Comparison]) -> Table:
    """What the formulas say of the measured numbers, and how far that is from the published."""
    rows: list[list[str | Entry]] = []
    for table, column in MEASURED:
        data = published()[table.lower().replace(" ", "")]
        for item in items:
            number = item.published
            if (number.table, number.column) != (table, column):
                continue
            cell = Cell(data["variant"], number.case)
            said = [_said(found.row(cell, data["metric"], name), number.value) for name in ESTIMATORS]
            if any(said):
                rows.append([table, column, number.case, f"{number.value:.6g}", *said])
    return Table(
        "Closed forms beside the published numbers",
        ("table", "what", "loss", "published", *ESTIMATORS),
        rows,
        (
            "In brackets how far the form is from the published number.",
            "The models of TCP under loss know no lost acknowledgments, and decline where many are lost.",
        ),
    )


def _said(row: Row | None, value: float) -> str | Entry:
    if row is None:
        return ""
    if row.value is None:
        return Entry("declines", None, row.reason)
    if value == 0:
        return f"{row.value:.5g}"
    return f"{row.value:.5g} ({100 * (row.value / value - 1):+.1f} %)"


def formula(found: Found, table: str, loss: str) -> str:
    """The closed form beside the simulator: the first that applies, with its name; else that none does."""
    data = published()[table.lower().replace(" ", "")]
    rows = [
        (found.row(Cell(data["variant"], loss), data["metric"], estimator), name)
        for estimator, name in FORMULAS
    ]
    asked = [(row, name) for row, name in rows if row is not None]
    for row, name in asked:
        if row.value is not None:
            return f"{row.value:.6g} ({name})"
    return "not applicable" if asked else ""
