"""The study: asks, compares, checks, and puts the report together."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from voxpath.document import Cell as Shown
from voxpath.document import Check, Checks, Facts, Lead, Report, Section, Table, Text
from voxpath.results.decisions import below, within
from voxpath.studies.base import Answer, Study, held, origin, pictured, shown
from voxpath.studies.hoang2017 import claims, figures, misprints, tables
from voxpath.studies.hoang2017.printed import mean_available, mean_estimate
from voxpath.studies.hoang2017.questions import (
    AS_UDP,
    AT_RECEIVER,
    AT_SENDER,
    FULL,
    QUICK,
    READINGS,
    REAL,
    RRTCC,
    SENDERS,
    SIM,
    SWITCHES,
    TABLE8,
    TODAY,
    Cell,
    ask_all,
)
from voxpath.studies.hoang2017.scenario import AS_READ, PACKET, length_s, report_s
from voxpath.studies.hoang2017.session import goodput, loss, mean_sent, of_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voxpath.results.intervals import Summary
    from voxpath.studies.base import Ask, Comparison, Verdict
    from voxpath.studies.hoang2017.questions import Found


def _mbit(summary: Summary | None) -> str:
    return shown(summary.scaled(1e-6)) if summary else ""


def _percent(summary: Summary | None) -> str:
    return shown(summary.scaled(100)) if summary else ""


def _row(found: Found, name: str, cell: Cell, source: str = SIM) -> list[str | Shown]:
    return [
        name,
        _mbit(found.mean(cell, mean_sent, source)),
        _mbit(found.mean(cell, goodput, source)),
        _percent(found.mean(cell, loss, source)),
    ]


_COLUMNS = ["sender", "sends, Mbit/s", "goodput, Mbit/s", "loss, %"]


def deployments(found: Found) -> Table:
    """Every sender over the network of Table 8, real ones too where they were asked."""
    rows = [_row(found, name, Cell(TABLE8, name)) for name in SENDERS]
    rows += [
        _row(found, f"{name}, real hosts", Cell(TABLE8, name), REAL)
        for name in (AS_UDP, RRTCC)
        if found.media(Cell(TABLE8, name), REAL)
    ]
    return Table(
        "Senders over the network of Table 8",
        _COLUMNS,
        rows,
        [
            f"The mean available rate is {mean_available(AS_READ.first) / 1e6:.2f} Mbit/s.",
            "All senders met the same statuses.",
        ],
    )


def explains_mean(found: Found) -> tuple[Table, list[str]]:
    """Which switch or reading gives the printed mean estimate; those that do, by name."""
    item = mean_estimate()
    slack = item.tolerance.of(item.value) * 1e6
    low, high = item.value * 1e6 - slack, item.value * 1e6 + slack
    rows: list[list[str | Shown]] = []
    fits: list[str] = []
    means: dict[str, Summary | None] = {}
    for change in ("", *SWITCHES, *READINGS):
        cell = Cell(TABLE8, RRTCC, change)
        name = change or "as printed, every deviation on"
        means[name] = found.mean(cell, mean_sent)
    for reports in (1, 2, 3, 5, 10, 20):
        seconds = round((reports + 0.5) * report_s())
        name = f"as printed, a session of {seconds} s: {reports} report{'s' * (reports > 1)}"
        means[name] = found.mean(Cell(TABLE8, RRTCC), of_first(seconds))
    for name, mean in means.items():
        verdict = within(mean, low, high)
        check = Check("", verdict, f"{_mbit(mean)} against {low / 1e6:.2f} to {high / 1e6:.2f} Mbit/s")
        rows.append([name, _mbit(mean), check.cell])
        fits += [name] if verdict else []
    title = f"What gives the printed mean of {item.value:.2f} Mbit/s"
    return Table(title, ["RRTCC", "sends, Mbit/s", "within 2 %"], rows), fits


def dispute(found: Found) -> Section:
    """Friendly against starved."""
    made = claims.dispute(found)
    rows: list[list[str | Shown]] = []
    for cell, friendly, starves in made:
        share = claims.shares(found, cell)
        rows.append([cell.network, cell.change, cell.sender, shown(share), friendly.cell, starves.cell])
    table = Table(
        "A media flow and five TCP flows across 5 Mbit/s, the second minute",
        ["one-way delay", "TCP", "sender", "of an equal share", "friendly", "starves"],
        rows,
        [
            "An equal share is a sixth of the bottleneck.",
            "Friendly: between a third of it and three times it. Starves: below a third.",
        ],
    )
    return Section(
        "Friendly or starved: beside TCP",
        [figures.figure5(found, RRTCC), figures.figure5(found, AT_SENDER), table],
    )


def _deployment_checks(found: Found) -> list[Check]:
    """What section 5.2 leaves for later: the second way."""
    one, other = Cell(TABLE8, AT_SENDER), Cell(TABLE8, AT_RECEIVER)
    ratio = found.ratio(other, one, goodput)
    limit = mean_available(AS_READ.first)
    made = [
        Check(
            "The two deployments of the draft give the same goodput, within 10 %.",
            within(ratio, 0.9, 1.1),
            f"receiver side over sender side: {shown(ratio)}",
        )
    ]
    for name in (RRTCC, AT_SENDER, AT_RECEIVER, TODAY):
        rate = found.mean(Cell(TABLE8, name), mean_sent)
        made.append(
            Check(
                f"{name} sends less than is available in the mean.",
                below(rate, limit),
                f"{_mbit(rate)} Mbit/s",
            )
        )
    return made


def _setup() -> Section:
    return Section(
        "Set-up",
        [
            Facts(
                "Table 8's network, as we read it",
                [
                    (
                        "statuses",
                        "redrawn every 2 s, the first one too; the same for every sender of a replication",
                    ),
                    ("loss", "1 - available / offered, offered measured over 100 ms"),
                    ("delay", "normal, 10 ms, deviation 1 ms; nothing overtakes"),
                    ("session", f"{length_s()} s of packets of {PACKET} octets"),
                ],
            )
        ],
    )


def _answer(found: Found, judged: Sequence[Comparison], fits: Sequence[str]) -> list[str]:
    counts = Counter(item.verdict for item in judged)
    udp, rrtcc = (found.mean(Cell(TABLE8, name), loss) for name in (AS_UDP, RRTCC))
    rates = {name: _mbit(found.mean(Cell(TABLE8, name), mean_sent)) for name in (AS_UDP, RRTCC)}
    of_table8 = (
        f"Over the network of Table 8 RRTCC as printed sends {rates[RRTCC]} Mbit/s and loses "
        f"{_percent(rrtcc)} %; UDP sends {rates[AS_UDP]} Mbit/s and loses {_percent(udp)} %."
    )
    made = [
        of_table8,
        "Of the printed numbers "
        + ", ".join(f"{count} {_TOLD.get(verdict, verdict)}" for verdict, count in counts.items())
        + ".",
        f"The printed mean of {mean_estimate().value:.2f} Mbit/s comes of: {'; '.join(fits)}."
        if fits
        else f"Nothing gives the printed mean of {mean_estimate().value:.2f} Mbit/s.",
        f"Of the sentences of chapter 4: {held(claims.of_chapter(found))}",
    ]
    shares = {
        name: claims.shares(found, Cell("50 ms", name, "endless")) for name in (RRTCC, AT_SENDER, TODAY)
    }
    told = ", ".join(f"{name} {shown(share)}" for name, share in shares.items())
    made.append(f"Beside five endless TCP flows, after a minute, its part of an equal share is: {told}.")
    return made


_TOLD: dict[Verdict, str] = {
    "agrees": "agree",
    "differs": "differ",
    "contradicts itself": "contradict others that are printed",
    "undecided": "are undecided",
    "no answer": "have no answer",
}
"""What verdicts are of several numbers."""


def _sentence(found: Found) -> str:
    udp, rrtcc = (found.mean(Cell(TABLE8, name), loss) for name in (AS_UDP, RRTCC))
    sent = {name: _mbit(found.mean(Cell(TABLE8, name), mean_sent)) for name in (AS_UDP, RRTCC)}
    share = claims.shares(found, Cell("50 ms", RRTCC, "endless"))
    return (
        f"The control loses {_percent(rrtcc)} % where no control loses {_percent(udp)} %, and sends "
        f"{sent[RRTCC]} in place of {sent[AS_UDP]} Mbit/s. Beside five endless TCP flows it gets "
        f"{shown(share)} of an equal share."
    )


def run(ask: Ask, quick: bool) -> Answer:
    """Asks everything and judges it."""
    effort = QUICK if quick else FULL
    found = ask_all(ask, effort)
    judged = tables.comparisons(found)
    mean_table, fits = explains_mean(found)
    sections = [
        Section(
            "Figures 16 and 17, and the sentences on them",
            [figures.figure16(found), figures.figure17(found), Checks("Chapter 4", claims.of_chapter(found))],
        ),
        Section(
            "Figures 18 to 20", [figures.figure18(found), figures.figure19(found), figures.figure20(found)]
        ),
        Section("The printed mean", [mean_table]),
        Section("Both deployments", [deployments(found), Checks("Deployments", _deployment_checks(found))]),
        dispute(found),
        Section("Every printed number", [tables.of_table(judged, "Printed and ours")]),
        Section("Misprints", [Text(["Each follows from printed numbers alone."]), misprints.table()]),
        _setup(),
    ]
    report = Report(
        "Hoang 2017: receiver-side congestion control of real-time media",
        "Does RRTCC keep losses low over a network that changes at random, and does it share with TCP?",
        _answer(found, judged, fits),
        sections,
        origin("hoang2017", quick, replications=str(effort.replications)),
        Lead(
            _sentence(found),
            pictured(sections, "Figure 18"),
            "RRTCC keeps the loss low at nearly the same sending rate as no control, and shares with TCP "
            "fairly.",
        ),
    )
    return Answer(deployments(found), judged, report)


STUDY = Study(
    "hoang2017",
    "Hoang 2017, receiver-side real-time congestion control",
    ("sim",),
    run,
    on_request=("real",),
    real_at_once=2,
)
