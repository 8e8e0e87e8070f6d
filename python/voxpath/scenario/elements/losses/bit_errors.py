"""Each bit is wrong independently."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from voxpath.scenario.elements.losses.table import LossTable
from voxpath.scenario.quantities import Number


class BitErrorLoss(LossTable):
    """Each bit is wrong independently; a packet with a wrong bit is lost."""

    kind: Literal["bit_errors"]
    rate: Number = Field(description="Bit error rate, such as 1e-5.")
    form: Literal["exact", "linear"] = Field(
        "exact",
        description="exact: 1 - (1 - rate)^(8 L) for a packet of L bytes; linear: min(1, 8 L rate), "
        "the approximation of Sarkar et al. 2022.",
    )
