"""The congestion control of libwebrtc."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from voxpath.scenario.quantities import Span
from voxpath.scenario.rates.table import ControlTable


class LibWebRtc(ControlTable):
    """GCC as browsers have it: trendline, AIMD, loss, probes; fed by transport-wide feedback."""

    kind: Literal["libwebrtc"]
    pacing_factor: float = Field(
        1.1, ge=1, le=100, description="The pacer's rate by the estimate (kDefaultPaceMultiplier)."
    )
    probing: bool = Field(True, description="Probes at the start, and while the application limits the rate.")
    loss_based_v2: bool = Field(True, description="The loss-based estimate of today; else the classic one.")
    pushback: bool = Field(
        True,
        description="The encoder leaves out frames while more is on its way than the estimate sends in a "
        "round trip and 350 ms (WebRTC-CongestionWindow).",
    )
    bitrate_adjuster: bool = Field(
        True,
        description="The encoder gets less where its frames are often too large (EncoderBitrateAdjuster).",
    )
    transport_overhead: bool = Field(
        True,
        description="Packets count with the headers of IPv4 and UDP, 28 B (send_side_bwe_with_overhead).",
    )
    burst: Span = Field(
        "40 ms",
        validate_default=True,
        description="What the pacer may send at once, as time at its rate (kDefaultTimeInterval).",
    )
