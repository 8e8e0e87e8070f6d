"""What all tables of losses have in common."""

from __future__ import annotations

from voxpath.scenario.table import Table


class LossTable(Table):
    """Which packets a wire loses or damages."""

    kind: str
