"""Adds an offset to sequence numbers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from voxpath.scenario.elements.middleboxes.table import MiddleboxTable


class RewriteSequence(MiddleboxTable):
    """Adds an offset to the sequence numbers of each connection, and takes it off on the way back.

    So do firewalls that draw initial sequence numbers themselves.
    """

    kind: Literal["rewrite_sequence"]
    offset: Annotated[int, Field(ge=0, le=2**32 - 1)] | None = Field(
        None, description="In both directions; without it one is drawn for each connection and direction."
    )
    sack: bool = Field(
        True, description="Whether SACK blocks are put right too. Some middleboxes forget them."
    )
