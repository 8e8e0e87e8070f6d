"""What the speech service bears: limits of a session, clients and workers that are lost, and many at once."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from urllib.parse import quote

import aiohttp
import pytest

from conftest import PATIENCE_S
from speech_service import (
    CAPS,
    CARD,
    PATIENT,
    Held,
    Service,
    Stub,
    events,
    finals,
    pass_s,
    run,
    service,
    transcribe,
    vosk,
)
from voxpath.voice.speech import master, worker


def test_no_worker_is_status_9_and_503():
    async def test() -> None:
        async with service(0, settings=master.Settings()) as one:
            told = await transcribe(one, b"")
            assert [(event["status"], event["message"]) for event in told] == [
                (9, "No decoder available, try again later")
            ]
            async with one.http.put(one.url("/client/dynamic/recognize", "http"), data=CARD) as answer:
                assert answer.status == 503
                assert await answer.text() == "No workers available"

    run(test)


@pytest.fixture
def _no_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is given up for not answering while a test's clock jumps."""
    for module in (master, worker):
        monkeypatch.setattr(module, "_HEARTBEAT_S", None)


@pytest.mark.usefixtures("_no_heartbeat")
def test_a_client_that_waits_for_a_slow_worker_is_not_idle():
    """Vosk's clients say nothing until they are answered."""
    slow = Held(threading.Event())

    async def test() -> None:
        async with service(make=lambda: slow) as one:
            asking = asyncio.create_task(vosk(one, '{"config": {"sample_rate": 16000}}', CARD))
            await one.until(slow.decodes.is_set)
            await pass_s(2 * PATIENT.limits.idle_s)
            slow.go_on.set()
            assert (await asking)[-1]["text"].endswith("octets")
            async with one.http.ws_connect(one.url("/vosk")) as socket:
                await socket.send_str('{"config": {"sample_rate": 16000}}')
                await socket.send_bytes(CARD)
                assert "partial" in await socket.receive_json()
                await pass_s(2 * PATIENT.limits.idle_s)
                assert (await socket.receive_json())["status"] == 1

    run(test)


@pytest.mark.usefixtures("_no_heartbeat")
def test_limits_end_a_session_with_a_status():
    async def test() -> None:
        limits = replace(PATIENT.limits, message_bytes=50_000)
        async with service(settings=master.Settings(limits)) as one:
            async with one.speak() as socket:
                await socket.send_bytes(CARD)
                assert (await socket.receive_json())["status"] == 0
                await pass_s(2 * limits.idle_s)
                assert (await events(socket))[-1]["status"] == 1
            assert (await transcribe(one, bytes(50_000), 50_000))[-1]["status"] == 0
            async with one.speak() as socket:
                await socket.send_bytes(bytes(50_001))
                await events(socket)
                assert socket.close_code == aiohttp.WSCloseCode.MESSAGE_TOO_BIG
            await one.until(lambda: one.master.pool.available == 1)
        never_idle = master.Settings(replace(PATIENT.limits, idle_s=1e6))
        async with service(settings=never_idle) as one, one.speak() as socket:
            await socket.send_bytes(CARD)
            assert (await socket.receive_json())["status"] == 0
            await pass_s(2 * never_idle.limits.session_s)
            last = (await events(socket))[-1]
            assert (last["status"], last["message"]) == (2, "longer than 600 s")

    run(test)


class Deaf(Stub):
    """Hears when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.may = threading.Event()

    def feed(self, pcm: bytes) -> None:
        self.may.wait(PATIENCE_S)
        super().feed(pcm)


@pytest.mark.parametrize("whose", ["ours", "the original's"])
def test_what_is_not_heard_yet_is_bounded_and_all_of_it_where_the_worker_does_not_tell(whose: str):
    deaf = Deaf()

    async def test() -> None:
        settings = master.Settings(master.Limits(session_bytes=4 * len(CARD), wait_s=5.0))
        async with service(int(whose == "ours"), make=lambda: deaf, settings=settings) as one:
            original = None
            if whose != "ours":
                original = await one.http.ws_connect(one.url("/worker/ws/speech"))
                await one.until(lambda: one.master.pool.available == 1)
            (told,) = await transcribe(one, 5 * CARD)
            assert (told["status"], told["message"]) == (
                2,
                f"more than {4 * len(CARD)} bytes that are not heard yet",
            )
            deaf.may.set()
            if original is not None:
                await original.close()
                return
            # A client that waits for what it said to be heard may say as much as it wants.
            await one.until(lambda: one.master.pool.available == 1)
            told = await vosk(one, '{"config": {"sample_rate": 16000}}', *[CARD] * 10)
            assert all("error" not in reply for reply in told)
            assert len(told) == 11

    run(test)


def test_a_session_may_last_longer_if_its_client_asks_and_no_longer_than_that():
    async def test() -> None:
        settings = master.Settings(master.Limits(session_s=0.3, longest_s=PATIENCE_S, wait_s=5.0))
        async with service(2, settings=settings) as one:
            url = f"{one.url('/client/ws/speech')}?content-type={quote(CAPS)}&session="
            async with one.http.ws_connect(f"{url}{PATIENCE_S}") as long, one.speak() as usual:
                await long.send_bytes(CARD)
                assert (await events(usual))[-1]["message"] == "longer than 0.3 s"
                await long.send_str("EOS")
                assert finals(await events(long)).endswith("octets")
            for asked in (PATIENCE_S + 1, "nan", "long", "-1", ""):
                async with one.http.ws_connect(f"{url}{asked}") as socket:
                    (told,) = await events(socket)
                assert told["status"] == 5
                assert told["message"].endswith(f"a number from 0 to {PATIENCE_S} is expected")

    run(test)


def test_half_a_minute_without_speech_is_status_1():
    async def test() -> None:
        async with service() as one:
            told = await transcribe(one, bytes(2 * 16_000 * 31), block=64_000)
            assert told[-1]["status"] == 1

    run(test)


def test_half_sent_heads_are_closed_and_sessions_go_on():
    head = b"GET /client/ws/speech HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\nX: "

    async def test() -> None:
        limits = master.Limits(head_s=0.3, wait_s=5.0)
        async with service(settings=master.Settings(limits)) as one, one.speak() as socket:
            await socket.send_bytes(CARD)
            connections = [await asyncio.open_connection("127.0.0.1", one.port) for _ in range(50)]
            for _, writer in connections:
                writer.write(head)
            assert {await reader.read() for reader, _ in connections} == {b""}
            await socket.send_str("EOS")
            assert (await events(socket))[-1]["status"] == 0
            for _, writer in connections:
                writer.close()
                await writer.wait_closed()

    run(test)


def test_half_sent_references_are_closed():
    head = (
        b"POST /client/dynamic/reference HTTP/1.1\r\nHost: here\r\nContent-Id: 1\r\nContent-Length: 9\r\n\r\n"
    )

    async def test() -> None:
        limits = master.Limits(idle_s=0.3, head_s=0.3)
        async with service(0, settings=master.Settings(limits)) as one:
            reader, writer = await asyncio.open_connection("127.0.0.1", one.port)
            writer.write(head + b"ten")
            assert (await reader.readline()).startswith(b"HTTP/1.1 408 ")
            writer.close()
            await writer.wait_closed()

    # Not `run`: a task of the library listens for the rest for seconds.
    asyncio.run(test())


def test_a_client_that_is_killed_frees_its_worker():
    async def test() -> None:
        async with service() as one:
            for _ in range(3):
                socket = await one.speak()
                await socket.send_bytes(CARD[:8001])
                await one.until(lambda: one.master.pool.available == 0)
                # As the kernel closes for a process that was killed.
                socket._response.connection.transport.abort()
                await one.until(lambda: one.master.pool.available == 1)
                await socket.close()
            assert finals(await transcribe(one, CARD)).endswith("octets")

    run(test)


def test_a_worker_that_is_lost_is_status_2():
    async def test() -> None:
        async with service() as one, one.speak() as socket:
            await socket.send_bytes(CARD)
            assert (await socket.receive_json())["status"] == 0
            one.workers[0].cancel()
            assert (await events(socket))[-1]["status"] == 2

    run(test)


def test_two_hundred_clients_are_served_or_refused_and_nothing_is_left():
    """Half of them are more than the master takes at a time; the others wait for four workers."""
    go_on = threading.Event()

    async def test() -> None:
        limits = replace(PATIENT.limits, sessions=100)
        async with service(4, make=lambda: Held(go_on), settings=master.Settings(limits)) as one:
            connector = aiohttp.TCPConnector(limit=0)
            async with aiohttp.ClientSession(connector=connector) as http:
                many = Service(one.port, one.master, one.workers, http)
                asking = [asyncio.create_task(transcribe(many, CARD)) for _ in range(200)]
                await one.until(lambda: one.master.pool.processed == 100)
                go_on.set()
                told = await asyncio.gather(*asking)
            statuses = [events[-1]["status"] for events in told]
            assert (statuses.count(0), statuses.count(9)) == (100, 100)
            texts = {finals(one) for one, status in zip(told, statuses, strict=True) if status == 0}
            assert len(texts) == 1
            await one.until(lambda: one.master.pool.available == 4)
            assert one.master.pool.processed == 200

    run(test)
