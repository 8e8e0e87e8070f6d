"""A worker: a recogniser behind a WebSocket that it opens to a master, for one session after the other.

The connection is read whenever the recogniser lets other threads run, so that a client that has gone is
noticed between two blocks; what waits is bounded by the master's limit on a session. The recogniser runs in
one thread. As it may hold this process back, the master says when a message came.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import aiohttp

from voxpath.voice.speech.events import as_told, farewell
from voxpath.voice.speech.formats import reader_of
from voxpath.voice.speech.hearing import Hearing, read
from voxpath.voice.speech.pcm import FormatError
from voxpath.voice.speech.protocol import (
    ADAPTATION_TYPE,
    EOS,
    RESET,
    WORKER_SPEECH,
    MessageError,
    Request,
    Status,
    failure,
    json_object,
)
from voxpath.voice.speech.session import Final, NoSpeechError, Partial, Session

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator

    from voxpath.voice.speech.recognisers import Recogniser

log = logging.getLogger(__name__)
_Made = TypeVar("_Made")
PIECE = 32_000
"""Octets that are decoded at a time: what a client that has gone costs us at most."""
_RETRY_S = (0.1, 5.0)
_HEARTBEAT_S = 30.0


@dataclass(frozen=True)
class Settings:
    """Which master, and what it has to be told."""

    master: str
    """As ws://host:port."""
    token: str | None = None
    ssl: ssl.SSLContext | None = None


@dataclass
class _Clock:
    """What a session took, on this machine's clock."""

    decoding_s: float = 0.0
    arrived_at: float = 0.0
    """When what is decoded now had come."""
    messages: int = 0
    """Which message that is, from 1."""


class RefusedError(Exception):
    """The master does not want this worker."""


async def work(settings: Settings, recogniser: Recogniser) -> None:
    """Serves session after session until it is cancelled.

    Raises:
        RefusedError: The token is wrong.
    """
    pause = _RETRY_S[0]
    headers = {"Authorization": f"Bearer {settings.token}"} if settings.token else {}
    url = f"{settings.master.rstrip('/')}{WORKER_SPEECH}?acknowledges=1"
    with ThreadPoolExecutor(1, "recogniser") as thread:
        async with aiohttp.ClientSession() as http:
            while True:
                try:
                    async with http.ws_connect(
                        url, headers=headers, heartbeat=_HEARTBEAT_S, max_msg_size=0, ssl=settings.ssl or True
                    ) as socket:
                        pause = _RETRY_S[0]
                        if await _Connection(socket, recogniser, thread).serve():
                            continue
                except aiohttp.WSServerHandshakeError as error:
                    if error.status in (401, 403):
                        raise RefusedError(f"{settings.master} refuses the worker's token") from error
                    log.warning("%s answers %s", url, error.status)
                except (aiohttp.ClientError, OSError) as error:
                    log.info("no master at %s: %s", settings.master, error)
                await asyncio.sleep(pause)
                pause = min(2 * pause, _RETRY_S[1])


@dataclass
class _Connection:
    """One connection: it waits for a session, serves it, and closes."""

    socket: aiohttp.ClientWebSocketResponse
    recogniser: Recogniser
    thread: ThreadPoolExecutor
    waiting: deque[tuple[float, str | bytes]] = field(default_factory=deque)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    gone: bool = False
    session: Session | None = None

    async def serve(self) -> bool:
        """Whether there was a session."""
        first = await self.socket.receive()
        if first.type is not aiohttp.WSMsgType.TEXT:
            return False
        try:
            request = Request.from_json(first.data)
        except MessageError as error:
            log.warning("the master says %s", error)
            await self.socket.close()
            return False
        log.info("%s: begins (%s)", request.id, request.content_type or "detected")
        reading = asyncio.create_task(self._read())
        try:
            await self._recognise(request)
        finally:
            reading.cancel()
            # Not `await reading`: its cancellation could not be told from this task's own.
            await asyncio.gather(reading, return_exceptions=True)
            await self.socket.close()
            log.info("%s: ends", request.id)
        return True

    async def _read(self) -> None:
        try:
            async for message in self.socket:
                if message.type in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
                    self.waiting.append((time.monotonic(), message.data))
                    self.arrived.set()
        finally:
            self.gone = True
            if self.session is not None:
                self.session.stop()
            self.arrived.set()

    async def _next(self) -> tuple[float, str | bytes] | None:
        while not self.waiting and not self.gone:
            self.arrived.clear()
            await self.arrived.wait()
        return None if self.gone else self.waiting.popleft()

    async def _recognise(self, request: Request) -> None:
        """Decodes until the audio's end; whatever comes of it, the client is told and the worker goes on."""
        try:
            reader = reader_of(request.content_type)
            hearing = Hearing.of(read(request.hearing))
            self.session = await self._aside(lambda: Session(self.recogniser, reader, hearing))
            await self._hear(request, self.session)
        except NoSpeechError as error:
            await self._tell(failure(Status.NO_SPEECH, str(error)))
        except (FormatError, MessageError) as error:
            await self._tell(failure(Status.NOT_ALLOWED, str(error)))
        except Exception:
            log.exception("%s: the recogniser fails", request.id)
            await self._tell(failure(Status.ABORTED, "the recogniser failed, the worker's log says how"))
        finally:
            if self.session is not None:
                await self._let_go(request, self.session)

    async def _hear(self, request: Request, session: Session) -> None:
        """Until the audio's end; a client that has gone ends it at once."""
        clock = _Clock()
        while (message := await self._next()) is not None:
            clock.arrived_at, data = message
            clock.messages += 1
            if data in (EOS, EOS.encode()):
                await self._run(request, clock, session.finish)
                await self._tell(farewell(request.id, self.recogniser.adaptation()))
                return
            await self._message(request, clock, session, data)
            if request.acknowledge:
                await self._tell({"status": int(Status.SUCCESS), "acknowledged": True})

    async def _let_go(self, request: Request, session: Session) -> None:
        try:
            await self._aside(session.close)
        except Exception:
            log.exception("%s: the recogniser fails as it is let go", request.id)

    async def _aside(self, what: Callable[[], _Made]) -> _Made:
        """Has the recogniser's thread do something."""
        return await asyncio.get_running_loop().run_in_executor(self.thread, what)

    async def _message(self, request: Request, clock: _Clock, session: Session, data: str | bytes) -> None:
        if isinstance(data, bytes):
            for at in range(0, len(data), PIECE):
                if self.gone:
                    return
                piece = data[at : at + PIECE]
                await self._run(request, clock, partial(session.feed, piece))
        elif data == RESET:
            await self._run(request, clock, session.cut)
        elif (state := _adaptation_state(data)) is not None:
            try:
                self.recogniser.adapt(state)
            except ValueError as error:
                # Of another recogniser, as a client has it that spoke to another server before.
                log.warning("%s: %s; the session goes on without it", request.id, error)

    async def _run(
        self, request: Request, clock: _Clock, what: Callable[[], Iterator[Partial | Final]]
    ) -> None:
        """Has the recogniser's thread hear something, and tells what came of it."""

        def timed() -> list[Partial | Final]:
            begun = time.monotonic()
            events = list(what())
            clock.decoding_s += time.monotonic() - begun
            return events

        for event in await self._aside(timed):
            told = as_told(event)
            if request.timing:
                told["timing"] = {
                    "decoding": round(clock.decoding_s, 6),
                    "since_arrival": round(time.monotonic() - clock.arrived_at, 6),
                    "message": clock.messages,
                }
                if isinstance(event, Final):
                    told["timing"] |= {"end_of_speech": event.end_s, "decided": event.decided_s}
            await self._tell(told)

    async def _tell(self, event: dict[str, Any]) -> None:
        # A master that has gone is noticed by the reading task.
        with contextlib.suppress(ConnectionError, RuntimeError):
            await self.socket.send_str(json.dumps(event))


def _adaptation_state(text: str) -> str | None:
    """What a client's text message gives back; none where it says nothing of it, or is of another kind.

    Raises:
        MessageError: It is no message of the protocol.
    """
    state = json_object(text).get("adaptation_state")
    value = state.get("value") if isinstance(state, dict) else None
    if value is not None and not isinstance(value, str):
        raise MessageError("an adaptation state whose value is not a text")
    return value if isinstance(state, dict) and state.get("type") == ADAPTATION_TYPE else None
