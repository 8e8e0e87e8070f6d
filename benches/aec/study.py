#!/usr/bin/env python3
"""`make study-echo`: the study ficiu2023 in full; its verdicts go into its README, its report into runs/."""
# SPDX-License-Identifier: Apache-2.0

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches"))

from page import with_section  # noqa: E402 - a folder of programs, not a package

from voxpath.report.html import render  # noqa: E402
from voxpath.studies.ficiu2023 import STUDY  # noqa: E402

README = ROOT / "python" / "voxpath" / "studies" / "ficiu2023" / "README.md"
REPORT = ROOT / "runs" / "ficiu2023.html"
TITLE = "Results"


def main() -> int:
    """Runs, and writes what was found, whether it holds or not."""
    answer = STUDY.run(lambda *_: [], False)
    rows = "\n".join(f"| {' | '.join(str(cell) for cell in row)} |" for row in answer.table.rows)
    head = " | ".join(answer.table.columns)
    body = f"""\
Written by `make study-echo`; do not edit. Means over rooms with 95 % intervals, differences paired by room.

| {head} |
|{" --- |" * len(answer.table.columns)}
{rows}
"""
    README.write_text(with_section(README.read_text("utf-8"), TITLE, body), "utf-8")
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(render(answer.report), "utf-8")
    sys.stdout.write(
        f"{answer.table.notes[0]}\nwritten: {README.relative_to(ROOT)}, {REPORT.relative_to(ROOT)}\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
