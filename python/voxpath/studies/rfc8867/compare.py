"""The study: asks each case of each rate control, measures, checks, and puts the report together."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from voxpath.document import Cell as Shown
from voxpath.document import Check, Checks, Lead, Report, Section, Table
from voxpath.results.intervals import summarise
from voxpath.studies.base import Answer, Study, origin, pictured, shown
from voxpath.studies.rfc8867 import claims, figures
from voxpath.studies.rfc8867.cases import AS_LISTED, CASES
from voxpath.studies.rfc8867.measures import WINDOWS, over
from voxpath.studies.rfc8867.questions import FULL, QUICK, REFERENCE, VARIANTS, Cell, ask_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from voxpath.document import Part
    from voxpath.results.intervals import Summary
    from voxpath.studies.base import Ask
    from voxpath.studies.rfc8867.measures import Run
    from voxpath.studies.rfc8867.questions import Effort, Found

TITLE = "RFC 8867: rate controls of real-time media"
WHO_CONVERGES = "Who converges, how fast, with what delay and loss, how fairly"
DISPUTE = "Beside TCP"


def measured(runs: Sequence[Run]) -> list[tuple[str, Summary | None]]:
    """What RFC 8868 asks for, of a case with a control: by name, with its unit."""
    settled = [[stretch.settled for stretch in run.stretches if stretch.settled is not None] for run in runs]
    counts = [100 * len(found) / len(run.stretches) for found, run in zip(settled, runs, strict=True)]
    times = [sum(found) / len(found) for found in settled if found]

    def mean(values: Sequence[float]) -> Summary | None:
        return summarise(values) if values else None

    def of(value: Callable[[Run], float]) -> Summary | None:
        return mean(over(runs, value))

    return [
        ("settles, % of stretches", mean(counts)),
        ("settles after, s", mean(times)),
        ("utilisation, %", of(lambda run: 100 * run.utilisation)),
        ("queueing p50, ms", of(lambda run: run.queueing_quantile(0.5))),
        ("queueing p95, ms", of(lambda run: run.queueing_quantile(0.95))),
        ("sent, kbit/s", of(lambda run: run.mean(lambda media: media.sent) / 1e3)),
        ("received, kbit/s", of(lambda run: run.mean(lambda media: media.received) / 1e3)),
        ("loss, %", of(lambda run: 100 * run.lost)),
        ("frames not played, %", of(lambda run: 100 * run.unplayed)),
        *((f"fair over {window} s, %", of(partial(_fair, window=window))) for window in WINDOWS),
    ]


def _fair(run: Run, window: int) -> float:
    """In per cent."""
    return 100 * run.fair(window)


def case_table(found: Found, section: str) -> Table:
    """A case with all controls."""
    rows: list[list[str | Shown]] = []
    columns: list[str] = []
    for control in found.effort.controls:
        runs = found.runs(Cell(section, control))
        values = measured(runs)
        columns = ["control", "runs", *(name for name, _ in values)]
        rows.append([control, str(len(runs)), *(shown(value) for _, value in values)])
    case = CASES[section]
    return Table(f"{section} {case.title}", columns, rows, spare=columns[::-1][:3])


def checks(found: Found, section: str, control: str) -> list[Check]:
    """What the RFC expects of a control in a case."""
    return found.once(section, control, lambda: _checks(found, section, control))


def _checks(found: Found, section: str, control: str) -> list[Check]:
    others = {
        "reference": found.runs(Cell(section, control, REFERENCE)) if section == "5.3" else [],
        "5.1": found.runs(Cell("5.1", control)) if section == "6.2" else [],
    }
    return claims.of_case(section, found.runs(Cell(section, control)), others)


def undecided(found: Found) -> list[Cell]:
    """The cells with an expectation, or a share beside TCP, that their runs do not decide."""
    cells: list[Cell] = []
    for control in found.effort.controls:
        cells += [
            Cell(section, control)
            for section in found.effort.sections
            if any(check.holds is None for check in checks(found, section, control))
        ]
    for _, cell in _beside_variants(found):
        if any(check.holds is None for check in claims.friendly(claims.beside_tcp(found.runs(cell)), "")):
            cells.append(cell)
    return cells


def _beside_variants(found: Found) -> Iterator[tuple[str, Cell]]:
    """Every variant of 5.6 with every control, by its name; none where 5.6 is not asked."""
    if "5.6" not in found.effort.sections:
        return
    variants = {"as listed": AS_LISTED}
    variants |= VARIANTS["5.6"] if found.effort.variants else {}
    for name, variant in variants.items():
        for control in found.effort.controls:
            yield name, Cell("5.6", control, variant)


def verdict_table(found: Found) -> Table:
    """Every expectation, by control."""
    rows: list[list[str | Shown]] = []
    for section in found.effort.sections:
        by_control = [checks(found, section, control) for control in found.effort.controls]
        rows += [
            [section, several[0].claim, *(check.cell for check in several)]
            for several in zip(*by_control, strict=True)
        ]
    return Table("What RFC 8867 expects", ["case", "expectation", *found.effort.controls], rows)


def case_section(found: Found, section: str) -> Section:
    """A case: its measures, its expectations, a run of each control."""
    parts: list[Part] = [case_table(found, section)]
    for control in found.effort.controls:
        first = found.runs(Cell(section, control))[0]
        parts += [figures.rates(first, control), figures.delays(first, control)]
    parts += [
        Checks(f"{section}, {control}", checks(found, section, control)) for control in found.effort.controls
    ]
    return Section(f"{section} {CASES[section].title}", parts)


def dispute(found: Found) -> Section:
    """The share that a media flow has beside TCP, in every variant of 5.6."""
    rows: list[list[str | Shown]] = []
    for name, cell in _beside_variants(found):
        ratios = claims.beside_tcp(found.runs(cell))
        both = claims.friendly(ratios, f"{name}, {cell.control}")
        share = shown(summarise(ratios))
        rows.append([name, cell.control, str(len(ratios)), share, *(check.cell for check in both)])
    table = Table(
        "A media flow beside a long TCP flow: rate over rate",
        ["5.6", "control", "runs", "media / TCP", "collaborates", "starves"],
        rows,
        [
            "Media of at most 1.5 Mbit/s beside one TCP flow across 2 Mbit/s, from 30 s on.",
            "Collaborates: the ratio lies between 1/3 and 3. Starves: it lies below 1/3.",
        ],
    )
    first = {control: found.runs(Cell("5.6", control))[0] for control in found.effort.controls}
    return Section(DISPUTE, [figures.beside(first), table])


def headline(found: Found) -> list[str]:
    """Who does what is expected, in a sentence each."""
    counts: dict[str, tuple[int, int]] = {}
    for control in found.effort.controls:
        every = [check for section in found.effort.sections for check in checks(found, section, control)]
        counts[control] = (sum(check.holds is True for check in every), len(every))
    best = sorted(counts, key=lambda name: -counts[name][0])
    told = ", ".join(f"{name} {counts[name][0]}" for name in best)
    of = counts[best[0]][1]
    answer = [f"Of {of} expectations of RFC 8867 hold: {told}."]
    if "5.6" in found.effort.sections:
        answer.append(_beside(found))
    return answer


def _beside(found: Found) -> str:
    by_verdict: dict[str, list[str]] = {"collaborates": [], "starves": [], "takes more": [], "undecided": []}
    for control in found.effort.controls:
        fair, starves = claims.friendly(claims.beside_tcp(found.runs(Cell("5.6", control))), "")
        if fair.holds:
            verdict = "collaborates"
        elif starves.holds:
            verdict = "starves"
        else:
            verdict = "takes more" if fair.holds is False and starves.holds is False else "undecided"
        by_verdict[verdict].append(control)
    words = {
        "collaborates": "within a factor of three of its rate",
        "starves": "starved below a third of it",
        "takes more": "above three times it",
        "undecided": "undecided",
    }
    told = "; ".join(f"{words[name]}: {', '.join(who)}" for name, who in by_verdict.items() if who)
    return f"Beside one long TCP flow (5.6): {told}."


def _sections(found: Found) -> Iterator[Section]:
    yield Section(WHO_CONVERGES, [case_table(found, section) for section in found.effort.sections])
    yield Section("Expectations", [verdict_table(found)])
    if "5.6" in found.effort.sections:
        yield dispute(found)
    for section in found.effort.sections:
        yield case_section(found, section)


def report_of(found: Found) -> Report:
    """Everything."""
    sections = list(_sections(found))
    return Report(
        TITLE,
        "What does each rate control do in the test cases of RFC 8867?",
        headline(found),
        sections,
        origin("rfc8867", found.effort is QUICK, replications=str(found.effort.replications)),
        Lead(
            headline(found)[-1],
            pictured(sections, "5.6: "),
            "A rate control of real-time media converges in these cases, keeps delay and loss low, and "
            "shares with others, TCP among them.",
        ),
    )


def run(ask: Ask, quick: bool) -> Answer:
    """Asks each case of each control."""
    effort: Effort = QUICK if quick else FULL
    found = ask_all(ask, effort, undecided)
    report = report_of(found)
    rows: list[list[str | Shown]] = []
    for section in effort.sections:
        table = case_table(found, section)
        rows += [[section, *row] for row in table.rows]
    table = Table(WHO_CONVERGES, ["case", *table.columns], rows, spare=table.spare)
    return Answer(table, [], report)


STUDY = Study("rfc8867", "RFC 8867, test cases for interactive real-time media", ("sim",), run)
