"""Values that are a text, or a table of some kind."""

from __future__ import annotations

from typing import Any

from pydantic import Discriminator

TEXT = "text"
"""The tag of what is no table."""


def _tag(value: object) -> str | None:
    if not isinstance(value, dict):
        return TEXT
    kind = value.get("kind")
    return kind if kind is None else str(kind)


BY_KIND = Discriminator(_tag)
"""Tells tables by their kind; everything else is a text."""


Planned = dict[str, Any]
"""A part of a plan."""
