"""What clients, master and workers say to each other: the Kaldi GStreamer server's protocol.

Keys and codes are those of its README; what we add stands in `Request` and is sent only where it was asked
for, so that clients and workers written for the original notice nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

CLIENT_STATUS = "/client/ws/status"
CLIENT_RECOGNISE = "/client/dynamic/recognize"
CLIENT_REFERENCE = "/client/dynamic/reference"
WORKER_SPEECH = "/worker/ws/speech"
VOSK = "/vosk"
EOS = "EOS"
"""Ends the audio; as text or as binary."""
RESET = '{"reset" : 1}'
"""Ends a segment, not the session; Vosk's, forwarded to our own workers only."""
ADAPTATION_TYPE = "string+gzip+base64"
_DEEPEST = 32
"""Levels of JSON in a message; results of the original have eight."""
UNAVAILABLE = "No decoder available, try again later"


class Status(IntEnum):
    """The result codes of the protocol."""

    SUCCESS = 0
    NO_SPEECH = 1
    ABORTED = 2
    AUDIO_CAPTURE = 3
    NETWORK = 4
    NOT_ALLOWED = 5
    SERVICE_NOT_ALLOWED = 6
    BAD_GRAMMAR = 7
    LANGUAGE_NOT_SUPPORTED = 8
    NOT_AVAILABLE = 9


class MessageError(ValueError):
    """A message that is none of the protocol's; says what is."""


@dataclass(frozen=True)
class Request:
    """What a worker is told of a session before its audio."""

    id: str
    content_type: str = ""
    user_id: str = "none"
    content_id: str = "none"
    timing: bool = False
    """Ours: results carry what they took."""
    acknowledge: bool = False
    """Ours: each message is acknowledged after its results."""
    hearing: Mapping[str, float] = field(default_factory=dict)
    """Ours: how it hears, if not as usual (`hearing.py`)."""

    def to_json(self) -> str:
        """As the worker reads it; our own keys only where they are set."""
        told: dict[str, Any] = {
            "id": self.id,
            "content_type": self.content_type,
            "user_id": self.user_id,
            "content_id": self.content_id,
        }
        told |= {key: True for key in ("timing", "acknowledge") if getattr(self, key)}
        told |= {"hearing": dict(self.hearing)} if self.hearing else {}
        return json.dumps(told)

    @classmethod
    def from_json(cls, text: str) -> Request:
        """What a master said; other keys than ours are another master's affair.

        Raises:
            MessageError: It is no request.
        """
        told = json_object(text)
        if not isinstance(told.get("id"), str):
            raise MessageError(f"not the beginning of a session: {text[:200]}")
        names = ("content_type", "user_id", "content_id")
        content_type, user_id, content_id = (str(told.get(name) or "") for name in names)
        timing, acknowledge = (told.get(name) is True for name in ("timing", "acknowledge"))
        hearing = told.get("hearing")
        asked = hearing if isinstance(hearing, dict) else {}
        return cls(told["id"], content_type, user_id, content_id, timing, acknowledge, asked)


def json_object(text: str) -> dict[str, Any]:
    """The object that a text message is; it may be sent on as JSON.

    Raises:
        MessageError: It is none, or one that no message of the protocols is.
    """
    try:
        told = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise MessageError(f"a text message that is not JSON: {text[:80]}") from error
    if not isinstance(told, dict):
        raise MessageError(f"a text message that is no JSON object: {text[:80]}")
    level: list[Any] = [told]
    for _ in range(_DEEPEST):
        level = [
            item
            for value in level
            if isinstance(value, dict | list)
            for item in (value.values() if isinstance(value, dict) else value)
        ]
    if level:
        # Also because what could just be read may be too deep to be written.
        raise MessageError(f"a text message of JSON deeper than {_DEEPEST} levels: {text[:80]}")
    return told


def event(text: str) -> dict[str, Any]:
    """What a worker says to its client; whoever reads it finds what it looks for.

    Raises:
        MessageError: It is no event of the protocol.
    """
    told = json_object(text)
    if type(told.get("status")) is not int:
        raise MessageError(f"an event without a status: {text[:80]}")
    match told.get("result"):
        case None:
            return told
        case {"hypotheses": [{"transcript": str()} as best, *_], "final": bool()}:
            pass
        case _:
            raise MessageError(f"an event whose result is none: {text[:80]}")
    match told.get("segment-start", 0.0), best.get("word-alignment", []):
        case int() | float(), [*words] if all(map(_is_word, words)):
            return told
    raise MessageError(f"a result whose words have no place: {text[:80]}")


def _is_word(told: object) -> bool:
    match told:
        case {"word": str(), "start": int() | float(), "length": int() | float()}:
            return True
    return False


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def failure(status: Status, message: str) -> dict[str, Any]:
    """An event after which the server closes."""
    return {"status": int(status), "message": message}
