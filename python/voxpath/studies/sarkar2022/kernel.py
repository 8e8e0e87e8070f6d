"""Table 8 on today's kernel: side by side with everything else, and by runs why it differs."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from voxpath.document import Cell as Entry
from voxpath.document import Check, Checks, Facts, Section, Table, Text
from voxpath.results.decisions import above, all_of, below, minus, within
from voxpath.results.intervals import summarise
from voxpath.studies.base import compare, shown
from voxpath.studies.sarkar2022.questions import (
    KERNEL,
    LONGER,
    NO_ETHERNET,
    NO_FAST_RETRANSMIT,
    NO_LOST_ACKS,
    ONE_LOSS,
    ONE_LOSS_NO_FAST_RETRANSMIT,
    PROMPT,
    SIM,
    Cell,
    kernel_questions,
)
from voxpath.studies.sarkar2022.scenario import FILE, LOSSES, WINDOW
from voxpath.studies.sarkar2022.tables import formula
from voxpath.studies.sarkar2022.traces import Trace
from voxpath.studies.sarkar2022.verdicts import losses_of, published

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voxpath.document import Part
    from voxpath.results.decisions import Decision
    from voxpath.results.intervals import Summary
    from voxpath.studies.base import Comparison, Key, Published
    from voxpath.studies.sarkar2022.questions import Found

_TIME = "completion_s"
_TIMEOUTS = "server_timeouts"
_AGAIN = "server_retransmissions"

NOT_ASKED = Text(
    ("Not asked: this part needs the backend real (--backend sim,formula,real), and the downloads' time.",)
)

_CHANGES = (NO_FAST_RETRANSMIT, PROMPT, NO_LOST_ACKS)
_SINGLE = (ONE_LOSS, ONE_LOSS_NO_FAST_RETRANSMIT)
_FEW = 10
"""Losses in a download below which their price is not what makes its time."""

_FOR_A_CHECK = 3
"""Runs on the kernel that a claim about times of a heavy tail needs at least."""

_DEAR = "1 %"
"""The loss at which the testbed paid the most for each."""

_CORNERS = 4
"""Of two intervals."""

_FREE: Mapping[str, str] = {PROMPT: PROMPT}
"""What is changed of the transfer without loss, where a change matters to it: the others need a loss."""

_PAIRS = (
    "Delayed acknowledgments make a loss expensive after its repair. Six segments are acknowledged two by "
    "two, but after a retransmission the pairs may be shifted. Then the odd segment of each window waits for "
    "the next one or the timer, and five segments are sent in a round trip, though the congestion window is "
    "whole. A trace shows it (docs/kernel.md). How long it lasts is chance."
)


def section(found: Found, items: Mapping[Key, Comparison]) -> Section:
    """Everything that answers Table 8, and why it differs."""
    numbers = [items["Table 8", "response time", loss].published for loss in LOSSES]
    parts: list[Part] = [side_by_side(found, items)]
    if found.tested:
        parts += [
            _runs(found),
            _changed(found, numbers),
            _prices(found, numbers),
            _single(found),
            Checks("Checks", checks(found, numbers)),
            Text((_PAIRS,)),
        ]
    else:
        parts.append(NOT_ASKED)
    return Section("Table 8 beside today's kernel", parts)


def side_by_side(found: Found, items: Mapping[Key, Comparison]) -> Table:
    """Riverbed, the published testbed, today's kernel, the simulator, a closed form."""
    rows: list[list[str | Entry]] = []
    for loss in LOSSES:
        number = items["Table 8", "response time", loss].published
        cell = Cell("linux", loss)
        kernel, ours = found.summary(cell, _TIME, KERNEL), found.summary(cell, _TIME)
        rows.append(
            [
                loss,
                f"{items['Table 4', 'response time', loss].published.value:g}",
                f"{number.value:g}",
                _against(kernel, number.value),
                _against(ours, None if kernel is None else kernel.mean),
                shown(found.summary(Cell("riverbed16", loss), _TIME)),
                formula(found, "Table 8", loss),
            ]
        )
    columns = (
        "loss",
        "Riverbed (Table 4 less 10 s)",
        "testbed (Table 8)",
        "today's kernel",
        "our linux",
        "our riverbed16",
        "formula",
    )
    notes = (
        "Seconds; means with 95 % t-intervals.",
        "In brackets: today's kernel from the testbed, our linux from today's kernel.",
    )
    return Table("Table 8 and what answers it", columns, rows, notes)


def _against(ours: Summary | None, other: float | None) -> str:
    if ours is None:
        return ""
    return shown(ours) if not other else f"{shown(ours)} ({100 * (ours.mean / other - 1):+.1f} %)"


def _runs(found: Found) -> Facts:
    outcomes = found.real_outcomes
    rejected = [reason for outcome in outcomes for reason in outcome.rejected]
    late = sum(not outcome.valid for outcome in outcomes)
    asked = sum(len(question.replications) for question in kernel_questions(found.effort).values())
    systems = Counter(
        json.loads((outcome.folder / "environment.json").read_bytes())["system"] for outcome in outcomes
    )
    return Facts(
        "Runs on the kernel",
        (
            ("kernel", ", ".join(systems)),
            (
                "set-up",
                f"a namespace for each host, reno, SO_RCVBUF of {WINDOW} bytes, no SACK, no timestamps",
            ),
            ("runs", f"{asked} asked for, of which {len(outcomes) - late} were on time and count"),
            ("attempts", f"{len(outcomes) + len(rejected)}, of which {len(rejected) + late} were too late"),
        ),
    )


def _changed(found: Found, numbers: Sequence[Published]) -> Table:
    """One thing changed on the kernel, the simulator's answer to the same beside it."""
    rows: list[list[str | Entry]] = []
    for name in ("", *_CHANGES):
        row: list[str | Entry] = [name or "as published"]
        for number in numbers[1:]:
            cell = Cell("linux", number.case, name)
            kernel = found.summary(cell, _TIME, KERNEL)
            if kernel is None:
                row.append("")
                continue
            judged = compare(number, kernel)
            text = f"{shown(kernel)} {'' if judged.fits else '(excluded)'}"
            row.append(
                Entry(text, None, f"{judged.reason}; the simulator has {shown(found.summary(cell, _TIME))}")
            )
        rows.append(row)
    rows.append(["published", *(f"{number.value:g}" for number in numbers[1:])])
    return Table("One thing changed on the kernel: completion, s", ("changed", *LOSSES[1:]), rows)


def _prices(found: Found, numbers: Sequence[Published]) -> Table:
    rows: list[list[str | Entry]] = []
    for by, who in ((KERNEL, "kernel"), (SIM, "simulator")):
        for name in ("", *_CHANGES):
            row: list[str | Entry] = [f"{who}, {name or 'as published'}"]
            for number in numbers[1:]:
                cell = Cell("linux", number.case, name)
                cost, waits = price(found, cell, by), timeouts(found, cell, by)
                row.append(
                    "" if cost is None or waits is None else f"{shown(cost)} s, {waits.mean:.2f} timeouts"
                )
            if any(row[1:]):
                rows.append(row)
    lossless = numbers[0].value
    paid = [f"{(number.value - lossless) / losses_of(number.case):.3f} s" for number in numbers[1:]]
    rows.append(["testbed", *paid])
    return Table(
        "What a lost segment costs, for each of the n p / (1 - p) to be expected",
        ("", *LOSSES[1:]),
        rows,
    )


def price(found: Found, cell: Cell, by: str = KERNEL) -> Summary | None:
    """Seconds that each lost segment adds to the same without loss."""
    ours = found.summary(cell, _TIME, by)
    free = found.summary(cell._replace(loss=LOSSES[0], change=_FREE.get(cell.change, "")), _TIME, by)
    if ours is None or free is None:
        return None
    # Without loss runs differ by little: all of the spread is that of ours.
    return replace(ours, mean=ours.mean - free.mean).scaled(1 / losses_of(cell.loss))


def timeouts(found: Found, cell: Cell, by: str = KERNEL) -> Summary | None:
    """Timeouts for each lost segment."""
    waits = found.summary(cell, _TIMEOUTS, by)
    return None if waits is None else waits.scaled(1 / losses_of(cell.loss))


def _single(found: Found) -> Table:
    rows: list[list[str | Entry]] = []
    for name in _SINGLE:
        cell = Cell("linux", LOSSES[0], name)
        rows.append(
            [
                name,
                shown(found.summary(cell, _TIME, KERNEL)),
                shown(found.summary(cell, _TIMEOUTS, KERNEL)),
                shown(found.summary(cell, _AGAIN, KERNEL)),
                shown(window_back(found, name)),
            ]
        )
    columns = (
        "one segment lost",
        "completion, s",
        "timeouts",
        "sent again",
        "window whole again after, round trips",
    )
    note = "What one loss costs is less than what the machine's own delays make of the times without any."
    return Table("One loss on the kernel", columns, rows, (note,))


def window_back(found: Found, name: str) -> Summary | None:
    """Round trips from a retransmission until the congestion window holds all that the receiver takes."""
    cell = Cell("linux", LOSSES[0], name)
    completion = found.summary(Cell("linux", LOSSES[0]), _TIME, KERNEL)
    if completion is None:
        return None
    round_trip = completion.mean * WINDOW / FILE
    rounds = []
    for series in found.trace(cell, "series", KERNEL):
        run = Trace(series, pl.DataFrame(), 0)
        again = run.server("retransmissions").reaches(1)
        back = None if again is None else run.server("cwnd_bytes").reaches(WINDOW, again)
        if again is None or back is None:
            return None
        rounds.append((back - again) / round_trip)
    return summarise(rounds) if rounds else None


def checks(found: Found, numbers: Sequence[Published]) -> list[Check]:
    """What the runs on the kernel decide."""
    number = next(number for number in numbers if number.case == _DEAR)
    made = [
        _wires(found, numbers[0]),
        _repaired(found, number),
        _timer(found, number),
        _dear(found, number, numbers[0]),
        _prompt(found, number),
        _window(found),
        *_both_ways(found, numbers[-1]),
    ]
    return [check for check in made if check is not None]


def _wires(found: Found, number: Published) -> Check | None:
    """What round trip makes the time without loss, by the kernel's times for two."""
    trips = {40.0: NO_ETHERNET, 44.0: LONGER}
    taken = {ms: found.summary(Cell("linux", LOSSES[0], name), _TIME, KERNEL) for ms, name in trips.items()}
    short, long = taken[40.0], taken[44.0]
    if short is None or long is None or long.mean <= short.mean:
        return None
    trip = 40 + 4 * (number.value - short.mean) / (long.mean - short.mean)
    ends = [
        40 + 4 * (number.value - brief) / (lengthy - brief)
        for brief in short.interval or ()
        for lengthy in long.interval or ()
        if lengthy > brief
    ]
    return Check(
        "On today's kernel too: the testbed's round trip was not the 40 ms of its netem, but about 44 ms.",
        within((min(ends), max(ends)), 42, 46) if len(ends) == _CORNERS else None,
        f"40 ms take {shown(short)} s, 44 ms {shown(long)} s, so that {number.value:g} s are {trip:.1f} ms",
    )


def _repaired(found: Found, number: Published) -> Check | None:
    waits = timeouts(found, Cell("linux", number.case))
    if waits is None:
        return None
    return Check(
        f"Today's kernel repairs a loss without its timer: at {number.case} fewer than one in four waits for "
        "it.",
        below(waits, 0.25),
        f"{shown(waits)} timeouts a loss",
    )


def _timer(found: Found, number: Published) -> Check | None:
    cell = Cell("linux", number.case)
    without = cell._replace(change=NO_FAST_RETRANSMIT)
    waits, dear, cheap = timeouts(found, without), price(found, without), price(found, cell)
    if waits is None or dear is None or cheap is None:
        return None
    return Check(
        "Without fast retransmit most losses wait for the timer, and each costs half as much again or more.",
        all_of([above(waits, 0.5), above(dear, cheap.scaled(1.5))]),
        f"{shown(waits)} timeouts a loss; {shown(dear)} s a loss, {shown(cheap)} s with fast retransmit",
    )


def _dear(found: Found, number: Published, lossless: Published) -> Check | None:
    share = explained(found, number, lossless)
    if share is None:
        return None
    paid = (number.value - lossless.value) / losses_of(number.case)
    return Check(
        f"The testbed paid {paid:.2f} s a loss, as if it waited for the timer nearly every time: without "
        "fast retransmit the kernel comes at least half of the way from its own price to that.",
        share.surely_half,
        f"{100 * share.mean:.0f} % of the way",
    )


class Way(NamedTuple):
    """Which part of the way from the kernel's price of a loss to the testbed's fast retransmit makes.

    Attributes:
        mean: By the mean prices.
        surely_half: Whether it is at least half of the way.
    """

    mean: float
    surely_half: Decision


def explained(found: Found, number: Published, lossless: Published) -> Way | None:
    """How far the kernel comes without fast retransmit."""
    cell = Cell("linux", number.case)
    dear, cheap = price(found, cell._replace(change=NO_FAST_RETRANSMIT)), price(found, cell)
    if dear is None or cheap is None:
        return None
    paid = (number.value - lossless.value) / losses_of(number.case)
    # Half of the way is the mean of what it costs and what the testbed paid.
    half = above(minus(dear, cheap.scaled(0.5)), paid / 2)
    return Way((dear.mean - cheap.mean) / (paid - cheap.mean), all_of([below(cheap, paid), half]))


def _prompt(found: Found, number: Published) -> Check | None:
    cell = Cell("linux", number.case)
    usual, prompt = price(found, cell), price(found, cell._replace(change=PROMPT))
    free = [found.summary(Cell("linux", LOSSES[0], name), _TIME, KERNEL) for name in ("", PROMPT)]
    if usual is None or prompt is None or not all(free):
        return None
    return Check(
        "A part of what a loss costs today is the delay of acknowledgments: without it a loss costs less.",
        below(prompt, usual.scaled(0.9)),
        f"{shown(prompt)} s a loss against {shown(usual)} s; without loss {shown(free[1])} s against "
        f"{shown(free[0])} s",
    )


def _window(found: Found) -> Check | None:
    rounds, published_rounds = window_back(found, ONE_LOSS), published()["section5"]["rounds"]
    if rounds is None:
        return None
    return Check(
        f"It is not the window: where section 5.2 counts {published_rounds} round trips, the kernel's is "
        "whole again within a third of these.",
        below(rounds, published_rounds / 3),
        f"{shown(rounds)} round trips",
    )


def _both_ways(found: Found, number: Published) -> list[Check]:
    """Only the highest loss tells whether acknowledgments were lost too."""
    both = found.summary(Cell("linux", number.case), _TIME, KERNEL)
    data = found.summary(Cell("linux", number.case, NO_LOST_ACKS), _TIME, KERNEL)
    if both is None or data is None or min(both.n, data.n) < _FOR_A_CHECK:
        return []
    return [
        Check(
            f"At {number.case} lost acknowledgments cost the kernel time of their own.",
            above(both, data),
            f"{shown(both)} s both ways, {shown(data)} s where data alone is lost",
        )
    ]


def cause(found: Found, number: Published, lossless: Published) -> Check:
    """What makes a row of Table 8 differ from today's kernel, where it does."""
    if losses_of(number.case) < _FEW:
        return slow_machine(found, number)
    return dear_losses(found, number, lossless)


def slow_machine(found: Found, number: Published) -> Check:
    """Where hardly a segment is lost, what this machine adds to every round trip shows."""
    trip = Cell("linux", LOSSES[0], LONGER)
    ours, ideal = found.summary(trip, _TIME, KERNEL), found.summary(trip, _TIME, SIM)
    added = None if ours is None or ideal is None else minus(ours, ideal)
    more = 0.0 if added is None else added.mean
    judged = compare(
        replace(number, value=number.value + more), found.summary(Cell("linux", number.case), _TIME, KERNEL)
    )
    return Check(
        "This machine adds some of its own to every round trip: with what it adds without loss, the "
        "published time is within reach.",
        all_of([above(added), judged.within_reach]),
        f"it adds {more:.2f} s to a download without loss, beside the simulator; then {judged.reason}",
    )


def dear_losses(found: Found, number: Published, lossless: Published) -> Check:
    """Where many are lost, what the loss of one costs shows."""
    usual = compare(number, found.summary(Cell("linux", number.case), _TIME, KERNEL))
    share = explained(found, number, lossless)
    return Check(
        "The testbed's kernel waited for its timer where today's does not: without fast retransmit today's "
        "comes at least half of the way to the published time.",
        None if share is None else share.surely_half,
        usual.reason + ("" if share is None else f"; {100 * share.mean:.0f} % of the way"),
    )
