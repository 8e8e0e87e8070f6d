"""The study: asks, compares, explains, and puts the report together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from voxpath.document import Check, Checks, Facts, Lead, Report, Section, Text
from voxpath.results.decisions import all_of
from voxpath.studies.base import Answer, Study, checks_of, held, origin, pictured, shown, with_causes
from voxpath.studies.sarkar2022 import (
    beyond,
    causes,
    channel,
    figures,
    kernel,
    ladder,
    misprints,
    tables,
    testbed,
)
from voxpath.studies.sarkar2022.questions import (
    BBR,
    FLOOR,
    FULL,
    KERNEL,
    NEWEST,
    NO_BACK_OFF,
    NO_LOST_ACKS,
    QUICK,
    TODAY,
    Cell,
    ask_all,
)
from voxpath.studies.sarkar2022.scenario import FILE, LOSSES, VARIANTS, WINDOW
from voxpath.studies.sarkar2022.verdicts import comparisons, printed, source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from voxpath.document import Part
    from voxpath.studies.base import Ask, Comparison, Key
    from voxpath.studies.sarkar2022.questions import Effort, Found


_VERDICTS = (
    "A published value agrees if it lies in the 95 % prediction interval of our replications, widened by "
    "its tolerance; those that runs are judged by were fixed before the first run, the rounding rules of the "
    "publication's own arithmetic later, as the table says. It is undecided if it does but "
    "the interval alone is as wide as the number. It contradicts itself if the publication's own numbers "
    "or definitions exclude it. A number that differs has a cause, or a candidate that is sufficient but not "
    "proved, and that a check that could have failed."
)


def run(ask: Ask, quick: bool) -> Answer:
    """Asks everything at once and lays it beside the publication."""
    effort = QUICK if quick else FULL
    found = ask_all(ask, effort)
    judged = comparisons(found)
    items = {item.key: item for item in judged}
    judged = with_causes(judged, _causes(found, items))
    if quick:
        judged = [_maybe_chance(item) for item in judged]
    sections = [
        _set_up(effort, quick),
        Section("Numbers", _numbers(found, judged)),
        figures.section(found),
        ladder.section(found),
        causes.offset(found, items),
        causes.slow(found, items),
        kernel.section(found, items),
        testbed.section(found, items),
        misprints.section(found, items),
        channel.section(found, items),
        beyond.today(found),
        beyond.maps(found),
    ]
    spread = f"mean and 95 % t-interval of {effort.replications} replications"
    told = _held(sections)
    report = Report(
        "TCP under bit errors: Sarkar, Ammann and Zabir 2022",
        "What does a channel that loses packets to bit errors do to a download over TCP Reno, and is what "
        "was published of it so?",
        [
            f"Of {len(judged)} published numbers: {tables.tally(judged)}.",
            *_chance(judged, quick),
            *_found(found),
            told,
        ],
        sections,
        origin("sarkar2022", quick, replications=str(effort.replications)),
        Lead(
            _sentence(found, judged),
            pictured(sections, "Figure 6"),
            f"A download of 10 MB over TCP Reno takes {printed('table4', '0 %'):g} s over a clean channel, "
            f"and {printed('table4', '10 %'):g} s where bit errors cost 10 % of the packets (Table 4).",
        ),
    )
    title = f"Sarkar et al. 2022, Tables 4, 5, 6 and 8: {spread}"
    return Answer(tables.terminal(found, judged, title, told), judged, report)


def _sentence(found: Found, judged: Sequence[Comparison]) -> str:
    fit = sum(item.verdict == "agrees" for item in judged)
    of = f"Of {len(judged)} published numbers {fit} agree with ours."
    if not found.simulated:
        return of
    cells = (Cell("riverbed16", loss) for loss in ("0 %", "10 %"))
    times = [found.summary(cell, "completion_s") for cell in cells]
    first, last = (f"{time.mean:.0f}" if time is not None else "no" for time in times)
    return (
        f"The same set-up takes {first} s without loss and {last} s with 10 % loss, most of which is "
        f"waiting for timeouts. {of}"
    )


def _by_runs(item: Comparison) -> bool:
    return item.verdict == "differs" and item.ours is not None and item.ours.n > 1


def _maybe_chance(item: Comparison) -> Comparison:
    """The same; what few replications say of a difference is not sure, so they refute no cause of it."""
    if item.ours is None or not _by_runs(item):
        return item
    cause = item.cause
    if cause is not None and cause.holds is False:
        cause = replace(cause, holds=None)
    return replace(
        item, cause=cause, reason=f"{item.reason}; may be chance of only {item.ours.n} replications"
    )


def _chance(judged: Sequence[Comparison], quick: bool) -> Iterator[str]:
    some = sum(_by_runs(item) for item in judged)
    if quick and some:
        yield (
            f"{some} of the numbers that differ are held against {QUICK.replications} replications only, and "
            f"may differ by chance: the study in full has {FULL.replications}."
        )


def _numbers(found: Found, judged: Sequence[Comparison]) -> list[Part]:
    forms = tables.closed_forms(found, judged)
    return [
        tables.overview(judged),
        *([_every_difference(judged)] if found.simulated else []),
        *tables.of(judged),
        forms if forms.rows else Text(("Closed forms: not asked, this part needs the backend formula.",)),
    ]


def _causes(found: Found, items: Mapping[Key, Comparison]) -> dict[Key, Check]:
    """The cause of each number that may differ."""
    linear = misprints.linear()
    known = {key: linear for key in items if key[0] == "Table 1"}
    lossless = items["Table 8", "response time", LOSSES[0]].published
    for table, column, case in items:
        if table == "Table 8":
            number = items[table, "response time", case].published
            if source("table8", found) == KERNEL:
                known[table, column, case] = kernel.cause(found, number, lossless)
            elif found.simulated and case in LOSSES[1:]:
                known[table, column, case] = testbed.dear_losses(found, number)
    return known


def _every_difference(items: Sequence[Comparison]) -> Checks:
    differing = [item for item in items if item.verdict == "differs"]
    explained = [item for item in differing if item.cause is not None and item.cause.holds]
    open_ = [item for item in differing if item.cause is not None and item.cause.holds is None]
    rest = [item for item in differing if item not in explained and item not in open_]
    told = [f"{len(explained)} of {len(differing)}"]
    for what, some in (("cannot be decided", open_), ("without one", rest)):
        told += [f"{what}: {', '.join(' '.join(item.key) for item in some)}"] if some else []
    return Checks(
        "Differences",
        [
            Check(
                "Every number that differs has a cause or a candidate for one, and its check holds.",
                all_of(item.cause is not None and item.cause.holds for item in differing),
                "; ".join(told),
            )
        ],
    )


def _set_up(effort: Effort, quick: bool) -> Section:
    facts = Facts(
        "Set-up",
        (
            ("transfer", f"{FILE:,} bytes, one request; from the SYN to the last byte at the client"),
            ("network", "client - 10 Mbit/s Ethernet - cloud - 10 Mbit/s Ethernet - server"),
            ("cloud", "20 ms each way; discards packets with the same probability in both directions"),
            ("loss", ", ".join(LOSSES) + " (Table 3)"),
            (
                "riverbed16",
                f"Table 2: Reno, window of {WINDOW} bytes, no SACK, timeout of 1 to 64 s, clock of 0.5 s",
            ),
            (
                "linux",
                f"Linux's parameters with Reno, window of {WINDOW} bytes, no SACK, no timestamps: Table 8",
            ),
        ),
    )
    text = [_VERDICTS]
    if quick:
        text.append(
            f"This is the quick version: {effort.replications} replications where the full one has "
            f"{FULL.replications}, {effort.traces} traced where it has {FULL.traces}, causes at 10 % only, "
            f"a map of {len(effort.map_losses)} × {len(effort.map_round_trips)} × "
            f"{len(effort.map_windows)} cells with {effort.map_replications} replications where it has "
            f"{len(FULL.map_losses)} × {len(FULL.map_round_trips)} × {len(FULL.map_windows)} with "
            f"{FULL.map_replications}. Its intervals are wider, and differ by chance more often than they "
            "seem to."
        )
    return Section("Set-up and verdicts", [facts, Text(text), tables.tolerances()])


def _found(found: Found) -> Iterator[str]:
    """The answer in numbers."""
    metric = "completion_s"
    if not found.simulated:
        yield "Without the backend sim there is no more than arithmetic and closed forms."
        return
    for variant in VARIANTS:
        times = [shown(found.summary(Cell(variant, loss), metric)) for loss in ("0 %", "1 %", "10 %")]
        yield f"{variant} takes {times[0]} s without loss, {times[1]} s at 1 % and {times[2]} s at 10 %."
    base = Cell("riverbed16", "10 %")
    costs = [
        shown(found.slower(base, base._replace(change=name), metric))
        for name in (NO_LOST_ACKS, NO_BACK_OFF, FLOOR)
    ]
    yield (
        f"The {printed('table4', '10 %'):g} s are timeouts. Of riverbed16's time at 10 %, lost "
        f"acknowledgments make {costs[0]} s, the doubling of the timeout {costs[1]} s, its floor of 1 s "
        f"{costs[2]} s; they need each other, and do not add up."
    )
    if found.tested:
        times = [shown(found.summary(Cell("linux", loss), metric, KERNEL)) for loss in LOSSES]
        told = [f"{time} s at {loss}" for time, loss in zip(times, LOSSES, strict=True) if time]
        yield f"On today's kernel the testbed's download takes {', '.join(told)}."
    for name in (NEWEST, BBR):
        now = [
            shown(found.summary(TODAY[name]._replace(loss=loss), metric)) for loss in ("0 %", "1 %", "10 %")
        ]
        yield f"On the same channel {name.removeprefix('linux ')} takes {now[0]}, {now[1]} and {now[2]} s."


def _held(sections: Sequence[Section]) -> str:
    checks = checks_of(sections)
    return f"{held(checks)} All are from runs." if checks else "No checks: every one needs runs."


STUDY = Study(
    name="sarkar2022",
    title="Sarkar, Ammann, Zabir: Analyzing TCP Performance in High Bit Error Rate, Electronics 2022",
    backends=("sim", "formula"),
    run=run,
    on_request=("real",),
    real_at_once=16,
)
