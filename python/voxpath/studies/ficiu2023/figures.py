"""Figures: the two of the publication, the misprints, the map, and what a sample costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voxpath.document import Axis, Cell, Check, Checks, Curve, Map, Panel, Plot, Section, Table, Text
from voxpath.results.decisions import above, all_of, within
from voxpath.results.intervals import paired, summarise
from voxpath.studies.base import shown
from voxpath.studies.ficiu2023.experiment import (
    MISPRINT_MEMORIES,
    READINGS,
    SAMPLE_BITS,
    WORD_REUSES,
    published,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from voxpath.studies.ficiu2023.claims import Courses
    from voxpath.studies.ficiu2023.experiment import Course, Effort
    from voxpath.voice.aec.filters import Reading

_POINTS = 240
"""Of a curve."""

_LOST = 100.0
"""Misalignment in dB from which a number says no more than that there is none."""

_DIVERGED = 0.0
"""Steady misalignment in dB from which a filter is worse than none."""


def plot(courses: Courses, title: str, caption: str, before: int, exact: Courses | None = None) -> Plot:
    """The misalignment around the change, mean of the replications with its 95 % interval.

    Args:
        courses: By the coordinate descent.
        title: Above the plot.
        caption: What is seen.
        before: Samples before the change that are shown at most.
        exact: Those of exact recursive least squares, likewise.
    """
    curves = []
    named = [
        *((curve, "", found) for curve, found in courses.items()),
        *((curve, ", exact", found) for curve, found in (exact or {}).items()),
    ]
    for (alpha, reuse), kind, found in named:
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
                f"α_r = {alpha:g}, N_it = {reuse}{kind}",
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
        back = shown(summarise(ways)) if len(ways) == len(found) else f"{len(ways)} of {len(found)} are"
        rows.append(
            [
                f"{alpha:g}",
                str(reuse),
                shown(summarise([course.steady for course in found])),
                shown(summarise([course.tracking for course in found])),
                back,
            ]
        )
    columns = ("α_r", "N_it", "steady state, dB", "mean after the change, dB", "back at -20 dB, samples")
    return Table(title, columns, rows, ("95 % t-intervals over independent rooms, signals and noises.",))


def _level(value: float) -> str:
    """A misalignment; one that no longer means anything is called so."""
    return f"{value:.1f} dB" if value < _LOST else "diverges"


def late(found: Courses, early: Courses) -> list[Check]:
    """That a change where the publication has it finds the same steady state, room by room."""
    checks, reached = [], published()["reached"]["within_db"]
    for (alpha, reuse), courses in found.items():
        same = zip(courses, early[alpha, reuse], strict=False)
        apart = summarise([then.steady - now.steady for then, now in same])
        at = int(courses[0].samples[-1] - courses[0].samples[0])
        checks.append(
            Check(
                f"The steady state is reached: α_r = {alpha:g}, N_it = {reuse} is the same when the room "
                f"changes as late as in the publication, within {reached:g} dB.",
                within(apart, -reached, reached),
                f"{shown(apart)} dB apart in {len(courses)} rooms of {at:,} samples",
            )
        )
    return checks


_ALIKE_DB = 1.0


def misprints(found: Mapping[tuple[bool, float, Reading], Sequence[Course]]) -> Section:
    """What each reading of (12) and (13) does."""
    rows: list[list[str | Cell]] = []
    for exact, name in ((True, "exact solution"), (False, "coordinate descent")):
        for memory in MISPRINT_MEMORIES:
            row: list[str | Cell] = [name, f"{memory:g}"]
            for reading in READINGS:
                values = [course.steady for course in found[exact, memory, reading]]
                row.append(Cell(_levels(values), "good" if max(values) < _DIVERGED else "bad"))
            rows.append(row)
    notes = (f"From the best to the worst of {len(next(iter(found.values())))} rooms.",)
    table = Table("Steady misalignment by reading", ("solver", "K", *READINGS), rows, notes)
    small = [memory for memory in MISPRINT_MEMORIES if memory < 4]
    large = MISPRINT_MEMORIES[-1]

    def steady(memory: float, reading: Reading, *, exact: bool = True) -> list[float]:
        return [course.steady for course in found[exact, memory, reading]]

    better = [
        theirs > ours
        for memory in small
        for printed in READINGS[1:]
        for theirs, ours in zip(steady(memory, printed), steady(memory, "corrected"), strict=True)
    ]
    alike = {reading: steady(large, reading, exact=False) for reading in READINGS}
    apart = {reading: paired(alike[reading], alike["corrected"]) for reading in READINGS[1:]}
    checks = Checks(
        "Which reading is meant",
        [
            Check(
                "With a short memory the corrected equations stay closer to the paths than the printed ones, "
                "in every room.",
                all(better),
                "; ".join(
                    f"K = {memory:g}: "
                    + ", ".join(f"{reading} {_levels(steady(memory, reading))}" for reading in READINGS)
                    for memory in small
                ),
            ),
            Check(
                "With the publication's K = 64 and its solver, its figures cannot tell the readings apart.",
                all_of(within(one, -_ALIKE_DB, _ALIKE_DB) for one in apart.values()),
                "from the corrected one "
                + ", ".join(f"{reading} {shown(one)} dB" for reading, one in apart.items())
                + "; "
                + ", ".join(f"{reading} {_levels(values)}" for reading, values in alike.items()),
            ),
        ],
    )
    return Section("Misprints in (12) and (13)", [table, checks])


def _levels(values: Sequence[float]) -> str:
    """From the best to the worst."""
    low, high = _level(min(values)), _level(max(values))
    return low if low == high else f"{low} to {high}"


def landscape(found: Mapping[tuple[int, int, int], Sequence[Course]], effort: Effort) -> Section:
    """Steady state and tracking over K, N_u and N_it."""
    parts = []
    for title, measure in _MEASURES.items():
        panels = [
            _panel(
                f"N_it = {reuse}",
                [
                    [
                        [measure(course) for course in found[memory, updates, reuse]]
                        for memory in effort.memories
                    ]
                    for updates in effort.updates
                ],
            )
            for reuse in (1, 3, 5)
        ]
        parts.append(
            Map(
                title,
                f"Means of {effort.small} rooms with 95 % intervals; paths of 32 samples, α_r = 0.4.",
                Axis("memory K"),
                Axis("changes for each use N_u"),
                Axis("misalignment", "dB"),
                [str(memory) for memory in effort.memories],
                [str(updates) for updates in effort.updates],
                panels,
            )
        )
    return Section("Beyond: memory, changes, uses", parts)


_MEASURES: dict[str, Callable[[Course], float]] = {
    "Steady state": lambda course: course.steady,
    "Mean after the change": lambda course: course.tracking,
}


def _panel(name: str, cells: Sequence[Sequence[Sequence[float]]]) -> Panel:
    """Means of each cell's replications, with their intervals."""
    summaries = [[summarise(values) for values in row] for row in cells]
    return Panel(
        name,
        [[summary.mean for summary in row] for row in summaries],
        half_widths=[[summary.half_width for summary in row] for row in summaries],
    )


_AS_GOOD_DB, _LOST_DB = 0.5, 3.0


def word_lengths(found: Mapping[tuple[int, int, int] | int, Sequence[Course]], effort: Effort) -> Section:
    """What the filter loses in integers, by word length."""
    sums, taps = effort.words

    def loss(key: tuple[int, int, int], measure: Callable[[Course], float]) -> list[float]:
        pairs = zip(found[key], found[key[2]], strict=True)
        return [measure(integers) - measure(single) for integers, single in pairs]

    maps = [
        Map(
            f"{title}: what integers lose",
            f"In dB above single precision in the same {effort.small} rooms, with 95 % intervals; samples of "
            f"{SAMPLE_BITS} bits.",
            Axis("bits of correlation and residual"),
            Axis("bits of a tap"),
            Axis("loss", "dB"),
            [str(bits) for bits in sums],
            [str(bits) for bits in taps],
            [
                _panel(
                    f"N_it = {reuse}", [[loss((sum_, tap, reuse), measure) for sum_ in sums] for tap in taps]
                )
                for reuse in WORD_REUSES
            ],
        )
        for title, measure in _MEASURES.items()
    ]
    steady = _MEASURES["Steady state"]
    single = {reuse: summarise([steady(course) for course in found[reuse]]) for reuse in WORD_REUSES}
    narrow = {reuse: summarise(loss((24, 24, reuse), steady)) for reuse in WORD_REUSES}
    wide = {reuse: summarise(loss((32, 24, reuse), steady)) for reuse in WORD_REUSES}
    text = Text(
        [
            "The publication calls it attractive for hardware, and names no word length. Here it runs "
            "in integers: λ = 1 - 2^-m, words that are rounded and saturate; correlation and residual are "
            "kept times 1 - λ. Single precision has a steady state of "
            + ", ".join(f"{shown(value)} dB with N_it = {reuse}" for reuse, value in single.items())
            + "."
        ]
    )
    checks = Checks(
        "Word lengths",
        [
            Check(
                "With 32 bits for correlation and residual, 24 for taps and 16 for samples, integers are as "
                "good as single precision: within 0.5 dB.",
                all_of(within(value, -_AS_GOOD_DB, _AS_GOOD_DB) for value in wide.values()),
                ", ".join(f"N_it = {reuse}: {shown(value)} dB" for reuse, value in wide.items()),
            ),
            Check(
                "With 24 bits for correlation and residual they are not: what is below 2^(m-1) units no "
                "longer fades, and the filter is lost.",
                all_of(above(value, _LOST_DB) for value in narrow.values()),
                ", ".join(f"N_it = {reuse}: {shown(value)} dB" for reuse, value in narrow.items()),
            ),
        ],
    )
    return Section("Beyond: float against integers", [text, checks, *maps])


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
