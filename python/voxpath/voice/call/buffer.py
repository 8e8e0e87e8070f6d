"""The jitter buffer: when each frame is played, and how far it may wait."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from voxpath import _engine
from voxpath.voice.call.problems import CallError
from voxpath.voice.call.transports.base import NEVER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from voxpath.voice.call.transports.base import Arrivals

ADAPTIVE = "adaptive"

_LEAST_NS, _MOST_NS, _QUANTILE = 10_000_000, 1_000_000_000, 0.95
"""As a call in a scenario has them."""


def parse(text: str) -> dict[str, Any]:
    """The table of a scenario for `adaptive`, or for how long the first frame waits, such as `60 ms`.

    Raises:
        CallError: It is neither.
    """
    if text == ADAPTIVE:
        return {"kind": ADAPTIVE}
    if not re.match(r"\s*\d", text):
        raise CallError(f"a jitter buffer is {ADAPTIVE!r}, or a time such as '60 ms', not {text!r}")
    try:
        _engine.parse_span(text)
    except ValueError as error:
        raise CallError(f"the jitter buffer: {error}") from None
    return {"kind": "fixed", "delay": text}


def told(buffer: Mapping[str, Any]) -> str:
    """In words."""
    if buffer["kind"] == ADAPTIVE:
        return f"adaptive: {100 * _QUANTILE:g} % of the frames are there in time"
    return f"fixed, {buffer['delay']}"


def waits(arrivals: Arrivals, buffer: Mapping[str, Any]) -> NDArray[np.int64]:
    """From each frame's capture to its play, by the engine's jitter buffer; `NEVER` where it did not come."""
    planned: dict[str, Any] = (
        {"kind": ADAPTIVE, "quantile": _QUANTILE, "least_ns": _LEAST_NS, "most_ns": _MOST_NS}
        if buffer["kind"] == ADAPTIVE
        else {"kind": "fixed", "delay_ns": _engine.parse_span(buffer["delay"])}
    )
    came = np.flatnonzero(arrivals.complete != NEVER)
    order = came[np.argsort(arrivals.complete[came], kind="stable")]
    found = np.full(len(arrivals.complete), NEVER, np.int64)
    if len(order):
        media = arrivals.captured - arrivals.captured[0]
        frames = list(zip(media[order].tolist(), arrivals.complete[order].tolist(), strict=True))
        found[order] = np.array(_engine.playout(json.dumps(planned), frames)) - arrivals.captured[order]
    return found
