"""Each sentence of the publication that can fail, as a check."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from voxpath.document import Check
from voxpath.results.decisions import above, all_of, below, within
from voxpath.studies.base import shown
from voxpath.studies.tran2018 import printed
from voxpath.studies.tran2018.measures import (
    SLOW,
    bootstrap,
    correlation,
    mean,
    of_one,
    percentile,
    ratio,
    slowest,
)
from voxpath.studies.tran2018.printed import MOBILE, MOBILITIES, STATIONARY, claim
from voxpath.studies.tran2018.questions import AS_TCP, DEFAULT, MULTIPATH, NO_IR, SERVER, Cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voxpath.results.decisions import Decision
    from voxpath.results.intervals import Summary
    from voxpath.studies.tran2018.questions import Found, Requests

MUCH = 1.5
"""A mean that is "much higher" is higher by this factor at least."""
LONGER = 2.0
"""Tails that are "much longer" are longer by this one."""
NEAR = 0.1
"""What is "similar" or "nearly identical" differs by less."""
HIGH, UNCLEAR = 0.5, 0.2
"""A high correlation is at least the first; one that is not clear is less than the second."""


def of_text(found: Found) -> list[Check]:
    """All of them."""
    return [
        _mobile(found, "mobile_delay", mean, MUCH),
        _mobile(found, "mobile_tail", partial(percentile, percent=95), LONGER),
        _similar(found),
        _not_always(found),
        _tcp_correlates(found),
        _tcp_high(found),
        _printed_high(),
        _mptcp_uncorrelated(found),
        _second_subflow(found),
        _first70(found),
        _last30(found),
        _default_best(found),
        _server_mobile(found),
        _server_stationary(found),
        _no_ir(found),
        _no_ir_server(found),
    ]


def _mobile(found: Found, name: str, statistic: object, factor: float) -> Check:
    """The nodes of both kinds are others, so they are drawn apart."""
    told, decisions = [], []
    for configuration in (AS_TCP, DEFAULT):
        there, here = (
            of_one(found.requests(Cell(mobility, configuration)), statistic)  # type: ignore[arg-type]
            for mobility in (MOBILE, STATIONARY)
        )
        told.append(f"{configuration} {shown(there)} s against {shown(here)} s")
        decisions.append(None if there is None or here is None else above(there, here.scaled(factor)))
    return Check(claim(name), all_of(decisions), "; ".join(told))


def _similar(found: Found) -> Check:
    told: list[str] = []
    decisions: list[Decision] = []
    for mobility in MOBILITIES:
        one, other = (found.requests(Cell(mobility, name)) for name in (DEFAULT, AS_TCP))
        ratios = [ratio(one, other, partial(percentile, percent=percent)) for percent in (50, 70, 90, 95)]
        told.append(f"{mobility}: {', '.join(map(shown, ratios))} of TCP's 50th, 70th, 90th and 95th")
        decisions += [below(value, 1 + NEAR) for value in ratios]
    return Check(claim("similar"), all_of(decisions), "; ".join(told))


def _not_always(found: Found) -> Check:
    one, other = (found.requests(Cell(STATIONARY, name)) for name in (DEFAULT, AS_TCP))
    medians = ratio(one, other, partial(percentile, percent=50))
    return Check(claim("not_always"), _near(medians), f"{shown(medians)} of TCP's median")


def _near(value: Summary | None) -> Decision:
    return within(value, 1 - NEAR, 1 + NEAR)


def correlations(found: Found, name: str) -> dict[str, Summary | None]:
    """Of a configuration, by the kind of nodes."""
    return {mobility: of_one(found.requests(Cell(mobility, name)), correlation) for mobility in MOBILITIES}


def _tcp_correlates(found: Found) -> Check:
    ours = correlations(found, AS_TCP)
    told = ", ".join(f"{mobility} {shown(value)}" for mobility, value in ours.items())
    return Check(claim("tcp_correlates"), all_of(below(value) for value in ours.values()), told)


def _tcp_high(found: Found) -> Check:
    ours = correlations(found, AS_TCP)
    told = ", ".join(f"{mobility} {shown(value)}" for mobility, value in ours.items())
    return Check(claim("tcp_high"), all_of(below(value, -HIGH) for value in ours.values()), told)


def _printed_high() -> Check:
    """What the publication says of its own numbers."""
    rows = [row for row in printed.correlations() if row.case == AS_TCP]
    told = ", ".join(f"{row.column} {row.printed:g}" for row in rows)
    return Check(claim("printed_high"), all(row.printed <= -HIGH for row in rows), told)


def _mptcp_uncorrelated(found: Found) -> Check:
    told: list[str] = []
    decisions: list[Decision] = []
    for name in MULTIPATH:
        ours = correlations(found, name)
        told.append(f"{name} {', '.join(shown(value) for value in ours.values())}")
        decisions += [within(value, -UNCLEAR, UNCLEAR) for value in ours.values()]
    return Check(claim("mptcp_uncorrelated"), all_of(decisions), "; ".join(told))


def second_share(found: Found, cell: Cell) -> dict[int, float]:
    """Which part of the octets the second subflow carries, by node."""
    runs = found.subflows(cell)
    shares: dict[int, float] = {}
    for number in {int(run[0]) for run in runs}:
        own = runs[runs[:, 0] == number]
        shares[number] = float(own[:, 2].sum() / max(1.0, own[:, 1:3].sum()))
    return shares


def _second_subflow(found: Found) -> Check:
    """Nodes whose first network is slower for TCP than the median node's, against the others."""
    cell = Cell(MOBILE, DEFAULT)
    alone = found.requests(Cell(MOBILE, AS_TCP))
    shares = second_share(found, cell)
    if not shares:
        return Check(claim("second_subflow"), None, "not asked")
    slow = {
        number: float(np.median(alone.delay_s[alone.node == number]))
        for number in shares
        if (alone.node == number).any()
    }
    draws = np.random.default_rng(2018)
    numbers = np.array(sorted(slow))
    delays, parts = np.array([slow[n] for n in numbers]), np.array([shares[n] for n in numbers])

    def difference(chosen: np.ndarray) -> float:
        middle = np.median(delays[chosen])
        late = delays[chosen] > middle
        if not late.any():
            return math.nan
        return float(parts[chosen][late].mean() - parts[chosen][~late].mean())

    everybody = np.arange(len(numbers))
    values = [difference(draws.choice(everybody, len(everybody))) for _ in range(300)]
    low, high = np.nanquantile(values, [0.025, 0.975])
    told = (
        f"the second subflow carries {100 * difference(everybody):.0f} % more of the octets "
        f"({100 * low:.0f} to {100 * high:.0f} %) where TCP's median delay is in the upper half"
    )
    return Check(claim("second_subflow"), above((float(low), float(high))), told)


def _spread(cells: Sequence[Requests], percents: Sequence[int]) -> float:
    """By how much the configurations differ at most, in parts of the smallest."""
    found = []
    for percent in percents:
        values = [percentile(cell, percent) for cell in cells]
        found.append(max(values) / min(values) - 1)
    return max(found)


_BELOW, _ABOVE = (10, 20, 30, 40, 50, 60, 70), (80, 90, 95)


def _first70(found: Found) -> Check:
    told, decisions = [], []
    for mobility in MOBILITIES:
        spread = bootstrap(_figure6(found, mobility), partial(_spread, percents=_BELOW))
        told.append(f"{mobility}: up to {_percent(spread)} apart")
        decisions.append(below(spread, NEAR))
    return Check(claim("first70"), all_of(decisions), "; ".join(told))


def _figure6(found: Found, mobility: str) -> list[Requests]:
    return [found.requests(Cell(mobility, name)) for name in MULTIPATH]


def _last30(found: Found) -> Check:
    told, decisions = [], []
    for mobility in MOBILITIES:
        cells = _figure6(found, mobility)
        more = bootstrap(cells, lambda some: _spread(some, _ABOVE) - _spread(some, _BELOW))
        told.append(f"{mobility}: {_percent(more)} more")
        decisions.append(above(more))
    return Check(claim("last30"), all_of(decisions), "; ".join(told))


def _percent(summary: Summary | None) -> str:
    return f"{shown(summary.scaled(100))} %" if summary else "no value"


def _default_best(found: Found) -> Check:
    told, decisions = [], []
    for mobility in MOBILITIES:
        shares = list(second_share(found, Cell(mobility, DEFAULT)).values())
        first = 1 - float(np.mean(shares)) if shares else None
        told.append(f"{mobility}: the first subflow carries {100 * first:.0f} %" if first else "not asked")
        decisions.append(above(first, 0.7))
    return Check(claim("default_best"), all_of(decisions), "; ".join(told))


def _slow_ratio(found: Found, mobility: str, name: str, other: str) -> Summary | None:
    return ratio(found.requests(Cell(mobility, name)), found.requests(Cell(mobility, other)), slowest)


def _told(name: str, value: Summary | None, other: str) -> str:
    return f"{name}: {shown(value)} of {other}'s mean of the slowest {100 - SLOW} %"


def _server_mobile(found: Found) -> Check:
    value = _slow_ratio(found, MOBILE, SERVER, DEFAULT)
    return Check(claim("server_mobile"), below(value, 1.0), _told(SERVER, value, DEFAULT))


def _server_stationary(found: Found) -> Check:
    value = _slow_ratio(found, STATIONARY, SERVER, DEFAULT)
    return Check(claim("server_stationary"), _near(value), _told(SERVER, value, DEFAULT))


def _no_ir(found: Found) -> Check:
    values = {name: _slow_ratio(found, MOBILE, name + NO_IR, name) for name in (DEFAULT, SERVER)}
    told = "; ".join(_told(name + NO_IR, value, name) for name, value in values.items())
    return Check(claim("no_ir"), all_of(above(value, 1.0) for value in values.values()), told)


def _no_ir_server(found: Found) -> Check:
    cells = [
        found.requests(Cell(MOBILE, name)) for name in (SERVER + NO_IR, SERVER, DEFAULT + NO_IR, DEFAULT)
    ]
    more = bootstrap(
        cells,
        lambda some: slowest(some[0]) / slowest(some[1]) - slowest(some[2]) / slowest(some[3]),
    )
    return Check(claim("no_ir_server"), above(more), f"it grows by {_percent(more)} more")
