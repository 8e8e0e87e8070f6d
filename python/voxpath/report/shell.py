"""The shell of a page: what a browser is told, the style and the script that go into it."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import TYPE_CHECKING

from voxpath.report.markup import element, escape

if TYPE_CHECKING:
    from collections.abc import Iterable

_POLICY = "default-src 'none'; style-src {style}; script-src {script}; img-src data:; media-src data:"
"""Nothing is loaded, and a browser is told so; drawings and sounds stand in the page itself. Only our own
style and script count: what a name in a scenario might smuggle in would be neither."""


CARD = "voxpath-card"
"""Where a page has the picture of its card, for a site that it becomes a part of."""


def document_of(title: str, policy: str, style: str, body: Iterable[str], script: str) -> str:
    """A whole page around what it shows."""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            element("title", escape(title)),
            element("style", style),
            "</head>",
            "<body>",
            *body,
            element("script", script),
            "</body>",
            "</html>",
            "",
        ]
    )


def policy_of(style: str, script: str) -> str:
    """What a browser is told that a page may load: its own style and script."""
    return _POLICY.format(style=_hash(style), script=_hash(script))


def plotting() -> str:
    """What scripts that draw plots begin with."""
    # The licence of what is copied into every page goes with it.
    return f"/*!\n{asset('uplot.LICENSE.txt')}*/\n" + asset("uplot.min.js") + asset("drawing.js")


def _hash(text: str) -> str:
    """What a policy allows of an inline element, by its exact text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def asset(name: str) -> str:
    """A file of what pages are made of."""
    return files(__package__).joinpath("assets", name).read_text("utf-8").strip() + "\n"
