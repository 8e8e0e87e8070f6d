"""No control."""

from __future__ import annotations

from typing import Literal

from voxpath.scenario.rates.table import ControlTable


class NoControl(ControlTable):
    """The start rate, always."""

    kind: Literal["none"]
