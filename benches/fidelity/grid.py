#!/usr/bin/env python3
"""`make grid`: the simulated `linux` beside a live kernel, over congestion control, loss, round trip, rate and window.

Each cell of the grid is a transfer of so many bytes that it lasts about ten seconds. What the kernel needed is recorded in
grid.toml, run by run; `--record N` adds what is missing to N runs a cell, and `--sample` measures some cells again and says
how they agree with the record. Without either, it simulates each cell and writes docs/measured/grid.md.
"""
# SPDX-License-Identifier: Apache-2.0

import argparse
import itertools
import math
import os
import random
import statistics
import sys
import tempfile
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import bootstrap, mannwhitneyu

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import page

import voxpath
from voxpath.backends.base import Question
from voxpath.backends.real.backend import RealBackend
from voxpath.backends.sim import SimBackend
from voxpath.results.identity import Observe
from voxpath.scenario import Document

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RECORD = HERE / "grid.toml"
PAGE = ROOT / "docs" / "measured" / "grid.md"
OFF_THE_GRID = "Off the grid"
"""The section of the page that `make classes` writes."""

CONGESTIONS = ("reno", "cubic", "bbr")
LOSSES = (0.0, 0.1, 1.0, 3.0)
"""Per cent, of data alone."""
ROUND_TRIPS = (10, 40, 150)
"""Milliseconds."""
RATES = (5, 50)
"""Mbit/s."""
WINDOWS = ("window", "network")
"""What limits a transfer without loss: a receive buffer of half of what the path holds, or the path."""

LASTS_S = 10
SEEDS = 100
KERNEL_RUNS = 30
BAR = 0.05
"""How far a cell may be from the kernel, where the kernel's own interval is not wider."""
SHARE = 0.9
"""Of the cells of each loss rate and of each congestion control that have to hold."""

SAMPLE_CELLS, SAMPLE_RUNS = 12, 5
LEAST_BUFFER = 8760
"""Six segments: less is silly window syndrome, not a window."""
PACKET = 1500
_PILOT_SEEDS = 9
_MOST_AT_ONCE = 16
"""Of the slowest links: with more, and with eight of the fastest, packets are on time and yet round trips of 10 ms take longer."""
_WORST = 20
"""Cells that are printed before all others."""


@dataclass(frozen=True, order=True)
class Cell:
    """One set-up of the grid."""

    congestion: str
    loss_percent: float
    round_trip_ms: int
    rate_mbit: int
    limit: str

    @property
    def name(self) -> str:
        """As the record calls it."""
        return f"{self.congestion}, {self.loss_percent:g} %, {self.round_trip_ms} ms, {self.rate_mbit} Mbit/s, {self.limit}"

    @property
    def holds_bytes(self) -> float:
        """What the path holds without a queue."""
        return self.rate_mbit * 1e6 / 8 * self.round_trip_ms / 1e3

    @property
    def buffer(self) -> int | None:
        """The receive buffer, bytes; none where it is to be no limit."""
        return max(LEAST_BUFFER, round(self.holds_bytes / 2)) if self.limit == "window" else None

    def document(self, size: int | None) -> Document:
        """A scenario; without a size it sends as long as the transfer is to last."""
        tcp: dict[str, Any] = {"congestion": self.congestion}
        if self.buffer is not None:
            tcp["receive_buffer"] = f"{self.buffer} B"
        host = {"profile": "linux", "tcp": tcp}
        link = {
            "rate": f"{self.rate_mbit} Mbit/s",
            "delay": f"{self.round_trip_ms / 2:g} ms",
            "queue": f"{max(10, math.ceil(self.holds_bytes / PACKET))} packets",
            "up": {"loss": f"{self.loss_percent:g} %"},
        }
        app = {"kind": "bulk"} if size is None else {"kind": "bulk", "size": f"{size} B"}
        data = {
            "name": self.name,
            "seed": 1,
            "topology": {"kind": "pipe", "link": link},
            "hosts": {"client": host, "server": host},
            "flows": [{"name": "flow", "from": "client", "to": "server", "app": app}],
        }
        return voxpath.load(data | ({"duration": f"{LASTS_S} s"} if size is None else {}))


def counted(numbers: Collection[int]) -> str:
    """From the least to the most of them."""
    least, most = min(numbers), max(numbers)
    return str(most) if least == most else f"{least} to {most}"


def cells() -> list[Cell]:
    """The grid."""
    return [Cell(*values) for values in itertools.product(CONGESTIONS, LOSSES, ROUND_TRIPS, RATES, WINDOWS)]


def simulated(document: Document, replications: range, metric: str) -> list[float]:
    """A metric of each replication, in virtual time."""
    with tempfile.TemporaryDirectory() as folder:
        backend = SimBackend(Path(folder))
        backend.answer([Question(document, replications)])
        values: list[float | None] = backend.frames[0][metric].to_list()
    if any(value is None for value in values):
        raise RuntimeError(f"{document.scenario.name}: a run did not complete")
    return [float(value) for value in values if value is not None]


def pilot(cell: Cell) -> int:
    """What a simulated transfer brings over while it is to last, to two digits."""
    found = statistics.median(simulated(cell.document(None), range(_PILOT_SEEDS), "bytes_delivered"))
    digits = int(math.log10(found)) - 1
    return round(found / 10**digits) * int(10**digits)


def ours(asked: tuple[Cell, int, int]) -> list[float]:
    """How long the simulated transfers last, seconds."""
    cell, size, seeds = asked
    return simulated(cell.document(size), range(seeds), "completion_s")


def measured(
    asked: Mapping[Cell, tuple[int, range]], out: Path, at_once: int
) -> Iterator[tuple[Cell, list[float]]]:
    """How long transfers on the kernel last, seconds, cell by cell; what was not on time is left out.

    Args:
        asked: The size and the replications of each cell.
        out: Directory of the runs.
        at_once: Runs that are under way together over the fastest link; more over slower ones.
    """

    def together(cell: Cell) -> int:
        return min(_MOST_AT_ONCE, at_once * max(RATES) // cell.rate_mbit)

    # The quick ones first: most cells are known by when it is interrupted.
    for many, alike in itertools.groupby(sorted(asked, key=together, reverse=True), key=together):
        some = list(alike)
        # Batches, so that what is measured is kept however it ends.
        batch = max(1, 2 * many // max(1, *(len(asked[cell][1]) for cell in some)))
        for chosen in (some[first : first + batch] for first in range(0, len(some), batch)):
            backend = RealBackend(out, Observe(), at_once=many)
            backend.answer([Question(cell.document(asked[cell][0]), asked[cell][1]) for cell in chosen])
            for cell, frame, outcomes in zip(chosen, backend.frames, backend.outcomes, strict=True):
                valid = {outcome.replication for outcome in outcomes if outcome.valid}
                times = {row["replication"]: row["completion_s"] for row in frame.iter_rows(named=True)}
                yield (
                    cell,
                    [
                        time
                        for replication, time in times.items()
                        if replication in valid and time is not None
                    ],
                )


def read() -> dict[str, Any]:
    """The record, empty if there is none."""
    if not RECORD.exists():
        return {"cells": {}}
    return tomllib.loads(RECORD.read_text(encoding="utf-8"))


def write(record: Mapping[str, Any]) -> None:
    """Keeps the record, cell by cell in the order of the grid."""
    text = f"""# How long a live kernel needed for each cell of the grid (benches/fidelity/grid.py), seconds, run by run.
# Recorded by `make grid-record`. `size` is what the simulator brought over in {LASTS_S} s when the cell was first asked for, and
# stays; `asked` is how many runs were made, of which those do not count whose packets were late.
machine = "{record["machine"]}"

[cells]
"""
    for cell in cells():
        if cell.name in record["cells"]:
            found = record["cells"][cell.name]
            values = ", ".join(f"{value:.4f}" for value in found["kernel"])
            text += f'"{cell.name}" = {{ size = {found["size"]}, asked = {found["asked"]}, kernel = [{values}] }}\n'
    # Never half of it, however this ends.
    whole = RECORD.with_suffix(".new")
    whole.write_text(text, encoding="utf-8")
    whole.replace(RECORD)


def record(runs: int, out: Path, at_once: int, chosen: Sequence[Cell], *, anew: bool) -> None:
    """Adds what is missing; `anew`, all of it, where the machine was not quiet before."""
    known = read()
    if anew:
        for cell in chosen:
            known["cells"].get(cell.name, {}).update(asked=0, kernel=[])
    known.setdefault("machine", page.machine().rsplit(",", 1)[0])
    with ProcessPoolExecutor() as pool:
        missing = [cell for cell in chosen if cell.name not in known["cells"]]
        for cell, size in zip(missing, pool.map(pilot, missing), strict=True):
            known["cells"][cell.name] = {"size": size, "asked": 0, "kernel": []}
    asked = {}
    for cell in chosen:
        found = known["cells"][cell.name]
        if len(found["kernel"]) < runs:
            # Replications that were late are not asked for again: they would be late again, or others twice there.
            first = found["asked"]
            asked[cell] = (found["size"], range(first, first + runs - len(found["kernel"])))
    every = measured(asked, out, at_once) if asked else iter(())
    for number, (cell, times) in enumerate(every, start=1):
        kept = known["cells"][cell.name]
        kept["kernel"] += times
        kept["asked"] = asked[cell][1].stop
        write(known)
        told = f"{len(times)} runs, {statistics.fmean(times):.2f} s" if times else "no run was on time"
        sys.stdout.write(f"{number} of {len(asked)}: {cell.name}: {told}\n")
        sys.stdout.flush()


def sample(out: Path, at_once: int, seed: int) -> int:
    """Measures some cells again; 1 if they disagree with the record."""
    known = read()["cells"]
    chosen = random.Random(seed).sample([cell for cell in cells() if cell.name in known], SAMPLE_CELLS)  # noqa: S311
    worst = 1.0
    asked = {cell: (known[cell.name]["size"], range(1000, 1000 + SAMPLE_RUNS)) for cell in chosen}
    for cell, times in measured(asked, out, at_once):
        before = known[cell.name]["kernel"]
        p = float(mannwhitneyu(before, times).pvalue) if times else math.nan
        change = statistics.fmean(times) / statistics.fmean(before) - 1 if times else math.nan
        # Without loss the kernel's times hardly vary, and a millisecond is significant.
        worst = min(worst, p if abs(change) > BAR else 1.0)
        sys.stdout.write(f"{cell.name}: {len(times)} runs, {change:+.1%} of the record, p = {p:.3f}\n")
        sys.stdout.flush()
    return int(worst < 0.05 / SAMPLE_CELLS)


@dataclass(frozen=True)
class Compared:
    """A cell, answered by both."""

    cell: Cell
    kernel: Sequence[float]
    ours: Sequence[float]
    all_on_time: bool
    """No run of the kernel's was left out, so that the nth of either had the same losses."""

    @property
    def same_losses(self) -> float | None:
        """The difference over the kernel's own replications alone; none where it is not known which those are."""
        if not self.all_on_time or len(self.kernel) > len(self.ours):
            return None
        return statistics.fmean(self.ours[: len(self.kernel)]) / statistics.fmean(self.kernel) - 1

    @property
    def difference(self) -> float:
        """Of the means, as a share of the kernel's."""
        return statistics.fmean(self.ours) / statistics.fmean(self.kernel) - 1

    @property
    def interval(self) -> float:
        """Half of the 95 % bootstrap interval of the kernel's mean, as a share of it."""
        if len(set(self.kernel)) < 2:
            return 0.0
        found = bootstrap(
            (np.array(self.kernel),),
            np.mean,
            n_resamples=2000,
            method="percentile",
            rng=np.random.default_rng(1),
        ).confidence_interval
        return float(found.high - found.low) / 2 / statistics.fmean(self.kernel)

    @property
    def allowed(self) -> float:
        """How far they may be apart."""
        return max(BAR, self.interval)

    @property
    def holds(self) -> bool:
        """Whether they are no further apart."""
        return abs(self.difference) <= self.allowed


def row(found: Compared) -> str:
    """A line of a table."""
    cell = found.cell
    wide = " (its own interval)" if found.interval > BAR else ""
    same = "" if found.same_losses is None else f"{found.same_losses:+.1%}"
    return (
        f"| {cell.congestion} | {cell.loss_percent:g} % | {cell.round_trip_ms} ms | {cell.rate_mbit} Mbit/s | {cell.limit} | "
        f"{statistics.fmean(found.kernel):.2f} ± {found.interval * statistics.fmean(found.kernel):.2f} ({len(found.kernel)}) | "
        f"{statistics.fmean(found.ours):.2f} | {found.difference:+.1%} | {same} | {found.allowed:.0%}{wide} | "
        f"{'yes' if found.holds else 'NO'} |\n"
    )


HEAD = """| congestion control | loss | round trip | rate | limit | kernel, s (runs) | ours, s | difference | same losses | allowed | holds |
| --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | --- |
"""


def text_of(found: Sequence[Compared], known: Mapping[str, Any]) -> str:
    """The page."""
    seeds = len(found[0].ours)

    def share(title: str, chosen: Callable[[Cell], bool]) -> str:
        some = [one for one in found if chosen(one.cell)]
        held = sum(one.holds for one in some)
        verdict = "yes" if held >= SHARE * len(some) else "NO"
        return f"| {title} | {held} of {len(some)} | {verdict} |\n" if some else ""

    worst = sorted((one for one in found if not one.holds), key=lambda one: -abs(one.difference))
    runs = [len(one.kernel) for one in found]
    text = f"""# Our `linux` beside a live kernel: the grid

Written by `make grid`; do not edit. This page compares how long a transfer lasts, of as many bytes as the simulator transfers in {LASTS_S} s. The
kernel's runs are recorded in [benches/fidelity/grid.toml](../../benches/fidelity/grid.toml) ({counted(runs)} a cell; `make grid-record` adds to them, `make
grid-sample` measures some again). They have the 95 % bootstrap interval of their mean. Ours are {seeds} simulated seeds. The nth run of either
loses the same packets as long as both send the same. So "same losses" is the difference over the kernel's replications alone. It shows more of the
stacks and less of chance, but the bars do not use it. A queue holds as much as the path; only data is lost; "window" is a receive buffer of half of what the path holds, at least {LEAST_BUFFER} bytes.
The kernel: {known["machine"]}.

## Bars
A cell holds if the difference is at most {BAR:.0%}, or the kernel's own interval where that is wider. {SHARE:.0%} of the cells of each loss rate
and of each congestion control are required to hold.

| cells | hold | reached |
| --- | ---: | --- |
"""
    for loss in LOSSES:
        text += share(f"loss {loss:g} %", lambda cell, loss=loss: cell.loss_percent == loss)
    for congestion in CONGESTIONS:
        text += share(congestion, lambda cell, name=congestion: cell.congestion == name)
    text += share("all", lambda _: True)
    text += f"\n## The worst, of those that do not hold\n{HEAD}" + "".join(map(row, worst[:_WORST]))
    return text + f"\n## All cells\n{HEAD}" + "".join(map(row, found))


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--record", type=int, metavar="RUNS", help="record the kernel until each cell has so many"
    )
    parser.add_argument("--sample", action="store_true", help="measure some cells on the kernel again")
    parser.add_argument("--seed", type=int, default=1, help="which cells a sample has (default %(default)s)")
    parser.add_argument(
        "--seeds", type=int, default=SEEDS, help="simulated replications a cell (default %(default)s)"
    )
    parser.add_argument(
        "--at-once",
        type=int,
        default=4,
        help="runs on the kernel under way together over the fastest link (default %(default)s)",
    )
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="of a recording, cells whose name has this in it"
    )
    parser.add_argument("--anew", action="store_true", help="of a recording, forget what those cells have")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "runs" / "grid", help="directory of the kernel's runs"
    )
    options = parser.parse_args()
    if options.record is not None:
        record(
            options.record,
            options.out,
            options.at_once,
            [cell for cell in cells() if options.only in cell.name],
            anew=options.anew,
        )
        return 0
    if options.sample:
        return sample(options.out, options.at_once, options.seed)
    known = read()
    asked = [cell for cell in cells() if known["cells"].get(cell.name, {}).get("kernel")]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        answers = pool.map(ours, [(cell, known["cells"][cell.name]["size"], options.seeds) for cell in asked])
        found = [
            Compared(cell, entry["kernel"], times, entry["asked"] == len(entry["kernel"]))
            for cell, times in zip(asked, answers, strict=True)
            for entry in (known["cells"][cell.name],)
        ]
    text = text_of(found, known)
    # What `make classes` has written there stays.
    before = page.section(PAGE.read_text(encoding="utf-8"), OFF_THE_GRID)
    PAGE.write_text(page.with_section(text, OFF_THE_GRID, before) if before else text, encoding="utf-8")
    sys.stdout.write(text.split("\n## All cells")[0] + f"\nwritten: {PAGE.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
