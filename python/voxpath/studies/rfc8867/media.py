"""The media of section 4.3, as an application's keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voxpath.scenario.rates import RATES

if TYPE_CHECKING:
    from collections.abc import Mapping

MIN_BPS, START_BPS, MAX_BPS = 150_000, 150_000, 1_500_000
"""Of video."""

AUDIO_BPS = 20_000
OVERHEAD_BPS = 10_000
"""RTP headers of audio: a packet every 20 ms; those of video are some per cent of it."""


def media(
    control: Mapping[str, Any],
    *,
    weight: float = 1.0,
    both: bool = False,
    ecn: bool = False,
    pause: tuple[float, float] | None = None,
) -> dict[str, Any]:
    """The application of a media flow.

    Args:
        control: As a scenario writes it.
        weight: Its priority, of a control that knows priorities.
        both: Whether `to` sends too.
        ecn: Whether its packets can be marked, of a control that reacts to marks.
        pause: From when to when nothing is sent, in seconds after its start.
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
        **({"pauses": [{"at": f"{pause[0]:g} s", "length": f"{pause[1] - pause[0]:g} s"}]} if pause else {}),
    }
