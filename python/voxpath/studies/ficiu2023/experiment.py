"""What is run: Figures 1 and 2, the misprints, and the map; all of it deterministic."""

from __future__ import annotations

import os
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from voxpath.voice.aec import Solver, Words, fixed_point, rls, widely_linear
from voxpath.voice.aec.measures import misalignment
from voxpath.voice.aec.signals import (
    autoregressive,
    half_wave,
    recorded,
    room,
    speech_like,
    stereo,
    synthetic_paths,
    with_noise,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voxpath.voice.aec import Canceller
    from voxpath.voice.aec.filters import Reading
    from voxpath.voice.aec.samples import Samples

Source = Literal["noise", "speech", "recorded"]
"""What the far talker is: AR(1) noise, synthetic syllables, or recorded speech, again and again."""

_SOLVED = 16
"""Paths up to here have their normal equations solved anew for each sample.

Longer ones take Woodbury's identity, which is the same up to rounding.
"""

REGULARISATION = 100.0
"""ε; the loudspeakers' samples have unit power.

With less, a filter that uses each sample five times overshoots by 30 dB at first, which the publication,
leaving out the initial convergence, does not show.
"""


@cache
def published() -> dict[str, Any]:
    """The contents of `published.toml`."""
    return tomllib.loads(files(__package__).joinpath("published.toml").read_text("utf-8"))


@dataclass(frozen=True)
class Trial:
    """A filter in a room that changes.

    Attributes:
        length: L.
        memory: K.
        reuse: N_it.
        alpha: α_r of the pre-distortion.
        source: What the far talker is.
        before: Samples until the room changes.
        after: Samples from then on.
        updates: N_u.
        exact: With exact recursive least squares in place of the coordinate descent.
        reading: Of (12) and (13).
        seed: Of rooms, signal and noise.
        words: Word lengths of a filter in integers; none for single precision.
        level: Root mean square of the loudspeakers' samples, in both channels' mean.
        far_room: Length of the far room's responses in path lengths. The text has measured rooms and says no
            length. It decides how much α_r matters: with 1 the paths are hard to tell apart even with
            α_r = 0.4, with 8 they are told apart even without distortion.
        decay_db: How far every response decays from its beginning to its end.
    """

    length: int
    memory: float
    reuse: int
    alpha: float
    source: Source
    before: int
    after: int
    updates: int = 4
    exact: bool = False
    reading: Reading = "corrected"
    seed: int = 1
    words: Words | None = None
    level: float = 1.0
    far_room: float = 2.5
    decay_db: float = 35.0

    def filter(self) -> Canceller:
        """The filter that is tried."""
        regularisation = REGULARISATION * self.level**2
        solver = Solver(updates=self.updates)
        if self.words is not None:
            return fixed_point(
                self.length,
                words=self.words,
                memory=self.memory,
                reuse=self.reuse,
                solver=replace(solver, bits=min(solver.bits, self.words.tap - 2)),
                regularisation=regularisation,
            )
        if self.exact:
            return rls(
                self.length,
                memory=self.memory,
                reuse=self.reuse,
                reading=self.reading,
                regularisation=regularisation,
                solve=self.length <= _SOLVED,
            )
        return widely_linear(
            self.length,
            memory=self.memory,
            reuse=self.reuse,
            solver=solver,
            reading=self.reading,
            regularisation=regularisation,
        )


@dataclass(frozen=True)
class Course:
    """How the misalignment went.

    Attributes:
        samples: When it was measured, in samples since the change.
        values: (16), in dB; infinite from where the filter's numbers no longer were any.
    """

    samples: Samples
    values: Samples

    @property
    def steady(self) -> float:
        """Mean over the last quarter before the change."""
        before = self.samples <= 0
        start = self.samples[0] / 4
        return float(np.mean(self.values[before & (self.samples > start)]))

    @property
    def tracking(self) -> float:
        """Mean over what was measured after the change: the lower, the faster."""
        return float(np.mean(self.values[self.samples > 0]))

    def early(self, samples: int) -> float:
        """Mean over so many samples from the beginning."""
        return float(np.mean(self.values[self.samples <= self.samples[0] + samples]))

    def recovery(self, level: float) -> float | None:
        """Samples from the change until the misalignment is at most `level` dB; none if it never is."""
        reached = (self.samples > 0) & (self.values <= level)
        return float(self.samples[reached][0]) if reached.any() else None


def run(trial: Trial, stride: int = 250) -> Course:
    """Runs a trial; the misalignment is measured after every `stride` samples."""
    count = trial.before + trial.after
    rng = np.random.default_rng([trial.seed, 1])
    rooms = [room(int(trial.far_room * trial.length), rng, trial.decay_db) for _ in range(2)]
    far = trial.level * half_wave(stereo(_talker(trial, count), rooms), trial.alpha)
    first = synthetic_paths(trial.length, trial.seed, decay_db=trial.decay_db)
    second = first.inverted() if trial.source == "noise" else first.swapped()
    at = trial.before
    near = first.echo(far)
    near[:, at:] = second.echo(far)[:, at:]
    near = with_noise(near, published()["figure1"]["snr_db"], trial.seed + 1_000)
    canceller = trial.filter()
    samples, values = [], []
    for start in range(0, count - stride + 1, stride):
        end = start + stride
        canceller.process(far[:, start:end], near[:, start:end])
        with np.errstate(all="ignore"):
            value = misalignment(first if end <= at else second, canceller.paths)
        samples.append(end - at)
        values.append(value if np.isfinite(value) else np.inf)
    return Course(np.array(samples, dtype=float), np.array(values))


def _talker(trial: Trial, count: int) -> Samples:
    if trial.source == "noise":
        return autoregressive(count, [published()["figure1"]["pole"]], trial.seed)
    rate = published()["figure2"]["rate"]
    if trial.source == "speech":
        return speech_like(count, rate, trial.seed)
    # Each replication begins elsewhere in the recording.
    spoken = recorded(rate)
    start = int(np.random.default_rng([trial.seed, 2]).integers(len(spoken)))
    return np.resize(np.roll(spoken, -start), count)


def run_all(trials: Sequence[Trial], stride: int = 250) -> list[Course]:
    """Runs trials, as many at once as there are processors: the engine works without Python's lock."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(lambda trial: run(trial, stride), trials))


@dataclass(frozen=True)
class Effort:
    """How much is run.

    The steady state is reached after some five memories (K L samples), so the rooms change long before the
    publication's sample 1 200 000; the full study has one curve change there too, to show that it is the
    same.

    Attributes:
        replications: Independent rooms, signals and noises of each curve of Figure 1.
        replications2: And of Figure 2.
        before1: Samples before the change of Figure 1.
        after1: And after it.
        before2: Samples before the change of Figure 2.
        after2: And after it.
        late: Replications of a curve of Figure 1 that changes when the publication's does.
        exact: Replications of the exact curves of Figure 1.
        exact2: And of Figure 2.
        memories: K of the map.
        updates: N_u of the map.
        small: Replications of the misprints' experiment, of the map and of the word lengths.
        words: Word lengths of sums and of taps.
        stretches: Of speech, at each place of the stereo image.
        channels: Numbers of loudspeakers.
        rooms3: Of each of them.
        before3: Samples before their change.
        after3: And after it.
    """

    replications: int
    replications2: int
    before1: int
    after1: int
    before2: int
    after2: int
    late: int
    exact: int
    exact2: int
    memories: Sequence[int]
    updates: Sequence[int]
    small: int
    words: tuple[Sequence[int], Sequence[int]]
    stretches: int
    channels: Sequence[int]
    rooms3: int
    before3: int
    after3: int


FULL = Effort(
    replications=24,
    replications2=8,
    before1=120_000,
    after1=50_000,
    before2=150_000,
    after2=70_000,
    late=8,
    exact=8,
    exact2=3,
    memories=(4, 16, 64, 256),
    updates=(1, 2, 4, 8, 16),
    small=4,
    words=((16, 20, 24, 28, 32), (12, 16, 24)),
    stretches=10,
    channels=(2, 4, 6),
    rooms3=8,
    before3=45_000,
    after3=12_000,
)
QUICK = Effort(
    replications=3,
    replications2=3,
    before1=60_000,
    after1=30_000,
    before2=30_000,
    after2=15_000,
    late=0,
    exact=0,
    exact2=0,
    memories=(4, 64),
    updates=(1, 4),
    small=2,
    words=((24, 32), (24,)),
    stretches=4,
    channels=(2, 4),
    rooms3=3,
    before3=10_000,
    after3=6_000,
)

REUSES = (1, 2, 3, 4, 5)
EXACT_REUSES = (1, 3)

CURVES: tuple[tuple[float, int], ...] = (*((0.4, reuse) for reuse in REUSES), (0.0, 1), (0.0, 5), (0.8, 1))
"""α_r and N_it of the curves of Figure 1; Figure 2 has no 0.8."""

NOT_DRAWN: tuple[tuple[float, int], ...] = ((0.0, 3), (0.8, 3), (0.8, 5))
"""More of them, for what Figure 1's text says of the same values of α_r."""


def figure1(effort: Effort) -> dict[tuple[float, int], list[Trial]]:
    """Trials of Figure 1, and of what its text says beyond."""
    return _curves(_figure1(effort), [*CURVES, *NOT_DRAWN], effort.replications)


def exact1(effort: Effort) -> dict[tuple[float, int], list[Trial]]:
    """WL-DR-RLS in rooms of Figure 1, whose caption names it too; none in the quick version."""
    return _exact(_figure1(effort), effort.exact)


def exact2(effort: Effort) -> dict[tuple[float, int], list[Trial]]:
    """The same of Figure 2, with synthetic syllables."""
    return _exact(_figure2(effort, "speech"), effort.exact2)


def _exact(base: Trial, replications: int) -> dict[tuple[float, int], list[Trial]]:
    curves = [(0.4, reuse) for reuse in EXACT_REUSES] if replications else []
    return _curves(replace(base, exact=True), curves, replications)


def late(effort: Effort) -> dict[tuple[float, int], list[Trial]]:
    """A curve of Figure 1 whose change is where the publication has it; none in the quick version."""
    base = replace(_figure1(effort), before=published()["figure1"]["change_at"])
    return _curves(base, [(0.4, 1)], effort.late) if effort.late else {}


def _figure1(effort: Effort) -> Trial:
    set_up = published()["figure1"]
    return Trial(set_up["length"], set_up["memory"], 1, 0, "noise", effort.before1, effort.after1)


def figure2(effort: Effort, source: Source) -> dict[tuple[float, int], list[Trial]]:
    """Trials of Figure 2."""
    drawn = [curve for curve in CURVES if curve[0] < 0.8]
    return _curves(_figure2(effort, source), drawn, effort.replications2)


def _figure2(effort: Effort, source: Source) -> Trial:
    set_up = published()["figure2"]
    return Trial(set_up["length"], set_up["memory"], 1, 0, source, effort.before2, effort.after2)


def _curves(
    base: Trial, curves: Sequence[tuple[float, int]], replications: int
) -> dict[tuple[float, int], list[Trial]]:
    return {
        (alpha, reuse): [
            replace(base, alpha=alpha, reuse=reuse, seed=seed + 1) for seed in range(replications)
        ]
        for alpha, reuse in curves
    }


MISPRINT_MEMORIES = (1.5, 3.0, 8.0, 64.0)
"""K of the experiment that tells the readings apart."""

READINGS: tuple[Reading, ...] = ("corrected", "printed sign", "printed error")


def misprints(effort: Effort) -> dict[tuple[bool, float, Reading], list[Trial]]:
    """Short paths, each sample used five times, by exact solutions and by the coordinate descent."""
    return {
        (exact, memory, reading): [
            Trial(16, memory, 5, 0.4, "noise", 4_000, 1_000, exact=exact, reading=reading, seed=seed + 1)
            for seed in range(effort.small)
        ]
        for exact in (True, False)
        for memory in MISPRINT_MEMORIES
        for reading in READINGS
    }


def landscape(effort: Effort) -> dict[tuple[int, int, int], list[Trial]]:
    """The map: K, N_u and N_it of paths of 32 samples."""
    return {
        (memory, updates, reuse): [
            Trial(
                32,
                memory,
                reuse,
                0.4,
                "noise",
                max(20_000, 5 * 32 * memory),
                2_000,
                updates=updates,
                seed=seed + 1,
            )
            for seed in range(effort.small)
        ]
        for memory in effort.memories
        for updates in effort.updates
        for reuse in (1, 3, 5)
    }


WORD_REUSES = (1, 3)
SAMPLE_BITS = 16
"""Of the samples of a filter in integers; sums and taps are varied."""

_LEVEL = 0.1
"""Of the loudspeakers' samples in full scales: the peaks of half-wave distorted AR(1) noise just fit."""


def word_lengths(effort: Effort) -> dict[tuple[int, int, int] | int, list[Trial]]:
    """Filters in integers by bits of sums and taps and by N_it, and by N_it alone those in single precision.

    The paths have 64 samples, K is that of Figure 1.
    """
    memory = published()["figure1"]["memory"]

    def trials(reuse: int, words: Words | None) -> list[Trial]:
        base = Trial(64, memory, reuse, 0.4, "noise", 40_000, 20_000, words=words, level=_LEVEL)
        return [replace(base, seed=seed + 1) for seed in range(effort.small)]

    sums, taps = effort.words
    return {
        **{reuse: trials(reuse, None) for reuse in WORD_REUSES},
        **{
            (sum_, tap, reuse): trials(reuse, Words(SAMPLE_BITS, sum_, tap))
            for sum_ in sums
            for tap in taps
            for reuse in WORD_REUSES
        },
    }
