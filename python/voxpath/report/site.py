"""A site: pages that were made before, and an index of them with pictures and a search; a folder of files.

Every page carries its own card (`html.py`), so that a site takes any page of ours, whoever made it.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from voxpath.report.markup import element, escape, prose, slug
from voxpath.report.shell import CARD, asset, document_of, policy_of

if TYPE_CHECKING:
    from collections.abc import Sequence

INDEX = "index.html"


class NoPageError(ValueError):
    """It is no page of ours."""


@dataclass(frozen=True)
class Page:
    """A page of a site.

    Attributes:
        kind: Under which heading its card is, such as `Studies`.
        name: Of its file, without the ending.
        html: The page.
    """

    kind: str
    name: str
    html: str


@dataclass(frozen=True)
class _Card:
    """What an index shows of a page: its heading, its claim and sentence, and its picture as SVG."""

    title: str
    claim: str
    sentence: str
    picture: str


def _card(page: Page) -> _Card:
    title = re.search(r"<h1[^>]*>(.*?)</h1>", page.html, re.DOTALL)
    card = re.search(rf'<template id="{CARD}">(.*?)</template>', page.html, re.DOTALL)
    if title is None or card is None:
        raise NoPageError(f"{page.name}.html is no page that voxpath has made: make it again")
    head = page.html.partition("<h2")[0]
    claim, sentence = (
        re.search(rf'<p class="{kind}">(?:<span class="kind">.*?</span>)?(.*?)</p>', head, re.DOTALL)
        for kind in ("claim", "lead")
    )
    return _Card(
        _text(title[1]), _text(claim[1]) if claim else "", _text(sentence[1]) if sentence else "", card[1]
    )


def _text(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", markup)).strip()


def site(title: str, pages: Sequence[Page]) -> dict[str, str]:
    """The files of a site by name.

    Args:
        title: Its heading.
        pages: In the order of their cards; names that are taken get a number.

    Raises:
        NoPageError: One is no page of ours.
    """
    files: dict[str, str] = {}
    cards: dict[str, list[str]] = {}
    for page in pages:
        card = _card(page)
        stem = slug(page.name) or "page"
        numbered = (f"{stem}{number or ''}.html" for number in (0, *range(2, len(pages) + 2)))
        name = next(name for name in numbered if name not in files and name != INDEX)
        files[name] = page.html
        cards.setdefault(page.kind, []).append(_drawn(card, name))
    style = asset("style.css") + asset("site.css")
    script = asset("site.js")
    field = element("label", 'Search <input id="search" type="search" autocomplete="off">')
    count = element("output", f"{len(pages)} pages", id="count", for_="search")
    body = [
        '<header class="top">',
        element("h1", escape(title)),
        element("p", f"{field} {count}", class_="question"),
        "</header>",
        "<main>",
        *(
            element("section", element("h2", escape(kind)) + element("ul", "".join(drawn), class_="cards"))
            for kind, drawn in cards.items()
        ),
        "</main>",
    ]
    index = document_of(title, policy_of(style, script), style, body, script)
    return {INDEX: index, **files}


def _drawn(card: _Card, name: str) -> str:
    picture = element("div", card.picture, class_="picture", aria_hidden="true")
    link = element("a", escape(card.title), href=name)
    said = element("h3", link)
    if card.claim:
        said += element("p", element("span", "The claim", class_="kind") + prose(card.claim))
    if card.sentence:
        found = element("span", "What we found", class_="kind") if card.claim else ""
        said += element("p", found + prose(card.sentence))
    words = f"{card.title} {card.claim} {card.sentence} {name}".lower()
    return element("li", picture + said, class_="card", data_words=words)
