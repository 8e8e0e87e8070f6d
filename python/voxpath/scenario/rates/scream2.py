"""SCReAM, second version."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from voxpath.scenario.rates.table import ControlTable


class Scream2(ControlTable):
    """draft-johansson-ccwg-rfc8298bis-screamv2, with feedback of RFC 8888."""

    kind: Literal["scream2"]
    ecn: bool = Field(False, description="Packets are sent as capable of congestion marks (ECN).")
    l4s: bool = Field(False, description="Marks are those of L4S (RFC 9331).")
    competing_flows: bool = Field(
        True, description="The target delay rises where flows compete that react to losses alone."
    )
