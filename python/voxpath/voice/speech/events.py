"""What a worker tells of a session, as the protocol has it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from voxpath.voice.speech.protocol import ADAPTATION_TYPE, Status
from voxpath.voice.speech.session import Final

if TYPE_CHECKING:
    from voxpath.voice.speech.session import Partial


def as_told(event: Partial | Final) -> dict[str, Any]:
    """A result."""
    final = isinstance(event, Final)
    hypothesis: dict[str, Any] = {"transcript": event.text}
    told: dict[str, Any] = {
        "status": int(Status.SUCCESS),
        "segment": event.segment,
        "result": {"hypotheses": [hypothesis], "final": final},
    }
    if isinstance(event, Final):
        hypothesis["word-alignment"] = [
            {
                "word": word.word,
                "start": round(word.start_s - event.start_s, 3),
                "length": round(word.length_s, 3),
                "confidence": round(word.confidence, 6),
            }
            for word in event.words
        ]
        told["segment-start"] = round(event.start_s, 3)
        told["segment-length"] = round(event.end_s - event.start_s, 3)
        told["total-length"] = round(event.decided_s, 3)
    return told


def farewell(session: str, state: str | None) -> dict[str, Any]:
    """The last event, with what was learnt of the speaker; also where nothing was said."""
    told: dict[str, Any] = {"status": int(Status.SUCCESS)}
    if state is not None:
        told["adaptation_state"] = {
            "id": session,
            "value": state,
            "type": ADAPTATION_TYPE,
            "time": time.strftime("%Y-%m-%dT%H:%M:%S"),
        }
    return told
