"""Google Congestion Control of the drafts."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from voxpath.scenario.quantities import PositiveSpan
from voxpath.scenario.rates.table import ControlTable


class Gcc(ControlTable):
    """draft-ietf-rmcat-gcc-02, at the sender or at the receiver."""

    kind: Literal["gcc"]
    side: Literal["sender", "receiver"] = Field(
        "sender",
        description="Where the delay-based controller is: fed by transport-wide feedback, or by the absolute"
        " send time, with its estimate sent back (REMB).",
    )
    beta: float = Field(0.85, gt=0, lt=1, description="Of the incoming rate, what a decrease leaves.")
    chi: float = Field(0.01, gt=0, lt=1, description="How fast the noise of the delay is learnt.")
    k_up: float = Field(0.01, gt=0, description="How fast the threshold rises (K_u), in 1/ms.")
    k_down: float = Field(0.00018, gt=0, description="How fast the threshold falls (K_d), in 1/ms.")
    rate_window: PositiveSpan = Field(
        "500 ms", validate_default=True, description="In which the incoming rate is measured (T)."
    )
    feedback_interval: PositiveSpan = Field(
        "100 ms", validate_default=True, description="From report to report on packets."
    )
    pacing_factor: float = Field(1.0, ge=1, le=100, description="The pacer's rate by the target.")
    literal_threshold: bool = Field(
        False, description="Compares m(i) itself with the threshold, not its sum over up to 60 groups."
    )
