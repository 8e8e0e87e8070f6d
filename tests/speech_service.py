"""The speech service in this process, for tests: a master, workers, and clients that spell protocols out.

No client of ours is used. Where decoding is not the point, a stub recognises.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import quote

import aiohttp

from conftest import PATIENCE_S
from processes import LOOK_S
from voxpath.voice.speech import master, worker
from voxpath.voice.speech.recognisers import Heard, Recogniser, load
from voxpath.voice.speech.samples import samples

CAPS = "audio/x-raw, layout=(string)interleaved, rate=(int)16000, format=(string)S16LE, channels=(int)1"
CARD = samples("sample:cards/001")[0].pcm()
PATIENT = master.Settings(master.Limits(wait_s=PATIENCE_S))
"""A worker that has served a session takes a moment to return."""


@functools.cache
def pocketsphinx() -> Recogniser:
    """The real one; whoever has it, has it alone."""
    return load("pocketsphinx", None)


class Stub:
    """Understands how much it has heard."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.octets, self.state = 0, None

    def begin(self) -> None:
        self.octets = 0

    def feed(self, pcm: bytes) -> None:
        self.octets += len(pcm)

    def partial(self) -> str:
        return f"{self.octets // 9600} so far"

    def finish(self) -> Heard:
        return Heard(f"{self.octets} octets")

    def adaptation(self) -> str | None:
        return f"after {self.state}"

    def adapt(self, state: str) -> None:
        self.state = state


@dataclass
class Service:
    """A master with workers, in this process."""

    port: int
    master: master.Master
    workers: list[asyncio.Task[None]]
    http: aiohttp.ClientSession

    def url(self, path: str, scheme: str = "ws") -> str:
        return f"{scheme}://127.0.0.1:{self.port}{path}"

    def speak(self, caps: str = CAPS, path: str = "/client/ws/speech", **options):
        return self.http.ws_connect(f"{self.url(path)}?content-type={quote(caps)}", **options)

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not holds():
                await asyncio.sleep(LOOK_S)


@contextlib.asynccontextmanager
async def service(
    recognisers: int = 1, *, make: Callable[[], object] = Stub, settings: master.Settings | None = None
) -> AsyncIterator[Service]:
    settings = settings or PATIENT
    runner, made, port = await master.serve(settings, "127.0.0.1", 0, None)
    to = worker.Settings(f"ws://127.0.0.1:{port}", settings.worker_token)
    workers = [asyncio.create_task(worker.work(to, make())) for _ in range(recognisers)]
    try:
        async with aiohttp.ClientSession() as http:
            one = Service(port, made, workers, http)
            await one.until(lambda: made.pool.available == recognisers)
            yield one
    finally:
        for task in workers:
            task.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        await runner.cleanup()


class Clock(asyncio.SelectorEventLoop):
    """An event loop whose clock can be put forward: a test need not wait for a limit of time."""

    ahead_s = 0.0
    guard: asyncio.Timeout
    """Ends a test that does not end."""

    def time(self) -> float:
        return super().time() + self.ahead_s


async def pass_s(seconds: float) -> None:
    """Lets so much time pass at once, and the loop do what is due by then."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, Clock)
    loop.guard.reschedule(loop.guard.when() + seconds)
    loop.ahead_s += seconds
    for _ in range(20):
        await asyncio.sleep(0)


def run(test: Callable[[], Awaitable[None]]) -> None:
    """Runs a test, and looks that no task outlives it."""

    async def watched() -> None:
        async with asyncio.timeout(PATIENCE_S) as asyncio.get_running_loop().guard:
            await test()
            # A connection takes a few turns to be gone, one over TLS more than others.
            while asyncio.all_tasks() - {asyncio.current_task()}:
                await asyncio.sleep(LOOK_S)

    with asyncio.Runner(loop_factory=Clock) as runner:
        runner.run(watched())


async def events(socket: aiohttp.ClientWebSocketResponse) -> list[dict]:
    return [json.loads(message.data) async for message in socket]


async def transcribe(one: Service, pcm: bytes, block: int = 8000, caps: str = CAPS, **options) -> list[dict]:
    async with one.speak(caps, **options) as socket:
        for at in range(0, len(pcm), block):
            await socket.send_bytes(pcm[at : at + block])
        await socket.send_str("EOS")
        return await events(socket)


def finals(told: list[dict]) -> str:
    results = [event["result"] for event in told if "result" in event]
    return " ".join(r["hypotheses"][0]["transcript"] for r in results if r["final"])


async def vosk(one: Service, *said: str | bytes) -> list[dict]:
    """As `test.py` of Vosk's server: each message of audio is answered before the next."""
    async with one.http.ws_connect(one.url("/")) as socket:
        told = []
        for part in (*said, '{"eof" : 1}'):
            await (socket.send_str(part) if isinstance(part, str) else socket.send_bytes(part))
            if "config" not in str(part):
                told.append(await socket.receive_json())
        return told


class Held(Stub):
    """Decodes for as long as a test wants."""

    def __init__(self, go_on: threading.Event) -> None:
        super().__init__()
        self.decodes, self.go_on = threading.Event(), go_on

    def feed(self, pcm: bytes) -> None:
        self.decodes.set()
        assert self.go_on.wait(PATIENCE_S)
        super().feed(pcm)
