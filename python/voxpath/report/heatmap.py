"""Maps as inline SVG: a colour and a number for every pair of values, panel beside panel."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from voxpath.report.markup import LETTER, element, escape, readable, svg, svg_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from voxpath.document import Axis, Map, Panel

_SEQUENTIAL = ("#00224e", "#1f3a6d", "#4a5370", "#6c6d77", "#8d8878", "#b0a673", "#d5c563", "#fee838")
"""Cividis: read alike with and without colour blindness, and in print."""
_DIVERGING = (
    "#7f3b08",
    "#c1680f",
    "#f2a54a",
    "#f7e3c8",
    "#f4f4f6",
    "#d4d8eb",
    "#a297c6",
    "#67489b",
    "#2d004b",
)
"""PuOr, around its middle."""
_CELL_HEIGHT = 30
_HIGHER_CELL = 40
"""Of a cell with an interval below its value."""
_BAR_WIDTH, _BAR_HEIGHT, _BAR_STEPS = 220, 12, 44


def draw(part: Map, *, with_scale: bool = True) -> str:
    """The panels, and below them the colours' scale."""
    values = [
        value
        for panel in part.panels
        for row in panel.values
        for value in row
        if value is not None and _drawable(value, part.value)
    ]
    if not values:
        return element("p", "There is no value to show.")
    scale = _Colours(
        part.value, min(v for v in values if v is not None), max(v for v in values if v is not None)
    )
    panels = "".join(_panel(part, panel, scale) for panel in part.panels)
    return element("div", panels, class_="panels") + (_bar(part.value, scale) if with_scale else "")


def _drawable(value: float, axis: Axis) -> bool:
    return math.isfinite(value) and (axis.scale == "linear" or value > 0)


class _Colours:
    """From values to colours."""

    def __init__(self, axis: Axis, low: float, high: float) -> None:
        self._log = axis.scale == "log"
        self._diverging = not self._log and low < 0 < high
        reach = max(abs(low), abs(high))
        self.low, self.high = (-reach, reach) if self._diverging else (low, high)

    def place(self, value: float) -> float:
        """Between 0 and 1."""
        low, high = (math.log(self.low), math.log(self.high)) if self._log else (self.low, self.high)
        at = math.log(value) if self._log else value
        return 0.5 if high == low else (at - low) / (high - low)

    def at(self, place: float) -> tuple[int, int, int]:
        """The colour of a place between 0 and 1."""
        stops = _DIVERGING if self._diverging else _SEQUENTIAL
        position = place * (len(stops) - 1)
        index = min(int(position), len(stops) - 2)
        part = position - index
        pair = [[int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in stops[index : index + 2]]
        red, green, blue = (round(a + (b - a) * part) for a, b in zip(*pair, strict=True))
        return red, green, blue


def _hex(colour: tuple[int, int, int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)


def _letters(colour: tuple[int, int, int]) -> str:
    """The class of letters that can be read on a colour."""
    red, green, blue = colour
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "white"


def _panel(part: Map, panel: Panel, scale: _Colours) -> str:
    told = [[readable(v, 3) if v is not None else "" for v in row] for row in panel.values]
    spreads = [[_spread(half) for half in row] for row in panel.half_widths]
    widest = max(len(text) for row in [*told, *spreads, part.xs] for text in row)
    height = _HIGHER_CELL if any(text for row in spreads for text in row) else _CELL_HEIGHT
    width = max(34.0, 10 + LETTER * widest)
    left = 34 + LETTER * max(map(len, part.ys))
    top = 24 if panel.name else 6
    rows = len(part.ys)
    bottom = top + height * rows
    body = [svg_text(left, 14, panel.name, class_="host")] if panel.name else []
    for row, name in enumerate(part.ys):
        y = bottom - height * (row + 1)
        body.append(svg_text(left - 8, y + height / 2 + 4, name, text_anchor="end"))
        body.extend(
            _map_cell(part, panel, scale, (row, column), (left + width * column, y, width, height))
            for column in range(len(part.xs))
        )
    if part.limit is not None:
        body += [
            element(
                "line",
                x1=f"{left + width * x1:.1f}",
                y1=f"{bottom - height * y1:g}",
                x2=f"{left + width * x2:.1f}",
                y2=f"{bottom - height * y2:g}",
                class_="limit",
            )
            for (x1, y1), (x2, y2) in _borders(panel, part.limit)
        ]
    for column, name in enumerate(part.xs):
        body.append(svg_text(left + width * (column + 0.5), bottom + 16, name, text_anchor="middle"))
    right = left + width * len(part.xs)
    body.append(svg_text((left + right) / 2, bottom + 36, part.x.label, class_="axis", text_anchor="middle"))
    middle = (top + bottom) / 2
    turned = f"rotate(-90 12 {middle:.1f})"
    body.append(svg_text(12, middle, part.y.label, class_="axis", text_anchor="middle", transform=turned))
    label = f"{part.title}{', ' if panel.name else ''}{panel.name}: {part.value.label}"
    return svg(max(right + 8, left + LETTER * 1.15 * len(panel.name)), bottom + 42, label, "".join(body))


def _map_cell(
    part: Map, panel: Panel, scale: _Colours, place: tuple[int, int], box: tuple[float, float, float, float]
) -> str:
    (row, column), (x, y, width, height) = place, box
    value = panel.values[row][column]
    size = {"x": f"{x:.1f}", "y": f"{y:.1f}", "width": f"{width:.1f}", "height": f"{height:g}"}
    unit = f" {part.value.unit}" if part.value.unit else ""
    told = f"{part.x.label} {part.xs[column]}, {part.y.label} {part.ys[row]}: "
    told += "no value" if value is None else f"{part.value.label} {readable(value)}{unit}"
    if panel.details and panel.details[row][column]:
        told += f" ({panel.details[row][column]})"
    if panel.name:
        told = f"{panel.name}, {told}"
    colour = None
    if value is not None and _drawable(value, part.value):
        colour = scale.at(scale.place(value))
    fill = {"class_": "none"} if colour is None else {"fill": _hex(colour)}
    letters = {} if colour is None else {"class_": _letters(colour)}
    text = "–" if value is None else readable(value, 3)
    drawn = element("rect", **size, **fill)
    spread = _spread(panel.half_widths[row][column]) if panel.half_widths else ""
    lines = [text, spread] if spread else [text]
    for number, line in enumerate(lines):
        below = y + height * (number + 1) / (len(lines) + 1) + 4
        drawn += svg_text(x + width / 2, below, line, text_anchor="middle", **letters)
    return element("g", element("title", escape(told)) + drawn, class_="cell", data_told=told)


def _borders(panel: Panel, limit: float) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Edges, in cells from the lower left corner, between neighbours on both sides of the limit."""

    def parted(one: float | None, other: float | None) -> bool:
        return one is not None and other is not None and (one < limit) != (other < limit)

    for row, values in enumerate(panel.values):
        for column, value in enumerate(values):
            if column + 1 < len(values) and parted(value, values[column + 1]):
                yield (column + 1, row), (column + 1, row + 1)
            if row + 1 < len(panel.values) and parted(value, panel.values[row + 1][column]):
                yield (column, row + 1), (column + 1, row + 1)


def _spread(half_width: float | None) -> str:
    return "" if half_width is None else f"±\u202f{readable(half_width, 2)}"


def _bar(axis: Axis, scale: _Colours) -> str:
    step = _BAR_WIDTH / _BAR_STEPS
    body = [
        element(
            "rect",
            x=f"{8 + step * index:.1f}",
            y="18",
            width=f"{step + 0.5:.1f}",
            height=str(_BAR_HEIGHT),
            fill=_hex(scale.at((index + 0.5) / _BAR_STEPS)),
        )
        for index in range(_BAR_STEPS)
    ]
    label = f"{axis.label}, {axis.unit}" if axis.unit else axis.label
    body.append(svg_text(8, 12, label + (", logarithmic" if axis.scale == "log" else "")))
    ends = list(_ends(scale))
    body += [svg_text(8 + _BAR_WIDTH * at, 44, text, text_anchor=anchor) for at, text, anchor in ends]
    return svg(_BAR_WIDTH + 60, 50, f"colours of {label}", "".join(body))


def _ends(scale: _Colours) -> Iterator[tuple[float, str, str]]:
    yield 0, readable(scale.low, 3), "start"
    if scale.low < 0 < scale.high:
        yield 0.5, "0", "middle"
    yield 1, readable(scale.high, 3), "end"
