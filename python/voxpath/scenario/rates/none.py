"""No control."""

from __future__ import annotations

from typing import Literal

from voxpath.scenario.rates.table import RateTable


class NoControl(RateTable):
    """The start rate, always."""

    kind: Literal["none"]
