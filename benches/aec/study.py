#!/usr/bin/env python3
"""`make study-echo`: the study ficiu2023 in full; its verdicts go into its README, its report into runs/."""
# SPDX-License-Identifier: Apache-2.0

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from page import with_section
from studies import ROOT, save_report, table_lines

from voxpath.studies.ficiu2023 import STUDY

README = ROOT / "python" / "voxpath" / "studies" / "ficiu2023" / "README.md"
TITLE = "Results"


def main() -> int:
    """Runs, and writes what was found, whether it holds or not."""
    answer = STUDY.run(lambda *_: [], False)
    table = "\n".join(table_lines(answer.table.columns, answer.table.rows))
    body = f"""\
Written by `make study-echo`; do not edit. Means over rooms with 95 % intervals, differences paired by room.

{table}
"""
    README.write_text(with_section(README.read_text("utf-8"), TITLE, body), "utf-8")
    report = save_report(STUDY.name, answer)
    sys.stdout.write(f"{answer.table.notes[0]}\nwritten: {README.relative_to(ROOT)}, {report}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
