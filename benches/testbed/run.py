#!/usr/bin/env python3
"""`make testbed`: the downloads of Sarkar et al. 2022 on today's kernel, in real time, beside everything that answers them.

Runs the study `sarkar2022` with the backend `real` too, and writes docs/measured/testbed.md from its report. Runs are kept in
runs/, so that it goes on where it was interrupted.
"""
# SPDX-License-Identifier: Apache-2.0

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import page
from studies import ROOT, RUNS, answered, section_lines

from voxpath import _engine
from voxpath.backends.real.problems import RealError

PAGE = ROOT / "docs" / "measured" / "testbed.md"
SECTIONS = ("Table 8 beside today's kernel", "The testbed of Table 8")


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="few runs, none at 10 %%; the page is only printed"
    )
    parser.add_argument("--out", type=Path, default=RUNS, help="directory of the runs")
    parser.add_argument(
        "--kept", action="store_true", help="make no runs on the kernel, take those that are there"
    )
    options = parser.parse_args()
    machine = page.machine()
    try:
        answer = answered("sarkar2022", quick=options.quick, out=options.out, kept=options.kept)
    except RealError as error:
        sys.stderr.write(f"no real hosts here: {error}\n")
        return 1
    text = f"""# Table 8 on today's kernel

Written by `make testbed`; do not edit. This page has the downloads of Sarkar, Ammann and Zabir 2022 over a real network stack (10,000,000
bytes with a window of 8760 bytes), what the [study](../../python/voxpath/studies/sarkar2022/README.md) says of them, and why
today's kernel differs from the published testbed. Measured on {machine}; engine {_engine.BUILD}.

"""
    for section in answer.report.sections:
        if section.title in SECTIONS:
            text += "\n".join(section_lines(section)) + "\n"
    if options.quick:
        sys.stdout.write(text)
        return 0
    PAGE.write_text(text.rstrip() + "\n", encoding="utf-8")
    sys.stdout.write(f"{text}\nwritten: {PAGE.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
