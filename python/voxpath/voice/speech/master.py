"""The master: joins each client with a worker for one session, and forwards.

A session (`Master._session`) is two pumps, client to worker and worker to client, in one task group:
whichever ends first ends the session, and nothing outlives it. All limits are here; a worker trusts its
master.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import logging
import time
import uuid
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from aiohttp import WSCloseCode, WSMsgType, web

from voxpath.handshake import CLIENT_SPEECH
from voxpath.voice.speech import hearing, protocol
from voxpath.voice.speech.course import Arrivals, Course
from voxpath.voice.speech.fronts import Front, GoneError, Http, Kaldi, Vosk, refuse
from voxpath.voice.speech.origins import Origin, Origins, is_page
from voxpath.voice.speech.pool import Link, Pool
from voxpath.voice.speech.protocol import EOS, Request, Status

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping

log = logging.getLogger(__name__)
_Said = TypeVar("_Said")
_HEARTBEAT_S = 30.0
"""A peer that has ended is noticed at once; this is for machines that have gone, and spares busy ones."""
_EVENT_LIMIT = 1 << 20
_REFERENCE_LIMIT = 1 << 20
_PAGE = Path(__file__).parent / "page.html"


@dataclass(frozen=True)
class Limits:
    """What a client may do."""

    message_bytes: int = 1 << 20
    session_bytes: int = 64 << 20
    """Of one session that its worker has not heard yet; of all of it where the worker does not tell."""
    session_s: float = 600.0
    longest_s: float = 14_400.0
    """Of a session whose client asks for more time, as who has a microphone that is always on."""
    head_s: float = 20.0
    """For the head of a request, and between two on one connection, which clients keep for less."""
    idle_s: float = 30.0
    """Between two messages before the end of the audio."""
    sessions: int = 256
    """At the same time, those that wait for a worker among them."""
    wait_s: float = 0.0
    """For a worker; the original does not wait."""


@dataclass(frozen=True)
class Settings:
    """Of a master."""

    limits: Limits = field(default_factory=Limits)
    hearing: Mapping[str, float] = field(default_factory=dict)
    """How sessions hear whose clients do not say it (`hearing.py`)."""
    client_token: str | None = None
    worker_token: str | None = None
    """Without it anybody may work, unless clients have a token: their audio is not for anybody."""
    origins: Collection[Origin] = ()
    """Of pages besides our own that may use the service in a browser."""


class _Refusal(Exception):  # noqa: N818 - it is an outcome
    """A session's end before its time."""

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(message)
        self.status = status


class Master:
    """One master."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.pool = Pool()
        self._sessions = 0
        self._sockets: set[web.WebSocketResponse] = set()

    def application(self) -> web.Application:
        """What serves it."""
        origins = Origins(self._settings.origins, self._settings.client_token is not None)

        @web.middleware
        async def of_pages(
            request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
        ) -> web.StreamResponse:
            await origins.check(request)
            return await handler(request)

        app = web.Application(client_max_size=_REFERENCE_LIMIT, middlewares=[of_pages])
        app.on_response_prepare.append(origins.tell)
        app.router.add_get(CLIENT_SPEECH, self._client)
        app.router.add_get(protocol.CLIENT_STATUS, self._status)
        app.router.add_get(protocol.WORKER_SPEECH, self._worker)
        app.router.add_get(protocol.VOSK, self._vosk)
        app.router.add_get("/", self._root)
        for method in ("PUT", "POST"):
            app.router.add_route(method, protocol.CLIENT_RECOGNISE, self._recognise)
        app.router.add_post(protocol.CLIENT_REFERENCE, self._reference)
        for path in (protocol.CLIENT_RECOGNISE, protocol.CLIENT_REFERENCE):
            app.router.add_options(path, self._options)
        app.on_shutdown.append(self._shutdown)
        return app

    async def _shutdown(self, app: web.Application) -> None:
        del app
        for socket in list(self._sockets):
            with contextlib.suppress(ConnectionError):
                await socket.close(code=WSCloseCode.GOING_AWAY)

    @contextlib.asynccontextmanager
    async def _open(self, request: web.Request, most: int) -> AsyncIterator[web.WebSocketResponse]:
        # The library refuses what is as long as its limit.
        socket = web.WebSocketResponse(heartbeat=_HEARTBEAT_S, max_msg_size=most + 1)
        await socket.prepare(request)
        self._sockets.add(socket)
        try:
            yield socket
        finally:
            self._sockets.discard(socket)
            await socket.close()

    def _admit(self, request: web.Request, token: str | None) -> None:
        """Refuses who does not know the token; a browser's socket can give it in the query only."""
        if token is None:
            return
        # A scheme's case does not matter (RFC 9110 section 11.1).
        kind, _, given = request.headers.get("Authorization", "").partition(" ")
        given = given.strip() if kind.lower() == "bearer" else request.query.get("token", "")
        # Octets that are no text come as surrogates.
        if not hmac.compare_digest(given.encode(errors="surrogatepass"), token.encode()):
            raise web.HTTPUnauthorized(text="a token is needed, and this is not it")

    # Workers

    async def _worker(self, request: web.Request) -> web.StreamResponse:
        if self._settings.worker_token is None and self._settings.client_token is not None:
            raise web.HTTPUnauthorized(text="clients have a token here and workers have none: none is let in")
        if is_page(request):
            raise web.HTTPForbidden(text="no web page is a worker")
        self._admit(request, self._settings.worker_token)
        async with self._open(request, _EVENT_LIMIT) as socket:
            link = Link(socket, request.query.get("acknowledges") == "1")
            await self.pool.add(link)
            try:
                # One that asked whether we are here may have gone before the answer.
                with contextlib.suppress(ConnectionError):
                    while (message := await socket.receive()).type in (WSMsgType.TEXT, WSMsgType.BINARY):
                        if message.type is WSMsgType.TEXT:
                            await link.events.put(message.data)
                    # The socket's own code tells also whether our answer to its close could be sent.
                    link.has_closed = message.type is WSMsgType.CLOSE and message.data == WSCloseCode.OK
            finally:
                await self.pool.remove(link)
                # Whoever listens takes what is there first; nobody does if it was free.
                with contextlib.suppress(asyncio.QueueFull):
                    link.events.put_nowait(None)
            return socket

    # Clients

    async def _client(self, request: web.Request) -> web.StreamResponse:
        self._admit(request, self._settings.client_token)
        async with self._open(request, self._settings.limits.message_bytes) as socket:
            told = Request(
                id=str(uuid.uuid4()),
                user_id=request.query.get("user-id", "none"),
                content_id=request.query.get("content-id", "none"),
                timing=request.query.get("timing") == "1",
            )
            await self._serve(Kaldi(socket, request.query.get("content-type", "")), told, request.query)
            return socket

    async def _vosk(self, request: web.Request) -> web.StreamResponse:
        self._admit(request, self._settings.client_token)
        async with self._open(request, self._settings.limits.message_bytes) as socket:
            await self._serve(Vosk(socket), Request(id=str(uuid.uuid4())), request.query)
            return socket

    async def _root(self, request: web.Request) -> web.StreamResponse:
        # Vosk's own clients open the root.
        if request.headers.get("Upgrade", "").lower() == "websocket":
            return await self._vosk(request)
        return web.FileResponse(_PAGE)

    async def _recognise(self, request: web.Request) -> web.StreamResponse:
        self._admit(request, self._settings.client_token)
        front = Http(request)
        told = Request(
            id=str(uuid.uuid4()),
            user_id=request.headers.get("device-id", "none"),
            content_id=request.headers.get("content-id", "none"),
        )
        await self._serve(front, told, request.query)
        return front.response()

    async def _reference(self, request: web.Request) -> web.StreamResponse:
        """A correction that a client sends; the original logs it, and so do we, by its length."""
        self._admit(request, self._settings.client_token)
        content = request.headers.get("content-id")
        if not content:
            raise web.HTTPBadRequest(text="No Content-Id specified")
        try:
            async with asyncio.timeout(self._settings.limits.idle_s):
                text = await request.read()
        except TimeoutError:
            raise web.HTTPRequestTimeout from None
        log.info("%s: a reference of %d bytes", content, len(text))
        return web.Response()

    async def _options(self, request: web.Request) -> web.StreamResponse:
        del request
        return web.Response()

    async def _status(self, request: web.Request) -> web.StreamResponse:
        self._admit(request, self._settings.client_token)
        async with self._open(request, self._settings.limits.message_bytes) as socket:
            telling = asyncio.create_task(self._tell_status(socket))
            try:
                with contextlib.suppress(ConnectionError):
                    async for _ in socket:
                        pass
            finally:
                telling.cancel()
                await asyncio.gather(telling, return_exceptions=True)
            return socket

    async def _tell_status(self, socket: web.WebSocketResponse) -> None:
        told = None
        while not socket.closed:
            now = {
                "num_workers_available": self.pool.available,
                "num_requests_processed": self.pool.processed,
            }
            if now != told:
                await socket.send_str(json.dumps(now))
                told = now
                continue
            async with self.pool.changed:
                await self.pool.changed.wait()

    # Sessions

    async def _serve(self, front: Front, request: Request, asked: Mapping[str, str]) -> None:
        """A session from its beginning to its end, whatever happens and is asked in its address."""
        begun = time.monotonic()
        limits = self._settings.limits
        if self._sessions >= limits.sessions:
            with contextlib.suppress(GoneError):
                await refuse(front, Status.NOT_AVAILABLE, protocol.UNAVAILABLE, request.id)
            await self.pool.done()
            return
        self._sessions += 1
        link = None
        try:
            session_s, asked_hearing = self._asked(asked)
            content_type = await self._heard(front, front.content_type)
            link = await self.pool.take(
                limits.wait_s, acknowledging=front.acknowledging or bool(asked_hearing)
            )
            if link is None:
                await refuse(front, Status.NOT_AVAILABLE, protocol.UNAVAILABLE, request.id)
            else:
                request = replace(
                    request, content_type=content_type, acknowledge=link.acknowledges, hearing=asked_hearing
                )
                await self._session(front, link, request, session_s, time.monotonic() - begun)
                await front.close()
        except _Refusal as refusal:
            with contextlib.suppress(GoneError):
                await refuse(front, refusal.status, str(refusal), request.id)
        except GoneError:
            log.info("%s: the client has gone", request.id)
        except Exception:
            log.exception("%s: the service fails", request.id)
            with contextlib.suppress(GoneError):
                await refuse(front, Status.ABORTED, "the service failed, its log says how", request.id)
        finally:
            if link is not None:
                # It reconnects, and so returns to the pool, also from the middle of an utterance.
                await link.socket.close()
            self._sessions -= 1
            await self.pool.done()

    def _asked(self, asked: Mapping[str, str]) -> tuple[float, dict[str, float]]:
        """How long a session may last, and how it hears."""
        limits = self._settings.limits
        try:
            longest = max(limits.session_s, limits.longest_s)
            session_s = hearing.number("session", asked.get("session", limits.session_s), 0.0, longest)
            return session_s, hearing.read({**self._settings.hearing, **asked})
        except protocol.MessageError as error:
            raise _Refusal(Status.NOT_ALLOWED, str(error)) from None

    async def _session(
        self, front: Front, link: Link, request: Request, session_s: float, waited: float
    ) -> None:
        course = Course(Arrivals() if request.timing else None)
        try:
            async with asyncio.timeout(session_s), asyncio.TaskGroup() as group:
                await self._to_worker(link, request.to_json())
                up = group.create_task(self._up(front, link, course))
                group.create_task(self._down(front, link, request, waited, up, course))
        except TimeoutError:
            raise _Refusal(Status.ABORTED, f"longer than {session_s:g} s") from None
        except BaseExceptionGroup as group_error:
            raise _first(group_error) from None

    async def _up(self, front: Front, link: Link, course: Course) -> None:
        """What the client says, to the worker."""
        most = self._settings.limits.session_bytes
        while not course.ended.is_set():
            data = await self._heard(front, front.receive)
            if course.arrivals is not None:
                course.arrivals.note(time.monotonic())
            course.unheard.add(len(data))
            if course.unheard.octets > most:
                raise _Refusal(Status.ABORTED, f"more than {most} bytes that are not heard yet")
            if data in (EOS, EOS.encode()):
                course.ended.set()
            await self._to_worker(link, data)
        await front.linger()

    async def _heard(self, front: Front, hear: Callable[[], Awaitable[_Said]]) -> _Said:
        """What a client says, if it says something in time that is of its protocol."""
        idle_s = self._settings.limits.idle_s
        now = asyncio.get_running_loop().time
        begun = now()
        while True:
            # Who waits for our answer is not idle.
            left_s = max(begun, front.answered_at()) + idle_s - now()
            try:
                async with asyncio.timeout(min(left_s, idle_s)):
                    return await hear()
            except TimeoutError:
                if max(begun, front.answered_at()) + idle_s <= now():
                    raise _Refusal(Status.NO_SPEECH, f"nothing came for {idle_s:g} s") from None
            except protocol.MessageError as error:
                raise _Refusal(Status.NOT_ALLOWED, str(error)) from None

    async def _down(
        self,
        front: Front,
        link: Link,
        request: Request,
        waited: float,
        up: asyncio.Task[None],
        course: Course,
    ) -> None:
        """What the worker says, to the client; the session ends where the worker closes."""
        told: dict[str, Any] = {}
        anything = False
        while (text := await link.events.get()) is not None:
            try:
                told = protocol.event(text)
                if told.get("acknowledged"):
                    course.unheard.heard()
                    if not front.acknowledging:
                        continue
                if course.arrivals is not None and "timing" in told:
                    told["timing"]["waiting"] = round(waited, 6)
                    message = told["timing"].pop("message", None)
                    if message is not None and (arrived := course.arrivals.of(message)) is not None:
                        told["timing"]["since_arrival"] = round(time.monotonic() - arrived, 6)
                await front.deliver(told | {"id": request.id})
                anything = True
            except (ValueError, LookupError, TypeError, AttributeError) as error:
                log.warning("%s: a worker says %s", request.id, text[:200])
                raise _Refusal(Status.ABORTED, "the worker said something that is no result") from error
            if told["status"]:
                break
        else:
            if not (course.ended.is_set() and link.has_closed):
                raise _Refusal(Status.ABORTED, "the worker was lost")
            if not anything:
                # A worker that understood nothing may say nothing; its client is told so much.
                await front.deliver({"status": int(Status.SUCCESS), "id": request.id})
        up.cancel()

    @staticmethod
    async def _to_worker(link: Link, data: str | bytes) -> None:
        try:
            if isinstance(data, str):
                await link.socket.send_str(data)
            else:
                await link.socket.send_bytes(data)
        except (ConnectionError, RuntimeError):
            # The other pump hears that it has gone.
            return


def _first(group: BaseExceptionGroup[Any]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def serve(
    settings: Settings, host: str, port: int, ssl: ssl.SSLContext | None
) -> tuple[web.AppRunner, Master, int]:
    """Begins to serve; what has to be cleaned up, the master, and the port (0 asks for a free one)."""
    master = Master(settings)
    runner = web.AppRunner(
        master.application(),
        access_log=None,
        shutdown_timeout=1.0,
        # Audio is compressed by its format; what else is would be of any size.
        auto_decompress=False,
        # It begins with the connection.
        keepalive_timeout=settings.limits.head_s,
    )
    await runner.setup()
    site = web.TCPSite(runner, host, port, ssl_context=ssl)
    await site.start()
    bound: int = runner.addresses[0][1]
    return runner, master, bound
