"""Translates addresses and ports."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from voxpath.scenario.elements.middleboxes.table import MiddleboxTable
from voxpath.scenario.quantities import Address, PositiveSpan


class Translate(MiddleboxTable):
    """Translates addresses and ports of TCP and UDP (RFC 3022).

    Whoever sends up the link is seen at one address, each with a port of its own; only who is behind it opens
    flows.
    """

    kind: Literal["translate"]
    address: Address = Field(
        description="What packets that go up come from then; nobody else's. Those of the other family pass."
    )
    forget: PositiveSpan | None = Field(
        None,
        description="A mapping is forgotten when nothing has passed for so long, and what comes then is "
        "dropped; never without it.",
    )
