"""Drops SYNs with options that it does not know."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from voxpath.scenario.elements.middleboxes.table import OneWayTable, OptionKind


class DropUnknownOptions(OneWayTable):
    """Drops SYNs with options that it does not know; it knows MSS, window scale, SACK and timestamps."""

    kind: Literal["drop_unknown_options"]
    known: tuple[OptionKind, ...] = Field(
        (), strict=False, description="Options that it knows too, as in strip_options."
    )
