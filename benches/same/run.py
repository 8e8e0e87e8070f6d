#!/usr/bin/env python3
"""`make same-record` and `make same-compare`: whether another build answers everything as this one does, value by value.

    make same-record OUT=before.zip                 # on the one tree
    make same-record OUT=after.zip FROM=before.zip  # on the other: the same random plans
    make same-compare A=before.zip B=after.zip EXPECTED=expected.toml

Recorded are every scenario that the simulator can answer (two replications of each cell, and what the formulas say), the
studies with `--quick`, and 200 random plans: all tables by column, verdicts, digests of captures. EXPECTED lists
differences that are meant to be:

    [[difference]]
    kind = "moved"            # or "only in A", "only in B", "differs"
    table = "flows"
    column = "client_timeouts"
    sql = "SELECT subject, cell, replication, flow, timeouts AS value FROM connections WHERE side = 'client'"
    reason = "what belongs to a connection has a table of its own"

What is only in one of them, or differs, may be named by patterns such as `client_*`, and by `subject`. What moved is held
against A's values all the same.
"""
# SPDX-License-Identifier: Apache-2.0

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from same.difference import ExpectationError, difference, expectations
from same.record import PARTS, record
from same.recording import Recording, RecordingError


def tell(line: str) -> None:
    """Prints at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _record(options: argparse.Namespace) -> int:
    plans = None if options.plans_from is None else Recording.load(options.plans_from).plans
    started = time.process_time()
    made = record(options.only or PARTS, plans, tell)
    made.save(options.out)
    rows = sum(table.height for table in made.tables.values())
    size = options.out.stat().st_size / 1e6
    tell(
        f"{options.out}: {rows} rows in {len(made.tables)} tables, {size:.1f} MB, "
        f"{time.process_time() - started:.0f} s of processor time"
    )
    return 0


def _compare(options: argparse.Namespace) -> int:
    expected = [] if options.expected is None else expectations(options.expected)
    a, b = (Recording.load(path) for path in (options.a, options.b))
    for name, side in (("A", a), ("B", b)):
        tell(f"{name}: commit {side.origin['commit']}, engine {side.origin['build']}")
    found = difference(a, b, expected)
    for line in found.lines(options.most):
        tell(line)
    return 0 if found.is_none else 1


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    recording = commands.add_parser("record", help="records what this tree answers")
    recording.add_argument("out", type=Path)
    recording.add_argument(
        "--from", dest="plans_from", type=Path, help="a recording whose random plans are run"
    )
    recording.add_argument(
        "--only", action="append", choices=PARTS, help="this part; more than once for more"
    )
    recording.set_defaults(run=_record)
    comparing = commands.add_parser(
        "compare", help="tells what differs; the exit code is 1 where something does"
    )
    comparing.add_argument("a", type=Path)
    comparing.add_argument("b", type=Path)
    comparing.add_argument("--expected", type=Path, help="a TOML file with differences that are meant to be")
    comparing.add_argument("--most", type=int, default=5, help="subjects that are told of one column")
    comparing.set_defaults(run=_compare)
    options = parser.parse_args()
    try:
        return options.run(options)
    except (RecordingError, ExpectationError) as error:
        parser.exit(2, f"{error}\n")


if __name__ == "__main__":
    sys.exit(main())
