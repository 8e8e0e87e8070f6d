"""Small pictures for the cards of a site: the shape of a figure, without its axes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from voxpath.document import Ladder, Map, Network, Outlines, Plot, Scatter, Spectrogram, Together, VoicePath
from voxpath.report import heatmap, ladder, network, plane, voice_path
from voxpath.report.markup import element

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voxpath.document import Axis, Curve, Part

_WIDTH, _HEIGHT, _ROOM = 320.0, 150.0, 8.0
_SIZE = {"viewBox": f"0 0 {_WIDTH:g} {_HEIGHT:g}", "preserveAspectRatio": "none"}
_MOST_CURVES, _MOST_POINTS = 6, 120
_COLOURS = 8


def thumbnail(part: Part | None) -> str:
    """The picture as inline SVG; empty where there is none."""
    match part:
        case Together():
            return thumbnail(part.plots[0])
        case Plot():
            return _plot(part)
        case Map():
            return _figure("map", heatmap.draw(replace(part, panels=part.panels[:1]), with_scale=False))
        case Network():
            return _figure("network", network.draw(part))
        case Ladder():
            return _figure("ladder", ladder.draw(part))
        case Scatter():
            return _figure("scatter", plane.scatter(part))
        case Outlines():
            return _figure("outlines", plane.outlines(part))
        case Spectrogram():
            return _figure("spectrogram", plane.spectrogram(part))
        case VoicePath():
            return _voice(part)
        case _:
            return ""


def _figure(kind: str, drawn: str) -> str:
    """A diagram within what the style sheet takes its colours from."""
    return element("figure", drawn, class_=kind)


def _voice(part: VoicePath) -> str:
    """How loud the voice was, over the stretches in which something was missing."""
    sound = part.sounds[part.heard]
    duration = len(sound.channels[0]) / sound.rate
    span = _WIDTH - 2 * _ROOM
    low, high = voice_path.extremes(sound, _MOST_POINTS)
    loudest = max(float(high.max()), -float(low.min()), 1e-3)
    half = _HEIGHT / 2 - _ROOM
    marks = "".join(
        element(
            "rect",
            x=f"{_ROOM + span * mark.begin_s / duration:.1f}",
            y=f"{_ROOM:g}",
            width=f"{max(span * (mark.end_s - mark.begin_s) / duration, 1.0):.1f}",
            height=f"{2 * half:g}",
            fill="var(--curve-2)" if mark.fate == "recovered" else "var(--curve-1)",
        )
        for mark in part.marks
    )
    wave = "".join(
        f"M{_ROOM + span * (index + 0.5) / len(low):.1f} {_HEIGHT / 2 - half * top / loudest:.1f}"
        f"V{_HEIGHT / 2 - half * bottom / loudest:.1f}"
        for index, (bottom, top) in enumerate(zip(low, high, strict=True))
    )
    drawn = marks + element("path", d=wave, stroke="var(--curve-0)", class_="curve")
    return element("svg", drawn, **_SIZE, aria_hidden="true")


def _plot(plot: Plot) -> str:
    points = [
        [
            (_on(plot.x, x), _on(plot.y, y))
            for x, y in zip(curve.x, curve.y, strict=True)
            if y is not None and _drawable(plot.x, x) and _drawable(plot.y, y)
        ]
        for curve in plot.curves[:_MOST_CURVES]
    ]
    every = [point for curve in points for point in curve]
    if not every:
        return ""
    (left, right), (low, high) = (_span([point[axis] for point in every]) for axis in (0, 1))
    least = min(y for _, y in every)
    if plot.y.scale == "linear" and least >= 0 and (least < high / 2 or not any(y for _, y in every)):
        # Nothing at all lies on the axis, not in the middle.
        low = 0.0

    def place(point: tuple[float, float]) -> tuple[float, float]:
        x = _ROOM + (point[0] - left) / (right - left) * (_WIDTH - 2 * _ROOM)
        return x, _HEIGHT - _ROOM - (point[1] - low) / (high - low) * (_HEIGHT - 2 * _ROOM)

    groups: dict[str, int] = {}
    drawn = []
    for index, (curve, mine) in enumerate(zip(plot.curves, points, strict=False)):
        colour = groups.setdefault(curve.group or str(index), len(groups)) % _COLOURS
        drawn.append(_curve(curve, [place(point) for point in _thinned(mine)], colour))
    axis = f"M{_ROOM} {_ROOM}V{_HEIGHT - _ROOM}H{_WIDTH - _ROOM}"
    frame = element("path", d=axis, class_="frame")
    return element("svg", frame + "".join(drawn), **_SIZE, aria_hidden="true")


def _curve(curve: Curve, points: Sequence[tuple[float, float]], colour: int) -> str:
    stroke = f"var(--curve-{colour})"
    if curve.style == "points":
        return "".join(
            element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r="3.5", fill=stroke) for x, y in points
        )
    path = ""
    for index, (x, y) in enumerate(points):
        step = f"H{x:.1f}" if curve.style == "steps" and index else ""
        path += f"M{x:.1f} {y:.1f}" if index == 0 else f"{step}L{x:.1f} {y:.1f}"
    return element("path", d=path, stroke=stroke, class_="curve") if path else ""


def _thinned(points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    step = max(1, math.ceil(len(points) / _MOST_POINTS))
    return [*points[::step], *points[-1:]] if step > 1 else points


def _drawable(axis: Axis, value: float) -> bool:
    return math.isfinite(value) and (axis.scale == "linear" or value > 0)


def _on(axis: Axis, value: float) -> float:
    return math.log10(value) if axis.scale == "log" and value > 0 else float(value)


def _span(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)
