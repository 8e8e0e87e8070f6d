"""How a client is talked to: the Kaldi server's WebSocket, its HTTP request, Vosk's WebSocket.

A front says what the worker is to be told (`receive`), and takes what the worker says (`deliver`). A session
(`master.py`) knows nothing else of its client.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

from aiohttp import WSMsgType, web

from voxpath.voice.speech.hearing import number
from voxpath.voice.speech.protocol import EOS, RESET, MessageError, Status, failure, json_object

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_VOSK_RATE = 8_000


class GoneError(Exception):
    """The client has left before the end of its audio."""


class Front(Protocol):
    """A client, whatever it speaks."""

    acknowledging: bool
    """It is answered message by message."""

    async def content_type(self) -> str:
        """What the audio is, once the client has said so.

        Raises:
            GoneError: It never will.
            MessageError: It is not in the protocol.
        """
        ...

    async def receive(self) -> str | bytes:
        """What comes next for the worker; `EOS` in the end.

        Raises:
            GoneError: Nothing will.
            MessageError: It is not in the protocol.
        """
        ...

    def answered_at(self) -> float:
        """When it last had an answer that it waited for, on the loop's clock; infinite while it waits."""
        ...

    async def linger(self) -> None:
        """After the end of the audio: hears nothing more, as the original, but that the client leaves.

        Raises:
            GoneError: It has.
        """
        ...

    async def deliver(self, event: dict[str, Any]) -> None:
        """Takes an event of the session."""
        ...

    async def close(self) -> None:
        """The session is over."""
        ...


class Kaldi:
    """Events as they are; frames as they are."""

    acknowledging = False

    def __init__(self, socket: web.WebSocketResponse, content_type: str) -> None:
        self._socket = socket
        self._content_type = content_type

    async def content_type(self) -> str:
        """As the query has it."""
        return self._content_type

    async def receive(self) -> str | bytes:
        """The next frame."""
        return await _frame(self._socket)

    def answered_at(self) -> float:
        """It never waits."""
        return 0.0

    async def linger(self) -> None:
        """Drops what comes."""
        await _linger(self._socket)

    async def deliver(self, event: dict[str, Any]) -> None:
        """Sends it."""
        await _send(self._socket, event)

    async def close(self) -> None:
        """The server closes."""
        await self._socket.close()


class Http:
    """The body is the audio; the answer has all segments together."""

    acknowledging = False

    def __init__(self, request: web.Request) -> None:
        self._content_type = request.headers.get("Content-Type", "")
        self._coding = request.headers.get("Content-Encoding", "identity")
        self._chunks: AsyncIterator[bytes] = request.content.iter_any()
        self._rest = b""
        self._texts: list[str] = []
        self._failure: dict[str, Any] | None = None
        self._id = ""

    async def content_type(self) -> str:
        """As the header has it."""
        if self._coding.lower() != "identity":
            raise MessageError(
                f"Content-Encoding {self._coding[:80]}: audio is compressed by its format alone"
            )
        return self._content_type

    async def receive(self) -> str | bytes:
        """The next octets of the body."""
        try:
            chunk = self._rest or await anext(self._chunks, b"")
        except (ConnectionError, asyncio.IncompleteReadError, web.HTTPException) as error:
            raise GoneError from error
        except web.RequestPayloadError as error:
            raise MessageError(f"a body that is not what its head says: {error}") from error
        if not chunk:
            return EOS
        piece, self._rest = _audio(chunk)
        return piece

    def answered_at(self) -> float:
        """It never waits."""
        return 0.0

    async def linger(self) -> None:
        """Nothing comes behind the body."""

    async def deliver(self, event: dict[str, Any]) -> None:
        """Keeps what is final."""
        self._id = event.get("id", self._id)
        if event.get("status"):
            self._failure = event
        result = event.get("result", {})
        if result.get("final"):
            self._texts.append(result["hypotheses"][0]["transcript"])

    async def close(self) -> None:
        """Nothing: the answer follows."""

    def response(self) -> web.Response:
        """The answer."""
        if self._failure is None:
            hypotheses = [{"utterance": " ".join(filter(None, self._texts))}]
            return web.json_response(
                {"status": int(Status.SUCCESS), "hypotheses": hypotheses, "id": self._id}
            )
        if self._failure["status"] == Status.NOT_AVAILABLE:
            raise web.HTTPServiceUnavailable(text="No workers available")
        return web.json_response(self._failure)


_REFUSED = {
    "phrase_list": "nothing here is restricted to a list of phrases",
    "model": "the service has the model that its workers were started with",
}
"""Of Vosk's configuration, what cannot be had; keys that Vosk does not know are ignored, as it does."""


class Vosk:
    """Each message of audio has one reply: a result if a segment ended in it, else what is understood."""

    acknowledging = True

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self._socket = socket
        self._rate = _VOSK_RATE
        # As the original has it where nobody says something else.
        self._words = True
        self._alternatives = False
        self._first: str | bytes | None = None
        self._rest = b""
        self._partial = ""
        self._finals: list[dict[str, Any]] = []
        self._ending = False
        self._failed = False
        self._owed = deque[bool]()
        """Of messages that the worker has not acknowledged yet, whether that is answered."""
        self._answered_at = 0.0

    async def content_type(self) -> str:
        """What the audio is, after what the client says of it first."""
        self._first = await self._message()
        return f"audio/x-raw, format=(string)S16LE, rate=(int){self._rate}, channels=(int)1"

    async def receive(self) -> str | bytes:
        """The next message, in the worker's words."""
        first, self._first = self._first, None
        rest, self._rest = self._rest, b""
        message = rest or (await self._message() if first is None else first)
        if isinstance(message, bytes):
            piece, self._rest = _audio(message)
            self._owed.append(not self._rest)
            return piece
        told = json_object(message)
        if "eof" in told:
            self._ending = True
            return EOS
        if "reset" in told:
            self._owed.append(True)
            return RESET
        raise MessageError(f"a text message that is none of config, eof, reset: {message[:80]}")

    def answered_at(self) -> float:
        """Its clients wait for the answer to each message."""
        return math.inf if any(self._owed) else self._answered_at

    async def linger(self) -> None:
        """Drops what comes."""
        await _linger(self._socket)

    async def _message(self) -> str | bytes:
        """The next that is no configuration; those have no answer. Once there was audio, its rate stays."""
        while True:
            message = await _frame(self._socket)
            config = json_object(message).get("config") if isinstance(message, str) else None
            if config is None:
                return message
            self._configure(config)

    def _configure(self, config: Any) -> None:
        if not isinstance(config, dict):
            raise MessageError("config: an object is expected")
        for key, why in _REFUSED.items():
            if config.get(key):
                raise MessageError(f"config.{key}: {why}")
        if "sample_rate" in config:
            self._rate = int(number("config.sample_rate", config["sample_rate"], 1, 1e9))
        if "max_alternatives" in config:
            self._alternatives = number("config.max_alternatives", config["max_alternatives"], 0, 1e9) > 0
        self._words = bool(config.get("words", self._words))

    async def deliver(self, event: dict[str, Any]) -> None:
        """Keeps results until the message that they belong to is acknowledged."""
        if event.get("status"):
            self._failed = True
            await _send(self._socket, {"error": event.get("message", ""), "status": event["status"]})
        elif "result" in event:
            if event["result"]["final"]:
                self._finals.append(event)
                self._partial = ""
            else:
                self._partial = event["result"]["hypotheses"][0]["transcript"]
        elif event.get("acknowledged") and self._owed.popleft():
            self._answered_at = asyncio.get_running_loop().time()
            await _send(self._socket, self._result() if self._finals else {"partial": self._partial})

    async def close(self) -> None:
        """The result of the end, unless it ended otherwise, and the end."""
        if self._ending and not self._failed:
            await _send(self._socket, self._result())
        await self._socket.close()

    def _result(self) -> dict[str, Any]:
        finals, self._finals = self._finals, []
        best = [event["result"]["hypotheses"][0] for event in finals]
        told: dict[str, Any] = {"text": " ".join(filter(None, (one["transcript"] for one in best)))}
        words = [
            {
                "conf": word.get("confidence", 1.0),
                "start": round(event.get("segment-start", 0.0) + word["start"], 3),
                "end": round(event.get("segment-start", 0.0) + word["start"] + word["length"], 3),
                "word": word["word"],
            }
            for event, one in zip(finals, best, strict=True)
            for word in one.get("word-alignment", [])
        ]
        if self._alternatives:
            # One is as many as asked for at most; alternatives say nothing of each word's confidence.
            confidence = min((word.pop("conf") for word in words), default=1.0)
            told["confidence"] = confidence
        if self._words and words:
            told["result"] = words
        return {"alternatives": [told]} if self._alternatives else told


def _audio(data: bytes) -> tuple[bytes, bytes]:
    """What the worker hears first, and the rest: audio is not taken for the end of it."""
    return (data[:1], data[1:]) if data == EOS.encode() else (data, b"")


async def _frame(socket: web.WebSocketResponse) -> str | bytes:
    try:
        message = await socket.receive()
    except ConnectionError as error:
        # It asked whether we are here, and has gone before the answer.
        raise GoneError from error
    if message.type is WSMsgType.TEXT:
        return str(message.data)
    if message.type is WSMsgType.BINARY:
        return bytes(message.data)
    raise GoneError


async def _linger(socket: web.WebSocketResponse) -> None:
    while True:
        await _frame(socket)


async def _send(socket: web.WebSocketResponse, event: dict[str, Any]) -> None:
    if not socket.closed:
        try:
            await socket.send_str(json.dumps(event))
        except ConnectionError as error:
            raise GoneError from error


async def refuse(front: Front, status: Status, message: str, session: str) -> None:
    """Says why, and ends."""
    await front.deliver(failure(status, message) | {"id": session})
    await front.close()
