"""How a client is talked to: the Kaldi server's WebSocket, its HTTP request, Vosk's WebSocket.

A front says what the worker is to be told (`receive`), and takes what the worker says (`deliver`). A session
(`master.py`) knows nothing else of its client.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Protocol

from aiohttp import WSMsgType, web

from voxpath.speech.protocol import EOS, RESET, Status, failure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_VOSK_RATE = 8_000


class GoneError(Exception):
    """The client has left before the end of its audio."""


class Front(Protocol):
    """A client, whatever it speaks."""

    acknowledging: bool
    """It is answered message by message."""

    async def receive(self) -> str | bytes:
        """What comes next for the worker; `EOS` in the end.

        Raises:
            GoneError: Nothing will.
            ValueError: It is not in the protocol.
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

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self._socket = socket

    async def receive(self) -> str | bytes:
        """The next frame."""
        return await _frame(self._socket)

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
        self._chunks: AsyncIterator[bytes] = request.content.iter_any()
        self._texts: list[str] = []
        self._failure: dict[str, Any] | None = None
        self._id = ""
        self.aborted = False

    async def receive(self) -> str | bytes:
        """The next octets of the body."""
        try:
            chunk = await anext(self._chunks, None)
        except (ConnectionError, asyncio.IncompleteReadError, web.HTTPException) as error:
            raise GoneError from error
        return EOS if chunk is None else chunk

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
            hypotheses = [{"utterance": " ".join(self._texts)}]
            return web.json_response(
                {"status": int(Status.SUCCESS), "hypotheses": hypotheses, "id": self._id}, headers=CORS
            )
        if self._failure["status"] == Status.NOT_AVAILABLE:
            raise web.HTTPServiceUnavailable(text="No workers available", headers=CORS)
        return web.json_response(self._failure, headers=CORS)


CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "PUT, POST, OPTIONS",
    "Access-Control-Allow-Headers": "origin, x-requested-with, content-type, accept, authorization",
}


class Vosk:
    """Each message of audio has one reply: a result if a segment ended in it, else what is understood."""

    acknowledging = True

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self._socket = socket
        self._rate = _VOSK_RATE
        self._words = False
        self._first: str | bytes | None = None
        self._partial = ""
        self._finals: list[dict[str, Any]] = []
        self._ending = False

    async def content_type(self) -> str:
        """What the audio is, after what the client says of it first."""
        while self._first is None:
            message = await _frame(self._socket)
            config = _json(message).get("config") if isinstance(message, str) else None
            if config is None:
                self._first = message
            else:
                self._configure(config)
        return f"audio/x-raw, format=(string)S16LE, rate=(int){self._rate}, channels=(int)1"

    def _configure(self, config: Any) -> None:
        if not isinstance(config, dict):
            raise ValueError("config: an object is expected")
        rate = config.get("sample_rate", self._rate)
        if not isinstance(rate, int | float) or not 1 <= rate < 1e9:
            raise ValueError(f"config.sample_rate {rate!r}: a number of samples per second is expected")
        self._rate = int(rate)
        self._words = bool(config.get("words", self._words))

    async def receive(self) -> str | bytes:
        """The next message, in the worker's words."""
        first, self._first = self._first, None
        message = await _frame(self._socket) if first is None else first
        if isinstance(message, bytes):
            return message
        told = _json(message)
        if "eof" in told:
            self._ending = True
            return EOS
        if "reset" in told:
            return RESET
        raise ValueError(f"a text message that is none of config, eof, reset: {message[:80]}")

    async def deliver(self, event: dict[str, Any]) -> None:
        """Keeps results until the message that they belong to is acknowledged."""
        if event.get("status"):
            await _send(self._socket, {"error": event.get("message", ""), "status": event["status"]})
        elif "result" in event:
            if event["result"]["final"]:
                self._finals.append(event)
                self._partial = ""
            else:
                self._partial = event["result"]["hypotheses"][0]["transcript"]
        elif event.get("acknowledged"):
            await _send(self._socket, self._result() if self._finals else {"partial": self._partial})

    async def close(self) -> None:
        """The result of the end, and the end."""
        if self._ending:
            await _send(self._socket, self._result())
        await self._socket.close()

    def _result(self) -> dict[str, Any]:
        finals, self._finals = self._finals, []
        best = [event["result"]["hypotheses"][0] for event in finals]
        told: dict[str, Any] = {"text": " ".join(one["transcript"] for one in best)}
        if self._words:
            told["result"] = [
                {
                    "conf": word.get("confidence", 1.0),
                    "start": round(event.get("segment-start", 0.0) + word["start"], 3),
                    "end": round(event.get("segment-start", 0.0) + word["start"] + word["length"], 3),
                    "word": word["word"],
                }
                for event, one in zip(finals, best, strict=True)
                for word in one.get("word-alignment", [])
            ]
        return told


async def _frame(socket: web.WebSocketResponse) -> str | bytes:
    message = await socket.receive()
    if message.type is WSMsgType.TEXT:
        return str(message.data)
    if message.type is WSMsgType.BINARY:
        return bytes(message.data)
    raise GoneError


def _json(text: str) -> dict[str, Any]:
    try:
        told = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"a text message that is not JSON: {text[:80]}") from error
    if not isinstance(told, dict):
        raise ValueError(f"a text message that is no JSON object: {text[:80]}")
    return told


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
