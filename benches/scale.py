#!/usr/bin/env python3
"""`make bench-scale`, a part of `make bench`: what a packet-hop costs among few and many flows, what an idle flow holds, what observing costs.

Every figure is of the dumbbell of peers/README.md in our simulator alone (`crates/sim/examples/dumbbell.rs`), the processor time that of
the simulation without its set-up. Rounds take turns, medians are of ratios within a round.
"""
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benches"))

from page import SCALE, measured_on, renew  # noqa: E402 - a folder of programs, not a package

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROUNDS = 5
CROWDS = ((10, 20), (100, 4), (1000, 1), (10_000, 1))
"""Flows, 10 Mbit/s each, and simulated seconds."""
MOST_TIMES_DEARER = 2.5
IDLE = 10_000
MOST_IDLE_BYTES = 4096
MOST_OBSERVED = 2.0
MOST_UNUSED = 0.02
"""What a tap may cost that nobody uses, as a part of the whole."""

BUILT = ROOT / "target" / "release" / "examples" / "dumbbell"


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar and what was reached."""

    what: str
    reached: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Scale:
    """What was measured: the section for docs/measured/benchmarks.md, and its bars."""

    section: str
    bars: list[Bar]

    @classmethod
    def of(cls, text: str, bars: list[Bar]) -> Scale:
        """A section of this text, which ends with what the bars say."""
        judged = "".join(f"| {bar.what} | {bar.reached} | {'yes' if bar.holds else 'NO'} |\n" for bar in bars)
        return cls(f"{text}\n| bar | reached | holds |\n| --- | ---: | --- |\n{judged}", bars)

    @property
    def holds(self) -> bool:
        """Whether all bars do."""
        return all(bar.holds for bar in self.bars)

    def verdicts(self) -> list[str]:
        """A line for each bar."""
        return [
            f"{bar.what}: {bar.reached}: {'holds' if bar.holds else 'DOES NOT HOLD'}" for bar in self.bars
        ]


def build(target: Path, *features: str) -> Path:
    """Builds the dumbbell; its program."""
    argv = [
        "cargo",
        "build",
        "--release",
        "--locked",
        "--quiet",
        "-p",
        "voxpath-sim",
        "--example",
        "dumbbell",
    ]
    subprocess.run([*argv, "--target-dir", str(target), *features], cwd=ROOT, check=True)  # noqa: S603
    return target / "release" / "examples" / "dumbbell"


def run(program: Path, *arguments: object) -> dict[str, float]:
    """What a run tells of itself."""
    done = subprocess.run(  # noqa: S603
        [str(program), *(str(argument) for argument in arguments)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


@dataclass(frozen=True, slots=True)
class Crowd:
    """So many flows: nanoseconds of a processor for a packet-hop, bytes held, and nanoseconds of a load anywhere in as many."""

    hop_ns: float
    held: float
    load_ns: float


def crowd(program: Path, flows: int, seconds: int) -> Crowd:
    """Runs them."""
    found = run(
        program,
        *("--flows", flows, "--rate-mbps", 10 * flows, "--duration-s", seconds, "--within-ms", 500),
        *("--loads", 1),
    )
    return Crowd(found["cpu_s"] / found["packet_hops"] * 1e9, found["rss_bytes"], found["load_ns"])


def median(crowds: Sequence[Crowd]) -> Crowd:
    """Of each figure."""
    return Crowd(
        statistics.median(one.hop_ns for one in crowds),
        statistics.median(one.held for one in crowds),
        statistics.median(one.load_ns for one in crowds),
    )


def idle(program: Path) -> float:
    """Bytes of this process for a flow that is open and silent: both ends, and its part of the plan."""
    held = [
        run(program, "--flows", 1, "--rate-mbps", 1, "--duration-s", 3, "--idle", count)["rss_bytes"]
        for count in (0, IDLE)
    ]
    return (held[1] - held[0]) / IDLE


def ten(program: Path, observe: str) -> float:
    """Processor time of ten flows."""
    found = run(program, "--flows", 10, "--rate-mbps", 100, "--duration-s", 30, "--observe", observe)
    return found["cpu_s"]


def measure() -> Scale:
    """Builds, measures and judges."""
    where = measured_on()
    program = build(ROOT / "target")
    untapped = ROOT / "target" / "untapped"
    bare = build(untapped, "--features", "untapped")

    crowds = {flows: median([crowd(program, flows, s) for _ in range(3)]) for flows, s in CROWDS}
    hops = [one.hop_ns for one in crowds.values()]
    dearest = max(hops) / min(hops)
    silent = idle(program)
    unused, watched = [], []
    for _ in range(ROUNDS):
        without, off = ten(bare, "nothing"), ten(program, "nothing")
        unused.append(off / without - 1)
        watched.append(ten(program, "all") / off)
    shutil.rmtree(untapped)

    bars = [
        Bar(
            f"a packet-hop costs at most {MOST_TIMES_DEARER:g} times as much, from {CROWDS[0][0]} to {CROWDS[-1][0]} flows",
            f"{dearest:.2f}",
            dearest <= MOST_TIMES_DEARER,
        ),
        Bar(f"an idle flow holds under {MOST_IDLE_BYTES} bytes", f"{silent:.0f}", silent < MOST_IDLE_BYTES),
        Bar(
            f"a tap that nobody uses costs less than {MOST_UNUSED:.0%}",
            f"{statistics.median(unused):+.1%}",
            statistics.median(unused) < MOST_UNUSED,
        ),
        Bar(
            f"observing everything costs less than {MOST_OBSERVED:g} times as much",
            f"{statistics.median(watched):.2f}",
            statistics.median(watched) < MOST_OBSERVED,
        ),
    ]
    lines = "\n".join(
        f"| {flows} | {one.hop_ns:.0f} | {one.held / 1e6:.0f} | {one.load_ns:.0f} | {one.hop_ns / one.load_ns:.0f} |"
        for flows, one in crowds.items()
    )
    section = f"""The dumbbell with 10 Mbit/s for each flow, all started within half a second; processor time of the simulation alone. An idle
flow has exchanged an octet each way. Its memory is the growth of the process with {IDLE} of them: both ends and the simulation's own copy of the plan, without the caller's copy. "Unused" is compared with a build
without taps; "everything" is every packet at every link and every change of every connection. `make bench-scale` renews this section alone.

Measured on: {where}.

| flows | ns for a packet-hop | MB held | ns for a load | loads a hop |
| ---: | ---: | ---: | ---: | ---: |
{lines}

The address of each load is read by the load before it, anywhere in as much memory. Data that is in no cache costs this much each time.
"""
    return Scale.of(section, bars)


def command(title: str, measure: Callable[[], Scale]) -> int:
    """Measures, renews the section of the page that has this title, and prints it; 1 if a bar is missed."""
    found = measure()
    renew(title, found.section)
    sys.stdout.write(found.section)
    return 0 if found.holds else 1


if __name__ == "__main__":
    sys.exit(command(SCALE, measure))
