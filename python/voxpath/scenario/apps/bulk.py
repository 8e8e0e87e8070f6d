"""Bulk transfer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from voxpath.scenario.apps.summaries import TCP
from voxpath.scenario.apps.table import AppTable, OneTransfer
from voxpath.scenario.quantities import PositiveSize
from voxpath.scenario.table import Keys

if TYPE_CHECKING:
    from collections.abc import Mapping


class Bulk(AppTable):
    """`from` sends to `to`, then closes; over TCP."""

    PLAN: ClassVar[Keys] = {"bytes": "size"}
    METRICS = ("completion_s", "goodput_bps", *TCP)

    kind: Literal["bulk"]
    size: PositiveSize | None = Field(None, description="How much; until the run ends without it.")

    @classmethod
    def known(cls, app: Mapping[str, Any]) -> OneTransfer | str:
        """One transfer, if it has an end."""
        return "the transfer has no end" if app["bytes"] is None else OneTransfer(app["bytes"], asked=False)
