"""Scenarios answered by the live kernel and by the simulator, and how far the two are apart.

What the kernel did is kept in a record, one scenario a line, to which later calls add runs. The nth run of either side meets the same
decisions of loss and delay as long as both send the same, so the simulator answers for exactly the runs that the record has.

A simulated network delivers to the nanosecond, so where nothing is random all its runs are one, and two flows may stay in step for ever
(phase effects: Floyd and Jacobson, 1992). A network in real time delivers some microseconds late, by chance, and hosts begin one after
the other. The simulator is given delays and starts that are as late, in several draws for each run of the kernel.
"""
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import copy
import json
import math
import random
import statistics
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from scipy import stats

from voxpath import _engine, scenario
from voxpath.backends.base import Question
from voxpath.backends.real.backend import RealBackend
from voxpath.backends.real.fidelity import LATE_NS
from voxpath.backends.sim import SimBackend
from voxpath.results.identity import Observe

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from voxpath.scenario import Document

ROOT = Path(__file__).resolve().parents[2]

BAR = 0.05
"""How far a metric may be from the kernel's, as a share of it, where the kernel's own interval is not wider."""
REPEATS_SHARE, REPEATS = 0.25, 5
"""How far retransmissions may be: as a share, or so many, whichever is more."""
LATE_US, LATE_DEVIATION_US = 30, 20
"""How late a network in real time delivers on a quiet machine (`deliveries` of a run's fidelity.json)."""
LATE_START_US = 40
"""By how much later than the flow before it, beside `LATE_US`, a flow of a real host begins at most."""
CLOCK_US = 32_000
"""By up to so much later everything in a run begins: a step of the kernel's timer wheel for timers of 252 ms to 2 s
(HZ 250). Timers end with the steps, jiffies and milliseconds of a host's clock, which is in any phase when a run begins."""
DRAWS = 4
"""Simulated runs for each of the kernel's, with the same decisions of loss and delay and other starts."""
FLOOR_S = LATE_NS / 1e9
"""How far a time may always be: as late as packets of a valid run may be."""

_TIMES = {
    "completion_s": 1.0,
    "response_p50_ns": 1e9,
    "response_p95_ns": 1e9,
    "partial_p50_ns": 1e9,
    "page_p50_ns": 1e9,
    "update_p50_ns": 1e9,
    "delay_p50_ns": 1e9,
    "delay_p95_ns": 1e9,
}
"""What is compared of times, and how many of its units are a second."""


@dataclass(frozen=True)
class Case:
    """A scenario to be answered by both.

    Attributes:
        name: Unique in its record.
        group: Under which it is counted.
        data: The scenario.
    """

    name: str
    group: str
    data: Mapping[str, Any]

    @property
    def document(self) -> Document:
        """The scenario, resolved."""
        return scenario.from_dict(dict(self.data), base=ROOT / "scenarios")


@dataclass
class Recorded:
    """What the kernel did of one case."""

    case: Case
    asked: int = 0
    runs: dict[int, dict[str, float]] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """As the record has it."""
        runs = [{"run": run, **values} for run, values in sorted(self.runs.items())]
        whole = {
            "name": self.case.name,
            "group": self.case.group,
            "asked": self.asked,
            "runs": runs,
            "scenario": self.case.data,
        }
        return json.dumps(whole, ensure_ascii=False)


def read(path: Path) -> dict[str, Recorded]:
    """A record, by the names of its cases; empty if there is none."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        one = json.loads(line)
        runs = {run.pop("run"): run for run in one["runs"]}
        found[one["name"]] = Recorded(Case(one["name"], one["group"], one["scenario"]), one["asked"], runs)
    return found


def write(path: Path, known: Mapping[str, Recorded]) -> None:
    """Keeps a record; never half of it, however this ends."""
    whole = path.with_suffix(".new")
    whole.write_text("".join(one.line + "\n" for one in known.values()), encoding="utf-8")
    whole.replace(path)


def values(frame: pl.DataFrame) -> dict[int, dict[str, float]]:
    """What is compared of each replication: `flow: metric` and its value."""
    found: dict[int, dict[str, float]] = {}
    for row in frame.iter_rows(named=True):
        one = found.setdefault(row["replication"], {})
        flow = row["flow"]
        for metric, unit in _TIMES.items():
            if row.get(metric) is not None:
                one[f"{flow}: {metric.removesuffix('_ns').removesuffix('_s')}"] = round(row[metric] / unit, 6)
        if row["completed_ns"] is None:
            one[f"{flow}: bytes"] = row["bytes_delivered"]
        # A run of datagrams alone has no such column.
        if row.get("client_retransmissions") is not None:
            one[f"{flow}: retransmissions"] = row["client_retransmissions"] + row["server_retransmissions"]
    return found


def late(delay: str) -> dict[str, str]:
    """A constant delay, as late as a network in real time is."""
    mean = _engine.parse_span(delay) // 1000 + LATE_US
    return {"kind": "normal", "mean": f"{mean} us", "deviation": f"{LATE_DEVIATION_US} us"}


def phase_us(draw: int, run: int) -> int:
    """In which phase of its hosts' clocks a run begins by this draw."""
    return random.Random(f"clock {draw} {run}").randrange(CLOCK_US)  # noqa: S311


def as_late_as_real(data: Mapping[str, Any], draw: int, run: int) -> dict[str, Any]:
    """A scenario whose constant delays vary as they do in real time, and whose flows start as late as hosts start them, by this draw for a run."""
    changed = copy.deepcopy(dict(data))
    link = changed["topology"]["link"]
    if isinstance(link["delay"], str):
        link["delay"] = late(link["delay"])
    # Beside a recorded capacity, which goes by the same clock, a later start would be another network.
    follows_clock = isinstance(link.get("rate"), dict)
    phase = 0 if follows_clock else phase_us(draw, run)
    for number, flow in enumerate(changed["flows"]):
        after = number * LATE_US + random.Random(f"{draw} {run} {number}").randrange(LATE_START_US)  # noqa: S311
        flow["start"] = _later(flow.get("start", "0 s"), phase + after)
    loss = link.get("loss")
    for event in changed.get("events", ()):
        event["at"] = _later(event["at"], phase)
    for outage in loss.get("outages", ()) if isinstance(loss, dict) else ():
        outage["start"] = _later(outage["start"], phase)
    if "duration" in changed:
        changed["duration"] = _later(changed["duration"], phase)
    return changed


def _later(time: str, late_us: int) -> str:
    return f"{_engine.parse_span(time) // 1000 + late_us} us"


def simulated(asked: tuple[Case, Sequence[int]]) -> dict[tuple[int, int], dict[str, float]]:
    """The same of the simulator, by draw and replication, for these replications."""
    case, replications = asked
    found: dict[tuple[int, int], dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for draw in range(DRAWS):
            questions = [
                Question(
                    Case(case.name, case.group, as_late_as_real(case.data, draw, run)).document,
                    range(run, run + 1),
                )
                for run in replications
            ]
            backend = SimBackend(Path(folder))
            backend.answer(questions)
            runs = values(pl.concat(backend.frames, how="vertical_relaxed"))
            found |= {(draw, run): one for run, one in runs.items()}
    return found


def measured(
    asked: Sequence[tuple[Recorded, range]], out: Path, at_once: int
) -> Iterator[tuple[Recorded, dict[int, dict[str, float]]]]:
    """Runs of the kernel that are valid, in batches, so that what is measured is kept however it ends."""
    batch = max(1, 2 * at_once // max(1, *(len(runs) for _, runs in asked))) if asked else 1
    for first in range(0, len(asked), batch):
        some = asked[first : first + batch]
        backend = RealBackend(out, Observe(), at_once=at_once)
        backend.answer([Question(one.case.document, runs) for one, runs in some])
        for (one, runs), frame, outcomes in zip(some, backend.frames, backend.outcomes, strict=True):
            valid = {outcome.replication for outcome in outcomes if outcome.valid}
            one.asked = runs.stop
            yield one, {run: found for run, found in values(frame).items() if run in valid}


def record(path: Path, cases: Sequence[Case], runs: int, out: Path, at_once: int) -> None:
    """Adds to a record what is missing to so many runs a case."""
    known = read(path)
    asked = []
    for case in cases:
        one = known.get(case.name)
        if one is None or one.case.data != json.loads(json.dumps(case.data)):
            one = known[case.name] = Recorded(case)
        if len(one.runs) < runs:
            # Runs that were late are not asked for again: they would be late again.
            asked.append((one, range(one.asked, one.asked + runs - len(one.runs))))
    for number, (one, found) in enumerate(measured(asked, out, at_once), start=1):
        one.runs |= found
        write(path, known)
        sys.stdout.write(f"{number} of {len(asked)}: {one.case.name}: {len(found)} valid runs\n")
        sys.stdout.flush()


@dataclass(frozen=True)
class Compared:
    """One metric of one case."""

    case: Case
    metric: str
    kernel: Sequence[float]
    ours: Sequence[float]

    @property
    def interval(self) -> float:
        """Half of the 95 % t-interval of the kernel's mean."""
        if len(self.kernel) < 2:
            return 0.0
        t = float(stats.t.ppf(0.975, len(self.kernel) - 1))
        return t * statistics.stdev(self.kernel) / math.sqrt(len(self.kernel))

    @property
    def apart(self) -> float:
        """The difference of the means."""
        return statistics.fmean(self.ours) - statistics.fmean(self.kernel)

    @property
    def share(self) -> float:
        """The same as a share of the kernel's."""
        mean = statistics.fmean(self.kernel)
        return self.apart / mean if mean else 0.0 if self.apart == 0 else math.inf

    @property
    def allowed(self) -> float:
        """How far the means may be apart."""
        mean = statistics.fmean(self.kernel)
        if self.metric.endswith("retransmissions"):
            return max(REPEATS_SHARE * mean, REPEATS, self.interval)
        floor = 0.0 if self.metric.endswith("bytes") else FLOOR_S
        return max(BAR * mean, floor, self.interval)

    @property
    def excess(self) -> float:
        """By how many times they are further apart than they may be; at most one holds."""
        return abs(self.apart) / self.allowed if self.allowed else 0.0 if self.apart == 0 else math.inf

    @property
    def chance(self) -> float:
        """How likely it is that runs of one kind are ordered as unlike as these (the two-sided rank test of Mann and Whitney)."""
        return float(stats.mannwhitneyu(self.kernel, self.ours).pvalue)

    @property
    def holds(self) -> bool:
        """Whether they are no further apart."""
        return self.excess <= 1


def compared(known: Sequence[Recorded]) -> Iterator[list[Compared]]:
    """The metrics of each case of a record, simulated for exactly the runs that it has."""
    asked = [one for one in known if one.runs]
    with ProcessPoolExecutor() as pool:
        for one, ours in zip(
            asked, pool.map(simulated, [(o.case, sorted(o.runs)) for o in asked]), strict=True
        ):
            yield compare(one.case, one.runs, ours)


def compare(
    case: Case,
    kernel: Mapping[int, Mapping[str, float]],
    ours: Mapping[tuple[int, int], Mapping[str, float]],
) -> list[Compared]:
    """Each metric that both sides have, over all of their runs; what one side has alone is told as not there."""
    sides_runs = (list(kernel.values()), list(ours.values()))
    metrics = dict.fromkeys(metric for side in sides_runs for run in side for metric in run)
    found = []
    for metric in metrics:
        sides = [[run[metric] for run in side if metric in run] for side in sides_runs]
        if all(sides):
            found.append(Compared(case, metric, *sides))
    return found
