#!/usr/bin/env python3
"""`make bench`: what a hop costs, voxpath beside its peers on the same dumbbell, and sweeps, in one run.

Prints the tables, writes them to docs/measured/benchmarks.md with the machine they were measured on, and fails if a bar is
not reached. Ratios are taken within a round, see peers/measure.py; the absolute numbers are this machine's.
"""
# SPDX-License-Identifier: Apache-2.0

import argparse
import itertools
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benches" / "peers"))

import measure  # noqa: E402 - folders of programs, not packages
import scale  # noqa: E402
import subflows  # noqa: E402
from page import HOP, PAGE, PEERS, SCALE, SUBFLOWS, SWEEPS, measured_on, renew  # noqa: E402
from sweep import run as sweep  # noqa: E402

LEAST_TIMES_LESS_CPU = {
    "1x10M-60s": {"ns-3": 50.0, "ns-2": 2.0, "simpy-store": 100.0, measure.HTSIM: 1 / 0.6},
    "100x1G-10s": {"ns-3": 100.0, "ns-2": 4.0, "simpy-store": 100.0, measure.HTSIM: 1 / 0.4},
}
"""Of a peer's CPU time over ours, by case; SimPy's is its model with a process for each packet. Of csg-htsim's time
ours is to be 0.6 and 0.4 at most."""

MOST_GOODPUT_DIFFERENCE = 0.03
"""Between ours and the reference's: a faster simulator that moves fewer bytes proves nothing."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A bar and what was reached."""

    case: str
    what: str
    reached: float
    holds: bool


def sh(*argv: str) -> str:
    """Runs a build or a bench of this repository; what it printed."""
    done = subprocess.run(argv, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    return done.stdout


def judge(rounds: list[list[measure.Measurement]], goodput_ratio: float) -> list[Verdict]:
    """Ours, as it is built and trained, against the bars; ratios are of each round."""
    case = rounds[0][0].case
    verdicts = []
    for ours, (peer, least) in itertools.product(
        (measure.OURS, measure.TRAINED), LEAST_TIMES_LESS_CPU[case].items()
    ):
        ratios = []
        for one_round in rounds:
            cpu_s = {one.contestant: one.cpu_s for one in one_round}
            if {peer, ours} <= cpu_s.keys():
                ratios.append(cpu_s[peer] / cpu_s[ours])
        if ratios:
            reached = statistics.median(ratios)
            what = f"{ours}: at least {least:.3g} times less CPU time than {peer}"
            verdicts.append(Verdict(case, what, reached, reached >= least))
    difference = abs(goodput_ratio - 1)
    what = f"goodput within {MOST_GOODPUT_DIFFERENCE:.0%} of {measure.REFERENCE}'s"
    return [*verdicts, Verdict(case, what, difference, difference <= MOST_GOODPUT_DIFFERENCE)]


def peers_section(
    where: str, tables: list[str], verdicts: list[Verdict], rounds: int, without: str | None
) -> str:
    """The dumbbell among its peers, without the one that was not there."""
    bars = "\n".join(
        f"| {verdict.case} | {verdict.what} | {verdict.reached:.3g} | {'yes' if verdict.holds else 'NO'} |"
        for verdict in verdicts
    )
    results = "\n\n".join(tables)
    missing = "" if without is None else f"Bars beside {measure.HTSIM} were not measured: {without}.\n\n"
    return f"""\
Median of {rounds} rounds in which the contestants took turns; a ratio is the median of the
ratios within a round. [benches/peers](../../benches/peers/README.md) describes the scenario, and what each peer counts. {measure.TRAINED} is
the same program after profile-guided optimisation on other dumbbells (`crates/trained.sh dumbbell`); `make fast` gives the installed engine the same.

Measured on: {where}.

{missing}{results}

| case | bar | reached | holds |
| --- | --- | ---: | --- |
{bars}
"""


def hop_section(where: str, hop: str) -> str:
    """What the bench of links printed."""
    return f"""\
From `cargo bench -p voxpath-net --bench hop`, which explains each line.

Measured on: {where}.

```text
{hop.strip()}
```
"""


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="default %(default)s")
    parser.add_argument("--case", choices=measure.CASES, action="append", help="default: all")
    parser.add_argument("--only", metavar="NAME", action="append", help="a contestant; default: all")
    options = parser.parse_args()
    where = measured_on()
    sh("cargo", "build", "--release", "--locked", "--quiet", "-p", "voxpath-sim", "--example", "dumbbell")
    sh("crates/trained.sh", "dumbbell")
    sh("make", "--silent", "-C", "benches/peers")

    known = measure.contestants()
    without = known[measure.HTSIM].missing()
    names = options.only or [name for name in known if name != measure.HTSIM or without is None]
    tables, verdicts = [], []
    try:
        for case in (measure.CASES[name] for name in options.case or measure.CASES):
            rounds = measure.compete([known[name] for name in names], case, options.rounds, say)
            summaries = measure.summarise(rounds)
            tables.append(measure.table(summaries))
            sys.stdout.write(tables[-1] + "\n\n")
            ours = next(summary for summary in summaries if summary.contestant == measure.OURS)
            verdicts += judge(rounds, ours.goodput_ratio)
    except (measure.BenchError, KeyError) as error:
        sys.stderr.write(f"bench: {error}\n")
        return 1
    hop = sh("cargo", "bench", "--quiet", "--locked", "-p", "voxpath-net", "--bench", "hop")
    sys.stdout.write(hop)
    swept, scaled, paired = None, None, None
    if not (options.case or options.only):
        # Each section as soon as it is known: a part that fails takes none of the others along.
        renew(PEERS, peers_section(where, tables, verdicts, options.rounds, without))
        renew(HOP, hop_section(where, hop))
        scaled = scale.measure()
        renew(SCALE, scaled.section)
        paired = subflows.measure()
        renew(SUBFLOWS, paired.section)
        swept = sweep.measure(options.rounds)
        renew(SWEEPS, swept.section())
        sys.stdout.write(f"written: {PAGE.relative_to(ROOT)}\n")
    for verdict in verdicts:
        state = "holds" if verdict.holds else "DOES NOT HOLD"
        sys.stdout.write(f"{verdict.case}: {verdict.what}: {verdict.reached:.3g}: {state}\n")
    parts = [part for part in (scaled, paired, swept) if part is not None]
    for line in (line for part in parts for line in part.verdicts()):
        sys.stdout.write(f"{line}\n")
    if without is not None and not options.only:
        sys.stdout.write(f"bars beside {measure.HTSIM} were not measured: {without}\n")
        return 1
    return 0 if all(verdict.holds for verdict in verdicts) and all(part.holds for part in parts) else 1


def say(done: measure.Measurement) -> None:
    """Progress."""
    sys.stderr.write(f"{done.case} {done.contestant}: {done.cpu_s:.3f} s CPU\n")


if __name__ == "__main__":
    sys.exit(main())
