"""A voice over time: waveform, what was missing of it, delays below; a click plays from there."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from voxpath.report import listening
from voxpath.report.markup import csv_of, element, escape, exact, svg, svg_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from voxpath.document import Sound, VoiceFate, VoicePath

_WIDTH, _LEFT, _RIGHT = 1120.0, 64.0, 12.0
_WAVE, _GAP, _DELAYS, _FOOT = 170.0, 26.0, 150.0, 40.0
_TOP = 10.0
_COLUMNS = 1_044
"""Of the waveform: one for each pixel."""
_MOST_POINTS = 4_000
_ORDER: tuple[VoiceFate, ...] = ("lost", "late", "recovered")
NAMES = {"lost": "lost, concealed", "late": "too late, concealed", "recovered": "recovered from a copy"}


def draw(part: VoicePath) -> str:
    """The picture with its legend, the players, and a button for each mark."""
    return (
        element("div", _picture(part), class_="scroll", role="region", tabindex="0", aria_label=part.title)
        + _legend(part)
        + listening.players(part.sounds)
        + _marks(part)
    )


def numbers(part: VoicePath) -> str:
    """Every frame, and every mark."""
    rows = [
        [exact(one.at_s, 9), exact(one.network_ms), exact(one.wait_ms), _fate_at(part, one.at_s)]
        for one in part.frames
    ]
    return csv_of(["heard at [s]", "network [ms]", "capture to play [ms]", "missing"], rows)


def _fate_at(part: VoicePath, at_s: float) -> str:
    slack = 1e-6
    return next((m.fate for m in part.marks if m.begin_s - slack <= at_s < m.end_s - slack), "")


def _duration(part: VoicePath) -> float:
    sound = part.sounds[part.heard]
    return max(len(sound.channels[0]) / sound.rate, 1e-3)


def _picture(part: VoicePath) -> str:
    duration = _duration(part)
    span = _WIDTH - _LEFT - _RIGHT

    def x(seconds: float) -> float:
        return _LEFT + span * min(max(seconds / duration, 0.0), 1.0)

    delays = _TOP + _WAVE + _GAP
    bottom = delays + _DELAYS
    bands = "".join(
        element(
            "rect",
            element("title", escape(mark.told)),
            x=f"{x(mark.begin_s):.1f}",
            y=f"{_TOP:.0f}",
            width=f"{max(x(mark.end_s) - x(mark.begin_s), 1.5):.1f}",
            height=f"{_WAVE:.0f}",
            class_=f"band {mark.fate}",
            data_at=f"{mark.begin_s:.3f}",
        )
        for mark in part.marks
    )
    body = [
        bands,
        element("path", d=_wave(part), class_="wave"),
        svg_text(_LEFT - 8, _TOP + _WAVE / 2, "heard", text_anchor="end", class_="axis-name"),
        *_delay_lane(part, x, delays),
        *_time_axis(duration, x, bottom),
        element("line", x1="0", x2="0", y1=f"{_TOP:.0f}", y2=f"{bottom:.0f}", class_="cursor"),
        element(
            "rect",
            x=f"{_LEFT:.0f}",
            y=f"{_TOP:.0f}",
            width=f"{span:.0f}",
            height=f"{bottom - _TOP:.0f}",
            class_="field",
            data_left=f"{_LEFT:g}",
            data_span=f"{span:g}",
            data_seconds=f"{duration:.6f}",
        ),
    ]
    return svg(_WIDTH, bottom + _FOOT, part.caption or part.title, "".join(body))


def _wave(part: VoicePath) -> str:
    """The least and the largest value of each column, as an area."""
    sound = part.sounds[part.heard]
    low, high = extremes(sound, _COLUMNS)
    loudest = max(float(high.max()), -float(low.min()), 1e-3)
    middle, half = _TOP + _WAVE / 2, _WAVE / 2 / loudest
    span = _WIDTH - _LEFT - _RIGHT
    xs = _LEFT + span * _edges(sound, _COLUMNS)[:-1] / len(sound.channels[0])
    up = [f"{x:.1f} {middle - half * value - 0.4:.1f}" for x, value in zip(xs, high, strict=True)]
    down = [f"{x:.1f} {middle - half * value + 0.4:.1f}" for x, value in zip(xs, low, strict=True)]
    return "M" + "L".join([*up, *reversed(down)]) + "Z"


def extremes(sound: Sound, columns: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The least and the largest value of each of so many stretches; of each value where there are fewer."""
    values = np.asarray(sound.channels[0], float)
    begins = _edges(sound, columns)[:-1]
    return np.minimum.reduceat(values, begins), np.maximum.reduceat(values, begins)


def _edges(sound: Sound, columns: int) -> NDArray[np.int64]:
    length = len(sound.channels[0])
    return np.linspace(0, length, min(columns, length) + 1).astype(int)


def _delay_lane(part: VoicePath, x: Callable[[float], float], top: float) -> list[str]:
    """Network delay of each frame as points, when it was due as a line above them."""
    came = [one for one in part.frames if one.network_ms is not None]
    most = max([one.wait_ms for one in part.frames] + [float(one.network_ms or 0) for one in came] + [1.0])
    # A single retransmission must not flatten everything else.
    typical = float(np.quantile([float(one.network_ms or 0) for one in came] or [1.0], 0.98))
    most = min(most, 3 * max(typical, 1.0, *(one.wait_ms for one in part.frames)))
    step = _step(most)
    ceiling = step * math.ceil(most * 1.05 / step)

    def y(ms: float) -> float:
        return top + _DELAYS * (1 - min(max(ms / ceiling, 0.0), 1.0))

    grid = []
    for number in range(round(ceiling / step) + 1):
        height = y(number * step)
        grid.append(
            element(
                "line",
                x1=f"{_LEFT:.0f}",
                x2=f"{_WIDTH - _RIGHT:.0f}",
                y1=f"{height:.1f}",
                y2=f"{height:.1f}",
                class_="grid",
            )
        )
        grid.append(svg_text(_LEFT - 8, height + 4, f"{number * step:g}", text_anchor="end", class_="tick"))
    every = -(-len(came) // _MOST_POINTS) or 1
    in_time: list[str] = []
    late: list[str] = []
    for index, one in enumerate(came):
        network = float(one.network_ms or 0)
        is_late = network > one.wait_ms
        if is_late or index % every == 0:
            (late if is_late else in_time).append(f"M{x(one.at_s):.1f} {y(network):.1f}h0")
    lost = [f"M{x(one.at_s):.1f} {y(0) - 7:.1f}v7" for one in part.frames if one.network_ms is None]
    line = "L".join(f"{x(one.at_s):.1f} {y(one.wait_ms):.1f}" for one in part.frames[::every])
    return [
        *grid,
        element("path", d="".join(in_time), class_="point"),
        element("path", d="M" + line, class_="due") if line else "",
        element("path", d="".join(late), class_="point late"),
        element("path", d="".join(lost), class_="point-lost"),
        svg_text(_LEFT, top - 8, "delay, ms", class_="axis-name"),
    ]


def _time_axis(duration: float, x: Callable[[float], float], bottom: float) -> list[str]:
    step = _step(duration)
    ticks = [
        svg_text(x(number * step), bottom + 18, f"{number * step:g}", text_anchor="middle", class_="tick")
        for number in range(int(duration / step) + 1)
    ]
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    return [*ticks, svg_text(middle, bottom + 35, "time, s", text_anchor="middle", class_="axis-name")]


def _step(most: float) -> float:
    """A round distance of ticks: four to ten of them."""
    power = 10 ** math.floor(math.log10(max(most, 1e-9) / 4))
    return float(power * max(factor for factor in (1, 2, 5) if power * factor <= most / 4 * 1.0001))


def _legend(part: VoicePath) -> str:
    kinds = {mark.fate for mark in part.marks}
    items = [
        element("li", element("span", "", class_=f"swatch {fate}") + escape(NAMES[fate]))
        for fate in _ORDER
        if fate in kinds
    ]
    items.append(element("li", element("span", "", class_="swatch point") + "network delay of a frame"))
    items.append(element("li", element("span", "", class_="swatch due") + "when a frame is due"))
    return element("ul", "".join(items), class_="voice-legend")


def _marks(part: VoicePath) -> str:
    if not part.marks:
        return ""
    buttons = "".join(
        element(
            "button",
            f"{mark.begin_s:.2f} s",
            type="button",
            class_=f"mark-at {mark.fate}",
            title=mark.told,
            data_at=f"{mark.begin_s:.3f}",
        )
        for mark in part.marks
    )
    summary = f"{len(part.marks)} places where something was missing: each plays from just before"
    return element("details", element("summary", summary) + element("p", buttons), class_="places")
