"""Sessions of the speech service in which anybody says anything at any moment.

Who stays to the end has a status, no worker ends, and the session after it understands what it should.
`python fuzz/session.py --seconds 60` looks for what does not hold, `tests/test_speech_fuzz.py` tries a fixed
number of rounds. A round is named by seed and number, and is had again with `--seed S --round N`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import logging
import random
import sys
import time
import traceback
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote

import aiohttp
from said import CAPS, CARD, EVENTS, MESSAGE, query, steps

from voxpath.voice.speech import master, worker
from voxpath.voice.speech.recognisers import Heard, Recogniser, load

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator

WORKERS = 2
CLIENTS = 8
"""That talk at the same time in one round."""
SESSION = 1 << 18
"""Octets that the service allows to wait; more than that is said, too."""
PATIENCE_S = 300
"""Nothing here waits for a clock: who takes so long would wait for ever."""


class Counting:
    """Understands how much it has heard."""

    def __init__(self) -> None:
        self._octets = 0

    def reset(self) -> None:
        """Forgets."""
        self._octets = 0

    def begin(self) -> None:
        """Hears of a segment."""
        self._octets = 0

    def feed(self, pcm: bytes) -> None:
        """Counts."""
        self._octets += len(pcm)

    def partial(self) -> str:
        """In thirds of a second."""
        return f"{self._octets // 9600} so far"

    def finish(self) -> Heard:
        """In octets."""
        return Heard(f"{self._octets} octets")

    def adaptation(self) -> str | None:
        """Learns nothing."""
        return None

    def adapt(self, state: str) -> None:
        """Nothing was learnt."""
        raise ValueError(f"nothing was learnt: {state[:80]}")


class Faults(logging.Handler):
    """What was logged as an error, by whomever: a bug, since input alone is none."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keeps it."""
        self.told.append(self.format(record))


@dataclass
class Service:
    """A master, and workers that have come to it as from elsewhere."""

    port: int
    master: master.Master
    workers: list[asyncio.Task[None]]
    http: aiohttp.ClientSession
    faults: Faults = field(default_factory=Faults)

    def url(self, path: str, scheme: str = "ws") -> str:
        """Where it is."""
        return f"{scheme}://127.0.0.1:{self.port}{path}"

    async def understood(self) -> str:
        """What is understood of a card."""
        url = self.url("/client/dynamic/recognize", "http")
        async with self.http.put(url, data=CARD, headers={"Content-Type": CAPS}) as answer:
            told = await answer.json()
        assert told["status"] == 0, told
        return str(told["hypotheses"][0]["utterance"])


@contextlib.asynccontextmanager
async def service(make: Callable[[], Recogniser]) -> AsyncIterator[Service]:
    """One that waits for nobody but a worker."""
    limits = master.Limits(message_bytes=MESSAGE, session_bytes=SESSION, wait_s=PATIENCE_S)
    runner, made, port = await master.serve(master.Settings(limits), "127.0.0.1", 0, None)
    to = worker.Settings(f"ws://127.0.0.1:{port}")
    workers = [asyncio.create_task(worker.work(to, make())) for _ in range(WORKERS)]
    try:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
            one = Service(port, made, workers, http)
            logging.getLogger().addHandler(one.faults)
            await made.pool.until_available(WORKERS)
            yield one
    finally:
        logging.getLogger().removeHandler(one.faults)
        for task in workers:
            task.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        await runner.cleanup()


async def check(one: Service, seed: str, expected: str) -> dict[str, int]:
    """One round; says how many had which status, so that it can be seen what is reached.

    Raises:
        AssertionError: Something does not hold.
    """
    rng = random.Random(seed)
    reached: dict[str, int] = {}
    async with asyncio.timeout(PATIENCE_S):
        async with asyncio.TaskGroup() as group:
            talks = [
                group.create_task(rng.choice(TALKS)(one, random.Random(f"{seed} {i}")))
                for i in range(CLIENTS)
            ]
        for talk in talks:
            reached[talk.result()] = reached.get(talk.result(), 0) + 1
        await one.master.pool.until_available(WORKERS)
        # Each worker once, whatever was said to it before.
        for _ in range(WORKERS):
            assert await one.understood() == expected
            await one.master.pool.until_available(WORKERS)
    assert not any(task.done() for task in one.workers), "a worker has ended"
    assert one.master.pool.available == WORKERS, "there are more workers than there were"
    assert not one.faults.told, "\n".join(one.faults.told)
    return reached


async def kaldi(one: Service, rng: random.Random) -> str:
    """A client of the Kaldi server's WebSocket."""
    asked, media = query(rng)
    return await _talk(one, f"/client/ws/speech?{asked}", media, rng, "EOS", _kaldi)


async def vosk(one: Service, rng: random.Random) -> str:
    """A client of Vosk's."""
    path = rng.choice(["/", "/vosk"]) + (f"?{query(rng)[0]}" if rng.random() < 0.3 else "")
    return await _talk(one, path, CAPS, rng, '{"eof" : 1}', _vosk)


@dataclass
class Talk:
    """What one client has said and heard."""

    told: list[dict] = field(default_factory=list)
    came: asyncio.Event = field(default_factory=asyncio.Event)
    longest: int = 0
    left: str = ""

    async def hear(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        """Everything, to the end."""
        async for message in socket:
            self.told.append(json.loads(message.data))
            self.came.set()
        self.came.set()

    async def say(
        self, socket: aiohttp.ClientWebSocketResponse, media: str, rng: random.Random, end: str
    ) -> None:
        """Everything, and `end`, unless it leaves before."""
        with contextlib.suppress(ConnectionError):
            for what, value in itertools.chain(steps(rng, media), [("end", 0)]):
                await self._step(socket, rng, end, what, value)
                if self.left:
                    return

    async def _step(
        self, socket: aiohttp.ClientWebSocketResponse, rng: random.Random, end: str, what: str, value: object
    ) -> None:
        match what, value:
            case "text", str(said):
                await socket.send_str(said)
            case "audio", bytes(said):
                self.longest = max(self.longest, len(said))
                await socket.send_bytes(said)
            case "ping", _:
                await socket.ping()
            case "end", _ if end == "EOS" and rng.random() < 0.3:
                await socket.send_bytes(b"EOS")
            case "end", _:
                await socket.send_str(end)
            case "turns", int(turns):
                for _ in range(turns):
                    await asyncio.sleep(0)
            case "reply", _ if not socket.closed:
                # There may be none for what was said; then it is enough that nobody stands still.
                self.came.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(0.01):
                        await self.came.wait()
            case "close", int(code):
                self.left = "left"
                await socket.close(code=code)
            case "abort" | "garbage", _ if (transport := _transport(socket)) is not None:
                self.left = "was lost"
                if what == "garbage":
                    transport.write(rng.randbytes(40))
                transport.abort()


async def _talk(
    one: Service, path: str, media: str, rng: random.Random, end: str, judge: Callable[[list[dict]], str]
) -> str:
    talk = Talk()
    async with one.http.ws_connect(one.url(path)) as socket:
        hearing = asyncio.create_task(talk.hear(socket))
        try:
            await talk.say(socket, media, rng, end)
            if not talk.left:
                await hearing
        finally:
            hearing.cancel()
            await asyncio.gather(hearing, return_exceptions=True)
    if talk.left:
        return talk.left
    if talk.longest > MESSAGE and socket.close_code != aiohttp.WSCloseCode.OK:
        # The library closes, with a code that is lost if the client still sends.
        return "said too much at once"
    assert talk.told, f"no word before the end (code {socket.close_code}, {socket.exception()!r})"
    return judge(talk.told)


def _transport(socket: aiohttp.ClientWebSocketResponse) -> asyncio.Transport | None:
    connection = socket._response.connection
    return None if connection is None else connection.transport


def _kaldi(told: list[dict]) -> str:
    assert all(type(event["status"]) is int for event in told), told
    assert not any(event["status"] for event in told[:-1]), told
    return f"status {told[-1]['status']}"


def _vosk(told: list[dict]) -> str:
    assert all(len({"partial", "text", "alternatives", "error"} & set(reply)) == 1 for reply in told), told
    assert not any("error" in reply for reply in told[:-1]), told
    if "error" not in told[-1]:
        assert "partial" not in told[-1], told
        return "status 0"
    assert told[-1]["status"] > 0, told
    return f"status {told[-1]['status']}"


async def put(one: Service, rng: random.Random) -> str:
    """A client of the HTTP request, which may leave in the middle of it."""

    async def body() -> AsyncIterator[bytes]:
        for what, said in steps(rng, media):
            if what == "audio" and isinstance(said, bytes):
                yield said
            for _ in range(rng.choice([0, 0, 9])):
                await asyncio.sleep(0)
            if rng.random() < 0.05:
                raise ConnectionError("leaves")

    asked, media = query(rng)
    headers = {"Content-Type": media.encode("ascii", "replace").decode()}
    if rng.random() < 0.1:
        headers["Content-Encoding"] = rng.choice(["deflate", "gzip"])
    url = one.url(f"/client/dynamic/recognize?{asked}", "http")
    try:
        async with one.http.request(rng.choice(["PUT", "POST"]), url, data=body(), headers=headers) as answer:
            if answer.status != 200:
                return f"answer {answer.status}"
            told = await answer.json()
    except aiohttp.ClientError:
        return "was lost"
    assert type(told["status"]) is int, told
    return f"status {told['status']}"


async def stranger(one: Service, rng: random.Random) -> str:
    """Half a request, or none."""
    lines = [
        f"GET /client/ws/speech?content-type={quote(CAPS)} HTTP/1.1\r\n",
        *(
            "Host: here\r\n",
            "Upgrade: websocket\r\n",
            "Connection: Upgrade\r\n",
            "Sec-WebSocket-Version: 13\r\n",
        ),
        *("Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n", "\r\n"),
    ]
    whole = "".join(lines).encode()
    said = rng.choice(
        [whole[: rng.randrange(len(whole))], whole, whole + rng.randbytes(50), rng.randbytes(50)]
    )
    reader, writer = await asyncio.open_connection("127.0.0.1", one.port)
    writer.write(said)
    for _ in range(rng.choice([1, 9, 99])):
        await asyncio.sleep(0)
    if rng.random() < 0.5:
        writer.transport.abort()
    else:
        writer.close()
    with contextlib.suppress(ConnectionError):
        await reader.read()
        await writer.wait_closed()
    return "a stranger"


async def impostor(one: Service, rng: random.Random) -> str:
    """A worker that says anything; whoever is given to it has a status, too."""
    path = "/worker/ws/speech" + rng.choice(["", "?acknowledges=1"])
    async with one.http.ws_connect(one.url(path)) as socket:
        # The clients of this round may have gone, and nobody else asks for it.
        with contextlib.suppress(TimeoutError, TypeError, ConnectionError):
            async with asyncio.timeout(0.05):
                await socket.receive_str()
            for _ in range(rng.choice([0, 1, 2, 5])):
                await socket.send_str(rng.choice(EVENTS))
                for _ in range(rng.choice([0, 9])):
                    await asyncio.sleep(0)
    return "an impostor"


TALKS: list[Callable[[Service, random.Random], Coroutine[None, None, str]]] = [
    kaldi,
    kaldi,
    kaldi,
    vosk,
    vosk,
    put,
    stranger,
    impostor,
]
"""As likely as they stand here."""
RECOGNISERS: dict[str, Callable[[], Recogniser]] = {
    "counting": Counting,
    "pocketsphinx": lambda: load("pocketsphinx", None),
}


async def rounds(make: Callable[[], Recogniser], seed: str, numbers: Iterator[int]) -> dict[str, int]:
    """As many as there are numbers; how many sessions had which end."""
    reached: dict[str, int] = {}
    async with service(make) as one:
        expected = await one.understood()
        await one.master.pool.until_available(WORKERS)
        for number in numbers:
            try:
                for kind, count in (await check(one, f"{seed} {number}", expected)).items():
                    reached[kind] = reached.get(kind, 0) + count
            except Exception as error:
                error.add_note(f"seed {seed}, round {number}")
                raise
    return reached


def main() -> int:
    """Looks until the time is up, or something does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", default=None, help="by default another one each time")
    parser.add_argument("--round", type=int, default=None, help="this one alone")
    parser.add_argument("--recogniser", choices=RECOGNISERS, default="counting")
    arguments = parser.parse_args()
    seed = arguments.seed or str(random.SystemRandom().getrandbits(32))
    until = time.monotonic() + arguments.seconds
    numbers = itertools.takewhile(lambda _: time.monotonic() < until, itertools.count())
    print(f"fuzz: session for {arguments.seconds:g} s, {arguments.recogniser}, seed {seed}")
    logging.basicConfig(level=logging.CRITICAL)
    try:
        reached = asyncio.run(
            rounds(
                RECOGNISERS[arguments.recogniser],
                seed,
                numbers if arguments.round is None else iter([arguments.round]),
            )
        )
    except Exception:
        traceback.print_exc()
        print("fuzz: session does not hold: have the round again with --seed and --round")
        return 1
    print(f"fuzz:   {sum(reached.values())} sessions: {dict(sorted(reached.items()))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
