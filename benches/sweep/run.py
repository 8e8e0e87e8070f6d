#!/usr/bin/env python3
"""`make bench-sweep`: 1000 quick runs with one worker and with two in turn, and how long `--help` takes.

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
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCENARIO = Path(__file__).with_name("quick.toml")
LEAST_SPEED_UP = 1.8
MOST_SECONDS_OF_HELP = 0.25


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
    made = sum(1 for _ in out.iterdir())
    if made != 1000:
        sys.exit(f"{made} runs in place of 1000")
    return found


def main() -> int:
    """Measures, prints and judges."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    scratch = Path(tempfile.mkdtemp(dir=ROOT / "target"))
    ratios = []
    try:
        for number in range(rounds):
            found = {
                jobs: sweep(jobs, scratch / f"{number}-{jobs}") for jobs in ((1, 2) if number % 2 else (2, 1))
            }
            ratios.append(found[1] / found[2])
            tell(
                f"round {number + 1}: 1 job {found[1]:.2f} s, 2 jobs {found[2]:.2f} s, ratio {ratios[-1]:.2f}, "
                f"load {os.getloadavg()[0]:.1f}"
            )
    finally:
        shutil.rmtree(scratch)
    speed_up = statistics.median(ratios)
    help_ = statistics.median(seconds("--help") for _ in range(9))
    tell(f"speed-up with two jobs: {speed_up:.2f} (bar: above {LEAST_SPEED_UP})")
    tell(f"voxpath --help: {help_:.3f} s (bar: under {MOST_SECONDS_OF_HELP})")
    return 0 if speed_up > LEAST_SPEED_UP and help_ < MOST_SECONDS_OF_HELP else 1


if __name__ == "__main__":
    sys.exit(main())
