#!/usr/bin/env python3
"""`make study-speech`: the study ramli2018 in full, simulated and on real hosts; writes docs/measured/ramli2018.md and its report into runs/.

Runs are kept in runs/, so that it goes on where it was interrupted.
"""
# SPDX-License-Identifier: Apache-2.0

import argparse
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from page import machine
from studies import ROOT, answered, save_report, section_lines

from voxpath import _engine
from voxpath.backends.real.session import RealError
from voxpath.document import Section, Table

NAME = "ramli2018"
PAGE = ROOT / "docs" / "measured" / f"{NAME}.md"
TWICE = "Figures 4 and 5 in numbers"
"""What the page's figures say already, being tables."""


def main() -> int:
    """Runs, and writes what was found, whether it holds or not."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few runs; the page is only printed")
    parser.add_argument(
        "--kept", action="store_true", help="make no runs on real hosts, take those that are there"
    )
    options = parser.parse_args()
    on = machine()
    try:
        answer = answered(NAME, quick=options.quick, kept=options.kept)
    except RealError as error:
        sys.stderr.write(f"no real hosts here: {error}\n")
        return 1
    found = "\n".join(f"- {one}" for one in answer.report.answer)
    asked = dict(answer.report.origin)["replications"]
    text = f"""# When is speech recognition over TCP in real time?

Written by `make study-speech`; do not edit. The page shows the study [ramli2018](../../python/voxpath/studies/ramli2018/README.md), which explains its settings,
with replications {asked}. Measured on {on}; engine {_engine.BUILD}.

{found}

"""
    for section in answer.report.sections:
        text += "\n".join(section_lines(_without(section, TWICE))) + "\n"
    if options.quick:
        sys.stdout.write(text)
        return 0
    PAGE.write_text(text.rstrip() + "\n", "utf-8")
    report = save_report(NAME, answer)
    sys.stdout.write(f"{found}\nwritten: {PAGE.relative_to(ROOT)}, {report}\n")
    return 0


def _without(section: Section, title: str) -> Section:
    parts = [part for part in section.parts if not (isinstance(part, Table) and part.title == title)]
    return replace(section, parts=parts)


if __name__ == "__main__":
    sys.exit(main())
