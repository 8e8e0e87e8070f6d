"""A client that measures: streams an utterance, and records what happened when.

Paced, a block is sent when a microphone would have it whole: block `i` at `start + (i + 1) * block`, on
deadlines of the monotonic clock that do not move when one is missed. Unpaced, everything is sent as fast as
the socket takes it.

The delay of a result is counted from when its last speech was sent, and is divided exactly: `end-pointing`
until the audio that decided the end was sent, `decoding` from its arrival at the master to the result (the
master's forwarding within it), `waiting` for a worker if that came in between, and `network` what is left.
"""

from __future__ import annotations

import asyncio
import json
import time
from bisect import bisect_left
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import aiohttp
from aiohttp import WSCloseCode

from voxpath import halts
from voxpath.handshake import CLIENT_SPEECH
from voxpath.voice.speech.protocol import EOS, VOSK
from voxpath.voice.speech.words import word_errors

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping

_PATIENCE_S = 60.0
_RESULT_LIMIT = 1 << 22


@dataclass(frozen=True)
class Audio:
    """What is sent: samples of 16 bits, or a container as it is."""

    name: str
    data: bytes
    content_type: str
    bytes_per_s: float
    """Of the audio; what pacing goes by."""
    reference: str | None = None

    @property
    def length_s(self) -> float:
        """How long it sounds."""
        return len(self.data) / self.bytes_per_s


@dataclass(frozen=True)
class Settings:
    """Where to, and how."""

    server: str
    """As ws://host:port."""
    vosk: bool = False
    paced: bool = True
    block_s: float = 0.25
    asked: Mapping[str, float] = field(default_factory=dict)
    """Of the session, in its address: how long it may last, and how it hears (`hearing.py`)."""
    token: str | None = None
    ssl: ssl.SSLContext | None = None
    patience_s: float = _PATIENCE_S
    """For the result, from the end of the audio."""


@dataclass(frozen=True)
class Result:
    """A partial or final result, at a time since the connection was begun."""

    at_s: float
    text: str
    final: bool


@dataclass(frozen=True)
class Shares:
    """What the delay of the last final result consists of, in seconds; they add up to it."""

    network_s: float
    waiting_s: float
    decoding_s: float
    end_pointing_s: float

    @property
    def total_s(self) -> float:
        """From when the last speech was sent to the result."""
        return self.network_s + self.waiting_s + self.decoding_s + self.end_pointing_s


@dataclass
class Utterance:
    """The record of one utterance; times in seconds since the connection was begun, on the client's clock."""

    name: str
    length_s: float
    bytes: int
    status: int | None = None
    """Of the protocol; none if the server said nothing before it closed."""
    message: str = ""
    connected_s: float | None = None
    first_sent_s: float | None = None
    last_sent_s: float | None = None
    first_result_s: float | None = None
    final_s: float | None = None
    closed_s: float | None = None
    late_s: float = 0.0
    """The most that a block was sent after it was due."""
    decoding_s: float | None = None
    """The recogniser's time in all."""
    shares: Shares | None = None
    results: list[Result] = field(default_factory=list)
    transcript: str = ""
    word_error_rate: float | None = None

    @property
    def latency_s(self) -> float | None:
        """From the last byte of audio to the last final result."""
        if self.final_s is None or self.last_sent_s is None:
            return None
        return self.final_s - self.last_sent_s

    @property
    def total_factor(self) -> float | None:
        """From the first byte to the last final result, per second of audio; paced, it is above 1."""
        if self.final_s is None or self.first_sent_s is None or not self.length_s:
            return None
        return (self.final_s - self.first_sent_s) / self.length_s

    @property
    def decoding_factor(self) -> float | None:
        """The recogniser's time per second of audio."""
        return None if self.decoding_s is None or not self.length_s else self.decoding_s / self.length_s

    def to_json(self) -> dict[str, Any]:
        """Everything, derived figures too."""
        derived = ("latency_s", "total_factor", "decoding_factor")
        return asdict(self) | {name: getattr(self, name) for name in derived}


async def stream(http: aiohttp.ClientSession, audio: Audio, settings: Settings) -> Utterance:
    """Sends an utterance and waits for what is understood."""
    return await _Stream(audio, settings).run(http)


class _Stream:
    def __init__(self, audio: Audio, settings: Settings) -> None:
        self._audio, self._settings = audio, settings
        self._record = Utterance(audio.name, audio.length_s, len(audio.data))
        self._sent: list[tuple[float, float]] = []
        """Audio time that was sent until then, and when."""
        self._finals: list[str] = []
        self._reply = asyncio.Event()
        self._begun = 0.0

    def _now(self) -> float:
        return time.monotonic() - self._begun

    async def run(self, http: aiohttp.ClientSession) -> Utterance:
        record, settings = self._record, self._settings
        self._begun = time.monotonic()
        try:
            async with http.ws_connect(
                self._url(), max_msg_size=_RESULT_LIMIT, ssl=settings.ssl or True, headers=self._headers()
            ) as socket:
                record.connected_s = self._now()
                receiving = asyncio.create_task(self._receive(socket))
                sending = asyncio.create_task(self._send(socket))
                try:
                    # A server that closes early says why: nothing more is to be sent then.
                    await asyncio.wait((receiving, sending), return_when=asyncio.FIRST_COMPLETED)
                    async with asyncio.timeout(settings.patience_s if sending.done() else 0.0):
                        await receiving
                    if not record.status and not (sending.done() and socket.close_code == WSCloseCode.OK):
                        # Whatever was understood until then, this is no success.
                        record.status = None
                        record.message = record.message or f"closed before the end (code {socket.close_code})"
                except TimeoutError:
                    record.status = None
                    record.message = f"no end within {settings.patience_s:g} s"
                finally:
                    for task in (receiving, sending):
                        task.cancel()
                    await asyncio.gather(receiving, sending, return_exceptions=True)
        except aiohttp.WSServerHandshakeError as error:
            record.message = f"the server answers {error.status}"
        except (aiohttp.ClientError, OSError) as error:
            record.message = str(error)
        record.closed_s = self._now()
        record.transcript = " ".join(filter(None, self._finals))
        if self._audio.reference is not None and record.status == 0:
            errors, said = word_errors(self._audio.reference, record.transcript)
            record.word_error_rate = errors / max(said, 1)
        return record

    def _url(self) -> str:
        server, asked = self._settings.server.rstrip("/"), dict(self._settings.asked)
        if self._settings.vosk:
            return f"{server}{VOSK}" + (f"?{urlencode(asked)}" if asked else "")
        said = {"content-type": self._audio.content_type, "timing": 1}
        return f"{server}{CLIENT_SPEECH}?{urlencode(said | asked)}"

    def _headers(self) -> dict[str, str]:
        token = self._settings.token
        return {"Authorization": f"Bearer {token}"} if token else {}

    async def _send(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        record, audio, settings = self._record, self._audio, self._settings
        size = max(1, round(audio.bytes_per_s * settings.block_s / 2)) * 2
        start = time.monotonic()
        if settings.vosk:
            rate = round(audio.bytes_per_s / 2)
            await socket.send_str(json.dumps({"config": {"sample_rate": rate}}))
        for at in range(0, len(audio.data), size):
            block = audio.data[at : at + size]
            end_s = (at + len(block)) / audio.bytes_per_s
            if settings.paced:
                await asyncio.sleep(start + end_s - time.monotonic())
                record.late_s = max(record.late_s, time.monotonic() - start - end_s)
            if record.first_sent_s is None:
                record.first_sent_s = self._now()
            self._reply.clear()
            await socket.send_bytes(block)
            self._sent.append((end_s, self._now()))
            halts.reached("client.block-sent")
            if settings.vosk:
                # Its clients wait for each reply.
                await self._reply.wait()
        record.last_sent_s = self._now()
        await socket.send_str('{"eof" : 1}' if settings.vosk else EOS)

    async def _receive(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        async for message in socket:
            if message.type is aiohttp.WSMsgType.TEXT:
                try:
                    (self._handle_vosk if self._settings.vosk else self._handle)(json.loads(message.data))
                except (ValueError, LookupError, TypeError, AttributeError):
                    self._record.status = None
                    self._record.message = f"no result of the protocol: {message.data[:80]}"
                    break
                self._reply.set()
        self._reply.set()

    def _handle(self, told: dict[str, Any]) -> None:
        record = self._record
        record.status = told["status"]
        record.message = told.get("message", "")
        result = told.get("result")
        if result is None:
            return
        self._result(result["hypotheses"][0]["transcript"], final=result["final"])
        timing = told.get("timing")
        if timing is not None:
            record.decoding_s = timing["decoding"]
            if result["final"]:
                self._shares(timing)

    def _handle_vosk(self, told: dict[str, Any]) -> None:
        if "error" in told:
            self._record.status, self._record.message = told.get("status"), told["error"]
            return
        self._record.status = 0
        if told.get("text") or told.get("partial"):
            self._result(told.get("text") or told["partial"], final="text" in told)

    def _result(self, text: str, *, final: bool) -> None:
        record, now = self._record, self._now()
        if record.first_result_s is None:
            record.first_result_s = now
        record.results.append(Result(now, text, final))
        if final:
            record.final_s = now
            self._finals.append(text)

    def _shares(self, timing: dict[str, float]) -> None:
        spoken, decided = (self._sent_at(timing[key]) for key in ("end_of_speech", "decided"))
        now, decoding = self._now(), timing["since_arrival"]
        # Who waited for a worker before the decision was sent did not wait for it after.
        connected = self._record.connected_s or 0.0
        waiting = max(0.0, connected + timing["waiting"] - decided)
        network = now - decided - decoding - waiting
        self._record.shares = Shares(network, waiting, decoding, decided - spoken)

    def _sent_at(self, audio_s: float) -> float:
        index = bisect_left(self._sent, (audio_s - 1e-6, 0.0))
        return self._sent[min(index, len(self._sent) - 1)][1]
