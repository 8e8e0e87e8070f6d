"""The checks of the study of 2022 can fail: each is shown values for which it must not hold."""

from __future__ import annotations

import copy
from typing import Any

import polars as pl
import pytest

from voxpath.backends.base import Row
from voxpath.report.document import Check
from voxpath.results.intervals import summarise
from voxpath.studies.sarkar2022 import beyond, causes, figures, ladder, misprints, testbed, verdicts
from voxpath.studies.sarkar2022.questions import (
    ALL_THREE,
    COUNTING,
    FULL,
    LONGER,
    NO_ETHERNET,
    NO_LOST_ACKS,
    TODAY,
    Cell,
    Found,
)
from voxpath.studies.sarkar2022.scenario import LOSSES
from voxpath.studies.sarkar2022.traces import Steps, Trace
from voxpath.studies.sarkar2022.waiting import Timeout, timeouts, waiting


class Made(Found):
    """Answers that were made up."""

    def __init__(self, times: dict[Cell, list[float]], again: list[float] | None = None) -> None:
        super().__init__({}, FULL)
        self.times = times
        self.again = again or []
        self.simulated = True

    def row(self, cell: Cell, metric: str, estimator: str = "sim") -> Row | None:
        values = self.times.get(cell)
        if not values or metric != "completion_s" or estimator != "sim":
            return None
        summary = summarise(values)
        return Row("download", metric, "sim", summary.mean, summary.n, summary.interval)

    def values(self, cell: Cell, metric: str) -> list[float]:
        if metric == "server_retransmissions":
            return self.again
        return self.times.get(cell, []) if metric == "completion_s" else []


def spread(mean: float, by: float = 1.0) -> list[float]:
    return [mean - by, mean, mean + by]


def items(found: Found) -> dict[Any, Any]:
    return {item.key: item for item in verdicts.comparisons(found)}


BASE = Cell("riverbed16", "10 %")
WITHOUT = BASE._replace(change=NO_LOST_ACKS)


@pytest.mark.parametrize(
    ("base", "without", "needed"),
    [
        (spread(1950, 100), spread(1000, 100), True),
        # The published time is still within reach without it.
        (spread(1950, 100), spread(1900, 100), False),
        # It is not within reach with it.
        (spread(2950, 100), spread(1000, 100), False),
        # The runs without it are not faster: the slower of the two is chance.
        (spread(1950, 100), spread(3000, 100), False),
    ],
)
def test_a_cause_is_needed_only_if_the_published_time_cannot_do_without(base, without, needed):
    found = Made({BASE: base, WITHOUT: without})
    number = items(found)["Table 4", "response time", "10 %"].published
    assert causes.needed(found, number, BASE, NO_LOST_ACKS, "Acknowledgments are lost").holds is needed


@pytest.mark.parametrize(
    ("slope", "counting", "holds"), [(1.2, 0.25, True), (0.25, 0.25, False), (1.2, 1.2, False)]
)
def test_time_and_retransmissions_are_also_taken_together(slope: float, counting: float, holds: bool):
    """62 retransmissions and 66.83 s lie on a line from 50 s with about 0.25 s each."""
    again = [float(40 + 2 * number) for number in range(30)]
    cells = {}
    for loss in ("1 %", "10 %"):
        for name, cost in (("", slope), (COUNTING, counting)):
            seconds = [50 + cost * many + number % 3 for number, many in enumerate(again)]
            cells[Cell("riverbed16", loss, name)] = seconds
    found = Made(cells, again)
    _, checks = causes.together(found, items(found))
    assert checks.checks[0].holds is holds


@pytest.mark.parametrize(("added", "holds"), [(0.0, True), (10.0, False), (5.0, False)])
def test_the_ten_seconds_are_no_part_of_the_transfer(added: float, holds: bool):
    real = dict(zip(LOSSES[:3], (50.2, 50.4, 51.5), strict=True))
    times = {Cell("riverbed16", loss): spread(seconds + added, 0.01) for loss, seconds in real.items()}
    section = causes.offset(Made(times), items(Made(times)))
    assert section.parts[-1].checks[-1].holds is holds


@pytest.mark.parametrize(
    ("short", "longer", "ours", "holds"),
    [(45.7, 50.3, 50.1, True), (50.2, 50.3, 50.1, False), (45.7, 47, 50.1, False), (45.7, 50.3, 47, False)],
)
def test_the_testbeds_round_trip_shows_without_loss(short, longer, ours, holds):
    found = Made(
        {
            Cell("linux", "0 %", NO_ETHERNET): [short, short],
            Cell("linux", "0 %", LONGER): [longer, longer],
            Cell("linux", "0 %"): [ours, ours],
        }
    )
    number = items(found)["Table 8", "response time", "0 %"].published
    (check,) = testbed.wires(found, number)
    assert check.holds is holds


@pytest.mark.parametrize(("mean", "holds"), [(75, True), (70, False), (82, False)])
def test_a_row_of_the_testbed_is_explained_or_not(mean: float, holds: bool):
    found = Made({Cell("linux", "1 %", ALL_THREE): spread(mean, 0.5)})
    number = items(found)["Table 8", "response time", "1 %"].published
    assert testbed.dear_losses(found, number).holds is holds


def changed(monkeypatch: pytest.MonkeyPatch, table: str, row: int, key: str, value: float) -> None:
    """The publication with another number in one place."""
    other = copy.deepcopy(dict(verdicts.published()))
    other[table]["rows"][row][key] = value
    for module in (verdicts, misprints, figures, ladder):
        if hasattr(module, "published"):
            monkeypatch.setattr(module, "published", lambda: other)


@pytest.mark.parametrize(
    ("check", "table", "row", "key", "value"),
    [
        (misprints.linear, "table1", 3, "per_1500", 0.699),
        (misprints.per_cent, "table4", 3, "difference_percent", 16.62),
        (misprints.mashed, "table8", 4, "difference_percent", 65416.75),
        (misprints.wrong_difference, "table8", 3, "difference_percent", 50.93),
        (misprints.calculated, "table7", 4, "calculated", 761.04),
        (misprints.mixed_base, "table6", 0, "printed", 6900),
    ],
)
def test_a_misprint_is_none_where_the_publication_says_otherwise(check, table, row, key, value, monkeypatch):
    assert check().holds
    changed(monkeypatch, table, row, key, value)
    assert not check().holds


def test_all_entries_of_table_1_would_have_to_be_probabilities(monkeypatch: pytest.MonkeyPatch):
    assert misprints.bit_errors().holds
    for row in range(4):
        for size in (1250, 1500):
            changed(monkeypatch, "table1", row, f"per_{size}", 0.99)
    assert not misprints.bit_errors().holds


def test_table_9_would_have_to_follow_its_own_rule(monkeypatch: pytest.MonkeyPatch):
    assert misprints.table_9(items(Made({}))).holds
    changed(monkeypatch, "table9", 9, "cwnd", 8969)
    assert not misprints.table_9(items(Made({}))).holds


def test_a_mashed_cell_is_read_only_as_it_fits():
    assert misprints.splits("259.665416.75", 50.25) == [(259.665, 416.75)]
    assert misprints.splits("259.665416.75", 60.21) == []
    assert misprints.splits("100100", 50.0) == [(100.0, 100.0)]


def table(rows: list[tuple[Any, ...]], columns: tuple[str, ...]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=list(columns), orient="row")


def a_trace(sent: list[tuple[int, int]], arrived: list[tuple[int, int]], rto: list[tuple[int, int]]):
    """Tables of a run: numbers of what is sent and of what arrives, and the timeout, with their seconds."""
    second = 1_000_000_000
    packets = [(at * second, "right-server ba", "enqueued", number, 1460) for number, at in sent]
    packets += [(at * second, "client-left ba", "delivered", number, 1460) for number, at in arrived]
    series = [(at * second, "server", "rto_ns", seconds * second) for at, seconds in rto]
    return (
        table(series, ("time_ns", "end", "metric", "value")),
        table(packets, ("time_ns", "link", "action", "seq", "payload_bytes")),
    )


def test_timeouts_are_told_by_what_they_doubled_and_for_whom():
    # Segment 1 times out twice, the second time after it arrived. Then 2 waits for what 1 has doubled, and
    # for what it doubles itself; a sample ends it.
    run = a_trace(
        sent=[(1, 0), (1, 1), (1, 3), (2, 7), (2, 15), (3, 16)],
        arrived=[(1, 2), (1, 4), (2, 16)],
        rto=[(0, 1), (1, 2), (3, 4), (7, 8), (15, 16), (16, 1)],
    )
    assert timeouts(*run) == [
        Timeout(0, 1.0, kept=False, arrived=False),
        Timeout(1, 2.0, kept=False, arrived=True),
        Timeout(2, 4.0, kept=True, arrived=False),
        Timeout(3, 8.0, kept=False, arrived=False),
    ]
    found = waiting([20.0, 20.0], *([part, part] for part in run))
    assert found.share == pytest.approx(15 / 20)
    assert [found.per_run(level) for level in found.levels] == [1, 1, 1, 1]


def test_a_sample_that_raises_the_timeout_is_none_that_expires():
    series, packets = a_trace(sent=[(1, 0), (2, 1)], arrived=[], rto=[(0, 1), (2, 3)])
    assert timeouts(series, packets) == []


def steps(*pairs: tuple[float, float]) -> Steps:
    return Steps(*(pl.Series(values, dtype=pl.Float64).to_numpy() for values in zip(*pairs, strict=True)))


def test_steps_hold_their_value_until_the_next():
    found = steps((0.0, 1.0), (1.0, 5.0), (2.0, 3.0))
    assert found.sampled(10, 0.5) == ([0, 0.5, 1, 1.5, 2, 2.5], [1, 1, 5, 5, 3, 3])
    assert found.just_before(1.0) == 1
    assert found.just_before(1.1) == 5
    assert found.reaches(4) == 1
    assert found.reaches(3, after=1.5) == 2
    assert found.reaches(6) is None


class Curve(Trace):
    """A run of which only some curves are known."""

    def __init__(self, completion: float = 50.0, **curves: Steps) -> None:
        super().__init__(pl.DataFrame(), pl.DataFrame(), completion)
        object.__setattr__(self, "curves", curves)

    def server(self, metric: str) -> Steps:
        return self.curves[metric]


@pytest.mark.parametrize(
    ("window", "holds"),
    [
        (((0, 140_000), (5, 4380)), True),
        (((0, 100_000), (5, 4380)), False),
        (((0, 140_000), (5, 70_000)), False),
    ],
)
def test_cause_and_effect_of_a_loss_at_a_large_window(window, holds):
    run = Curve(cwnd_bytes=steps(*window), retransmissions=steps((0, 0), (5, 1)))
    assert figures.cause_and_effect(run).holds is holds


def test_no_ladder_without_a_repair():
    columns = ("time_ns", "link", "action", "seq", "ack", "payload_bytes", "tcp_flags")
    rows = [
        (0, "right-server ba", "enqueued", 1, 1, 1460, 16),
        (0, "bottleneck ba", "enqueued", 1, 1, 1460, 16),
    ]
    run = Trace(
        table(
            [(0, "server", "phase", 0), (0, "server", "flight_bytes", 0)],
            ("time_ns", "end", "metric", "value"),
        ),
        table(rows, columns),
        1.0,
    )
    assert len(ladder.packets(run)) == 1
    with pytest.raises(LookupError, match="fast retransmit"):
        ladder.first_repair(run)


def today(**times: float) -> list[Check]:
    """The checks on today's TCP with some times of its own."""
    own = {"0 %": 8.6, "0.01 %": 8.7, "0.1 %": 9.0, "1 %": 23.0, "10 %": 215.0}
    own |= {f"{loss.replace('_', '.').strip('p')} %": value for loss, value in times.items()}
    riverbed, reno, sack, newest = TODAY.values()
    found = {newest._replace(loss=loss): spread(value, 0.01) for loss, value in own.items()}
    found |= {reno._replace(loss="1 %"): spread(59), sack._replace(loss="1 %"): spread(58.9)}
    found |= {riverbed._replace(loss="10 %"): spread(2173, 100)}
    return beyond.today_checks(Made(found))


@pytest.mark.parametrize(
    ("times", "failing"),
    [({}, None), ({"p0_1": 9.9}, 0), ({"p1": 40.0}, 1), ({"p10": 80.0}, 3), ({"p10": 800.0}, 3)],
)
def test_what_is_said_of_todays_tcp_can_fail(times, failing):
    assert [index for index, check in enumerate(today(**times)) if not check.holds] == (
        [] if failing is None else [failing]
    )
