"""More than two channels, the stated future work: exact WL-DR-RLS of any even number of loudspeakers.

Two real channels are one complex one. With exact solutions a widely linear filter of complex samples is the
real one of all loudspeakers: both have the same normal equations. So here L samples of every loudspeaker are
one real vector x, and each microphone has its own taps h, with the same gain for all. A sample is used N_it
times: e = d - h x, then h grows by e R⁻¹ x, again and again. As R does not change meanwhile, each use leaves
1 - x R⁻¹ x of the error. The pre-distortion goes on by pairs of loudspeakers, as (14) and (15).
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.signal import fftconvolve

from voxpath.document import Cell, Check, Checks, Section, Table, Text
from voxpath.results.decisions import above, all_of
from voxpath.results.intervals import paired, summarise
from voxpath.studies.base import shown
from voxpath.studies.ficiu2023.claims import HALF_WAY_DB
from voxpath.studies.ficiu2023.experiment import REGULARISATION, Course, published
from voxpath.voice.aec.filters import forgetting
from voxpath.voice.aec.signals import autoregressive, half_wave, room, stereo, with_noise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voxpath.results.intervals import Summary
    from voxpath.studies.ficiu2023.experiment import Effort
    from voxpath.voice.aec.samples import Samples

LENGTH = 32
"""L: the square of all taps is paid for each sample."""

MICROPHONES = 2
_FAR_ROOM = 2.5
"""Lengths of the far room's responses in path lengths, as in Figure 1."""
_PATH_GAIN = 0.5

PLAIN, REUSED, MOST, UNDISTORTED = (0.4, 1), (0.4, 3), (0.4, 5), (0.0, 1)
CURVES = (PLAIN, REUSED, MOST, UNDISTORTED)
"""α_r and N_it."""


@dataclass(frozen=True)
class Trial:
    """A room that changes.

    Attributes:
        channels: Loudspeakers, an even number.
        alpha: α_r.
        reuse: N_it.
        before: Samples until every sign of every path changes.
        after: Samples from then on.
        seed: Of rooms, signal and noise.
    """

    channels: int
    alpha: float
    reuse: int
    before: int
    after: int
    seed: int = 1


class Filter:
    """Exact recursive least squares of all loudspeakers for every microphone, with data reuse."""

    def __init__(self, channels: int, length: int, forget: float, reuse: int) -> None:
        count = channels * length
        self._forget, self._reuse = forget, reuse
        # As if the shifted matrix of the engine's filters had begun with ε at every tap.
        scale = np.tile(forget ** np.arange(length), channels)
        # A complex sample holds two real ones, and so does its ε.
        self._inverse = np.diag(2 * scale / REGULARISATION)
        self.taps: Samples = np.zeros((MICROPHONES, count))

    def sample(self, window: Samples, heard: Samples) -> None:
        """Learns from the newest samples of all loudspeakers, and what the microphones hear."""
        gain = self._inverse @ window
        power = float(window @ gain)
        gain /= self._forget + power
        # R⁻¹ x of the new R, and what a use leaves of the error.
        left = 1.0 - float(window @ gain)
        error = heard - self.taps @ window
        # The sum of all uses.
        factor = float(self._reuse) if left == 1.0 else (1.0 - left**self._reuse) / (1.0 - left)
        self.taps += factor * np.outer(error, gain)
        self._inverse -= np.outer(gain, gain) * (self._forget + power)
        self._inverse /= self._forget


@dataclass(frozen=True)
class Heard:
    """What a filter is given.

    Attributes:
        far: Of the loudspeakers, a row each.
        near: Of the microphones, likewise.
        paths: To each microphone, all loudspeakers' after one another, as they are before the change.
    """

    far: Samples
    near: Samples
    paths: Samples


def heard(trial: Trial) -> Heard:
    """The signals of a trial."""
    count = trial.before + trial.after
    rng = np.random.default_rng([trial.seed, 4])
    talker = autoregressive(count, [published()["figure1"]["pole"]], trial.seed)
    far = stereo(talker, [room(int(_FAR_ROOM * LENGTH), rng) for _ in range(trial.channels)])
    far = np.concatenate([half_wave(pair, trial.alpha) for pair in np.split(far, trial.channels // 2)])
    responses = [[_PATH_GAIN * room(LENGTH, rng) for _ in far] for _ in range(MICROPHONES)]
    echo = np.array(
        [
            sum(fftconvolve(sent, response)[:count] for sent, response in zip(far, of, strict=True))
            for of in responses
        ]
    )
    near = with_noise(_signs(trial) * echo, published()["figure1"]["snr_db"], trial.seed + 1_000)
    return Heard(far, near, np.array(responses).reshape(MICROPHONES, -1))


def _signs(trial: Trial) -> Samples:
    """Of every path, at each sample."""
    return np.repeat([1.0, -1.0], [trial.before, trial.after])


def run(trial: Trial, stride: int = 250) -> Course:
    """Runs a trial; the misalignment is measured after every `stride` samples."""
    given = heard(trial)
    count = given.far.shape[1]
    padded = np.pad(given.far, ((0, 0), (LENGTH - 1, 0)))
    # The newest sample first, loudspeaker after loudspeaker.
    windows = np.lib.stride_tricks.sliding_window_view(padded, LENGTH, axis=1)[:, :, ::-1].swapaxes(0, 1)
    memory = published()["figure1"]["memory"]
    learning = Filter(trial.channels, LENGTH, forgetting(LENGTH, memory), trial.reuse)
    signs = _signs(trial)
    samples, values = [], []
    for index in range(count):
        learning.sample(windows[index].reshape(-1), given.near[:, index])
        if (index + 1) % stride == 0:
            off = np.linalg.norm(signs[index] * given.paths - learning.taps) / np.linalg.norm(given.paths)
            samples.append(index + 1 - trial.before)
            values.append(20 * np.log10(off))
    return Course(np.array(samples, dtype=float), np.array(values))


Found = dict[int, dict[tuple[float, int], list[Course]]]
"""By the number of loudspeakers, then by α_r and N_it: one for each room."""


def run_all(effort: Effort) -> Found:
    """Every curve in the same rooms."""
    trials = {
        (channels, curve): [
            Trial(channels, *curve, effort.before3, effort.after3, seed + 1) for seed in range(effort.rooms3)
        ]
        for channels in effort.channels
        for curve in CURVES
    }
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        courses = pool.map(run, [trial for found in trials.values() for trial in found])
        found: Found = {}
        for (channels, curve), of in trials.items():
            found.setdefault(channels, {})[curve] = [next(courses) for _ in of]
    return found


def section(found: Found) -> Section:
    """Checks, and the numbers of every curve."""
    rows: list[list[str | Cell]] = []
    for channels, curves in found.items():
        for (alpha, reuse), courses in curves.items():
            back = _back(courses)
            rows.append(
                [
                    str(channels),
                    f"{alpha:g}",
                    str(reuse),
                    shown(summarise([course.steady for course in courses])),
                    shown(summarise([course.tracking for course in courses])),
                    shown(summarise(back)) if back else "not in every room",
                ]
            )
    columns = (
        "loudspeakers",
        "α_r",
        "N_it",
        "steady state, dB",
        "mean after the change, dB",
        f"back at {HALF_WAY_DB:g} dB, samples",
    )
    text = (
        "The publication names more channels as future work. Exact WL-DR-RLS goes on to any even number of "
        f"loudspeakers; here L = {LENGTH}, two microphones, AR(1) noise of one talker, and K as in Figure 1. "
        "The coordinate descent of the engine is for two."
    )
    rooms = len(next(iter(next(iter(found.values())).values())))
    note = f"95 % t-intervals over {rooms} rooms, the same for every curve of as many loudspeakers."
    table = Table("Two loudspeakers and more", columns, rows, (note,))
    return Section(
        "Beyond: more than two channels",
        [Text((text,)), Checks("More than two channels", checks(found)), table],
    )


def checks(found: Found) -> list[Check]:
    """What the publication says of two channels, of more."""
    said = published()["claims_channels"]
    more = {channels: curves for channels, curves in found.items() if channels > 2}
    won = {
        f"{channels} loudspeakers, N_it = {less[1]} to {many[1]}": _sooner(curves[less], curves[many])
        for channels, curves in more.items()
        for less, many in ((PLAIN, REUSED), (REUSED, MOST))
    }
    paid = {
        f"{channels} loudspeakers": paired(_steady(curves[REUSED]), _steady(curves[PLAIN]))
        for channels, curves in more.items()
    }
    alike = {
        f"{channels} loudspeakers": paired(_steady(curves[UNDISTORTED]), _steady(curves[PLAIN]))
        for channels, curves in more.items()
    }
    return [
        Check(said["faster"], all_of(map(above, won.values())), "fewer samples by " + _each(won)),
        Check(said["costs"], all_of(map(above, paid.values())), _each(paid, " dB")),
        Check(said["undistorted"], all_of(map(above, alike.values())), _each(alike, " dB")),
    ]


def _steady(courses: Sequence[Course]) -> list[float]:
    return [course.steady for course in courses]


def _back(courses: Sequence[Course]) -> list[float] | None:
    """When half of the way back is gone, in each room; none where it is not in one."""
    ways = [way for course in courses if (way := course.recovery(HALF_WAY_DB)) is not None]
    return ways if len(ways) == len(courses) else None


def _sooner(slow: Sequence[Course], fast: Sequence[Course]) -> Summary | None:
    ways = _back(slow), _back(fast)
    return None if ways[0] is None or ways[1] is None else paired(ways[0], ways[1])


def _each(values: Mapping[str, Summary | None], unit: str = "") -> str:
    return "; ".join(f"{name}: {shown(one) or 'unknown'}{unit}" for name, one in values.items())
