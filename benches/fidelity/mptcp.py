#!/usr/bin/env python3
"""`make mptcp-grid`: our Multipath TCP beside the kernel's, over pairs of paths that differ in rate, delay and loss.

`--record N` adds what is missing to N runs of the kernel a cell, kernel to kernel in real time, to mptcp.jsonl; without it each cell is
simulated for the runs that the record has, and docs/measured/mptcp.md is written. The nth run of either side has the same seed.
"""
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parent))

import beside

import voxpath

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROOT = Path(__file__).resolve().parents[2]
RECORD = Path(__file__).resolve().parent / "mptcp.jsonl"
PAGE = ROOT / "docs" / "measured" / "mptcp.md"

BAR = 0.10
"""How far goodput and response delay may be from the kernel's, as a share of it; and the first path's share of the octets, of all."""
SHARE = 0.9
"""Of cells that have to hold."""
DRAWS = 4
"""Simulated runs for each of the kernel's: with the same losses, late by chance and in other phases of the hosts' clocks, as in `beside`."""

RATES = ((10, 10), (10, 2))
DELAYS = ((10, 10), (10, 50), (10, 150))
LOSSES = ((0, 0), (0.5, 0), (0, 0.5), (0.5, 0.5))
CONGESTION = ("reno", "cubic")
TRANSPORT: Mapping[str, Any] = {
    "kind": "mptcp",
    "scheduler": "linux",
    "opportunistic_retransmission": False,
    "penalisation": False,
    "retry": "0 s",
}
"""Multipath TCP as the kernel has it."""

APPS: Mapping[str, dict[str, Any]] = {
    "bulk": {"kind": "download", "request": "100 B", "response": "5 MB"},
    "voice": {
        "kind": "voice",
        "blocks": 9,
        "block": "2475 B",
        "interval": "300 ms",
        "partial": "100 B",
        "answer": "750 B",
        "processing": "50 ms",
        "requests": 3,
        "pause": "300 ms",
    },
}

Found = dict[str, float]
"""What a run gave, by metric."""


@dataclass(frozen=True)
class Cell:
    """Two paths and a congestion control."""

    rates: tuple[int, int]
    delays: tuple[int, int]
    losses: tuple[float, float]
    congestion: str

    @property
    def name(self) -> str:
        """As the record and the page have it."""
        pair = "/".join
        return (
            f"{pair(map(str, self.rates))} Mbit/s, {pair(map(str, self.delays))} ms, "
            f"{pair(map(str, self.losses))} %, {self.congestion}"
        )

    def scenario(self, app: str, run: int, draw: int | None = None) -> dict[str, Any]:
        """One flow over both paths, on stacks of the profile `linux`; by a draw as late as real ones."""
        host = {"profile": "linux", "tcp": {"congestion": self.congestion}}
        paths = {
            name: {
                "rate": f"{rate} Mbit/s",
                "delay": f"{delay} ms" if draw is None else beside.late(f"{delay} ms"),
                "loss": f"{loss} %",
                "queue": "100 packets",
            }
            for name, rate, delay, loss in zip(
                ("first", "second"), self.rates, self.delays, self.losses, strict=True
            )
        }
        return {
            "name": "cell",
            "seed": run + 1,
            "duration": "120 s",
            "topology": {
                "kind": "multipath",
                "paths": paths,
                "access": {"rate": "1 Gbit/s", "delay": "1 ms"},
            },
            "hosts": {"client": host, "server": host},
            "flows": [
                {
                    "name": "flow",
                    "start": "0 s" if draw is None else f"{beside.phase_us(draw, run)} us",
                    "transport": TRANSPORT,
                    "app": APPS[app],
                }
            ],
        }


def cells() -> Iterator[Cell]:
    """Every cell."""
    for rates in RATES:
        for delays in DELAYS:
            for losses in LOSSES:
                for congestion in CONGESTION:
                    yield Cell(rates, delays, losses, congestion)


def measured(cell: Cell, app: str, run: int, backend: str, draw: int | None = None) -> Found | None:
    """What one run gives; none if it is not valid."""
    data = cell.scenario(app, run, draw)
    with tempfile.TemporaryDirectory() as folder:
        result = voxpath.run(data, out=folder, backends=[backend])
        (verdict,) = Path(folder).rglob("verdict.json")
        if not json.loads(verdict.read_text(encoding="utf-8"))["valid"]:
            return None
        flow = result.flows.row(0, named=True)
        if flow["status"] != "completed" or flow["bytes_wrong"]:
            raise RuntimeError(f"{cell.name}, {app}, run {run}, {backend}: {flow['status']}")
        # The first subflow's row comes first on both sides; a real one does not say what it carried of the flow's octets.
        sent = result.table("connections").filter(pl.col("end") == "server")["bytes_delivered"]
    if app == "voice":
        return {"response delay, median [ms]": flow["response_p50_ns"] / 1e6}
    octets = flow["bytes_delivered"]
    return {
        "goodput [Mbit/s]": octets * 8 / flow["completion_s"] / 1e6,
        "share of the first path": 1 - (sent[1:].sum() or 0) / octets,
    }


def read(path: Path) -> dict[tuple[str, str, int], Found]:
    """A record: what was found, by cell, application and run."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    known = (json.loads(line) for line in lines)
    return {(one["cell"], one["app"], one["run"]): one["found"] for one in known}


def record(runs: int, at_once: int, chosen: Sequence[Cell]) -> None:
    """Adds what is missing to so many runs of the kernel a cell; it can be interrupted."""
    known = read(RECORD)
    with ProcessPoolExecutor(at_once) as pool, RECORD.open("a", encoding="utf-8") as file:
        asked = {
            pool.submit(measured, cell, app, run, "real"): (cell.name, app, run)
            for run in range(runs)
            for cell in chosen
            for app in APPS
            if (cell.name, app, run) not in known
        }
        for number, done in enumerate(as_completed(asked), start=1):
            name, app, run = asked[done]
            found = done.result()
            if found is not None:
                line = {"cell": name, "app": app, "run": run, "found": found}
                file.write(json.dumps(line) + "\n")
                file.flush()
            sys.stdout.write(f"{number} of {len(asked)}: {name}, {app}, run {run}: {found or 'not valid'}\n")
            sys.stdout.flush()


@dataclass(frozen=True)
class Compared:
    """A metric of a cell."""

    cell: Cell
    metric: str
    kernel: Sequence[float]
    ours: Sequence[float]

    @property
    def apart(self) -> float:
        """How far the means are apart: as a share of the kernel's, and shares of paths as they are."""
        kernel, ours = statistics.fmean(self.kernel), statistics.fmean(self.ours)
        return ours - kernel if self.metric.startswith("share") else (ours - kernel) / kernel

    @property
    def holds(self) -> bool:
        """Whether that is no more than it may be."""
        return abs(self.apart) <= BAR


def simulated(cell: Cell, app: str, runs: Sequence[int]) -> list[Found]:
    """The simulator's answers for these runs."""
    found = [measured(cell, app, run, "sim", draw) for run in runs for draw in range(DRAWS)]
    return [one for one in found if one is not None]


def compared(chosen: Sequence[Cell]) -> list[list[Compared]]:
    """The metrics of each cell that has runs of the kernel of every application."""
    known = read(RECORD)
    found = []
    with ProcessPoolExecutor() as pool:
        asked = []
        for cell in chosen:
            runs = {
                app: sorted(run for name, a, run in known if (name, a) == (cell.name, app)) for app in APPS
            }
            if all(runs.values()):
                asked.append(
                    (cell, runs, {app: pool.submit(simulated, cell, app, runs[app]) for app in APPS})
                )
        for cell, runs, ours in asked:
            metrics = []
            for app in APPS:
                kernel = [known[cell.name, app, run] for run in runs[app]]
                for metric in kernel[0]:
                    sides = ([one[metric] for one in side] for side in (kernel, ours[app].result()))
                    metrics.append(Compared(cell, metric, *sides))
            found.append(metrics)
    return found


def row(one: Compared) -> str:
    """A line of the table."""
    kernel, ours = (statistics.fmean(side) for side in (one.kernel, one.ours))
    spread = f"{min(one.kernel):.4g} to {max(one.kernel):.4g}"
    return (
        f"| {one.cell.name} | {one.metric} | {kernel:.4g} ({spread}) | {ours:.4g} | {one.apart:+.1%} | "
        f"{'yes' if one.holds else 'NO'} |\n"
    )


def text_of(found: Sequence[Sequence[Compared]]) -> str:
    """The page."""
    held = sum(all(metric.holds for metric in one) for one in found)
    runs = min((len(metric.kernel) for one in found for metric in one), default=0)
    verdict = "as many as have to" if held >= SHARE * len(found) else f"which is fewer than {SHARE:.0%}"
    metrics = dict.fromkeys(metric.metric for one in found for metric in one)
    text = f"""# Our Multipath TCP beside the kernel's

`make mptcp-grid` writes this page; `make mptcp-grid-record` measures the kernel anew. Do not edit it.

**{held} of {len(found)} cells hold, {verdict}.** A cell is a pair of paths and a congestion control. In it a client fetches 5 MB, and speaks three voice requests of
nine blocks each, every time over both paths at once. The kernel speaks to the kernel in the backend `real` (at least {runs} runs a cell and
application, [benches/fidelity/mptcp.jsonl](../../benches/fidelity/mptcp.jsonl)); our stacks of the profile `linux`, with the kernel's scheduler, speak to each other in `sim`,
{DRAWS} times for each of the kernel's runs, with the same seed. A cell holds if all of its means do: goodput and response delay are within {BAR:.0%} of the kernel's,
and the first path's share of the octets within {BAR:.0%} of all octets.

| metric | cells that hold |
| --- | ---: |
"""
    for metric in metrics:
        some = [m for one in found for m in one if m.metric == metric]
        text += f"| {metric} | {sum(m.holds for m in some)} of {len(some)} |\n"
    text += "\n| cell | metric | kernel (range) | ours | apart | holds |\n| --- | --- | ---: | ---: | ---: | --- |\n"
    return text + "".join(row(metric) for one in found for metric in one)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--record", type=int, metavar="RUNS", help="measure the kernel until each cell has so many"
    )
    parser.add_argument(
        "--at-once", type=int, default=4, help="runs of the kernel under way together (default %(default)s)"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="cells whose name has this in it")
    options = parser.parse_args()
    chosen = [cell for cell in cells() if options.only in cell.name]
    if options.record is not None:
        record(options.record, options.at_once, chosen)
        return 0
    found = compared(chosen)
    if options.only:
        sys.stdout.writelines(row(metric) for one in found for metric in one)
        return 0
    PAGE.write_text(text_of(found), encoding="utf-8")
    sys.stdout.writelines(row(metric) for one in found for metric in one if not metric.holds)
    sys.stdout.write(f"written: {PAGE.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
