#!/usr/bin/env python3
"""`make cost`: what many runs cost, by a model that is checked against sweeps of 10^4 to 10^6 runs.

The model is a line for each quantity: so much for a sweep, and so much for each run. It is fitted to all sizes but the
largest, and what it says of the largest stands beside what was measured. Then it is asked for 10^9 runs. Writes
docs/measured/cost.md.

`--sizes 1000,4000,16000` tries it; the page is written for the sizes by default alone, unless `--save` asks for it.
"""
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import argparse
import math
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches"))

from million import run as million  # noqa: E402 - folders of programs, not packages
from page import measured_on  # noqa: E402

from voxpath.results.packs import MOST_RUNS, Packs  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

PAGE = ROOT / "docs" / "measured" / "cost.md"
TINY = Path(__file__).with_name("tiny.toml")
QUICK = ROOT / "benches" / "sweep" / "quick.toml"
SIZES = (10_000, 100_000, 300_000, 600_000, 1_000_000)
ASKED = 10**9
MOST_ERROR = 0.15
"""Between what the model says of the largest sweep and what that took."""
CLUSTER_RUNS = (4_000, 40_000)
OTHER_RUNS = (400, 1_600)
"""Of scenarios whose runs take longer."""
CORES = 1_000

CLUSTER = """
import sys
from distributed import LocalCluster

if __name__ == "__main__":
    cluster = LocalCluster(1, threads_per_worker=1, dashboard_address="127.0.0.1:0")
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
    cluster.close()
"""


@dataclass(frozen=True)
class Swept:
    """What a sweep took, and what was done with it afterwards.

    Attributes:
        runs: How many.
        made: The command.
        engine_s: Of its processor time, what its runs took in the engine.
        again: The same command once more, with nothing to do.
        report: `voxpath report` of it.
        files: Of the store.
        size: Their bytes.
    """

    runs: int
    made: million.Took
    engine_s: float
    again: million.Took
    report: million.Took
    files: int
    size: int


def swept(path: Path, runs: int, out: Path) -> Swept:
    """Makes a sweep by one worker, looks for it again and reports it."""
    store = out / f"{path.stem}-{runs}"
    asked = [path, "--backend", "sim", "--replications", str(runs // cells(path)), "--out", store]
    made = million.done("sweep", *asked, "--jobs", "1")
    again = million.done("sweep", *asked, "--jobs", "1")
    report = million.done("report", *asked, "--save", out / "report.html")
    files = [found for found in store.rglob("*") if found.is_file()]
    size = sum(found.stat().st_size for found in files)
    found = Swept(runs, made, engine_s(store, runs), again, report, len(files), size)
    shutil.rmtree(store)
    tell(f"{path.stem}: {runs:,} runs, {made.wall_s:,.1f} s")
    return found


def engine_s(store: Path, runs: int) -> float:
    """Seconds of processor time that the runs of a store took in the engine; all must be there."""
    if (made := len(Packs(store).names())) != runs:
        sys.exit(f"{made} runs in place of {runs}")
    times = pl.concat(
        pl.read_parquet(path, columns=["processor_ns"]) for path in store.rglob("environment.parquet")
    )
    return float(times.get_column("processor_ns").sum()) / 1e9


def cells(path: Path) -> int:
    """Of a scenario."""
    from voxpath.scenario import read

    return sum(1 for _ in read(path).cells())


@dataclass(frozen=True)
class Quantity:
    """Something that grows with the runs.

    Attributes:
        what: Its name.
        unit: Which is printed.
        of: Its value for a sweep, in this unit.
        since: From how many runs on it is a line.
    """

    what: str
    unit: str
    of: Callable[[Swept], float]
    since: int = 0


FULL = 6 * MOST_RUNS
"""From so many runs on memory is a line: before, there are too few full packs for what is merged and read at once."""

MODELLED = (
    Quantity("processor time in the engine", "s", lambda one: one.engine_s),
    Quantity("processor time beside the engine", "s", lambda one: one.made.processor_s - one.engine_s),
    Quantity("most memory of the sweep", "MB", lambda one: one.made.peak_mb, FULL),
    Quantity("the store", "MB", lambda one: one.size / 1e6),
    Quantity("processor time of the same command with nothing to do", "s", lambda one: one.again.processor_s),
    Quantity("processor time of `voxpath report`", "s", lambda one: one.report.processor_s),
    Quantity("most memory of `voxpath report`", "MB", lambda one: one.report.peak_mb, FULL),
)
ENGINE, BESIDE, MEMORY, STORE, AGAIN, REPORT, REPORT_MEMORY = MODELLED


@dataclass(frozen=True)
class Line:
    """So much, and so much for each run."""

    base: float
    slope: float

    @classmethod
    def through(cls, points: Sequence[tuple[float, float]]) -> Line:
        """By least squares of relative errors: the largest is not to decide alone."""
        x, y = np.array(points, dtype=float).T
        weights = 1 / y
        columns = np.stack([np.ones_like(x), x], axis=1) * weights[:, None]
        (base, slope), *_ = np.linalg.lstsq(columns, y * weights)
        return cls(float(base), float(slope))

    def at(self, runs: float) -> float:
        """What it says."""
        return self.base + self.slope * runs


def line(quantity: Quantity, some: Sequence[Swept]) -> Line:
    """Of sweeps of several sizes: of those that are large enough, if there are two."""
    large = [one for one in some if one.runs >= quantity.since]
    return Line.through([(one.runs, quantity.of(one)) for one in (large if len(large) > 1 else some)])


def files_of(runs: int, each: int) -> int:
    """Files of a store whose packs have so many each."""
    return math.ceil(runs / MOST_RUNS) * each


@dataclass(frozen=True)
class Clustered:
    """Seconds of processor time of a sweep by one worker that does not see the store (`--shards return`)."""

    runs: int
    command_s: float
    scheduler_s: float
    worker_s: float


def clustered(path: Path, runs: int, out: Path) -> Clustered:
    """Makes a sweep on a cluster of this machine."""
    script = out / "cluster.py"
    script.write_text(CLUSTER, encoding="utf-8")
    store = out / "clustered"
    with subprocess.Popen(  # noqa: S603 - this interpreter
        [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as cluster:
        if cluster.stdin is None or cluster.stdout is None:
            raise AssertionError("they are pipes")
        address = cluster.stdout.readline().strip()
        before = used(cluster.pid)
        asked = [
            "sweep",
            path,
            "--backend",
            "sim",
            "--replications",
            str(runs // cells(path)),
            "--out",
            store,
        ]
        took = million.done(*asked, "--dask", address, "--shards", "return")
        scheduler_s, worker_s = (now - then for now, then in zip(used(cluster.pid), before, strict=True))
        cluster.stdin.close()
    engine_s(store, runs)
    shutil.rmtree(store)
    tell(f"{path.stem} on a cluster: {runs:,} runs, {took.wall_s:,.1f} s")
    return Clustered(runs, took.processor_s, scheduler_s, worker_s)


def used(scheduler: int) -> tuple[float, float]:
    """Seconds of processor time of the scheduler's process, and of its workers'."""
    return _own_s(scheduler), sum(_own_s(pid) for pid in _below(scheduler))


def _own_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    # utime and stime, fields 14 and 15 of proc(5).
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _below(pid: int) -> Iterator[int]:
    """Whom a process has started, and whom these have."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text(encoding="utf-8").split()):
            yield child
            yield from _below(child)


def tell(text: str) -> None:
    """Prints at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def checked(some: Sequence[Swept]) -> tuple[str, bool]:
    """The table of what the model says of the largest sweep, and whether it holds."""
    *fitted, largest = some
    rows, good = [], True
    for quantity in MODELLED:
        found = line(quantity, fitted)
        said, measured = found.at(largest.runs), quantity.of(largest)
        error = said / measured - 1
        holds = abs(error) <= MOST_ERROR
        good &= holds
        values = " | ".join(f"{quantity.of(one):,.1f}" for one in fitted)
        rows.append(
            f"| {quantity.what}, {quantity.unit} | {values} | {said:,.1f} | {measured:,.1f} | {error:+.0%} "
            f"| {'yes' if holds else 'NO'} |"
        )
    each = files_each(fitted[0])
    said_files = files_of(largest.runs, each)
    good &= said_files == largest.files
    values = " | ".join(f"{one.files}" for one in fitted)
    rows.append(
        f"| files | {values} | {said_files} | {largest.files} | {said_files / largest.files - 1:+.0%} "
        f"| {'yes' if said_files == largest.files else 'NO'} |"
    )
    sizes = " | ".join(f"{one.runs:,} runs" for one in fitted)
    head = f"| | {sizes} | {largest.runs:,}, by the model | {largest.runs:,}, measured | error | within {MOST_ERROR:.0%} |"
    return "\n".join([head, f"| --- |{' ---: |' * (len(fitted) + 3)} --- |", *rows]), good


def files_each(one: Swept) -> int:
    """Files of one pack."""
    return one.files // math.ceil(one.runs / MOST_RUNS)


@dataclass(frozen=True)
class Priced:
    """What 10^9 runs of a scenario cost.

    Attributes:
        what: The scenario.
        engine_ms: Of a run.
        beside_ms: Of a run, what one machine takes besides.
        bytes: Of a run, in the store.
    """

    what: str
    engine_ms: float
    beside_ms: float
    bytes: float

    @classmethod
    def of(cls, what: str, some: Sequence[Swept]) -> Priced:
        """By the slopes of some sweeps."""
        engine, beside, store = (line(quantity, some).slope for quantity in (ENGINE, BESIDE, STORE))
        return cls(what, 1e3 * engine, 1e3 * beside, 1e6 * store)

    def row(self) -> str:
        """Of the table."""
        core_hours = ASKED * (self.engine_ms + self.beside_ms) / 3.6e6
        return (
            f"| {self.what} | {self.engine_ms:.2f} | {self.beside_ms:.2f} | {self.bytes:,.0f} | {core_hours:,.0f} "
            f"| {core_hours / CORES:.1f} | {ASKED * self.bytes / 1e12:.2f} |"
        )


def page(
    where: str,
    some: Sequence[Swept],
    priced: Sequence[Priced],
    clusters: Sequence[Clustered],
    table: str,
) -> str:
    """What docs/measured/cost.md says."""
    command, scheduler, worker = (
        Line.through([(one.runs, value(one)) for one in clusters]).slope
        for value in (lambda one: one.command_s, lambda one: one.scheduler_s, lambda one: one.worker_s)
    )
    serial = max(command, scheduler)
    memory, report_memory = line(MEMORY, some), line(REPORT_MEMORY, some)
    again, report = line(AGAIN, some), line(REPORT, some)
    feeds = "\n".join(
        f"| {one.what} | {(one.engine_ms + one.beside_ms) / 1e3 / serial:,.1f} |" for one in priced
    )
    return f"""\
# What 10^9 runs cost

Written by `make cost`; do not edit. A sweep of [benches/million/tiny.toml](../../benches/million/tiny.toml), whose runs take the engine a fraction of a millisecond, by
one worker. The model is a line for each quantity, fitted to all sizes but the largest, of memory to those from {FULL:,} runs on; of the largest it says what stands beside the measurement.

Measured on: {where}.

{table}

## 10^9 runs
Seconds of a run are slopes: what one more run costs. Core-hours are those of workers on one machine, its own part included; hours are those of {CORES:,} cores that have nothing else to do.

| scenario | engine, ms a run | beside it, ms a run | bytes a run | core-hours | hours of {CORES:,} cores | TB in the store |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
{chr(10).join(one.row() for one in priced)}

The store has {files_of(ASKED, files_each(some[0])):,} files. To make them in one sweep the command would hold {memory.at(ASKED) / 1e3:,.0f} GB ({1e6 * memory.slope:,.0f} bytes a run), and its report {report_memory.at(ASKED) / 1e3:,.0f} GB;
looking for runs that are there takes it {again.at(ASKED) / 3600:,.1f} hours, the report {report.at(ASKED) / 3600:,.1f} hours. So 10^9 runs are {ASKED // SIZES[-1]:,} sweeps of {SIZES[-1]:,} runs, each with a directory of its own: then a
command holds {memory.at(SIZES[-1]) / 1e3:,.1f} GB, and as many commands run at once as there are machines.

## A cluster
With `--shards return`, by one worker of a Dask cluster on this machine: processor time for each run beside the engine.

| who | ms a run |
| --- | ---: |
| the command | {1e3 * command:.3f} |
| the scheduler | {1e3 * scheduler:.3f} |
| the worker, with the engine | {1e3 * worker:.3f} |

The command and the scheduler serve all workers, so they end what more workers are worth:

| scenario | cores that one command keeps busy |
| --- | ---: |
{feeds}
"""


def main() -> int:
    """Measures, writes the page and judges."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--sizes", type=sizes, default=SIZES, metavar="N,N,N,...", help="at least three, increasing"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "target" / "cost")
    parser.add_argument("--save", action="store_true", help="write the page for other sizes, too")
    options = parser.parse_args()
    where = measured_on()
    shutil.rmtree(options.out, ignore_errors=True)
    options.out.mkdir(parents=True)
    some = [swept(TINY, runs, options.out) for runs in options.sizes]
    map_ = options.out / "map.toml"
    map_.write_text(million.scenario(million.cells()), encoding="utf-8")
    named = {"a download of 5 MB (`make bench-sweep`)": QUICK, "the map of ramli2018 (`make million`)": map_}
    priced = [Priced.of("an answer of 4 kB (above)", some)]
    for what, path in named.items():
        least = cells(path)
        runs = [-(-count // least) * least for count in OTHER_RUNS]
        priced.append(Priced.of(what, [swept(path, count, options.out) for count in runs]))
    clusters = [clustered(TINY, runs, options.out) for runs in CLUSTER_RUNS]
    table, good = checked(some)
    text = page(where, some, priced, clusters, table)
    if tuple(options.sizes) == SIZES or options.save:
        PAGE.write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    return 0 if good else 1


def sizes(text: str) -> tuple[int, ...]:
    """Of `--sizes`."""
    each = cells(TINY)
    try:
        found = tuple(int(part) for part in text.split(","))
    except ValueError:
        found = ()
    if len(found) < 3 or list(found) != sorted(set(found)) or any(runs % each for runs in found):
        raise argparse.ArgumentTypeError(
            f"{text!r}: write three or more, increasing, each divisible by {each}"
        )
    return found


if __name__ == "__main__":
    sys.exit(main())
