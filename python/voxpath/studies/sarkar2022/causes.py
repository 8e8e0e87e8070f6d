"""Why the simulation's published times are what they are: the 10 s of Table 4, and its 1953 s.

Each candidate is taken away in runs with the same random streams. One criterion tells for every one whether
the published number is then out of reach, or the runs only slower or faster, or nothing is shown.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from voxpath.document import Cell as Entry
from voxpath.document import Check, Checks, Section, Table, Text
from voxpath.results.decisions import above, all_of, negated
from voxpath.results.intervals import along_a_line
from voxpath.studies.base import compare, in_reach, shown
from voxpath.studies.sarkar2022.questions import (
    CAUSES,
    COUNTING,
    FLOOR,
    NEITHER,
    NO_BACK_OFF,
    NO_LOST_ACKS,
    Cell,
)
from voxpath.studies.sarkar2022.scenario import FILE, LOSSES
from voxpath.studies.sarkar2022.tables import NOT_ASKED, computed
from voxpath.studies.sarkar2022.verdicts import printed, published
from voxpath.studies.sarkar2022.waiting import Waiting, waiting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voxpath.document import Part
    from voxpath.results.decisions import Decision
    from voxpath.results.intervals import Summary
    from voxpath.studies.base import Comparison, Key, Published
    from voxpath.studies.sarkar2022.questions import Found

_TIME = "completion_s"
_METHOD = (
    "Each line takes one thing away from riverbed16 and runs the same replications again. Necessary: without "
    "it the published time is out of reach, and the runs surely take another time (paired 95 % interval). "
    "Contributes: they surely do, but the published time stays within reach. No effect shown: neither; that "
    "is no proof that there is none."
)

_BOTH = (
    "Where 95 % of further runs with as many retransmissions lie: a straight line through ours. Together: "
    "whether the published time lies there. Table 4 alone: the outcome above. A change may be excluded by "
    "one and pass the other; those that pass at 1 % are candidates for how Riverbed differs, no more."
)

_KEPT = (
    "Doubled by another segment: that one has been acknowledged, or this would not be the oldest; but "
    "Karn's rule takes no sample of what was sent twice, so that the acknowledgment did not end the "
    "back-off."
)

Outcome = Literal["necessary", "contributes", "no effect shown", "no answer"]

_FOR_A_LINE = 10
"""Replications that a straight line through them needs at least."""

_DEEP = "10 %"
"""The loss of the longest time."""


def offset(found: Found, items: Mapping[Key, Comparison]) -> Section:
    """The ten seconds of Table 4."""
    title = "The ten seconds of Table 4"
    parts: list[Part] = []
    numbers = [items["Table 4", "response time", loss].published for loss in LOSSES[:3]]
    whole = printed("table4", LOSSES[0])
    rate = published()["section4_3_1"]["throughput"]
    span = FILE / rate
    text = Check(
        "The throughput of section 4.3.1 leaves ten seconds of Table 4 without a transfer.",
        abs(whole - span - published()["table4"]["offset"]) <= 1,
        f"{whole:g} s - {FILE:,} bytes / {rate:,} bytes/s = {whole - span:.2f} s; recorded once a second",
    )
    parts.append(computed("Computed from the publication's own numbers", [text]))
    if found.simulated:
        with_it, without = [], []
        rows: list[list[str | Entry]] = []
        for number in numbers:
            ours = found.summary(Cell("riverbed16", number.case), _TIME)
            if ours is None:
                continue
            with_it.append(compare(number, ours).within_reach)
            without.append(compare(_as_printed(number), ours).within_reach)
            limit = found.row(Cell("riverbed16", number.case), _TIME, "window_limit")
            formula = "" if limit is None or limit.value is None else f"{number.printed - limit.value:.2f}"
            rows.append(
                [
                    number.case,
                    f"{number.printed:g}",
                    shown(ours),
                    shown(replace(ours, mean=number.printed - ours.mean)),
                    formula,
                ]
            )
        columns = ("loss", "printed, s", "ours, s", "printed - ours, s", "printed - window limit, s")
        parts.append(Table("What is left of the printed time", columns, rows))
        check = Check(
            "Less ten seconds, the times up to 0.1 % loss are ours; as printed, none of them is.",
            all_of([*with_it, *map(negated, without)]),
            f"less 10 s: {with_it.count(True)} of {len(with_it)} fit; as printed: {without.count(True)}",
        )
        parts.append(Checks("Checks", [check]))
    return Section(title, parts)


def _as_printed(number: Published) -> Published:
    return replace(number, value=number.printed)


def slow(found: Found, items: Mapping[Key, Comparison]) -> Section:
    """What makes 1953 s."""
    title = f"What makes {printed('table4', _DEEP):g} s"
    if not found.simulated:
        return Section(title, [NOT_ASKED])
    number = items["Table 4", "response time", _DEEP].published
    tables = [_removals(found, loss, items) for loss in found.effort.cause_losses]
    waits = {name: _waiting(found, name) for name in ("", NO_LOST_ACKS)}
    return Section(
        title,
        [
            Text((_METHOD,)),
            *tables,
            Checks("Causes at 10 % loss", _causes(found, number)),
            *together(found, items),
            _levels(waits),
            Checks("Where the time goes, packet by packet", _waits(found, waits)),
        ],
    )


def _removals(found: Found, loss: str, items: Mapping[Key, Comparison]) -> Table:
    number = items["Table 4", "response time", loss].published
    base = Cell("riverbed16", loss)
    rows: list[list[str | Entry]] = []
    for name in ("", *CAUSES):
        cell = base._replace(change=name)
        ours = found.summary(cell, _TIME)
        slower = found.slower(cell, base) if name else None
        rows.append(
            [
                name or "riverbed16 as published",
                shown(ours),
                shown(slower),
                _part(ours, slower),
                shown(found.summary(cell, "server_timeouts")),
                Entry(_reach(compare(number, ours)), None, compare(number, ours).reason),
                outcome(found, number, base, name) if name else "",
            ]
        )
    columns = (
        "taken away",
        "completion, s",
        "paired difference, s",
        "of it",
        "timeouts",
        f"{number.value:g} s",
        "outcome",
    )
    return Table(f"One cause taken away, {loss} loss", columns, rows)


def together(found: Found, items: Mapping[Key, Comparison]) -> list[Part]:
    """Tables 4 and 5 taken together: the time that goes with the published number of retransmissions."""
    losses = [loss for loss in found.effort.cause_losses if found.effort.replications >= _FOR_A_LINE]
    if not losses:
        return []
    fits: dict[tuple[str, str], Decision] = {}
    rows: list[list[str | Entry]] = []
    for loss in losses:
        time = items["Table 4", "response time", loss].published
        again = items["Table 5", "retransmissions", loss].published
        slack = time.tolerance.of(time.value)
        base = Cell("riverbed16", loss)
        for name in ("", *CAUSES):
            cell = base._replace(change=name)
            seconds, many = found.values(cell, _TIME), found.values(cell, "server_retransmissions")
            if len(seconds) < _FOR_A_LINE or len(seconds) != len(many):
                continue
            low, high = along_a_line(many, seconds, again.value)
            fits[loss, name] = in_reach(time.value, low, high, slack)
            rows.append(
                [
                    loss,
                    name or "riverbed16 as published",
                    f"{low:.1f} to {high:.1f}",
                    _REACH[fits[loss, name]],
                    outcome(found, time, base, name)
                    if name
                    else _reach(compare(time, found.summary(cell, _TIME))),
                ]
            )
    passing = [name or "riverbed16" for (loss, name), fit in fits.items() if loss == "1 %" and fit]
    deep = items["Table 4", "response time", _DEEP].published
    check = Check(
        "Each of Tables 4 and 5 fits at 1 %, but not both: with the published retransmissions riverbed16 "
        "takes longer than Riverbed. A window that grows by bytes would lose as little time there.",
        all_of([negated(fits["1 %", ""]), fits["1 %", COUNTING]]),
        f"within reach at 1 %: {', '.join(passing) or 'none'}; for {deep.value:g} s at {_DEEP} alone, growth "
        f"by acknowledgments, not bytes: {outcome(found, deep, Cell('riverbed16', _DEEP), COUNTING)}",
    )
    columns = ("loss", "taken away", "completion, s", "together", "Table 4 alone")
    return [Table("Tables 4 and 5 together", columns, rows, (_BOTH,)), Checks("Together", [check])]


_REACH = {True: "within reach", False: "excluded", None: "undecided"}


def _reach(judged: Comparison) -> str:
    return judged.verdict if judged.verdict == "no answer" else _REACH[judged.within_reach]


def outcome(found: Found, number: Published, base: Cell, name: str) -> Outcome:
    """What a published time owes to what is taken away, by the same criterion for all."""
    without = base._replace(change=name)
    as_is, judged = (compare(number, found.summary(cell, _TIME)) for cell in (base, without))
    slower = found.slower(base, without)
    if slower is None or slower.interval is None:
        return "no answer"
    low, high = slower.interval
    if low <= 0 <= high:
        return "no effect shown"
    return "necessary" if as_is.fits and not judged.fits else "contributes"


def _part(ours: Summary | None, slower: Summary | None) -> str:
    """A paired difference in per cent of the base."""
    if ours is None or slower is None:
        return ""
    return f"{100 * slower.mean / (ours.mean - slower.mean):+.0f} %"


def _causes(found: Found, number: Published) -> list[Check]:
    base = Cell("riverbed16", number.case)
    claims = (
        (NO_LOST_ACKS, "Acknowledgments are lost too"),
        (NO_BACK_OFF, "The timeout is doubled"),
        (FLOOR, "The timeout has a floor of 1 s"),
    )
    checks = [needed(found, number, base, name, claim) for name, claim in claims]
    losses_doubled = found.slower(base, base._replace(change=NO_BACK_OFF))
    alone = found.slower(base._replace(change=NO_LOST_ACKS), base._replace(change=NEITHER))
    if losses_doubled is not None and alone is not None:
        checks.append(
            Check(
                "Lost acknowledgments and back-off need each other: doubling costs more than twice as "
                "much where acknowledgments are lost than where they are not.",
                above(losses_doubled, alone.scaled(2)),
                f"doubling costs {shown(losses_doubled)} s with lost acknowledgments, {shown(alone)} s "
                "without",
            )
        )
    return checks


def needed(found: Found, number: Published, base: Cell, name: str, claim: str) -> Check:
    """Necessary, and slower with it than without."""
    without = base._replace(change=name)
    judged = compare(number, found.summary(without, _TIME))
    as_is = compare(number, found.summary(base, _TIME))
    slower = found.slower(base, without)
    return Check(
        f"{claim}: without that, {number.value:g} s are out of reach.",
        all_of([above(slower), as_is.within_reach, negated(judged.within_reach)]),
        f"{name}: {judged.reason}; as published: {as_is.reason}; it costs {shown(slower)} s",
    )


def _waiting(found: Found, name: str) -> Waiting:
    cell = Cell("riverbed16", _DEEP, name, traced=True)
    return waiting(found.values(cell, _TIME), found.trace(cell, "series"), found.trace(cell, "packets"))


def _levels(waits: Mapping[str, Waiting]) -> Table:
    rows: list[list[str | Entry]] = []
    for name, found in waits.items():
        for level, timeouts in enumerate([*found.levels, found.all]):
            whole = level == len(found.levels)
            kept = [item for item in timeouts if item.kept]
            rows.append(
                [
                    name or "as published",
                    "all" if whole else str(level),
                    str(found.count(timeouts)),
                    str(found.count([item for item in timeouts if item.arrived])),
                    str(found.wait(timeouts)),
                    str(found.count(kept)),
                    str(found.wait(kept)),
                    f"{100 * found.seconds(timeouts) / found.completion:.1f} %",
                ]
            )
    runs = next(iter(waits.values())).runs
    return Table(
        f"The server's timeouts at {_DEEP} loss, a run",
        (
            "set-up",
            "doubled before",
            "timeouts",
            "segment had arrived",
            "waited, s",
            "doubled by another segment",
            "waited there, s",
            "of the transfer",
        ),
        rows,
        (
            f"Mean and 95 % t-interval of {runs} traced runs." if runs > 1 else "One traced run.",
            "Waited: since the server last sent anything.",
            _KEPT,
        ),
    )


def _waits(found: Found, waits: Mapping[str, Waiting]) -> list[Check]:
    both, data = waits[""], waits[NO_LOST_ACKS]
    counted = found.summary(Cell("riverbed16", _DEEP, "", traced=True), "server_timeouts")
    kept = [item for item in both.all if item.kept]
    fresh = both.levels[0]
    usual = both.seconds(fresh) / both.per_run(fresh)
    added = both.beyond(kept, usual)
    lossless = found.summary(Cell("riverbed16", "0 %"), _TIME)
    again, none = ([item for item in one.all if item.arrived] for one in (both, data))
    seen = both.per_run(both.all)
    return [
        Check(
            "The trace shows the timeouts that the server counts.",
            counted is not None and abs(seen / counted.mean - 1) < 0.01,
            f"{seen:.1f} seen, {shown(counted)} counted",
        ),
        Check(
            "Most of the transfer is waiting for the retransmission timer.",
            above(both.share, 0.5),
            f"{shown(both.share.scaled(100))} % of {both.completion:.0f} s",
        ),
        Check(
            "Karn's rule alone costs more than a whole download without loss: segments wait for a timeout "
            "that another one has doubled.",
            None if lossless is None else above(added, lossless),
            f"{both.per_run(kept):.0f} timeouts wait {both.seconds(kept):.0f} s, {shown(added)} s more than "
            f"at {usual:.2f} s each; without loss the download takes {shown(lossless)} s",
        ),
        Check(
            "Timeouts of segments that had arrived come from lost acknowledgments: without those there is "
            "none.",
            bool(again) and not none,
            f"{both.per_run(again):.1f} of {seen:.1f} timeouts a run, against {data.per_run(none):.1f} "
            "where no acknowledgment is lost",
        ),
    ]
