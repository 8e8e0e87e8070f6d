"""GCC as Hoang (2017) simulates it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from voxpath.scenario.rates.table import ControlTable


class Hoang2017(ControlTable):
    """GCC at the receiver as the thesis has it; each deviation from the draft is a switch."""

    kind: Literal["hoang2017"]
    swapped_gains: bool = Field(False, description="K_u = 0.00018 and K_d = 0.01, as in the text.")
    beta_095: bool = Field(True, description="A decrease leaves 0.95 of the incoming rate, not 0.85.")
    two_state_filter: bool = Field(False, description="The filter has two states, as the equations for d(i).")
    loss_plus_1000: bool = Field(True, description="1000 bit/s more where the loss-based estimate grows.")
    rate_times_count: bool = Field(
        False, description="The incoming rate is multiplied with the number of packets, as R(i) is printed."
    )
    slow_reports: bool = Field(True, description="Reports come every 3 s.")
    lost_repeats_delay: bool = Field(True, description="A lost packet has the delay variation before it.")
    fixed_noise_filter: bool = Field(True, description="A Kalman filter whose noise is given, not learnt.")
    packet_groups: bool = Field(True, description="Each packet is a group.")
    literal_threshold: bool = Field(True, description="m(i) itself is compared with the threshold.")
