#!/usr/bin/env python3
"""A study in full: its verdicts go into its README, its report into runs/ (`make study-echo` and others).

What asks a network keeps its runs in runs/, so that it goes on where it was interrupted. None of it needs real hosts.
"""
# SPDX-License-Identifier: Apache-2.0

import argparse
import sys
from collections.abc import Iterator

from page import with_section
from studies import ROOT, answered, save_report, table_lines

from voxpath import _engine
from voxpath.document import Checks, Section
from voxpath.studies.base import Answer, Comparison

TITLE = "Results"

TARGETS = {"ficiu2023": "study-echo", "karaoui2023": "study-vowels", "sarkar2022": "study-bits"}
"""Who writes each README."""

NOTES = {
    "ficiu2023": "Means over rooms with 95 % intervals, differences paired by room.",
    "karaoui2023": "Intervals are of 95 %.",
    "sarkar2022": "Means with 95 % intervals. Table 8 is compared with the simulator here; the kernel's downloads are in "
    "[docs/measured/testbed.md](../../../../docs/measured/testbed.md).",
}


def main() -> int:
    """Runs, and writes what was found, whether it holds or not."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", choices=sorted(TARGETS), help="the study")
    parser.add_argument("--quick", action="store_true", help="few runs; the section is only printed")
    options = parser.parse_args()
    answer = answered(options.name, quick=options.quick, simulated=True)
    body = "\n".join(_lines(options.name, answer))
    if options.quick:
        sys.stdout.write(f"{body}\n")
        return 0
    page = ROOT / "python" / "voxpath" / "studies" / options.name / "README.md"
    page.write_text(with_section(page.read_text("utf-8"), TITLE, body), "utf-8")
    report = save_report(options.name, answer)
    found = "\n".join(f"- {one}" for one in answer.report.answer)
    sys.stdout.write(f"{found}\nwritten: {page.relative_to(ROOT)}, {report}\n")
    return 0


def _lines(name: str, answer: Answer) -> Iterator[str]:
    yield f"Written by `make {TARGETS[name]}`; do not edit. Of engine {_engine.BUILD}. {NOTES[name]}"
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
