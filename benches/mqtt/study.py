"""`make study-mqtt`: the study thapa2023 in full, simulated and on real hosts; writes docs/measured/thapa2023.md and its report into runs/.

Runs are kept in runs/, so that it goes on where it was interrupted.
"""
# SPDX-License-Identifier: Apache-2.0

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from page import machine
from studies import ROOT, RUNS, answering, save_report, section_lines

from voxpath import _engine
from voxpath.backends.real.session import RealError
from voxpath.studies import load

NAME = "thapa2023"
PAGE = ROOT / "docs" / "measured" / f"{NAME}.md"


def main() -> int:
    """Runs, and writes what was found, whether it holds or not."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few runs; the page is only printed")
    parser.add_argument("--simulated", action="store_true", help="no runs on real hosts; the page says so")
    parser.add_argument("--runs", type=Path, default=RUNS, help="directory of the runs")
    options = parser.parse_args()
    on = machine()
    try:
        with answering(NAME, options.runs) as ask:
            answer = load(NAME).run(
                lambda questions, named: ask(
                    questions, [name for name in named if name != "real" or not options.simulated]
                ),
                options.quick,
            )
    except RealError as error:
        sys.stderr.write(f"no real hosts here: {error}\n")
        return 1
    found = "\n".join(f"- {one}" for one in answer.report.answer)
    asked = dict(answer.report.origin)["replications"]
    without = " There were no runs on real hosts (`--simulated`)." if options.simulated else ""
    text = f"""# The same data by a socket and by MQTT

Written by `make study-mqtt`; do not edit. The page shows the study [thapa2023](../../python/voxpath/studies/thapa2023/README.md), which explains its settings,
with replications {asked}.{without} Measured on {on}; engine {_engine.BUILD}.

{found}

"""
    for section in answer.report.sections:
        text += "\n".join(section_lines(section)) + "\n"
    if options.quick:
        sys.stdout.write(text)
        return 0
    PAGE.write_text(text.rstrip() + "\n", "utf-8")
    report = save_report(NAME, answer)
    sys.stdout.write(f"{found}\nwritten: {PAGE.relative_to(ROOT)}, {report}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
