"""The study: asks, compares, checks, and puts the report together."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from voxpath.document import Checks, Facts, Lead, Report, Section, Text
from voxpath.studies.base import Answer, Study, decided, held, origin, shown
from voxpath.studies.tran2018 import claims, difference, figures, tables
from voxpath.studies.tran2018.measures import of_one, percentile
from voxpath.studies.tran2018.networks import KINDS
from voxpath.studies.tran2018.printed import MOBILE, MOBILITIES
from voxpath.studies.tran2018.questions import (
    AS_TCP,
    DEFAULT,
    FULL,
    PUBLISHED,
    QUICK,
    SCHEDULERS,
    Cell,
    ask_all,
)
from voxpath.studies.tran2018.scenario import BELGIUM, SERVERS, TOKYO, wait_s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voxpath.document import Check
    from voxpath.studies.base import Ask, Comparison
    from voxpath.studies.tran2018.questions import Effort, Found


def _setup(effort: Effort) -> Section:
    nodes = [
        (
            f"{mobility} nodes",
            (
                f"{effort.nodes[mobility]}; signal strength of nodes and operators {kind.mean_dbm:.0f} ± "
                f"{kind.spread_db:.0f} dBm, shadowing {kind.shadowing_db:g} dB"
            ),
        )
        for mobility, kind in KINDS.items()
    ]
    return Section(
        "Set-up",
        [
            Text(
                [
                    (
                        "No data of the publication is public. The networks come from a model of signal "
                        "strength (networks.py): the same networks for every configuration."
                    ),
                    (
                        "TCP Small Queues are not varied: our hosts have no queue below TCP, and a burst of "
                        "ten small packets never fills one. Tail loss probes are."
                    ),
                ]
            ),
            Facts(
                "As we read section IV",
                [
                    *nodes,
                    ("requests", f"five a minute: {wait_s():.1f} s from the last packet to the next request"),
                    ("server", f"{SERVERS[BELGIUM]} behind the mobile networks; Tokyo {SERVERS[TOKYO]}"),
                    ("repetitions", str(effort.repetitions)),
                ],
            ),
        ],
    )


_PLURALS = {"agrees": "agree", "differs": "differ", "no answer": "have no answer"}


def _answer(found: Found, judged: Sequence[Comparison], checks: Sequence[Check]) -> list[str]:
    counts = Counter(item.verdict for item in judged)

    def slow(name: str) -> str:
        late = of_one(found.requests(Cell(MOBILE, name)), partial(percentile, percent=95))
        return shown(late.scaled(1e3)) if late else "no value"

    redundant = found.subflows(Cell(MOBILE, "redundant"))
    usual = found.subflows(Cell(MOBILE, DEFAULT))
    bytes_told = (
        f", for {redundant[:, 3].mean() / usual[:, 3].mean():.2f} times the data segments"
        if len(redundant) and len(usual)
        else ""
    )
    return [
        (
            f"Mobile nodes have the answer to 95 % of their requests within {slow(AS_TCP)} ms by TCP, and "
            f"within {slow(DEFAULT)} ms by Multipath TCP with its default scheduler."
        ),
        f"The redundant scheduler needs {slow('redundant')} ms{bytes_told}.",
        "Of the correlations of Table I "
        + ", ".join(f"{count} {_PLURALS.get(verdict, f'are {verdict}')}" for verdict, count in counts.items())
        + ".",
        f"Of the sentences of the text: {held(checks)}",
    ]


def run(ask: Ask, quick: bool) -> Answer:
    """Asks everything and judges it."""
    effort = QUICK if quick else FULL
    found = ask_all(ask, effort)
    regions = difference.ask_all(ask, difference.QUICK if quick else difference.FULL)
    judged = tables.comparisons(found)
    checks = claims.of_text(found)
    near = tables.of_configurations(found, PUBLISHED, BELGIUM, "Response delays")
    table1 = tables.table1(found, judged)
    sections = [
        Section("Figure 4: TCP and Multipath TCP", [figures.figure4(found, kind) for kind in MOBILITIES]),
        Section(
            "Figure 5 and Table I: signal strength",
            [*(figures.figure5(found, kind) for kind in MOBILITIES), table1],
        ),
        Section(
            "Figure 6: schedulers and intermediate responses",
            [*(figures.figure6(found, kind) for kind in MOBILITIES), near],
        ),
        Section("Sentences that can fail", [Checks("Sections III to V", checks)]),
        Section(
            "Beyond",
            [
                figures.distributions(found, "Beyond", MOBILE, (AS_TCP, DEFAULT, *SCHEDULERS)),
                tables.of_others(found),
            ],
        ),
        *difference.sections(regions),
        Section("Energy of the radios", [tables.of_energy(found)]),
        Section("The published tool", [tables.flaws(found)]),
        _setup(effort),
    ]
    if effort.far:
        far = tables.of_configurations(found, PUBLISHED, TOKYO, "Response delays, the server in Tokyo")
        sections.insert(-2, Section("A server far away", [far]))
    report = Report(
        "Tran et al. 2018: voice requests over Multipath TCP",
        "Which scheduler keeps the answer fast, for a client on two cellular networks?",
        [*_answer(found, judged, checks), *difference.answer(regions)],
        sections,
        origin("tran2018", quick, repetitions=str(effort.repetitions)),
        Lead(
            f"{decided(checks[0])}; means of mobile nodes against stationary ones: {checks[0].evidence}.",
            figures.moving(found),
            checks[0].claim,
        ),
    )
    return Answer(near, judged, report)


STUDY = Study("tran2018", "Tran et al. 2018, voice requests over Multipath TCP", ("sim", "real"), run)
