"""Plots as SVG: small multiples on one sheet, one row of panels for each quantity, one column for each thing that is compared."""
# SPDX-License-Identifier: Apache-2.0

from collections.abc import Iterator, Sequence
from html import escape

from voxpath.document import Curve, Plot

WIDTH, HEIGHT = 300, 150
"""Of a panel, with its margins."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 8, 20, 24
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Okabe and Ito's, which people who see few colours tell apart."""

_GREY = "#888888"
_STYLE = "font: 10px sans-serif; fill: #222222"


def sheet(title: str, columns: Sequence[Sequence[Plot]], in_grey: str, across: int = 4) -> str:
    """Panels of plots: those of a column stand below each other, `across` columns stand side by side.

    Args:
        title: Above everything.
        columns: The plots, from above; as many in each.
        in_grey: The curve that the others are held against.
        across: Columns in a row.
    """
    deep = len(columns[0])
    rows = -(-len(columns) // across)
    wide, high = min(across, len(columns)) * WIDTH, rows * deep * HEIGHT + 44
    # Panels of one quantity share their scale, so that they can be compared.
    tops = [max(_top(column[depth]) for column in columns) for depth in range(deep)]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{wide}" height="{high}" fill="#ffffff"/>',
        f'<text x="8" y="16" style="{_STYLE}; font-weight: bold; font-size: 12px">{escape(title)}</text>',
        *_legend(columns[0][0].curves, in_grey),
    ]
    for index, column in enumerate(columns):
        x, y = index % across * WIDTH, 44 + index // across * deep * HEIGHT
        for depth, plot in enumerate(column):
            lines += _panel(plot, x, y + depth * HEIGHT, tops[depth], in_grey)
    return "\n".join([*lines, "</svg>", ""])


def _top(plot: Plot) -> float:
    values = [y for curve in plot.curves for y in curve.y if y is not None]
    return _round_up(max(values, default=0.0) or 1.0)


def _round_up(value: float) -> float:
    """The next of 1, 1.5, 2, 3, 4, 5, 6, 8 times a power of ten."""
    power = 1.0
    while power * 10 <= value:
        power *= 10
    while power > value:
        power /= 10
    steps = (1, 1.5, 2, 3, 4, 5, 6, 8, 10)
    return next(step * power for step in steps if value <= step * power * (1 + 1e-9))


def _legend(curves: Sequence[Curve], in_grey: str) -> Iterator[str]:
    x = 8
    for curve, colour in _coloured(curves, in_grey):
        yield f'<line x1="{x}" y1="31" x2="{x + 16}" y2="31" stroke="{colour}" stroke-width="2"/>'
        yield f'<text x="{x + 20}" y="34" style="{_STYLE}">{escape(curve.name)}</text>'
        x += 34 + 6 * len(curve.name)


def _coloured(curves: Sequence[Curve], in_grey: str) -> Iterator[tuple[Curve, str]]:
    colours = iter(COLOURS * (1 + len(curves) // len(COLOURS)))
    for curve in curves:
        yield curve, _GREY if curve.name == in_grey else next(colours)


def _panel(plot: Plot, left: int, top: int, most: float, in_grey: str) -> Iterator[str]:
    x0, x1 = left + _LEFT, left + WIDTH - _RIGHT
    y0, y1 = top + HEIGHT - _BOTTOM, top + _TOP
    end = max(x for curve in plot.curves for x in curve.x)

    def at(x: float, y: float) -> tuple[float, float]:
        return x0 + (x1 - x0) * x / end, y0 - (y0 - y1) * min(y, most) / most

    yield f'<text x="{x0}" y="{top + 14}" style="{_STYLE}; font-weight: bold">{escape(plot.title)}</text>'
    for part in (0, 0.5, 1):
        _, y = at(0, part * most)
        yield f'<line x1="{x0}" y1="{y:.1f}" x2="{x1}" y2="{y:.1f}" stroke="#dddddd"/>'
        yield f'<text x="{x0 - 4}" y="{y + 3:.1f}" text-anchor="end" style="{_STYLE}">{part * most:g}</text>'
        x, _ = at(part * end, 0)
        yield f'<text x="{x:.1f}" y="{y0 + 12}" text-anchor="middle" style="{_STYLE}">{part * end:g}</text>'
    unit = f'<text x="{x1}" y="{top + 14}" text-anchor="end" style="{_STYLE}">{escape(plot.y.unit)}</text>'
    yield unit
    for curve, colour in _coloured(plot.curves, in_grey):
        path = _path(
            [at(x, y) if y is not None else None for x, y in zip(curve.x, curve.y, strict=True)], curve
        )
        width = 2 if curve.name == in_grey else 1.2
        yield f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>'


def _path(points: Sequence[tuple[float, float] | None], curve: Curve) -> str:
    """The path of a curve, with gaps where it has no value."""
    parts: list[str] = []
    joined = False
    for point in points:
        if point is None:
            joined = False
            continue
        x, y = point
        if joined:
            parts.append(f"H{x:.1f}V{y:.1f}" if curve.style == "steps" else f"L{x:.1f} {y:.1f}")
        else:
            parts.append(f"M{x:.1f} {y:.1f}")
        joined = True
    return "".join(parts)
