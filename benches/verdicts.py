#!/usr/bin/env python3
"""A study in full: its verdicts go into its README, its report into runs/ (`make study-echo` and others).

What asks a network keeps its runs in runs/, so that it goes on where it was interrupted. None of it needs real hosts.
"""
# SPDX-License-Identifier: Apache-2.0

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from page import with_section
from studies import ROOT, answered, save_report, table_lines

from voxpath import _engine
from voxpath.document import Checks, Section
from voxpath.studies.base import Answer, Comparison
from voxpath.studies.ficiu2023 import experiment, several

TITLE = "Results"

COMMANDS = {
    "ficiu2023": "make study-echo",
    "karaoui2023": "make study-vowels",
    "ramli2018": "benches/study.py ramli2018 --beside",
    "sarkar2022": "make study-bits",
}
"""Who writes each README."""

NOTES = {
    "ficiu2023": "Means over rooms with 95 % intervals, differences paired by room.",
    "karaoui2023": "Intervals are of 95 %.",
    "ramli2018": "Means with 95 % intervals, of simulated runs; those on real hosts are in "
    "[docs/measured/ramli2018.md](../../../../docs/measured/ramli2018.md), and are older.",
    "sarkar2022": "Means with 95 % intervals. Table 8 is compared with the simulator here; the kernel's downloads are in "
    "[docs/measured/testbed.md](../../../../docs/measured/testbed.md).",
}


PARTS = {
    ("ficiu2023", "channels"): lambda: several.section(several.run_all(experiment.FULL)),
}
"""What can be run apart from the rest of a study, by its name."""


def main() -> int:
    """Runs, and writes what was found, whether it holds or not."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", choices=sorted(COMMANDS), help="the study")
    parser.add_argument("--quick", action="store_true", help="few runs; the section is only printed")
    parser.add_argument(
        "--part",
        choices=sorted(part for _, part in PARTS),
        help="run this alone; its rows are put among the others",
    )
    options = parser.parse_args()
    if options.part:
        page = _page(options.name)
        renewed = PARTS[options.name, options.part]()
        page.write_text(_with_rows(page.read_text("utf-8"), list(_rows(renewed))), "utf-8")
        return 0
    answer = answered(options.name, quick=options.quick, simulated=True)
    if options.quick:
        sys.stdout.write("\n".join([*_lines(options.name, answer), ""]))
        return 0
    page = write(options.name, answer)
    report = save_report(options.name, answer)
    found = "\n".join(f"- {one}" for one in answer.report.answer)
    sys.stdout.write(f"{found}\nwritten: {page}, {report}\n")
    return 0


def write(name: str, answer: Answer) -> Path:
    """Puts what was found into a study's README; where that is, from the root of the tree."""
    page = _page(name)
    page.write_text(with_section(page.read_text("utf-8"), TITLE, "\n".join(_lines(name, answer))), "utf-8")
    return page.relative_to(ROOT)


def _page(name: str) -> Path:
    return ROOT / "python" / "voxpath" / "studies" / name / "README.md"


def _lines(name: str, answer: Answer) -> Iterator[str]:
    yield f"Written by `{COMMANDS[name]}`; do not edit. Of engine {_engine.BUILD}. {NOTES[name]}"
    yield ""
    yield from (f"- {one}" for one in answer.report.answer)
    yield ""
    rows = [row for section in answer.report.sections for row in _rows(section)]
    yield from table_lines(("where", "claim", "verdict", "evidence"), rows)
    if answer.comparisons:
        yield from ("", "Published numbers:", "")
        yield from table_lines(
            ("where", "number", "printed", "ours", "verdict"), [_number(item) for item in answer.comparisons]
        )


def _with_rows(text: str, rows: list[list[str]]) -> str:
    """A README whose verdicts of a part are these, after all others of its study."""
    head, *lines = table_lines(("where", "claim", "verdict", "evidence"), rows)
    places = tuple(f"| {row[0]} |" for row in rows)
    before, after = text.split(f"## {TITLE}\n")
    kept = [line for line in after.splitlines() if not line.startswith(places)]
    last = max(index for index, line in enumerate(kept) if line.startswith("| "))
    if head not in kept:
        raise ValueError("there are no verdicts yet: run the whole study first")
    return f"{before}## {TITLE}\n" + "\n".join([*kept[: last + 1], *lines[1:], *kept[last + 1 :]]) + "\n"


def _number(item: Comparison) -> list[str]:
    number = item.published
    ours = "" if item.ours is None else f"{item.ours.mean:.5g}" if item.ours.n == 1 else str(item.ours)
    what = f"{number.column}, {number.case}" if number.case else number.column
    return [number.table, what, f"{number.printed:g}", ours, item.verdict]


def _rows(section: Section) -> Iterator[list[str]]:
    for part in section.parts:
        for check in part.checks if isinstance(part, Checks) else ():
            aside = f", not counted: {check.set_aside}" if check.set_aside else ""
            where = section.title if part.title == "Checks" else part.title
            yield [where, check.claim, check.verdict + aside, check.evidence]


if __name__ == "__main__":
    sys.exit(main())
