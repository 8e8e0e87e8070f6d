"""Ladder diagrams as inline SVG; colours that depend on the theme are the style sheet's."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING

from voxpath.report.markup import LETTER, element, escape, svg, svg_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voxpath.document import Ladder, Segment

_TOP = 34
_SPAN = 230
"""Between the hosts' lines."""
_LEAST, _MOST, _TYPICAL = 14.0, 64.0, 46.0
"""Pixels between two events: as many as a label needs, as many as a pause gets, and the time of flight."""


def draw(part: Ladder) -> str:
    """Two lines, an arrow per segment, its label and time where it is sent."""
    heights = _heights(part.segments)
    left = 16 + LETTER * max((len(_tail(s)) for s in part.segments if s.rightward), default=0)
    right = 16 + LETTER * max((len(_tail(s)) for s in part.segments if not s.rightward), default=0)
    left, right = max(left, LETTER * len(part.left) / 2), max(right, LETTER * len(part.right) / 2)
    ends = (left, left + _SPAN)
    bottom = max((y for pair in heights for y in pair), default=_TOP) + 18
    body = [
        svg_text(x, 16, name, class_="host", text_anchor="middle")
        + f'<path class="host" d="M{x:.1f} 24V{bottom:.1f}"/>'
        for x, name in zip(ends, (part.left, part.right), strict=True)
    ]
    body += [_arrow(part, segment, ends, pair) for segment, pair in zip(part.segments, heights, strict=True)]
    return svg(ends[1] + right, bottom + 6, f"{part.left} and {part.right}, time downwards", "".join(body))


def _tail(segment: Segment) -> str:
    return f"{segment.label}  {segment.sent_s:.4f} s"


def _heights(segments: Sequence[Segment]) -> list[tuple[float, float]]:
    """Where each segment leaves and arrives.

    Time is bent, so that every label can be read: a pause is shortened, and a burst is spread.
    """
    flights = [segment.received_s - segment.sent_s for segment in segments if segment.received_s is not None]
    flight = statistics.median(flights) if flights else 0.0
    scale = _TYPICAL / flight if flight > 0 else 0.0
    events = sorted(
        [(segment.sent_s, 1, index) for index, segment in enumerate(segments)]
        + [
            (segment.sent_s + flight if segment.received_s is None else segment.received_s, 0, index)
            for index, segment in enumerate(segments)
        ]
    )
    found = [[0.0, 0.0] for _ in segments]
    y, before = float(_TOP), events[0][0] if events else 0.0
    last_sent = -math.inf
    for time, sent, index in events:
        y += min(_MOST, (time - before) * scale)
        if sent:
            y = max(y, last_sent + _LEAST)
            last_sent = y
        found[index][1 - sent] = y
        before = time
    return [(sent, received) for sent, received in found]


def _arrow(part: Ladder, segment: Segment, ends: tuple[float, float], heights: tuple[float, float]) -> str:
    begin, end = ends if segment.rightward else ends[::-1]
    y0, y1 = heights
    way = 1 if segment.rightward else -1
    if segment.received_s is None:
        end = (begin + 2 * end) / 3
        y1 = (y0 + 2 * y1) / 3
    angle = math.degrees(math.atan2(y1 - y0, end - begin))
    head = (
        '<path d="M-5 -5L5 5M5 -5L-5 5"/>'
        if segment.received_s is None
        else '<path class="tip" d="M0 0L-9 -3.5V3.5Z"/>'
    )
    turned = f"translate({end:.1f} {y1:.1f}) rotate({angle:.1f})"
    names = (part.left, part.right) if segment.rightward else (part.right, part.left)
    arrives = "is lost" if segment.received_s is None else f"arrives {segment.received_s:.6f} s"
    told = f"{segment.label}: {names[0]} to {names[1]}, sent {segment.sent_s:.6f} s, {arrives}"
    if segment.fate == "retransmission":
        told += ", sent again"
    label = element("tspan", escape(segment.label), class_="label")
    time = element("tspan", escape(f"{segment.sent_s:.4f} s"), class_="time")
    both = f"{label}  {time}" if segment.rightward else f"{time}  {label}"
    side = {"text_anchor": "end"} if segment.rightward else {}
    text = element("text", both, x=f"{begin - 8 * way:.1f}", y=f"{y0 + 4:.1f}", **side)
    line = f'<path class="line" d="M{begin:.1f} {y0:.1f}L{end:.1f} {y1:.1f}"/>'
    return element(
        "g",
        element("title", escape(told)) + line + element("g", head, transform=turned) + text,
        class_=f"segment {segment.fate}",
        data_told=told,
    )
