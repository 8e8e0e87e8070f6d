#!/usr/bin/env python3
"""`make bench-sweep`, a part of `make bench`: 1000 quick runs with one worker and with two, and the start of `--help`.

Times are those of the whole command, start of the interpreter included. Each round runs all, in changing order,
into directories of its own, and gives ratios; the median ratio counts. Nothing is deleted between the runs:
some file systems are slow at making files where many have just been removed.

Beside them stand the same runs with a folder each, as sweeps were kept once and single runs are today, and the
engine alone, in one process and in two at once. Ten times as many runs, once with each number of workers, show what
of the speed-up the start of the command takes.
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

import polars as pl

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches"))

from page import SWEEPS, measured_on, renew  # noqa: E402 - a folder of programs, not a package

from voxpath import _engine  # noqa: E402
from voxpath.backends.sim import flows, rows  # noqa: E402
from voxpath.results.identity import Observe  # noqa: E402
from voxpath.results.packs import Packs  # noqa: E402
from voxpath.scenario import read  # noqa: E402
from voxpath.sweeps.runs import Task, perform  # noqa: E402

SCENARIO = Path(__file__).with_name("quick.toml")
RUNS = 1000
MORE_RUNS = 10 * RUNS
LEAST_SPEED_UP = 1.85
FREE_MACHINE = 1.9
"""What two processes of the engine must reach of two, or the speed-up of workers says nothing."""
LEAST_SHARE = 0.75
LEAST_GAIN = 4.0
MOST_SECONDS_OF_HELP = 0.25
STARTS = 15


def tell(line: str) -> None:
    """Prints at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds that a command took, on the wall clock and of processor time."""

    wall: float
    processor: float


def timed(*arguments: str, copies: int = 1) -> Took:
    """What a program of Python takes; of several copies at once, all of them."""
    started = time.perf_counter()
    command = [sys.executable, *arguments]
    running = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(copies)]  # noqa: S603
    used = 0.0
    for one in running:
        _, status, usage = os.wait4(one.pid, 0)
        one.returncode = os.waitstatus_to_exitcode(status)
        used += usage.ru_utime + usage.ru_stime
        if one.returncode:
            sys.exit(f"{' '.join(command)} ended with {one.returncode}")
    return Took(time.perf_counter() - started, used)


def sweep(jobs: int, out: Path, runs: int = RUNS) -> tuple[Took, float]:
    """What the sweep takes, and seconds of processor time that its runs took in the engine; all must be there."""
    asked = ["--jobs", str(jobs), "--replications", str(runs // 10), "--out", str(out), "--backend", "sim"]
    took = timed("-m", "voxpath", "sweep", str(SCENARIO), *asked)
    made = len(Packs(out).names())
    if made != runs:
        sys.exit(f"{made} runs in place of {runs}")
    times = pl.concat(pl.read_parquet(path) for path in out.rglob("environment.parquet"))
    return took, times.get_column("processor_ns").sum() / 1e9


def folders(out: Path) -> Took:
    """The same runs with a folder each."""
    return timed(__file__, "--folders", str(out))


def engine(copies: int) -> Took:
    """The same runs in the engine alone, as often as there are copies."""
    return timed(__file__, "--engine", copies=copies)


def make_folders(out: Path) -> None:
    """What `folders` times: runs that are kept, summarised and printed as a sweep's, but each in a folder."""
    document = read(SCENARIO)
    outcomes = [
        [
            perform(Task(cell.document.plan.json, cell.document.written, number, Observe(), str(out)))
            for number in range(RUNS // 10)
        ]
        for cell in document.cells()
    ]
    for frame in flows(outcomes):
        rows(frame, "sim")


def make_alone() -> None:
    """What `engine` times."""
    cells = [(cell.document.plan.json, range(RUNS // 10)) for cell in read(SCENARIO).cells()]
    _, _, error = _engine.run(cells, Observe().json)
    if error is not None:
        raise error


@dataclass(frozen=True, slots=True)
class Round:
    """What was measured in turn.

    Attributes:
        one: The sweep with one worker.
        two: With two.
        engine_s: Of the processor time of `one`, what its runs took in the engine.
        folders: The same with a folder for each run.
        alone: The engine alone.
        both: Two processes of it at once, each with all runs.
    """

    one: Took
    two: Took
    engine_s: float
    folders: Took
    alone: Took
    both: Took


@dataclass(frozen=True, slots=True)
class Swept:
    """What was measured.

    Attributes:
        where: The machine.
        rounds: Round by round.
        more: `MORE_RUNS` with one worker and with two.
        help_: Seconds of each `voxpath --help`.
    """

    where: str
    rounds: tuple[Round, ...]
    more: tuple[Took, Took]
    help_: tuple[float, ...]

    @property
    def speed_up(self) -> float:
        """Of two workers; the median of the rounds'."""
        return statistics.median(one.one.wall / one.two.wall for one in self.rounds)

    @property
    def free(self) -> float:
        """Of two processes of the engine: how free the machine was."""
        return statistics.median(2 * one.alone.wall / one.both.wall for one in self.rounds)

    @property
    def share(self) -> float:
        """Of the processor time of a sweep, what the engine took."""
        return statistics.median(one.engine_s / one.one.processor for one in self.rounds)

    @property
    def gain(self) -> float:
        """By how much a sweep is faster than its runs with a folder each."""
        return statistics.median(one.folders.wall / one.one.wall for one in self.rounds)

    @property
    def bars(self) -> list[tuple[str, str, str, bool]]:
        """What is asked for: what, measured, the bar, whether it holds."""
        return [
            (
                "speed-up with two workers",
                f"{self.speed_up:.2f} (two processes of the engine alone: {self.free:.2f})",
                f"at least {LEAST_SPEED_UP} where these reach {FREE_MACHINE}",
                self.free < FREE_MACHINE or self.speed_up >= LEAST_SPEED_UP,
            ),
            (
                "processor time in the engine, one worker",
                f"{self.share:.0%}",
                f"at least {LEAST_SHARE:.0%}",
                self.share >= LEAST_SHARE,
            ),
            (
                "speed beside a folder for each run",
                f"{self.gain:.1f} times",
                f"at least {LEAST_GAIN:g} times",
                self.gain >= LEAST_GAIN,
            ),
            (
                "`voxpath --help`",
                self.start,
                f"under {MOST_SECONDS_OF_HELP} s",
                min(self.help_) < MOST_SECONDS_OF_HELP,
            ),
        ]

    @property
    def holds(self) -> bool:
        """Whether all bars are reached."""
        return all(holds for *_, holds in self.bars)

    @property
    def start(self) -> str:
        """How long `voxpath --help` takes."""
        return f"{min(self.help_):.3f} s, median {statistics.median(self.help_):.3f} s"

    def verdicts(self) -> list[str]:
        """Lines for the terminal."""
        return [f"{what}: {measured} (bar: {bar})" for what, measured, bar, _ in self.bars]

    def section(self) -> str:
        """The section of the page."""
        timed = {
            "1 worker": [one.one for one in self.rounds],
            "2 workers": [one.two for one in self.rounds],
            "1 worker, a folder for each run": [one.folders for one in self.rounds],
            "the engine alone": [one.alone for one in self.rounds],
        }
        times = "\n".join(
            f"| {RUNS} runs, {what} | {statistics.median(took.wall for took in some):.2f} "
            f"| {statistics.median(took.processor for took in some):.2f} |"
            for what, some in timed.items()
        )
        one, two = self.more
        yes = {True: "yes", False: "NO"}
        bars = "\n".join(
            f"| {what} | {measured} | {bar} | {yes[holds]} |" for what, measured, bar, holds in self.bars
        )
        return f"""\
{RUNS} runs of [benches/sweep/quick.toml](../../benches/sweep/quick.toml) with one worker, with two, with a folder for each run as sweeps were kept once, and in the
engine alone, in turn. The time is that of the whole command. Values are medians of {len(self.rounds)} rounds, ratios medians of the rounds' ratios. The start is the least of {len(self.help_)}:
other work of the machine only adds to it. `make bench-sweep` renews this section alone.

Measured on: {self.where}.

| what | wall s | processor s |
| --- | ---: | ---: |
{times}
| {MORE_RUNS} runs, 1 worker | {one.wall:.2f} | {one.processor:.2f} |
| {MORE_RUNS} runs, 2 workers | {two.wall:.2f} | {two.processor:.2f} |

Of {MORE_RUNS} runs the speed-up with two workers is {one.wall / two.wall:.2f}: what a command takes besides its runs is shared by more of them.

| what | measured | bar | holds |
| --- | ---: | --- | --- |
{bars}
"""


def measure(rounds: int) -> Swept:
    """Measures, telling of each round."""
    where = measured_on()
    (ROOT / "target").mkdir(exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=ROOT / "target"))
    found: list[Round] = []
    try:
        for number in range(rounds):
            out = scratch / str(number)
            made = {jobs: sweep(jobs, out / str(jobs)) for jobs in ((1, 2) if number % 2 else (2, 1))}
            (one, engine_s), (two, _) = made[1], made[2]
            found.append(Round(one, two, engine_s, folders(out / "folders"), engine(1), engine(2)))
            tell(
                f"round {number + 1}: 1 worker {one.wall:.2f} s, 2 workers {two.wall:.2f} s, "
                f"folders {found[-1].folders.wall:.2f} s, load {os.getloadavg()[0]:.1f}"
            )
        more = tuple(sweep(jobs, scratch / f"more-{jobs}", MORE_RUNS)[0] for jobs in (1, 2))
    finally:
        shutil.rmtree(scratch)
    starts = (timed("-m", "voxpath", "--help").wall for _ in range(STARTS))
    return Swept(where, tuple(found), (more[0], more[1]), tuple(starts))


def main() -> int:
    """Measures, writes the section and judges."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folders", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--engine", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.folders is not None:
        make_folders(options.folders)
        return 0
    if options.engine:
        make_alone()
        return 0
    swept = measure(options.rounds)
    renew(SWEEPS, swept.section())
    for line in swept.verdicts():
        tell(line)
    return 0 if swept.holds else 1


if __name__ == "__main__":
    sys.exit(main())
