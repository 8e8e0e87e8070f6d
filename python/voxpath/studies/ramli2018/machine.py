"""Whether the machine that made real runs had processors enough for what it made."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voxpath.results.outcome import Outcome

MOST = 0.25
"""Part of a run in which something may wait for a processor; what a run of more finds is of the machine."""


def waited(outcomes: Sequence[Outcome]) -> float | None:
    """The largest part of a run in which some task waited for a processor; none where it is not known."""
    parts = []
    for outcome in outcomes:
        waited_us = json.loads((outcome.folder / "fidelity.json").read_bytes())["cpu_pressure_us"]
        took_ns = json.loads((outcome.folder / "environment.json").read_bytes())["wall_ns"]
        if waited_us is not None:
            # What starts the hosts counts as waiting, and not as the run's time.
            parts.append(min(1.0, waited_us * 1e3 / took_ns))
    return max(parts, default=None)


def shown(part: float | None) -> str:
    """Such a part, in a table."""
    return "unknown" if part is None else f"{100 * part:.0f} %"


def doubt_of(outcomes: Sequence[Outcome]) -> str:
    """Why what runs found is not counted; empty where it is."""
    part = waited(outcomes) or 0.0
    return f"something waited for a processor in {shown(part)} of a run" if part > MOST else ""
