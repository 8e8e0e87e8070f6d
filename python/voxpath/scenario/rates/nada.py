"""NADA."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from voxpath.scenario.rates.table import ControlTable


class Nada(ControlTable):
    """RFC 8698, with its feedback of RFC 8888."""

    kind: Literal["nada"]
    priority: float = Field(1.0, ge=0.01, le=100, description="Weight of the flow among others (PRIO).")
    ecn: bool = Field(False, description="Packets are sent as capable of congestion marks (ECN).")
