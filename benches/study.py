#!/usr/bin/env python3
"""A study in full, simulated and on real hosts: writes docs/measured/NAME.md, and its report into runs/ (`make study-speech` and others).

Runs are kept in runs/, so that it goes on where it was interrupted.
"""
# SPDX-License-Identifier: Apache-2.0

import argparse
import sys
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

import verdicts
from page import machine
from studies import ROOT, RUNS, answered, save_report, section_lines

from voxpath import _engine
from voxpath.backends.real.problems import RealError
from voxpath.document import Section, Table


@dataclass(frozen=True)
class Page:
    """What a study's page says beside what the study does."""

    title: str
    target: str
    """Who writes it."""
    without: Collection[str] = ()
    """Tables that are left out, because the page's figures, being tables, say the same."""


PAGES = {
    "ramli2018": Page(
        "When is speech recognition over TCP in real time?", "study-speech", ("Figures 4 and 5 in numbers",)
    ),
    "hoang2017": Page(
        "Does receiver-side congestion control serve a call, and share with TCP?", "study-hoang"
    ),
    "tran2018": Page("Which scheduler answers a voice soonest over two networks?", "study-mptcp"),
    "thapa2023": Page("The same data by a socket and by MQTT", "study-mqtt"),
}


def main() -> int:
    """Runs, and writes what was found, whether it holds or not."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", choices=sorted(PAGES), help="the study")
    parser.add_argument("--quick", action="store_true", help="few runs; the page is only printed")
    parser.add_argument(
        "--kept", action="store_true", help="make no runs on real hosts, take those that are there"
    )
    parser.add_argument("--simulated", action="store_true", help="no runs on real hosts; the page says so")
    parser.add_argument(
        "--beside",
        action="store_true",
        help="as --simulated, into a page beside that of the real hosts, and into the README",
    )
    parser.add_argument("--runs", type=Path, default=RUNS, help="directory of the runs")
    options = parser.parse_args()
    simulated = options.simulated or options.beside
    page, on = PAGES[options.name], machine()
    try:
        answer = answered(
            options.name,
            quick=options.quick,
            out=options.runs,
            kept=options.kept,
            simulated=simulated,
        )
    except RealError as error:
        sys.stderr.write(f"no real hosts here: {error}\n")
        return 1
    without = " There were no runs on real hosts (`--simulated`)." if simulated else ""
    if options.beside:
        without = f" There are no runs on real hosts in it: [those]({options.name}.md) are older."
    found = "\n".join(f"- {one}" for one in answer.report.answer)
    asked = ", ".join(
        f"{name} {value}" for name, value in answer.report.origin if name not in ("command", "engine")
    )
    text = f"""# {page.title}

Written by `{f"benches/study.py {options.name} --beside" if options.beside else f"make {page.target}"}`; do not edit. The page shows the study [{options.name}](../../python/voxpath/studies/{options.name}/README.md), which explains its settings,
with {asked}.{without} Measured on {on}; engine {_engine.BUILD}.

{found}

"""
    for section in answer.report.sections:
        text += "\n".join(section_lines(_without(section, page.without))) + "\n"
    if options.quick:
        sys.stdout.write(text)
        return 0
    path = ROOT / "docs" / "measured" / f"{options.name}{'-simulated' if options.beside else ''}.md"
    path.write_text(text.rstrip() + "\n", "utf-8")
    if options.beside:
        verdicts.write(options.name, answer)
    report = save_report(options.name, answer)
    sys.stdout.write(f"{found}\nwritten: {path.relative_to(ROOT)}, {report}\n")
    return 0


def _without(section: Section, titles: Collection[str]) -> Section:
    parts = [part for part in section.parts if not (isinstance(part, Table) and part.title in titles)]
    return replace(section, parts=parts)


if __name__ == "__main__":
    sys.exit(main())
