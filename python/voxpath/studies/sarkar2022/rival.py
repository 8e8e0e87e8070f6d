"""The publication's own explanation of the testbed: a window that takes 27 round trips to come back.

No rule of TCP that the publication names makes a window so slow (`ladder.py`), so that no stack of ours has
it. What section 5.2 counts in its capture is enough to run it all the same: how many segments go in each
round trip after a loss. Everything else is as well for it as can be: a loss costs nothing but the window,
whatever the window is, and is repaired at once.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from voxpath.document import Cell as Entry
from voxpath.document import Check, Checks, Table, Text
from voxpath.results.decisions import all_of, below, minus, negated
from voxpath.results.intervals import Summary, summarise
from voxpath.studies.base import compare, shown
from voxpath.studies.sarkar2022.scenario import FILE, SEGMENT, WINDOW, probability
from voxpath.studies.sarkar2022.verdicts import printed, published

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voxpath.document import Part
    from voxpath.results.decisions import Decision
    from voxpath.studies.base import Published

_REPLICATIONS = 100
FITS = {True: "fits", False: "excluded", None: "undecided"}

_METHOD = (
    "Section 5.2 counts {rounds} round trips until six segments go in each again, {segments} segments in "
    "all, and multiplies: {losses} losses cost {cost:g} s each. Below, segments are lost by chance from "
    "windows that follow that count, round trip by round trip ({replications} replications). A loss that "
    "comes before the window is back begins the count anew."
)


def seconds(loss: float, round_trip: float, dice: random.Random) -> float:
    """How long the file takes with windows that come back as in the capture."""
    full = WINDOW // SEGMENT
    windows = recovery()
    left, rounds, since = -(-FILE // SEGMENT), 0, len(windows)
    owed = 0.0
    while left > 0:
        # Windows of a part of a segment more are one segment more in some of the rounds.
        owed += windows[since] if since < len(windows) else full
        sent = min(left, int(owed))
        owed -= sent
        lost = sum(dice.random() < loss for _ in range(sent))
        left -= sent - lost
        rounds += 1
        since = 0 if lost else since + 1
    return rounds * round_trip


def recovery() -> Sequence[float]:
    """Segments in each round trip after a loss, until all of the window is used."""
    return [
        phase["segments"] / phase["rounds"]
        for phase in published()["section5"]["recovery"]
        for _ in range(phase["rounds"])
    ]


def times(losses: Sequence[str]) -> Mapping[str, Summary]:
    """The rival's times by loss, at the round trip that the row without loss has."""
    full = WINDOW // SEGMENT
    round_trip = printed("table8", "0 %") * full / -(-FILE // SEGMENT)
    return {
        loss: summarise(
            [
                seconds(probability(loss), round_trip, random.Random(f"{loss} {number}"))  # noqa: S311 - no secret
                for number in range(_REPLICATIONS)
            ]
        )
        for loss in losses
    }


def parts(numbers: Sequence[Published]) -> list[Part]:
    """The rival beside Table 8."""
    found = times([number.case for number in numbers])
    text = published()["section5"]
    phases = text["recovery"]
    judged = {number.case: compare(number, found[number.case]) for number in numbers}
    cells: list[str | Entry] = [
        Entry(
            f"{shown(found[loss])} {'' if item.fits else '(excluded)'}",
            None if item.fits else "bad",
            item.reason,
        )
        for loss, item in judged.items()
    ]
    saved = minus(found[numbers[3].case], numbers[0].value)
    fits = [item.within_reach for item in judged.values()]
    return [
        Text(
            (
                _METHOD.format(
                    rounds=sum(phase["rounds"] for phase in phases),
                    segments=sum(phase["segments"] for phase in phases),
                    losses=text["losses"],
                    cost=text["loss_cost_s"],
                    replications=_REPLICATIONS,
                ),
            )
        ),
        Table(
            "The rival of section 5.2: completion, s",
            ("", *(number.case for number in numbers)),
            [["slow windows alone", *cells], ["published", *(f"{number.value:g}" for number in numbers)]],
        ),
        Checks("The rival", checks(fits, numbers[-1], saved)),
    ]


def checks(fits: Sequence[Decision], highest: Published, saved: Summary) -> list[Check]:
    """What the rival's runs decide.

    Args:
        fits: Whether the published time is within its reach, loss by loss.
        highest: The time at the highest loss.
        saved: What it adds at the loss of the capture, in seconds.
    """
    text = published()["section5"]
    product = text["losses"] * text["loss_cost_s"]
    return [
        Check(
            "Windows that come back as slowly as in the capture, and nothing else, put every row up to 1 % "
            f"within reach, and leave {highest.value:g} s out of it: there the timer waited.",
            all_of([*fits[:-1], negated(fits[-1])]),
            ", ".join(FITS[fit] for fit in fits),
        ),
        Check(
            f"The product of section 5.2, {product:.2f} s, counts more than there is: at 1 % the next loss "
            "comes before the window is back, so that the same windows cost less.",
            below(saved, 0.9 * product),
            f"{shown(saved)} s",
        ),
    ]
