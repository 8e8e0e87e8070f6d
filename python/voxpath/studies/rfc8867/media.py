"""The media of section 4.3, as an application's keys; and what came of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from voxpath.scenario.rates import RATES
from voxpath.studies.media import media_of
from voxpath.studies.rfc8867.measures import Run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voxpath.studies.rfc8867.cases import Case

MIN_BPS, START_BPS, MAX_BPS = 150_000, 150_000, 1_500_000
"""Of video."""

AUDIO_BPS = 20_000
OVERHEAD_BPS = 10_000
"""RTP headers of audio: a packet every 20 ms; those of video are some per cent of it."""

RESUMED = "-resumed"
"""What is appended to the name of a flow that goes on after a pause."""


def media(
    control: Mapping[str, Any], *, weight: float = 1.0, both: bool = False, ecn: bool = False
) -> dict[str, Any]:
    """The application of a media flow.

    Args:
        control: As a scenario writes it.
        weight: Its priority, of a control that knows priorities.
        both: Whether `to` sends too.
        ecn: Whether its packets can be marked, of a control that reacts to marks.
    """
    known = RATES[control["kind"]].model_fields
    own = dict(control)
    if weight != 1 and "priority" in known:
        own["priority"] = weight
    if ecn and "ecn" in known:
        own["ecn"] = True
    beside = AUDIO_BPS + OVERHEAD_BPS
    bounds = {"min": MIN_BPS + beside, "start": START_BPS + beside, "max": round(1.02 * MAX_BPS) + beside}
    return {
        "kind": "call",
        "back": "same" if both else "none",
        "video": {"fps": 30, "reaction": "100 ms", "deviation": 0.05},
        "audio": {"rate": f"{AUDIO_BPS} bit/s"},
        "control": own,
        "rate": {name: f"{bps} bit/s" for name, bps in bounds.items()},
    }


def run_of(case: Case, seconds: pl.DataFrame, flows: pl.DataFrame) -> Run:
    """A run of a case.

    Args:
        case: The case.
        seconds: The table `media_seconds` of the run.
        flows: Its table `flows`.
    """
    media = {name: media_of(seconds, [name, name + RESUMED], case.duration) for name in case.names}
    tcp = flows.filter(pl.col("flow").cast(pl.String).is_in(case.competing))
    rates = zip(tcp.get_column("flow").cast(pl.String), tcp.get_column("bytes_delivered"), strict=True)
    return Run(
        case,
        media,
        {str(name): float(count) * 8 / case.end for name, count in rates},
        {name: float(flow.delay_ms) for name, flow in zip(case.names, case.flows, strict=True)},
    )
