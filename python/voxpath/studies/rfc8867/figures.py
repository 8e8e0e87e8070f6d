"""Rate and delay over time against the capacity: a plot of each for every case and control."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voxpath.document import Axis, Curve, Plot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voxpath.studies.rfc8867.measures import Run

CAPACITY = "capacity"
_TIME = Axis("time", "s")
_WINDOW_S = 5


def rates(run: Run, control: str) -> Plot:
    """What each media flow received, second by second, under the capacity of the bottleneck."""
    case = run.case
    edges = [float(at) for at, _ in case.forward]
    capacity = Curve(
        CAPACITY,
        [*edges, float(case.duration)],
        [case.capacity(at) / 1e6 for at in [*edges, float(case.end)]],
        style="steps",
    )
    seconds = [float(second) for second in range(case.duration)]
    curves = [
        Curve(name, seconds, [float(rate) / 1e6 for rate in media.received[: case.duration]], style="steps")
        for name, media in run.media.items()
    ]
    return Plot(
        f"{case.section}, {control}: rates",
        "What each media flow receives, RTP packets, second by second; one run.",
        _TIME,
        Axis("rate", "Mbit/s"),
        [capacity, *curves],
    )


def beside(runs: Mapping[str, Run]) -> Plot:
    """What the media flow of every control received beside a TCP flow, on one axis of time."""
    case = next(iter(runs.values())).case
    begins = range(0, case.duration, _WINDOW_S)
    curves = [
        Curve(
            control,
            [float(begin) for begin in begins],
            [float(media.received[begin : begin + _WINDOW_S].mean()) / 1e6 for begin in begins],
            style="steps",
        )
        for control, run in runs.items()
        for media in run.media.values()
    ]
    capacity = Curve(CAPACITY, [0.0, float(case.duration)], [case.capacity(case.forward[0][0]) / 1e6] * 2)
    return Plot(
        f"{case.section}: the rate of the media flow, beside one long TCP flow",
        f"What the media flow receives by each control, means of {_WINDOW_S} s; one run.",
        _TIME,
        Axis("rate", "Mbit/s"),
        [capacity, *curves],
    )


def delays(run: Run, control: str) -> Plot:
    """How long the packets of each media flow wait, second by second."""
    case = run.case
    seconds = [float(second) for second in range(case.duration)]
    curves = [
        Curve(
            name,
            seconds,
            [
                None if np.isnan(delay) else float(delay) - run.delays[name]
                for delay in media.delay[: case.duration]
            ],
            style="steps",
        )
        for name, media in run.media.items()
    ]
    return Plot(
        f"{case.section}, {control}: queueing delay",
        "Mean one-way delay of a second's packets beyond propagation; one run.",
        _TIME,
        Axis("delay", "ms"),
        curves,
    )
