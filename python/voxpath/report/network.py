"""Networks as inline SVG: hosts and routers in columns by their distance, links with their values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath.report.markup import LETTER, element, escape, svg, svg_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voxpath.document import Edge, Network

_MOST = 12
"""Nodes of a column; of more the last is a sign for the others."""
_ROW, _HEAD, _BOX = 64, 26, 30
_LINE = 14
"""Height of a line of text."""
_LEAST_GAP = 90
"""Between two columns."""


def draw(part: Network) -> str:
    """The network, as wide as its labels ask for."""
    columns = _columns(part)
    place = {
        node: (column, row) for column, nodes in enumerate(columns) for row, node in enumerate(nodes[:_MOST])
    }
    widths = [
        max(_BOX, *(LETTER * len(part.nodes[node].name) + 16 for node in nodes[:_MOST])) for nodes in columns
    ]
    gaps = [_gap(part, place, column) for column in range(len(columns) - 1)]
    lefts = [4.0]
    for width, gap in zip(widths, [*gaps, 0.0], strict=True):
        lefts.append(lefts[-1] + width + gap)
    tallest = max(min(len(nodes), _MOST) for nodes in columns)
    parallel = max((len(same) for same in _parallel(part.edges).values()), default=1)
    row = max(_ROW, _LINE * max((len(edge.label) for edge in part.edges), default=1) * parallel + _BOX)
    height = _HEAD + row * tallest

    def centre(node: int) -> tuple[float, float]:
        column, at = place[node]
        nodes = min(len(columns[column]), _MOST)
        return lefts[column] + widths[column] / 2, _HEAD + height / 2 - _HEAD / 2 + row * (
            at - (nodes - 1) / 2
        )

    body = [_edges(part, place, centre)]
    for node, (column, _) in place.items():
        x, y = centre(node)
        body.append(_node(part, node, x, y, widths[column]))
    for column, nodes in enumerate(columns):
        if len(nodes) > _MOST:
            x = lefts[column] + widths[column] / 2
            more = f"and {len(nodes) - _MOST} more"
            body.append(svg_text(x, height + 12, more, text_anchor="middle", class_="values"))
    return svg(lefts[-1] + 4, height + 20, part.title, "".join(body))


def _columns(part: Network) -> list[list[int]]:
    """Nodes by their distance in links from those on the left; what cannot be reached comes last."""
    near: dict[int, list[int]] = {}
    for one, other in (edge.ends for edge in part.edges):
        near.setdefault(one, []).append(other)
        near.setdefault(other, []).append(one)
    found: dict[int, int] = dict.fromkeys(part.left, 0)
    ready = list(part.left)
    for node in ready:
        for other in near.get(node, ()):
            if other not in found:
                found[other] = found[node] + 1
                ready.append(other)
    last = max(found.values(), default=0) + 1
    columns: dict[int, list[int]] = {}
    for node in range(len(part.nodes)):
        columns.setdefault(found.get(node, last), []).append(node)
    return [columns[column] for column in sorted(columns)]


def _parallel(edges: Sequence[Edge]) -> dict[tuple[int, int], list[int]]:
    """Links between the same two nodes."""
    found: dict[tuple[int, int], list[int]] = {}
    for index, edge in enumerate(edges):
        found.setdefault((min(edge.ends), max(edge.ends)), []).append(index)
    return found


def _gap(part: Network, place: dict[int, tuple[int, int]], column: int) -> float:
    """Room for the labels between a column and the next."""
    letters = max(
        (
            len(line)
            for edge in part.edges
            if all(end in place for end in edge.ends) and min(place[end][0] for end in edge.ends) == column
            for line in edge.label
        ),
        default=0,
    )
    return max(_LEAST_GAP, LETTER * letters + 24)


def _edges(part: Network, place: dict[int, tuple[int, int]], centre: object) -> str:
    drawn = []
    said: set[tuple[int, int, tuple[str, ...]]] = set()
    for (one, other), indices in _parallel(part.edges).items():
        if one not in place or other not in place:
            continue
        (x1, y1), (x2, y2) = sorted((centre(one), centre(other)))  # type: ignore[operator]
        for number, index in enumerate(indices):
            edge = part.edges[index]
            bend = (number - (len(indices) - 1) / 2) * (_LINE * len(edge.label) + 24)
            middle = ((x1 + x2) / 2, (y1 + y2) / 2 + bend)
            narrow = " narrow" if len(edge.label) > 0 else ""
            path = f"M{x1:.1f} {y1:.1f}Q{middle[0]:.1f} {middle[1] + bend:.1f} {x2:.1f} {y2:.1f}"
            told = f"{edge.name}: {'; '.join(edge.label) or 'nothing is said of it'}"
            drawn.append(
                element(
                    "path",
                    d=path,
                    class_=f"link{narrow}",
                    data_told=told,
                    content=element("title", escape(told)),
                )
            )
            # A label that stands between the same columns already says nothing new.
            where = (place[one][0], place[other][0], tuple(edge.label))
            if where in said:
                continue
            said.add(where)
            for line, text in enumerate(edge.label):
                y = middle[1] - 7 - _LINE * (len(edge.label) - 1 - line)
                drawn.append(svg_text(middle[0], y, text, text_anchor="middle", class_="values"))
    return "".join(drawn)


def _node(part: Network, node: int, x: float, y: float, width: float) -> str:
    what = part.nodes[node]
    shape = {
        "x": f"{x - width / 2:.1f}",
        "y": f"{y - _BOX / 2:.1f}",
        "width": f"{width:.1f}",
        "height": str(_BOX),
    }
    box = element("rect", rx="4" if what.host else "15", class_="node" if what.host else "router", **shape)
    name = svg_text(x, y + 4, what.name, text_anchor="middle", class_="host" if what.host else "time")
    told = f"{what.name}: {what.details or ('a host' if what.host else 'a router')}"
    return element("g", element("title", escape(told)) + box + name, data_told=told)
