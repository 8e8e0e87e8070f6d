"""What all rate controls have in common."""

from __future__ import annotations

from voxpath.scenario.table import Table


class ControlTable(Table):
    """A rate control of a call. Its settings and its mechanism are in `crates/rtc/src/rate`."""

    kind: str
