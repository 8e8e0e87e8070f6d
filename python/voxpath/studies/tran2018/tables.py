"""Tables of the report: Table I, what each configuration does, the tool's two rules."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from voxpath.document import Cell as Shown
from voxpath.document import Table
from voxpath.results.energy import RADIOS
from voxpath.studies.base import compare, shown
from voxpath.studies.tran2018.claims import correlations as ours_of
from voxpath.studies.tran2018.measures import (
    in_time,
    mean,
    of_one,
    percentile,
    rank_correlation,
    slowest,
)
from voxpath.studies.tran2018.networks import LENGTH_S, PATHS
from voxpath.studies.tran2018.printed import MOBILE, MOBILITIES, correlations, setting
from voxpath.studies.tran2018.questions import (
    BEYOND,
    DEFAULT,
    FLAWED,
    NO_IR,
    NO_TLP,
    RADIO,
    WEIGHED,
    Cell,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voxpath.results.intervals import Summary
    from voxpath.studies.base import Comparison
    from voxpath.studies.tran2018.questions import Found

IN_TIME_S = 1.0
"""A request counts as answered in time within this."""

_MARKS = {"agrees": "good", "differs": "bad"}


def comparisons(found: Found) -> list[Comparison]:
    """Table I beside ours."""
    ours = {item.case: ours_of(found, item.case) for item in correlations()}
    return [compare(item, ours[item.case][item.column]) for item in correlations()]


def table1(found: Found, judged: Sequence[Comparison]) -> Table:
    """Printed and ours, with the verdict; ranks beside them."""
    rows: list[list[str | Shown]] = []
    for item in judged:
        published = item.published
        ranks = of_one(found.requests(Cell(published.column, published.case)), rank_correlation)
        verdict = Shown(item.verdict, _MARKS.get(item.verdict, "open"), item.reason)  # type: ignore[arg-type]
        rows.append(
            [
                published.column,
                published.case,
                f"{published.printed:.2f}",
                shown(item.ours),
                shown(ranks),
                verdict,
            ]
        )
    return Table(
        "Table I: correlation of response delay and signal strength",
        ["nodes", "configuration", "published", "ours", "of ranks", "verdict"],
        rows,
        ["Of ranks: Spearman's, which a few very late answers do not decide."],
        spare=["of ranks"],
    )


def _ms(summary: Summary | None) -> str:
    return shown(summary.scaled(1e3)) if summary else ""


def _row(found: Found, cell: Cell, *first: str) -> list[str | Shown]:
    requests = found.requests(cell)
    segments = found.subflows(cell)
    available = of_one(requests, partial(in_time, limit_s=IN_TIME_S))
    return [
        *first,
        _ms(of_one(requests, partial(percentile, percent=50))),
        _ms(of_one(requests, partial(percentile, percent=95))),
        _ms(of_one(requests, mean)),
        _ms(of_one(requests, slowest)),
        shown(available.scaled(100)) if available else "",
        f"{segments[:, 3].mean():.0f}" if len(segments) else "",
    ]


_COLUMNS = (
    "median, ms",
    "95th, ms",
    "mean, ms",
    "slowest 30 %, ms",
    f"within {IN_TIME_S:.0f} s, %",
    "data segments a run",
)
_NOTES = (
    (
        "Slowest 30 %: the mean of these; there, and for percentiles, an answer after more than 10 s, or "
        "none, counts for 10 s. The other means are of requests that were answered."
    ),
    "Data segments: of both ends, retransmissions and copies too.",
)


def of_configurations(found: Found, names: Sequence[str], server: str, title: str) -> Table:
    """What the publication's configurations do."""
    rows = [
        _row(found, Cell(mobility, name, server), mobility, name)
        for mobility in MOBILITIES
        for name in names
        if len(found.requests(Cell(mobility, name, server)).node)
    ]
    return Table(
        title,
        ["nodes", "configuration", *_COLUMNS],
        rows,
        list(_NOTES),
        spare=["data segments a run", "mean, ms", "slowest 30 %, ms"],
    )


def of_others(found: Found) -> Table:
    """Other schedulers and couplings, without intermediate responses, and without tail loss probes."""
    names = [DEFAULT, *BEYOND]
    names += [cell.name for cell in found.cells() if cell.name.endswith((NO_IR, NO_TLP))]
    rows = [
        _row(found, Cell(MOBILE, name), name)
        for name in dict.fromkeys(names)
        if len(found.requests(Cell(MOBILE, name)).node)
    ]
    return Table(
        "Every scheduler, coupling, and what intermediate responses and tail loss probes do: mobile nodes",
        ["configuration", *_COLUMNS],
        rows,
        [*_NOTES, "A scheduler's name alone: it is that of both ends, with OLIA."],
    )


def of_energy(found: Found) -> Table:
    """What the radios took, beside delay and availability: mobile nodes."""
    rows: list[list[str | Shown]] = []
    for name in WEIGHED:
        cell = Cell(MOBILE, name)
        runs = found.energies(cell)
        if not runs:
            continue
        by_path = {path: np.mean([run[path].joules for run in runs]) for path in PATHS}
        connected = np.mean([sum(run[path].connected_s for path in PATHS) for run in runs])
        requests = found.requests(cell)
        available = of_one(requests, partial(in_time, limit_s=IN_TIME_S))
        rows.append(
            [
                name,
                *(f"{value:.0f}" for value in by_path.values()),
                f"{sum(by_path.values()) / setting('transactions'):.1f}",
                f"{100 * connected / (len(PATHS) * LENGTH_S):.0f}",
                shown(available.scaled(100)) if available else "",
                _ms(of_one(requests, partial(percentile, percent=95))),
            ]
        )
    radio = RADIOS[RADIO]
    return Table(
        "Energy of two LTE radios, availability and delay: mobile nodes",
        [
            "configuration",
            *(f"{path} radio, J" for path in PATHS),
            "J a request",
            "of the time connected, %",
            f"within {IN_TIME_S:.0f} s, %",
            "95th, ms",
        ],
        rows,
        [
            (
                f"Above an idle radio, in {LENGTH_S} s with {setting('transactions')} requests. A radio is "
                f"promoted ({radio.promotion_w:.2f} W for "
                f"{radio.promotion_s:.2f} s), busy for {radio.busy_s:g} s after each packet "
                f"({radio.busy_w:.2f} W), waits for more for "
                f"{radio.tail_s:.1f} s ({radio.tail_w:.2f} W), and is idle then: Huang et al., MobiSys "
                "2012 (voxpath/results/energy.py)."
            ),
            "Requests come every 12 s, about as long as the tail: a radio that is used is hardly ever idle.",
        ],
    )


def flaws(found: Found) -> Table:
    """What the published tool's two rules would have done, and did where they are switched on."""
    rows: list[list[str | Shown]] = []
    for name in (DEFAULT, DEFAULT + NO_IR, FLAWED):
        cell = Cell(MOBILE, name)
        counted = found.flaws(cell)
        rows.append([name, str(len(found.requests(cell).node)), *(str(value) for value in counted.values())])
    return Table(
        "The published tool's two rules: mobile nodes",
        ["configuration", "requests", "doubled", "swallowed", "missed", "mistaken"],
        rows,
        [
            (
                "Doubled: an answer is sent twice, as the last packet of a burst came in two reads. "
                "Swallowed: two bursts came in one read and have one answer. Missed: no read of the "
                "answer is large enough. Mistaken: intermediate answers that came together are taken for "
                "the answer."
            ),
            "Only where the rules are switched on does any of that happen; elsewhere it is counted.",
        ],
    )
