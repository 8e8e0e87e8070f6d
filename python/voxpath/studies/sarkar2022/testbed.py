"""Why the testbed of Table 8 is slower under loss than our `linux`, and what its round trip was."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from voxpath.document import Cell as Entry
from voxpath.document import Check, Checks, Section, Table, Text
from voxpath.results.decisions import all_of, negated
from voxpath.studies.base import compare, shown
from voxpath.studies.sarkar2022 import rival
from voxpath.studies.sarkar2022.questions import (
    CANDIDATE,
    LONGER,
    NO_ETHERNET,
    NO_FAST_RETRANSMIT,
    PER_ACK,
    TESTBED,
    Cell,
)
from voxpath.studies.sarkar2022.scenario import LOSSES
from voxpath.studies.sarkar2022.tables import NOT_ASKED
from voxpath.studies.sarkar2022.verdicts import losses_of, published

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voxpath.results.decisions import Decision
    from voxpath.results.intervals import Summary
    from voxpath.studies.base import Comparison, Key, Published
    from voxpath.studies.sarkar2022.questions import Found

_TIME = "completion_s"

_SUFFICIENT = (
    "All three together are a candidate, sufficient but not proved: that a loss waits for the timer, "
    "that the window grows by acknowledgments and that these arrive puts {fits} of the {all} rows with "
    "loss within reach. The publication explains the delay by the window alone: Figure 10 shows one "
    "loss of its capture, repaired by a fast retransmit, after which the window took {rounds} round "
    "trips to come back, so that {losses} losses cost {cost:.2f} s. That is near the {measured:.2f} s "
    "of Table 8, but neither rule of section 5.2 makes a window so slow; what such windows alone would "
    "take stands below. Which kernel the testbed ran is not published."
)


def section(found: Found, items: Mapping[Key, Comparison]) -> Section:
    """What makes Table 8."""
    title = "The testbed of Table 8"
    if not found.simulated:
        return Section(title, [NOT_ASKED])
    numbers = [items["Table 8", "response time", loss].published for loss in LOSSES]
    fits = _fitting(found, numbers[1:], CANDIDATE)
    capture = published()["section5"]
    rows: list[list[str | Entry]] = []
    for name in ("", *TESTBED):
        row: list[str | Entry] = [name or "linux as published"]
        for number in numbers[1:]:
            ours = found.summary(Cell("linux", number.case, name), _TIME)
            judged = compare(number, ours)
            row.append(Entry(f"{shown(ours)} {'' if judged.fits else '(excluded)'}", None, judged.reason))
        rows.append(row)
    rows.append(["published", *(f"{number.value:g}" for number in numbers[1:])])
    return Section(
        title,
        [
            Table("One thing changed in linux: completion, s", ("changed", *LOSSES[1:]), rows),
            _prices(found, numbers),
            Checks("Checks", [*wires(found, numbers[0]), *_explained(found, numbers)]),
            Text(
                (
                    _SUFFICIENT.format(
                        fits=fits.count(True),
                        all=len(fits),
                        measured=numbers[3].value - numbers[0].value,
                        rounds=capture["rounds"],
                        losses=capture["losses"],
                        cost=capture["losses"] * capture["loss_cost_s"],
                    ),
                )
            ),
            *rival.parts(numbers),
        ],
    )


_ENOUGH_FOR_FOUR = 10
"""Replications with fewer of which four verdicts at once are chance: the row of 10 % has a heavy tail."""


def wires(found: Found, number: Published) -> list[Check]:
    """The round trip, which the row without loss measures."""
    short = compare(number, found.summary(Cell("linux", "0 %", NO_ETHERNET), _TIME))
    longer = compare(number, found.summary(Cell("linux", "0 %", LONGER), _TIME))
    ours = compare(number, found.summary(Cell("linux", "0 %"), _TIME))
    return [
        Check(
            "The testbed's round trip was not the 40 ms of its netem, but about 44 ms: what 22 ms each "
            "way give, or 10 Mbit/s Ethernet on both sides.",
            all_of([longer.within_reach, ours.within_reach, negated(short.within_reach)]),
            f"44 ms: {longer.reason}; Ethernet: {ours.reason}; 40 ms: {short.reason}",
        )
    ]


def _prices(found: Found, numbers: Sequence[Published]) -> Table:
    """What a loss costs, with the losses that are to be expected."""
    rows: list[list[str | Entry]] = []
    for name in ("", *TESTBED):
        row: list[str | Entry] = [name or "linux as published"]
        base = found.summary(Cell("linux", "0 %"), _TIME)
        row += [_price(found.summary(Cell("linux", n.case, name), _TIME), base, n.case) for n in numbers[1:]]
        rows.append(row)
    lossless = numbers[0].value
    row = ["published"]
    row += [f"{(n.value - lossless) / losses_of(n.case):.3f}" for n in numbers[1:]]
    rows.append(row)
    return Table(
        "What a lost segment costs: seconds more, for each of the n p / (1 - p) to be expected",
        ("changed", *LOSSES[1:]),
        rows,
    )


def _price(ours: Summary | None, base: Summary | None, loss: str) -> str:
    if ours is None or base is None:
        return ""
    # Without loss every run takes the same time: all of the spread is that of ours.
    return shown(replace(ours, mean=ours.mean - base.mean).scaled(1 / losses_of(loss)))


def _fitting(found: Found, numbers: Sequence[Published], name: str) -> list[Decision]:
    cells = [Cell("linux", number.case, name) for number in numbers]
    return [
        compare(number, found.summary(cell, _TIME)).within_reach
        for number, cell in zip(numbers, cells, strict=True)
    ]


def _explained(found: Found, numbers: Sequence[Published]) -> list[Check]:
    high = numbers[3]
    growth = compare(high, found.summary(Cell("linux", high.case, PER_ACK), _TIME))
    timer = _fitting(found, numbers[1:], NO_FAST_RETRANSMIT)
    alone = Check(
        "Without fast retransmit alone, the rows below 10 % are within reach, that of 10 % is not.",
        all_of([*timer[:-1], negated(timer[-1])]),
        ", ".join(f"{n.case}: {rival.FITS[fit]}" for n, fit in zip(numbers[1:], timer, strict=True)),
    )
    return [
        Check(
            "The window's slow way back, to which section 5.2 puts the whole delay, does not make "
            f"{high.value:g} s: growth by MSS²/cwnd an acknowledgment leaves it out of reach.",
            negated(growth.within_reach),
            growth.reason,
        ),
        *([alone] if found.effort.replications >= _ENOUGH_FOR_FOUR else []),
        dear_losses(found, high),
    ]


def dear_losses(found: Found, number: Published) -> Check:
    """The candidate for what differs in a row of Table 8."""
    judged = compare(number, found.summary(Cell("linux", number.case, CANDIDATE), _TIME))
    return Check(
        f"Candidate, sufficient but not proved: a loss costs the testbed what a timeout "
        f"costs. {number.value:g} s are within reach where fast "
        "retransmit has no effect, the window grows by acknowledgments and none of these is lost.",
        judged.within_reach,
        judged.reason,
    )
