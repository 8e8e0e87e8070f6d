"""The study: asks, compares, explains, and puts the report together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath import _engine
from voxpath.report.document import Report, Section
from voxpath.studies.base import Answer, Study
from voxpath.studies.sarkar2022 import tables
from voxpath.studies.sarkar2022.questions import FULL, QUICK, ask_all
from voxpath.studies.sarkar2022.verdicts import comparisons

if TYPE_CHECKING:
    from voxpath.studies.base import Ask


def run(ask: Ask, quick: bool) -> Answer:
    """Asks everything at once and lays it beside the publication."""
    effort = QUICK if quick else FULL
    found = ask_all(ask, effort)
    items = comparisons(found, {})
    spread = f"mean and 95 % t-interval of {effort.replications} replications"
    title = f"Sarkar et al. 2022, Tables 4, 5, 6 and 8: {spread}"
    report = Report(
        "TCP under bit errors: Sarkar, Ammann and Zabir 2022",
        "What does a channel that loses packets to bit errors do to a download over TCP?",
        (tables.tally(items),),
        [Section("Numbers", [tables.overview(items), *tables.of(items)])],
        (
            ("command", "voxpath study sarkar2022" + (" --quick" if quick else "")),
            ("engine", _engine.BUILD),
        ),
    )
    return Answer(tables.terminal(found, items, title), items, report)


STUDY = Study(
    name="sarkar2022",
    title="Sarkar, Ammann, Zabir: Analyzing TCP Performance in High Bit Error Rate, Electronics 2022",
    backends=("sim", "formula"),
    run=run,
)
