"""Values that are a text, or a table of some kind."""

from __future__ import annotations

from typing import Any

from pydantic import Discriminator

TEXT = "text"
"""The tag of what is no table."""


def by_kind(what: str, *kinds: str) -> Discriminator:
    """Tells tables by their kind; everything else is a text."""

    def tag(value: object) -> str | None:
        if not isinstance(value, dict):
            return TEXT
        kind = value.get("kind")
        return kind if kind in kinds else None

    return Discriminator(
        tag,
        custom_error_type="kind",
        custom_error_message=f"{what} has one of the kinds {', '.join(kinds)}",
    )


Planned = dict[str, Any]
"""A part of a plan."""
