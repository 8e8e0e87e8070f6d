"""Figures: the two of the publication, the misprints, the map, and what a sample costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voxpath.report.document import Axis, Cell, Check, Checks, Curve, Map, Panel, Plot, Section, Table
from voxpath.results.intervals import summarise
from voxpath.studies.ficiu2023.experiment import MISPRINT_MEMORIES, READINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from voxpath.aec.filters import Reading
    from voxpath.studies.ficiu2023.claims import Courses
    from voxpath.studies.ficiu2023.experiment import Course, Effort

_POINTS = 240
"""Of a curve."""

_LOST = 100.0
"""Misalignment in dB from which a number says no more than that there is none."""

_DIVERGED = 0.0
"""Steady misalignment in dB from which a filter is worse than none."""


def plot(courses: Courses, title: str, caption: str, before: int) -> Plot:
    """The misalignment around the change, mean of the replications with its 95 % interval."""
    curves = []
    for (alpha, reuse), found in courses.items():
        samples = found[0].samples
        shown = samples > -min(before, found[0].samples[-1])
        stride = max(1, int(shown.sum()) // _POINTS)
        # Means over strides, so that a curve shows everything and still is a curve.
        count = int(shown.sum()) // stride * stride
        values = np.stack([course.values[shown][:count].reshape(-1, stride).mean(axis=1) for course in found])
        summaries = [summarise(list(column)) for column in values.T]
        intervals = [summary.interval or (summary.mean, summary.mean) for summary in summaries]
        curves.append(
            Curve(
                f"α_r = {alpha:g}, N_it = {reuse}",
                [float(x) for x in samples[shown][:count].reshape(-1, stride).mean(axis=1)],
                [summary.mean for summary in summaries],
                [low for low, _ in intervals],
                [high for _, high in intervals],
                group=f"{alpha}",
            )
        )
    return Plot(title, caption, Axis("samples since the change"), Axis("misalignment", "dB"), curves)


def numbers(courses: Courses, title: str) -> Table:
    """Steady state, tracking and recovery of every curve."""
    rows = []
    for (alpha, reuse), found in courses.items():
        ways = [way for course in found if (way := course.recovery(-20.0)) is not None]
        back = f"{summarise(ways)}" if len(ways) == len(found) else f"{len(ways)} of {len(found)} are"
        rows.append(
            [
                f"{alpha:g}",
                str(reuse),
                str(summarise([course.steady for course in found])),
                str(summarise([course.tracking for course in found])),
                back,
            ]
        )
    columns = ("α_r", "N_it", "steady state, dB", "mean after the change, dB", "back at -20 dB, samples")
    return Table(title, columns, rows, ("95 % t-intervals over independent rooms, signals and noises.",))


def _level(value: float) -> str:
    """A misalignment; one that no longer means anything is called so."""
    return f"{value:.1f} dB" if value < _LOST else "diverges"


def misprints(found: Mapping[tuple[bool, float, Reading], Course]) -> Section:
    """What each reading of (12) and (13) does."""
    rows: list[list[str | Cell]] = []
    for exact, name in ((True, "exact solution"), (False, "coordinate descent")):
        for memory in MISPRINT_MEMORIES:
            row: list[str | Cell] = [name, f"{memory:g}"]
            for reading in READINGS:
                value = found[exact, memory, reading].steady
                row.append(Cell(_level(value), "good" if value < _DIVERGED else "bad"))
            rows.append(row)
    table = Table("Steady misalignment by reading", ("solver", "K", *READINGS), rows)
    small = [memory for memory in MISPRINT_MEMORIES if memory < 4]
    large = MISPRINT_MEMORIES[-1]

    def steady(memory: float, reading: Reading, *, exact: bool = True) -> float:
        return found[exact, memory, reading].steady

    alike = [steady(large, reading, exact=False) for reading in READINGS]
    better = [
        steady(memory, printed) - steady(memory, "corrected") for memory in small for printed in READINGS[1:]
    ]
    checks = Checks(
        "Which reading is meant",
        [
            Check(
                "With a short memory the corrected equations stay closer to the paths than the printed ones.",
                min(better) > 0,
                "; ".join(
                    f"K = {memory:g}: "
                    + ", ".join(f"{reading} {_level(steady(memory, reading))}" for reading in READINGS)
                    for memory in small
                ),
            ),
            Check(
                "With the publication's K = 64 and its solver, its figures cannot tell the readings apart.",
                max(alike) - min(alike) < 1.0,
                ", ".join(
                    f"{reading} {value:.2f} dB" for reading, value in zip(READINGS, alike, strict=True)
                ),
            ),
        ],
    )
    return Section("Misprints in (12) and (13)", [table, checks])


def landscape(found: Mapping[tuple[int, int, int], Course], effort: Effort) -> Section:
    """Steady state and tracking over K, N_u and N_it."""
    measures: dict[str, Callable[[Course], float]] = {
        "Steady state": lambda course: course.steady,
        "Mean of the 2000 samples after the change": lambda course: course.tracking,
    }
    parts = []
    for title, measure in measures.items():
        panels = [
            Panel(
                f"N_it = {reuse}",
                [
                    [measure(found[memory, updates, reuse]) for memory in effort.memories]
                    for updates in effort.updates
                ],
            )
            for reuse in (1, 3, 5)
        ]
        parts.append(
            Map(
                title,
                "One room each; paths of 32 samples, α_r = 0.4.",
                Axis("memory K"),
                Axis("changes for each use N_u"),
                Axis("misalignment", "dB"),
                [str(memory) for memory in effort.memories],
                [str(updates) for updates in effort.updates],
                panels,
            )
        )
    return Section("Beyond: memory, changes, uses", parts)


def cost() -> Table:
    """Multiplications and additions of a sample, counted from the equations as `crates/dsp` forms them."""
    rows = []
    for length in (128, 256, 512):
        for reuse in (1, 3, 5):
            # Column: 4 products and 4 times λ; output: 4; right-hand side: 4 for each use, 4 times λ once.
            products = (8 + 4 + 4 + 4 * reuse) * length
            # Each product of column and right-hand side is added to another and to what was there; a change
            # adds to four real vectors.
            updates = 4 * reuse
            additions = (8 + 4 + 8 * reuse + 4 * updates) * length
            rows.append([str(length), str(reuse), f"{products:,}", f"{additions:,}", f"{products // length}"])
    return Table(
        "Real operations of a sample at most, N_u = 4",
        ("L", "N_it", "multiplications", "additions", "multiplications / L"),
        rows,
        (
            "Linear in L. The changes cost additions only, as the text says.",
            "Finding the largest of 4 L numbers for each change costs as many comparisons.",
        ),
    )
