"""Studies in full, for the pages that benchmarks write: asked with runs that are kept, and as Markdown."""
# SPDX-License-Identifier: Apache-2.0

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise, zip_longest
from pathlib import Path

import numpy as np

from voxpath.backends.answer import ask
from voxpath.backends.formula import FormulaBackend
from voxpath.backends.real.backend import ATTEMPTS, RealBackend
from voxpath.backends.sim import SimBackend
from voxpath.document import Axis, Cell, Checks, Curve, Facts, Map, Part, Plot, Scatter, Section, Table, Text
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
    """A part as Markdown, without pictures.

    Plots and maps are tables of their values, long curves in steps of some of them, clouds of points of
    their quartiles.

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
        case Scatter():
            yield from _scatter_lines(part)
        case _:
            raise TypeError(f"a page has no {type(part).__name__}")


def table_lines(columns: Sequence[str], rows: Sequence[Sequence[str | Cell]]) -> Iterator[str]:
    """A table as Markdown."""
    yield f"| {' | '.join(columns)} |"
    yield f"| {' | '.join('---' for _ in columns)} |"
    for row in rows:
        yield f"| {' | '.join(str(cell).strip().replace('|', '&#124;') for cell in row)} |"


_LINES = 40
"""Of a table of curves in steps, which have a value everywhere, at most."""


def _plot_lines(plot: Plot) -> Iterator[str]:
    yield from (f"### {plot.title}", "", plot.caption, "")
    points = sorted({x for curve in plot.curves for x in curve.x})
    told = [_by_place(curve) for curve in plot.curves]
    if len(points) > _LINES and all(curve.style == "steps" for curve in plot.curves):
        points = [points[round(at)] for at in np.linspace(0, len(points) - 1, _LINES)]
        told = [_held(values, points) for values in told]
    yield from table_lines(
        [_told(plot.x), *(curve.name for curve in plot.curves)],
        [[f"{x:.4g}", *(values.get(x, "") for values in told)] for x in points],
    )


def _held(values: Mapping[float, str], points: Sequence[float]) -> dict[float, str]:
    """What a curve in steps has last had at each point, if it has begun there."""
    places = sorted(values)
    before = {x: bisect_right(places, x) for x in points}
    return {x: values[places[count - 1]] for x, count in before.items() if count}


def _told(axis: Axis) -> str:
    return f"{axis.label}, {axis.unit}" if axis.unit else axis.label


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


_SLICES = 5
"""In so many parts of equally many points a cloud is told from left to right."""


def _scatter_lines(scatter: Scatter) -> Iterator[str]:
    yield from (f"### {scatter.title}", "", scatter.caption, "")
    edges = np.quantile(
        [x for cloud in scatter.clouds for x, _ in cloud.points], np.linspace(0, 1, _SLICES + 1)
    )
    slices = list(pairwise(np.unique(edges)))
    yield from table_lines(
        [_told(scatter.x), *(f"{cloud.name}: {_told(scatter.y)}" for cloud in scatter.clouds)],
        [
            [
                f"{low:.3g} to {high:.3g}",
                *(
                    _quartiles([y for x, y in cloud.points if low <= x and (x < high or high == edges[-1])])
                    for cloud in scatter.clouds
                ),
            ]
            for low, high in slices
        ],
    )
    yield from ("", "Medians, with the quartiles and the number of points.")


def _quartiles(values: Sequence[float]) -> str:
    if not values:
        return ""
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    return f"{middle:.3g} ({low:.3g} to {high:.3g}; {len(values)})"


def _marked(value: float, limit: float | None) -> str:
    """What is beyond the limit stands out."""
    return f"**{value:.3g}**" if limit is not None and value > limit else f"{value:.3g}"
