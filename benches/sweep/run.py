#!/usr/bin/env python3
"""`make bench-sweep`, a part of `make bench`: 1000 quick runs with one worker and with two, and the start of `--help`.

Times are those of the whole command, start of the interpreter included. Each round runs both, in changing order,
into directories of its own, and gives a ratio; the median ratio counts. Nothing is deleted between the runs:
some file systems are slow at making files where many have just been removed.
"""
# SPDX-License-Identifier: Apache-2.0

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches"))

from page import SWEEPS, measured_on, renew  # noqa: E402 - a folder of programs, not a package

from voxpath.results.packs import Packs  # noqa: E402

SCENARIO = Path(__file__).with_name("quick.toml")
LEAST_SPEED_UP = 1.8
MOST_SECONDS_OF_HELP = 0.25
STARTS = 15


def tell(line: str) -> None:
    """Prints at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def seconds(*arguments: str) -> float:
    """Wall time of a command."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "voxpath", *arguments], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    return time.perf_counter() - started


def sweep(jobs: int, out: Path) -> float:
    """Wall time of the sweep; every run must be there."""
    found = seconds("sweep", str(SCENARIO), "--jobs", str(jobs), "--out", str(out), "--backend", "sim")
    made = len(Packs(out).names())
    if made != 1000:
        sys.exit(f"{made} runs in place of 1000")
    return found


@dataclass(frozen=True, slots=True)
class Swept:
    """What was measured.

    Attributes:
        where: The machine.
        rounds: Seconds with one worker and with two, round by round.
        help_: Seconds of each `voxpath --help`.
    """

    where: str
    rounds: tuple[tuple[float, float], ...]
    help_: tuple[float, ...]

    @property
    def speed_up(self) -> float:
        """The median of the rounds'."""
        return statistics.median(one / two for one, two in self.rounds)

    @property
    def holds(self) -> bool:
        """Whether both bars are reached."""
        return self.speed_up > LEAST_SPEED_UP and min(self.help_) < MOST_SECONDS_OF_HELP

    @property
    def start(self) -> str:
        """How long `voxpath --help` takes."""
        return f"{min(self.help_):.3f} s, median {statistics.median(self.help_):.3f} s"

    def verdicts(self) -> list[str]:
        """Lines for the terminal."""
        return [
            f"speed-up with two jobs: {self.speed_up:.2f} (bar: above {LEAST_SPEED_UP})",
            f"voxpath --help: {self.start} (bar: under {MOST_SECONDS_OF_HELP} s)",
        ]

    def section(self) -> str:
        """The section of the page."""
        one, two = (statistics.median(times) for times in zip(*self.rounds, strict=True))
        speed_up, start = (self.speed_up > LEAST_SPEED_UP, min(self.help_) < MOST_SECONDS_OF_HELP)
        yes = {True: "yes", False: "NO"}
        return f"""\
1000 runs of [benches/sweep/quick.toml](../../benches/sweep/quick.toml) with one worker process and with two in turn. The time is that of the whole
command. Values are medians of {len(self.rounds)} rounds, and the speed-up is the median of the rounds' speed-ups. The start is the least of {len(self.help_)}: other work of the machine
only adds to it. `make bench-sweep` renews this section alone.

Measured on: {self.where}.

| what | measured | bar | holds |
| --- | ---: | --- | --- |
| 1000 runs, 1 job | {one:.2f} s | | |
| 1000 runs, 2 jobs | {two:.2f} s | | |
| speed-up | {self.speed_up:.2f} | above {LEAST_SPEED_UP} | {yes[speed_up]} |
| `voxpath --help` | {self.start} | under {MOST_SECONDS_OF_HELP} s | {yes[start]} |
"""


def measure(rounds: int) -> Swept:
    """Measures, telling of each round."""
    where = measured_on()
    (ROOT / "target").mkdir(exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=ROOT / "target"))
    times = []
    try:
        for number in range(rounds):
            found = {
                jobs: sweep(jobs, scratch / f"{number}-{jobs}") for jobs in ((1, 2) if number % 2 else (2, 1))
            }
            times.append((found[1], found[2]))
            tell(
                f"round {number + 1}: 1 job {found[1]:.2f} s, 2 jobs {found[2]:.2f} s, "
                f"ratio {found[1] / found[2]:.2f}, load {os.getloadavg()[0]:.1f}"
            )
    finally:
        shutil.rmtree(scratch)
    return Swept(where, tuple(times), tuple(seconds("--help") for _ in range(STARTS)))


def main() -> int:
    """Measures, writes the section and judges."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    swept = measure(parser.parse_args().rounds)
    renew(SWEEPS, swept.section())
    for line in swept.verdicts():
        tell(line)
    return 0 if swept.holds else 1


if __name__ == "__main__":
    sys.exit(main())
