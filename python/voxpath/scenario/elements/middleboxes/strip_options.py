"""Takes options off."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from voxpath.scenario.elements.middleboxes.table import OneWayTable, OptionKind


class StripOptions(OneWayTable):
    """Takes TCP options off, as firewalls and proxies do with those that they do not know."""

    kind: Literal["strip_options"]
    options: tuple[OptionKind, ...] = Field(
        strict=False,
        min_length=1,
        description="Which: the numbers of their kinds, or mss, window_scale, sack_permitted, sack, "
        "timestamps, md5, mptcp, fast_open.",
    )
    segments: Literal["syn", "rest", "all"] = Field(
        "all", description="From which segments: those with SYN, those without, or all."
    )
