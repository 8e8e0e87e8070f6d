"""SCReAM."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from voxpath.scenario.quantities import Rate
from voxpath.scenario.rates.table import ControlTable
from voxpath.scenario.table import Keys


class Scream(ControlTable):
    """RFC 8298: a congestion window by the queueing delay, with feedback of RFC 8888."""

    PLAN: ClassVar[Keys] = {"ramp_up_bps_per_s": "ramp_up"}

    kind: Literal["scream"]
    ecn: bool = Field(False, description="Packets are sent as capable of congestion marks (ECN).")
    ramp_up: Rate = Field(
        "200 kbit/s", validate_default=True, description="Growth of the rate in each second (RAMP_UP_SPEED)."
    )
    competing_flows: bool = Field(
        True, description="The target delay rises where flows compete that react to losses alone."
    )
