"""Studies in full, for the pages that benchmarks write: asked with runs that are kept, and as Markdown."""
# SPDX-License-Identifier: Apache-2.0

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path

from voxpath.backends.answer import ask
from voxpath.backends.formula import FormulaBackend
from voxpath.backends.real.backend import ATTEMPTS, RealBackend
from voxpath.backends.sim import SimBackend
from voxpath.document import Cell, Checks, Curve, Facts, Map, Part, Plot, Section, Table, Text
from voxpath.live import View
from voxpath.report.html import render
from voxpath.studies import load
from voxpath.studies.base import Answer, Ask
from voxpath.sweeps.pool import processors
from voxpath.sweeps.workers import Workers
from voxpath.terminal import Progress

ROOT = Path(__file__).resolve().parents[1]
RUNS = ROOT / "runs"


def answered(
    name: str, *, quick: bool = False, out: Path = RUNS, kept: bool = False, simulated: bool = False
) -> Answer:
    """What a study finds with all of its backends. Runs are kept, so that it goes on where it was interrupted.

    Args:
        name: Of the study.
        quick: As `voxpath study --quick`.
        out: Directory of the runs.
        kept: Makes no runs on real hosts: takes those that are there.
        simulated: Asks for none on real hosts at all.

    Raises:
        RealError: No real hosts here.
    """
    study = load(name)
    with answering(name, out, kept=kept) as ask:
        return study.run(
            lambda questions, named: ask(
                questions, [one for one in named if one != RealBackend.name or not simulated]
            ),
            quick,
        )


@contextmanager
def answering(name: str, out: Path = RUNS, *, kept: bool = False) -> Iterator[Ask]:
    """Who answers a study's questions; arguments as those of `answered`."""
    study = load(name)
    with Progress(name, None) as progress:
        backends = [
            SimBackend(out, Workers(processors()), on_done=lambda _: progress.advance()),
            FormulaBackend(),
            RealBackend(
                out,
                attempts=0 if kept else ATTEMPTS,
                at_once=study.real_at_once,
                on_done=lambda outcome: progress.advance(made=not outcome.reused),
                on_look=View(progress).look,
            ),
        ]
        yield lambda questions, named: ask(
            [(name, {}, question) for question in questions],
            [backend for backend in backends if backend.name in named],
        )


def save_report(name: str, answer: Answer) -> Path:
    """The study's page with its figures, beside the runs; where it is, from the root of the tree."""
    path = RUNS / f"{name}.html"
    path.parent.mkdir(exist_ok=True)
    path.write_text(render(answer.report), "utf-8")
    return path.relative_to(ROOT)


def section_lines(section: Section) -> Iterator[str]:
    """A section as Markdown."""
    yield f"## {section.title}"
    for part in section.parts:
        yield from part_lines(part)
        yield ""


def part_lines(part: Part) -> Iterator[str]:
    """A part as Markdown; plots and maps as tables of their values.

    Raises:
        TypeError: A part that is only to be seen.
    """
    match part:
        case Text(paragraphs):
            for paragraph in paragraphs:
                yield from ("", paragraph)
        case Facts(title, facts):
            yield from (f"### {title}", "")
            yield from table_lines(("", ""), facts)
        case Table(title, columns, rows, notes):
            yield from (f"### {title}", "")
            yield from table_lines(columns, rows)
            for note in notes:
                yield from ("", note)
        case Checks(title, checks):
            yield from (f"### {title}", "")
            for check in checks:
                told = check.verdict.capitalize()
                told = f"**{told}**" if check.holds is False else told
                aside = f", not counted ({check.set_aside})" if check.set_aside else ""
                yield f"- {told}{aside}: {check.claim} ({check.evidence})"
        case Plot():
            yield from _plot_lines(part)
        case Map():
            yield from _map_lines(part)
        case _:
            raise TypeError(f"a page has no {type(part).__name__}")


def table_lines(columns: Sequence[str], rows: Sequence[Sequence[str | Cell]]) -> Iterator[str]:
    """A table as Markdown."""
    yield f"| {' | '.join(columns)} |"
    yield f"| {' | '.join('---' for _ in columns)} |"
    for row in rows:
        yield f"| {' | '.join(str(cell).strip().replace('|', '&#124;') for cell in row)} |"


def _plot_lines(plot: Plot) -> Iterator[str]:
    yield from (f"### {plot.title}", "", plot.caption, "")
    points = sorted({x for curve in plot.curves for x in curve.x})
    told = [_by_place(curve) for curve in plot.curves]
    unit = f", {plot.x.unit}" if plot.x.unit else ""
    yield from table_lines(
        [f"{plot.x.label}{unit}", *(curve.name for curve in plot.curves)],
        [[f"{x:.4g}", *(values.get(x, "") for values in told)] for x in points],
    )


def _by_place(curve: Curve) -> dict[float, str]:
    told: dict[float, list[str]] = {}
    for x, y, low, high in zip_longest(curve.x, curve.y, curve.low, curve.high):
        told.setdefault(x, []).extend([] if y is None else [_value(y, low, high)])
    return {x: ", ".join(values) for x, values in told.items()}


def _value(value: float, low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return f"{value:.3g}"
    return f"{value:.3g} ({low:.3g} to {high:.3g})"


def _map_lines(grids: Map) -> Iterator[str]:
    yield from (f"### {grids.title}", "", grids.caption)
    for panel in grids.panels:
        yield from ("", f"{panel.name}; rows: {grids.y.label}, columns: {grids.x.label}", "")
        yield from table_lines(
            ("", *grids.xs),
            [
                [y, *("" if value is None else _marked(value, grids.limit) for value in row)]
                for y, row in zip(grids.ys, panel.values, strict=True)
            ],
        )


def _marked(value: float, limit: float | None) -> str:
    """What is beyond the limit stands out."""
    return f"**{value:.3g}**" if limit is not None and value > limit else f"{value:.3g}"
