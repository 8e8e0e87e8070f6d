"""Small pieces of the page: elements, drawings, numbers, CSV."""

from __future__ import annotations

import csv
import html
import io
import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


LETTER = 6.6
"""Width of a letter in a diagram, about."""


def escape(text: str) -> str:
    """A text as HTML, between tags or inside an attribute."""
    return html.escape(text)


def prose(text: str) -> str:
    """A text to be read, as HTML.

    A line break means nothing; a number stays with its unit and its interval.
    """
    return escape(re.sub(r"(?<=\d) (?=[%µa-zA-Z])|(?<=\d) (?=±)|(?<=±) ", "\u00a0", " ".join(text.split())))


def element(name: str, content: str = "", **attributes: str | bool | None) -> str:
    """An element around content that is HTML already; attributes are texts, none and false are left out.

    An underscore in the name of an attribute is a hyphen; a trailing one keeps it apart from a keyword.
    """
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return f"<{name}{written}>{content}</{name}>"


def slug(text: str) -> str:
    """A text as a part of an address within the page."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def exact(value: float | None, digits: int = 6) -> str:
    """A number for programs; what is no number is `nan`."""
    return "nan" if value is None or not math.isfinite(value) else f"{value:.{digits}g}"


def readable(value: float, digits: int = 4) -> str:
    """A number for people: with thousands apart and powers of ten where there are many zeros."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    exponent = math.floor(math.log10(abs(value)))
    if -4 <= exponent < 6:
        rounded = float(f"{value:.{digits}g}")
        text = f"{rounded:,.{max(0, digits - 1 - exponent)}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return text.replace(",", "\u202f").replace("-", "−")
    mantissa = f"{value / 10**exponent:.{digits - 1}f}".rstrip("0").rstrip(".")
    power = str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return ("" if mantissa == "1" else f"{mantissa}·").replace("-", "−") + f"10{power}"


def csv_of(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lines of CSV; a line break in a name becomes a blank, so that a row is a line."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in (head, *rows):
        writer.writerow([" ".join(cell.split()) for cell in row])
    return out.getvalue()


def svg(width: float, height: float, label: str, body: str) -> str:
    """A drawing of its natural size."""
    size = {"width": f"{width:.0f}", "height": f"{height:.0f}", "viewBox": f"0 0 {width:.0f} {height:.0f}"}
    return element("svg", body, **size, role="img", aria_label=label)


def svg_text(x: float, y: float, text: str, **attributes: str) -> str:
    """A text in a drawing."""
    return element("text", escape(text), x=f"{x:.1f}", y=f"{y:.1f}", **attributes)
