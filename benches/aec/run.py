#!/usr/bin/env python3
"""`make bench-aec`, a part of `make bench`: what a sample costs the echo canceller, beside its peers.

Everything runs in this one process, in turns: each round gives every contestant some tenths of a second, in an order that
changes, and a ratio is taken within a round. What counts is the processor time of the process, of which the other
programs of a machine take little but cache. Prints the medians, writes its section of docs/measured/benchmarks.md, and fails if a
bar is not reached.
"""
# SPDX-License-Identifier: Apache-2.0

import argparse
import ctypes
import ctypes.util
import math
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# One thread, as our filter has: before numpy is imported.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches"))

from page import ECHO, measured_on, renew  # noqa: E402 - a folder of programs, not a package

from voxpath.voice.aec import synthetic_world, widely_linear  # noqa: E402
from voxpath.voice.aec.samples import Samples  # noqa: E402

BARS = {128: 400_000, 256: 200_000, 512: 100_000}
"""Samples a second of processor time, at least: single precision, each sample used once."""

LENGTHS = (64, 128, 256, 512, 1024)
SECONDS = 0.25
"""Of processor time for a contestant in a round, about."""

OURS, THRICE, EXACT, SPEEX = "voxpath", "voxpath, N_it = 3", "padasip's RLS", "speexdsp"
FRAME = 128
"""Samples that speexdsp takes at once; its filter has to be a multiple of it to be no longer than ours."""

SAMPLES = 20 * 1024
"""Of the signal, which is played again and again."""

Work = Callable[[Samples, Samples], None]
"""Cancels the echo of a block; rows are left and right."""


def ours(length: int, reuse: int) -> Work:
    """The publication's filter."""
    canceller = widely_linear(length, reuse=reuse)

    def work(far: Samples, near: Samples) -> None:
        canceller.process(far, near)

    return work


def exact(length: int) -> Work:
    """One filter over both loudspeakers' samples for each microphone: the matrix is not shared, as with padasip it cannot be."""
    import padasip

    filters = [padasip.filters.FilterRLS(2 * length, mu=1 - 1 / (64 * length)) for _ in range(2)]
    window = np.zeros((2, length))

    def work(far: Samples, near: Samples) -> None:
        for sample, heard in zip(far.T, near.T, strict=True):
            window[:, 1:] = window[:, :-1]
            window[:, 0] = sample
            input_ = window.ravel()
            for microphone, filter_ in zip(heard, filters, strict=True):
                filter_.adapt(microphone, input_)

    return work


def speex(length: int) -> Work:
    """Debian's speexdsp, with two microphones and two loudspeakers; blocks are multiples of its frames."""
    library = ctypes.CDLL(ctypes.util.find_library("speexdsp") or "libspeexdsp.so.1")
    library.speex_echo_state_init_mc.restype = ctypes.c_void_p
    state = ctypes.c_void_p(library.speex_echo_state_init_mc(FRAME, max(length, FRAME), 2, 2))

    def integers(samples: Samples) -> np.ndarray:
        return np.ascontiguousarray(np.clip(samples.T * 8192, -32768, 32767).astype(np.int16))

    def work(far: Samples, near: Samples) -> None:
        played, heard = integers(far), integers(near)
        out = np.empty((FRAME, 2), np.int16)
        for start in range(0, len(played), FRAME):
            library.speex_echo_cancellation(
                state,
                ctypes.c_void_p(heard[start:].ctypes.data),
                ctypes.c_void_p(played[start:].ctypes.data),
                ctypes.c_void_p(out.ctypes.data),
            )

    return work


@dataclass(frozen=True, slots=True)
class Case:
    """Rounds at one length.

    Attributes:
        length: Of the echo paths.
        rounds: Samples a second of processor time by contestant, round by round.
    """

    length: int
    rounds: tuple[dict[str, float], ...]

    def speed(self, name: str) -> float | None:
        """The median; none of who did not take part."""
        return statistics.median(found[name] for found in self.rounds) if name in self.rounds[0] else None

    def ratio(self, name: str) -> float | None:
        """How many times as fast as it ours is: the median of the rounds'."""
        if name not in self.rounds[0]:
            return None
        return statistics.median(found[OURS] / found[name] for found in self.rounds)


def compete(length: int, rounds: int) -> Case:
    """All contestants at one length."""
    far, near, _ = synthetic_world(length, SAMPLES, 1)
    contestants = {OURS: ours(length, 1), THRICE: ours(length, 3), SPEEX: speex(length)}
    if length in BARS:
        contestants[EXACT] = exact(length)
    blocks = {}
    for name, work in contestants.items():
        # What adapts is measured adapted; padasip's costs the same from the beginning, and 20 000 samples would take minutes.
        start = 16 if name is EXACT else SAMPLES
        speed = timed(work, far, near, start)
        blocks[name] = max(1, round(SECONDS * speed))
        blocks[name] -= blocks[name] % FRAME if name is SPEEX else 0
    found = []
    for number in range(rounds):
        names = list(contestants)[:: -1 if number % 2 else 1]
        found.append({name: timed(contestants[name], far, near, blocks[name]) for name in names})
    return Case(length, tuple(found))


def timed(work: Work, far: Samples, near: Samples, count: int) -> float:
    """Samples a second of processor time, of a signal that begins again at its end."""
    started = time.process_time()
    for start in range(0, count, SAMPLES):
        end = min(SAMPLES, count - start)
        work(far[:, :end], near[:, :end])
    return count / (time.process_time() - started)


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured, and where."""

    where: str
    cases: tuple[Case, ...]

    @property
    def verdicts(self) -> list[tuple[int, int, float, bool]]:
        """Length, bar, what was reached, and whether it holds."""
        speeds = {case.length: case.speed(OURS) for case in self.cases}
        return [
            (length, bar, speed, speed >= bar)
            for length, bar in BARS.items()
            if (speed := speeds.get(length))
        ]

    @property
    def holds(self) -> bool:
        """Whether every bar is reached."""
        return all(holds for *_, holds in self.verdicts)

    @property
    def slope(self) -> float:
        """The exponent of the length in the time of a sample, fitted over all of them."""
        lengths = [math.log(case.length) for case in self.cases]
        times = [-math.log(case.speed(OURS) or math.nan) for case in self.cases]
        return float(np.polyfit(lengths, times, 1)[0])

    def section(self) -> str:
        """The section of the page."""
        names = (OURS, THRICE, SPEEX, EXACT)
        head = " | ".join(
            ["length", *names, "ns a sample and tap", *(f"ours / {name}" for name in names[2:])]
        )
        rows = []
        for case in self.cases:
            speed = case.speed(OURS) or math.nan
            cells = [str(case.length), *(number(case.speed(name)) for name in names)]
            cells += [f"{1e9 / speed / case.length:.1f}", *(number(case.ratio(name)) for name in names[2:])]
            rows.append(f"| {' | '.join(cells)} |")
        bars = [
            f"| {length} | {bar:,} | {reached:,.0f} | {'yes' if holds else 'NO'} |"
            for length, bar, reached, holds in self.verdicts
        ]
        newline = "\n"
        return f"""\
Samples a second of processor time, medians of {len(self.cases[0].rounds)} rounds in which all took turns; a ratio is the median of the rounds' ratios. Ours is
in single precision with N_u = 4, from Python in blocks, adapted to four echo paths of AR(1) noise. padasip (1.2.2) has two exact
filters of twice the length, as its matrix cannot be shared between microphones; speexdsp (1.2.1, Debian's) is a
frequency-domain filter with two microphones and two loudspeakers in frames of {FRAME} samples, which is another
algorithm. This section does not compare the echo that they cancel. `make bench-aec` renews this section alone.

Measured on: {self.where}.

| {head} |
|{" ---: |" * (len(names) + 4)}
{newline.join(rows)}

| length | bar | reached | holds |
| ---: | ---: | ---: | --- |
{newline.join(bars)}

The time of a sample grows with the length to the power of {self.slope:.2f} from {self.cases[0].length} to {self.cases[-1].length}. The number of operations is linear in it. A
power above 1 comes from the matrix of 16 L² octets, which outgrows one cache after another: {sizes(self.cases)}.
"""


def sizes(cases: tuple[Case, ...]) -> str:
    """How large the matrices are."""
    return ", ".join(f"{16 * case.length**2 / 2**20:.3g} MiB at {case.length}" for case in cases)


def number(value: float | None) -> str:
    """Of a table."""
    return "" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def main() -> int:
    """Measures, writes the section and judges."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    where, cases = measured_on(), []
    for length in LENGTHS:
        cases.append(compete(length, rounds))
        speeds = ", ".join(f"{name} {number(cases[-1].speed(name))}" for name in cases[-1].rounds[0])
        sys.stdout.write(f"L = {length}: {speeds}\n")
        sys.stdout.flush()
    measured = Measured(where, tuple(cases))
    renew(ECHO, measured.section())
    for length, bar, reached, holds in measured.verdicts:
        sys.stdout.write(
            f"L = {length}: {reached:,.0f} a second (bar: {bar:,}): {'holds' if holds else 'DOES NOT HOLD'}\n"
        )
    sys.stdout.write(f"time of a sample ~ L^{measured.slope:.2f}\n")
    return 0 if measured.holds else 1


if __name__ == "__main__":
    sys.exit(main())
