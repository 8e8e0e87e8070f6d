"""A report as one HTML file that needs nothing else: no network, no other file, no date.

Everything that can be read stands in the page itself, so that it is there without JavaScript too: the tables,
the diagrams, and the numbers of every figure as CSV. The script draws the plots from these very numbers.
"""

from __future__ import annotations

import itertools
import json
import re
from functools import singledispatch
from typing import TYPE_CHECKING

from voxpath.document import (
    Cell,
    Checks,
    Facts,
    Ladder,
    Map,
    Network,
    Outlines,
    Plot,
    Scatter,
    Section,
    Sounds,
    Spectrogram,
    Table,
    Text,
    Together,
    Verbatim,
    VoicePath,
)
from voxpath.report import heatmap, ladder, listening, network, plane, voice_path
from voxpath.report.markup import csv_of, element, escape, exact, prose, slug
from voxpath.report.shell import CARD, asset, document_of, plotting, policy_of
from voxpath.report.thumbnail import thumbnail

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from voxpath.document import Axis, Curve, Lead, Mark, Part, Report

_COLOURS = 8
"""Of curves, `--curve-0` and so on in the style sheet."""

_NUMBER = re.compile(r"[-+−.\d]([^A-Za-z]|(?<=\d)e[-+]?\d)*[A-Za-zµ%/)]*")
"""A cell that is a number, with interval and unit; what has figures after words is a sentence."""

_LONG = 32
"""Letters of a cell from which its text may be broken."""

_MOST_OPEN = 12
"""Rows of a table that a page shows by itself; a longer one is unfolded by whoever wants it."""

_DASHES = ("", "8 4", "2 3", "9 3 2 3", "15 4", "5 8", "9 3 2 3 2 3")
"""Of the curves of one colour; only the first is whole."""


def render(report: Report) -> str:
    """The page of a report; the same report gives the same bytes."""
    style = asset("uplot.min.css") + asset("style.css")
    script = plotting() + asset("report.js")
    sections = list(enumerate(_further(report), 1))
    body = [
        _MARK_SHAPES,
        *_head(report),
        _contents(sections),
        "<main>",
        *(_section(number, section) for number, section in sections),
        "</main>",
        _origin(report),
        element("template", thumbnail(report.lead.picture if report.lead else None), id=CARD),
    ]
    return document_of(report.title, policy_of(style, script), style, body, script)


def _further(report: Report) -> list[Section]:
    """The sections without the picture that the page begins with."""
    first = report.lead.picture if report.lead is not None else None
    rest = [Section(one.title, [part for part in one.parts if part is not first]) for one in report.sections]
    return [section for section in rest if section.parts]


_MARK_SHAPES = (
    '<svg width="0" height="0" aria-hidden="true"><defs>'
    '<symbol id="mark-good" viewBox="0 0 16 16"><path d="M3 8.5l3.5 3.5L13 4.5"/></symbol>'
    '<symbol id="mark-bad" viewBox="0 0 16 16"><path d="M4 4l8 8M12 4l-8 8"/></symbol>'
    '<symbol id="mark-open" viewBox="0 0 16 16"><circle cx="8" cy="8" r="4.5"/></symbol>'
    "</defs></svg>"
)


def _mark(mark: Mark) -> str:
    return f'<svg class="mark {mark}" aria-hidden="true"><use href="#mark-{mark}"/></svg>'


def _head(report: Report) -> Iterator[str]:
    yield '<header class="top">'
    yield element("button", "dark / light", type="button", id="theme", hidden=True)
    yield element("h1", escape(report.title))
    yield element("p", prose(report.question), class_="question")
    answer = "".join(element("p", prose(sentence)) for sentence in report.answer)
    if report.lead is None:
        yield element("div", answer, class_="answer") if answer else ""
    else:
        yield from _lead(report.lead)
        if answer:
            yield element("details", element("summary", "more findings") + answer, class_="answer folded")
    yield (
        '<noscript><p class="note">Without JavaScript the plots are not drawn; '
        "their numbers stand under “numbers” below each.</p></noscript>"
    )
    yield "</header>"


def _lead(lead: Lead) -> Iterator[str]:
    if lead.claim:
        said = element("span", "The claim", class_="kind") + prose(lead.claim)
        yield element("p", said, class_="claim")
    found = element("span", "What we found", class_="kind") if lead.claim else ""
    yield element("p", found + prose(lead.sentence), class_="lead")
    if lead.picture is not None:
        yield element("div", _part(lead.picture), class_="lead-picture")


def _contents(sections: Sequence[tuple[int, Section]]) -> str:
    items = (
        element("li", element("a", escape(section.title), href=f"#{_anchor(number, section)}"))
        for number, section in sections
    )
    return element("nav", element("ol", "".join(items)), class_="contents", aria_label="Contents")


def _anchor(number: int, section: Section) -> str:
    return f"{number}-{slug(section.title)}"


def _section(number: int, section: Section) -> str:
    parts = []
    for kind, group in itertools.groupby(section.parts, type):
        drawn = [_part(part) for part in group]
        # Plots that follow each other stand side by side where there is room.
        beside = kind is Plot and len(drawn) > 1
        parts.append(element("div", "\n".join(drawn), class_="beside") if beside else "\n".join(drawn))
    body = "\n".join([element("h2", escape(section.title)), *parts])
    return element("section", body, id=_anchor(number, section))


def _origin(report: Report) -> str:
    return element("footer", _definitions(report.origin))


def _definitions(facts: Iterable[tuple[str, str]]) -> str:
    rows = "".join(
        element("div", element("dt", escape(name)) + element("dd", prose(value))) for name, value in facts
    )
    return element("dl", rows)


@singledispatch
def _part(part: Part) -> str:
    raise TypeError(f"a report cannot hold {type(part).__name__}")


@_part.register
def _(part: Text) -> str:
    return "\n".join(element("p", prose(paragraph)) for paragraph in part.paragraphs)


@_part.register
def _(part: Facts) -> str:
    return element("div", element("h3", escape(part.title)) + _definitions(part.facts), class_="facts")


@_part.register
def _(part: Verbatim) -> str:
    return element(
        "details", element("summary", escape(part.title)) + _preformatted(part.text), class_="verbatim"
    )


@_part.register
def _(part: Table) -> str:
    columns = list(zip(*part.rows, strict=True)) if part.rows else [()] * len(part.columns)
    numeric = [_is_numeric(cells) for cells in columns]
    # Where a verdict unfolds its reason, a column of sentences only repeats it: a narrow page does without.
    unfolds = any(isinstance(cell, Cell) and cell.mark and cell.reason for row in part.rows for cell in row)
    long = [unfolds and any(len(str(cell)) > _LONG for cell in cells) for cells in columns]
    head = "".join(
        element("th", escape(name), scope="col", class_="number" if right else "spare" if spare else None)
        for name, right, spare in zip(part.columns, numeric, long, strict=True)
    )
    rows = "\n".join(
        element(
            "tr",
            "".join(_cell(cell, right, spare) for cell, right, spare in zip(row, numeric, long, strict=True)),
        )
        for row in part.rows
    )
    table = element("table", element("thead", element("tr", head)) + element("tbody", rows))
    body = element("div", table, class_="scroll", role="region", tabindex="0", aria_label=part.title)
    body += "".join(element("p", prose(note), class_="note") for note in part.notes)
    if len(part.rows) > _MOST_OPEN:
        count = element("span", f"{len(part.rows)} rows", class_="count")
        return element(
            "details",
            element("summary", element("h3", escape(part.title)) + count) + body,
            class_="table folded",
        )
    return element("div", element("h3", escape(part.title)) + body, class_="table")


def _is_numeric(cells: Iterable[str | Cell]) -> bool:
    """Whether a column stands on the right: every cell that says something is a number."""
    texts = [text for cell in cells if (text := str(cell))]
    return bool(texts) and all(_NUMBER.fullmatch(text) for text in texts)


def _cell(cell: str | Cell, right: bool, spare: bool) -> str:
    """A cell; what lies behind it unfolds, which works by mouse, finger and key alike."""
    if isinstance(cell, str):
        cell = Cell(cell)
    text = (_mark(cell.mark) if cell.mark else "") + escape(cell.text)
    if cell.reason:
        text = element("details", element("summary", text) + element("div", escape(cell.reason)))
    kinds = {
        "number": right,
        "long": len(cell.text) > _LONG,
        "spare": spare,
        str(cell.mark): cell.mark is not None,
    }
    return element("td", text, class_=" ".join(kind for kind, is_so in kinds.items() if is_so) or None)


@_part.register
def _(part: Checks) -> str:
    items = []
    for check in part.checks:
        mark = _mark(check.mark)
        # What no mark tells at a glance is said to everybody.
        plain = check.holds is not None and not check.set_aside
        told = check.verdict + (f", not counted ({check.set_aside})" if check.set_aside else "")
        verdict = element("span", f"{escape(told)}: ", class_="hidden" if plain else None)
        claim = element("p", verdict + prose(check.claim), class_="claim")
        evidence = element("p", prose(check.evidence), class_="evidence")
        items.append(element("li", mark + element("div", claim + evidence)))
    return element(
        "div",
        element("h3", escape(part.title)) + element("ul", "".join(items), class_="checks"),
        class_="table",
    )


@_part.register
def _(part: Plot) -> str:
    styles = list(_styles(part.curves))
    facts = {
        "title": part.title,
        "x": _axis(part.x),
        "y": _axis(part.y),
        "curves": [
            {
                "name": curve.name,
                "style": curve.style,
                "colour": colour,
                "dash": [int(length) for length in _DASHES[dash].split()],
                "interval": bool(curve.low),
            }
            for curve, (colour, dash) in zip(part.curves, styles, strict=True)
        ],
    }
    legend = "".join(
        element("li", _legend(index, curve, style))
        for index, (curve, style) in enumerate(zip(part.curves, styles, strict=True))
    )
    # In a script element only `<` could end it.
    data = json.dumps(facts, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    body = (
        element("div", "", class_="canvas", role="img", tabindex="0", aria_label=_described(part))
        + element("script", data, type="application/json")
        + element("ul", '<li class="at" aria-live="polite">&nbsp;</li>' + legend, class_="legend")
    )
    return _figure(part.title, _caption(part), body, _numbers(part), "plot")


def _styles(curves: Sequence[Curve]) -> Iterator[tuple[int, int]]:
    """Colour and dash of each curve."""
    groups: dict[str, int] = {}
    members: dict[int, int] = {}
    for index, curve in enumerate(curves):
        group = groups.setdefault(curve.group or f"\0{index}", len(groups))
        member = members[group] = members.get(group, -1) + 1
        place = group // _COLOURS + member
        yield group % _COLOURS, place and 1 + (place - 1) % (len(_DASHES) - 1)


def _legend(index: int, curve: Curve, style: tuple[int, int]) -> str:
    colour, dash = style
    stroke = f"var(--curve-{colour})"
    sample = (
        f'<circle cx="13" cy="5" r="3.5" stroke="{stroke}" fill="{"none" if dash else stroke}"/>'
        if curve.style == "points"
        else f'<path d="M0 5h26" stroke="{stroke}" stroke-dasharray="{_DASHES[dash]}"/>'
    )
    drawn = f'<svg width="26" height="10" aria-hidden="true">{sample}</svg>'
    button = element(
        "button", drawn + escape(curve.name), type="button", data_curve=str(index), aria_pressed="true"
    )
    return button + "<output></output>"


def _axis(axis: Axis) -> dict[str, object]:
    made: dict[str, object] = {"label": axis.label, "unit": axis.unit, "log": axis.scale == "log"}
    made |= {"names": list(axis.names)} if axis.names else {}
    return made | ({"span": [float(exact(end)) for end in axis.span]} if axis.span else {})


def _described(plot: Plot) -> str:
    names = ", ".join(curve.name for curve in plot.curves)
    return (
        f"{plot.title}: {plot.y.label} over {plot.x.label} for {names}. Arrow keys move through the values, "
        "+ and - zoom, 0 shows everything."
    )


def _caption(plot: Plot) -> str:
    """The caption, and what the logarithm leaves out."""
    left_out = {
        curve.name: count
        for curve in plot.curves
        if (
            count := sum(
                (plot.x.scale == "log" and x <= 0) or (plot.y.scale == "log" and y is not None and y <= 0)
                for x, y in zip(curve.x, curve.y, strict=True)
            )
        )
    }
    if not left_out:
        return plot.caption
    listed = ", ".join(f"{name} ({count})" for name, count in left_out.items())
    return f"{plot.caption} Values that a logarithmic axis cannot show are left out: {listed}.".lstrip()


def _numbers(plot: Plot) -> str:
    """Every curve by the values of the horizontal axis.

    A curve that has nothing to say at some x, because another curve has been looked at there, has an empty
    cell; `nan` is a gap in it. The script reads the lines below the head.
    """
    head = [_with_unit(plot.x)]
    rows: dict[tuple[float, int], list[str]] = {}
    width = sum(3 if curve.low else 1 for curve in plot.curves)
    column = 0
    for curve in plot.curves:
        values: list[Sequence[float | None]] = [curve.y]
        head.append(curve.name)
        if curve.low:
            values += [curve.low, curve.high]
            head += [f"{curve.name}, low", f"{curve.name}, high"]
        seen: dict[float, int] = {}
        for x, *ys in zip(curve.x, *values, strict=True):
            seen[x] = again = seen.get(x, -1) + 1
            row = rows.setdefault((x, again), [""] * width)
            row[column : column + len(ys)] = [exact(y) for y in ys]
        column += len(values)
    return csv_of(head, [[exact(x, 9), *row] for (x, _), row in sorted(rows.items())])


def _with_unit(axis: Axis) -> str:
    return f"{axis.label} [{axis.unit}]" if axis.unit else axis.label


@_part.register
def _(part: Together) -> str:
    said = element("h3", prose(part.title)) + (element("p", prose(part.caption)) if part.caption else "")
    plots = "\n".join(_part(plot) for plot in part.plots)
    return element("div", element("div", said, class_="said") + plots, class_="together")


@_part.register
def _(part: Network) -> str:
    rows = [
        [edge.name, part.nodes[edge.ends[0]].name, part.nodes[edge.ends[1]].name, "; ".join(edge.label)]
        for edge in part.edges
    ]
    return _diagram(part, network.draw(part), csv_of(["link", "from", "to", "values"], rows), "network")


@_part.register
def _(part: Ladder) -> str:
    rows = [
        [
            exact(segment.sent_s, 9),
            exact(segment.received_s, 9),
            *((part.left, part.right) if segment.rightward else (part.right, part.left)),
            segment.label,
            segment.fate,
        ]
        for segment in part.segments
    ]
    numbers = csv_of(["sent [s]", "received [s]", "from", "to", "segment", "fate"], rows)
    return _diagram(part, ladder.draw(part), numbers, "ladder")


@_part.register
def _(part: Map) -> str:
    rows = [
        [panel.name, x, y, exact(value), panel.details[row][column] if panel.details else ""]
        for panel in part.panels
        for row, (y, values) in enumerate(zip(part.ys, panel.values, strict=True))
        for column, (x, value) in enumerate(zip(part.xs, values, strict=True))
    ]
    numbers = csv_of(["panel", part.x.label, part.y.label, _with_unit(part.value), "detail"], rows)
    return _diagram(part, heatmap.draw(part), numbers, "map")


@_part.register
def _(part: Scatter) -> str:
    rows = [
        [cloud.name, exact(x), exact(y), detail]
        for cloud in part.clouds
        for (x, y), detail in zip(cloud.points, cloud.details or [""] * len(cloud.points), strict=True)
    ]
    numbers = csv_of(["group", _with_unit(part.x), _with_unit(part.y), "detail"], rows)
    return _diagram(part, plane.scatter(part), numbers, "scatter")


@_part.register
def _(part: Outlines) -> str:
    rows = [
        [outline.group, outline.name, outline.label, exact(x), exact(y)]
        for outline in part.outlines
        for x, y in outline.points
    ]
    numbers = csv_of(["group", "outline", "label", f"x [{part.unit}]", f"y [{part.unit}]"], rows)
    return _diagram(part, plane.outlines(part), numbers, "outlines")


@_part.register
def _(part: Spectrogram) -> str:
    rows = [
        [track.name, exact(x, 9), exact(y)]
        for track in part.tracks
        for x, y in zip(track.x, track.y, strict=True)
    ]
    numbers = csv_of(["track", _with_unit(part.x), _with_unit(part.y)], rows)
    return _diagram(part, plane.spectrogram(part), numbers, "spectrogram")


@_part.register
def _(part: VoicePath) -> str:
    return _figure(part.title, part.caption, voice_path.draw(part), voice_path.numbers(part), "voice")


@_part.register
def _(part: Sounds) -> str:
    said = element("h3", prose(part.title)) + (element("p", prose(part.caption)) if part.caption else "")
    return element("figure", element("figcaption", said) + listening.draw(part), class_="listening")


def _diagram(
    part: Ladder | Map | Scatter | Outlines | Spectrogram | Network, drawn: str, numbers: str, kind: str
) -> str:
    body = element("div", drawn, class_="scroll", role="region", tabindex="0", aria_label=part.title)
    told = '<p class="told" aria-live="polite">&nbsp;</p>'
    return _figure(part.title, part.caption, body + told, numbers, kind)


def _figure(title: str, caption: str, body: str, numbers: str, kind: str) -> str:
    said = element("h3", prose(title)) + (element("p", prose(caption)) if caption else "")
    folded = element("details", element("summary", "numbers") + _preformatted(numbers), class_="numbers")
    return element("figure", element("figcaption", said) + body + folded, class_=kind)


def _preformatted(text: str) -> str:
    # A line break right after the tag belongs to the tag.
    return element("pre", "\n" + escape(text.rstrip("\n")) + "\n", tabindex="0")
