"""Drawings in a plane as inline SVG: clouds of points, outlines to scale, spectrograms."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from voxpath.report.markup import LETTER, element, escape, readable, svg, svg_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from voxpath.document import Axis, Outlines, Scatter, Spectrogram

_COLOURS = 8
"""Of the style sheet."""
_WIDTH, _HEIGHT = 560.0, 380.0
_LEFT, _BELOW, _ABOVE, _RIGHT = 64.0, 46.0, 12.0, 16.0
_ROOM = 0.06
"""Of the range, around the points."""
_TICKS = 6
_LEGEND = 18.0
_LARGEST = 520.0
"""Of an outline drawing, in pixels."""


@dataclass(frozen=True)
class _Frame:
    """From values to pixels."""

    x: tuple[float, float]
    y: tuple[float, float]
    backward: bool = False
    width: float = _WIDTH
    height: float = _HEIGHT

    def at(self, x: float, y: float) -> tuple[float, float]:
        across = (x - self.x[0]) / (self.x[1] - self.x[0])
        up = (y - self.y[0]) / (self.y[1] - self.y[0])
        if self.backward:
            across, up = 1 - across, 1 - up
        inner = self.height - _ABOVE - _BELOW
        return _LEFT + across * (self.width - _LEFT - _RIGHT), _ABOVE + (1 - up) * inner

    def axes(self, x: Axis, y: Axis, *, grid: bool = True) -> Iterator[str]:
        """Grid, numbers and names."""
        left, right, top, bottom = _LEFT, self.width - _RIGHT, _ABOVE, self.height - _BELOW
        for value in _ticks(*self.x):
            place = self.at(value, self.y[0])[0]
            if grid:
                yield f'<path class="rule" d="M{place:.1f} {top:.1f}V{bottom:.1f}"/>'
            yield svg_text(place, bottom + 16, readable(value), text_anchor="middle")
        for value in _ticks(*self.y):
            place = self.at(self.x[0], value)[1]
            if grid:
                yield f'<path class="rule" d="M{left:.1f} {place:.1f}H{right:.1f}"/>'
            yield svg_text(left - 6, place + 4, readable(value), text_anchor="end")
        yield svg_text((left + right) / 2, bottom + 38, _named(x), class_="axis", text_anchor="middle")
        middle = (top + bottom) / 2
        turned = f"rotate(-90 14 {middle:.1f})"
        yield svg_text(14, middle, _named(y), class_="axis", text_anchor="middle", transform=turned)


def _named(axis: Axis) -> str:
    return f"{axis.label}, {axis.unit}" if axis.unit else axis.label


def _ticks(low: float, high: float) -> list[float]:
    raw = (high - low) / _TICKS
    power = 10 ** math.floor(math.log10(raw))
    step = power * next(factor for factor in (1, 2, 5, 10) if power * factor >= raw)
    first = math.ceil(low / step - 1e-9)
    return [float(f"{(first + i) * step:.12g}") for i in range(math.floor(high / step + 1e-9) - first + 1)]


def _span(values: Sequence[float], axis: Axis) -> tuple[float, float]:
    known = [*values, *(axis.span or ())]
    low, high = min(known), max(known)
    room = (high - low) * _ROOM or abs(low) * _ROOM or 1.0
    return low - room, high + room


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _legend(names: Sequence[str], top: float) -> tuple[str, float]:
    """Dots with names below a drawing, and how much room they take."""
    body, x, y = [], 8.0, top + 12
    for index, name in enumerate(names):
        width = 26 + LETTER * len(name)
        if x > 8 and x + width > _WIDTH:
            x, y = 8.0, y + _LEGEND
        body.append(f'<circle cx="{x + 5:.1f}" cy="{y - 4:.1f}" r="4" fill="{_colour(index)}"/>')
        body.append(svg_text(x + 14, y, name))
        x += width
    return "".join(body), (y + 8 - top) if names else 0.0


def _colour(index: int) -> str:
    return f"var(--curve-{index % _COLOURS})"


def scatter(part: Scatter) -> str:
    """Points, ellipses, axes and a legend."""
    points = [point for cloud in part.clouds for point in (*cloud.points, *cloud.ellipse)]
    if not points:
        return element("p", "There is no value to show.")
    frame = _Frame(
        _span([x for x, _ in points], part.x), _span([y for _, y in points], part.y), part.reversed
    )
    body = list(frame.axes(part.x, part.y))
    for index, cloud in enumerate(part.clouds):
        if cloud.ellipse:
            line = _path([frame.at(*point) for point in cloud.ellipse]) + "Z"
            body.append(f'<path class="outline" stroke="{_colour(index)}" d="{line}"/>')
        for number, (x, y) in enumerate(cloud.points):
            told = f"{cloud.name}: {part.x.label} {readable(x)}, {part.y.label} {readable(y)} {part.y.unit}"
            if cloud.details:
                told += f" ({cloud.details[number]})"
            across, down = frame.at(x, y)
            dot = f'<circle class="dot" cx="{across:.1f}" cy="{down:.1f}" r="4.5" fill="{_colour(index)}"/>'
            body.append(element("g", element("title", escape(told)) + dot, class_="point", data_told=told))
    legend, below = _legend([cloud.name for cloud in part.clouds], _HEIGHT)
    return _drawing(_WIDTH, _HEIGHT + below, part.title, "".join(body) + legend)


def outlines(part: Outlines) -> str:
    """Lines to scale, with a bar that says how large they are."""
    points = np.asarray([point for outline in part.outlines for point in outline.points], float)
    if not len(points):
        return element("p", "There is nothing to show.")
    low, high = points.min(axis=0), points.max(axis=0)
    scale = _LARGEST / float((high - low).max() or 1.0)
    margin = 28.0
    width, height = (high - low) * scale + 2 * margin

    def at(point: tuple[float, float]) -> tuple[float, float]:
        return (
            margin + (point[0] - float(low[0])) * scale,
            margin + (float(high[1]) - point[1]) * scale,
        )

    groups = list(dict.fromkeys(outline.group for outline in part.outlines if outline.group))
    body = []
    for outline in part.outlines:
        placed = [at(point) for point in outline.points]
        colour = _colour(groups.index(outline.group)) if outline.group else ""
        told = ", ".join(filter(None, [outline.group, outline.name, outline.label]))
        if len(placed) == 1:
            x, y = placed[0]
            drawn = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour or "var(--soft)"}"/>'
        else:
            how = f'class="outline" stroke="{colour}"' if colour else 'class="plain"'
            drawn = f'<path {how} d="{_path(placed)}"/>'
        if outline.label:
            x, y = placed[len(placed) // 2]
            # Labels of several groups at one place stand below each other.
            apart = 14 * groups.index(outline.group) if outline.group else 0
            drawn += svg_text(x + 8, y - 6 + apart, outline.label)
        body.append(element("g", element("title", escape(told)) + drawn, data_told=told))
    bar = float(f"{float((high - low).max()) / 5:.1g}")
    ruler = f'<path class="plain" d="M{margin:.1f} {height:.1f}h{bar * scale:.1f}"/>'
    ruler += svg_text(margin + bar * scale + 8, height + 4, f"{readable(bar)} {part.unit}")
    legend, below = _legend(groups, height + 8)
    reach = max(float(width), 26 + LETTER * max((len(name) for name in groups), default=0), _WIDTH)
    return _drawing(reach, height + 16 + below, part.title, "".join(body) + ruler + legend)


def spectrogram(part: Spectrogram) -> str:
    """Levels as a picture, tracks and labels on top of it."""
    left, right, low, high = part.ends
    frame = _Frame((left, right), (low, high), width=2 * _WIDTH - 80)
    (x0, y1), (x1, y0) = frame.at(left, low), frame.at(right, high)
    levels = np.clip(np.asarray(part.levels, float), 0.0, 1.0)
    picture = base64.b64encode(_png((255 * (1 - levels[::-1])).astype(np.uint8))).decode()
    place = {"x": f"{x0:.1f}", "y": f"{y0:.1f}", "width": f"{x1 - x0:.1f}", "height": f"{y1 - y0:.1f}"}
    body = [
        element("image", **place, preserveAspectRatio="none", href=f"data:image/png;base64,{picture}"),
        *frame.axes(part.x, part.y, grid=False),
    ]
    for begin, end, label in part.spans:
        a, b = frame.at(begin, high)[0], frame.at(end, high)[0]
        edges = f"M{a:.1f} {y0:.1f}V{y1:.1f}M{b:.1f} {y0:.1f}V{y1:.1f}"
        body.append(f'<path d="{edges}" stroke="var(--curve-4)" stroke-dasharray="3 3" fill="none"/>')
        body.append(svg_text((a + b) / 2, y0 + 14, label, class_="on", text_anchor="middle"))
    for index, curve in enumerate(part.tracks):
        for x, y in zip(curve.x, curve.y, strict=True):
            if y is not None and low <= y <= high:
                across, down = frame.at(x, y)
                body.append(f'<circle cx="{across:.1f}" cy="{down:.1f}" r="1.9" fill="{_colour(index)}"/>')
    legend, below = _legend([curve.name for curve in part.tracks], _HEIGHT)
    return _drawing(frame.width, _HEIGHT + below, part.title, "".join(body) + legend)


def _drawing(width: float, height: float, label: str, body: str) -> str:
    return svg(width, height, label, element("g", body, class_="plane"))


def _png(grey: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> bytes:
    """A grey picture as PNG (RFC 2083), without a filter."""
    height, width = grey.shape
    rows = b"".join(b"\0" + row.tobytes() for row in grey)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows, 9))
        + chunk(b"IEND", b"")
    )
