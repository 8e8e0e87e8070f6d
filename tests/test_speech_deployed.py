"""The service as it is deployed, in processes that are killed; and what it holds in memory."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import tracemalloc
from pathlib import Path

import aiohttp
import pytest

from conftest import PATIENCE_S
from processes import has_halted
from speech_processes import ENVIRONMENT, SPEECH, deployed, is_gone, kilobytes, until
from speech_service import CAPS, CARD, events, run, service, transcribe
from voxpath import halts
from voxpath.voice.speech import client, master, worker
from voxpath.voice.speech.samples import samples

READ = samples("sample:librivox")[0].pcm()
AUDIO = client.Audio("card", CARD, CAPS, 32_000.0, "ten of clubs")


def test_killed_clients_workers_and_masters_are_survived(tmp_path: Path):
    """One deployment, three accidents in the middle of an utterance."""

    async def test() -> None:
        async with deployed(tmp_path, "--workers", "2", "--wait", str(PATIENCE_S)) as one:
            await one.free(2)
            # A client: its worker returns to the pool.
            killed = await asyncio.create_subprocess_exec(
                *SPEECH, "stream", "sample:librivox", "--server", one.url, cwd=tmp_path,
                env=ENVIRONMENT | {halts.VARIABLE: "client.block-sent"},
            )  # fmt: skip
            await one.free(1)
            await until(lambda: has_halted(killed.pid))
            killed.kill()
            await killed.wait()
            await one.free(2)

            # Workers: a client is told, others take their places.
            before = one.workers
            async with one.http.ws_connect(f"{one.url}/client/ws/speech") as socket:
                await socket.send_bytes(READ)
                assert (await socket.receive_json())["status"] == 0
                for worker in before:
                    os.kill(worker, signal.SIGKILL)
                last = (await events(socket))[-1]
                assert (last["status"], last["message"]) == (2, "the worker was lost")
            await one.free(2)
            after = one.workers
            assert len(after) == 2
            assert not set(before) & set(after)
            record = await client.stream(one.http, AUDIO, client.Settings(one.url, paced=False))
            assert record.transcript == "ten of clubs"

            # The master: a client says so, the workers end.
            slow = client.Audio("card", CARD + bytes(60 * 32_000), CAPS, 32_000.0, "ten of clubs")
            streaming = asyncio.create_task(client.stream(one.http, slow, client.Settings(one.url)))
            await one.free(1)
            one.process.kill()
            record = await streaming
            assert (record.status, record.word_error_rate) == (None, None)
            assert record.message
            await until(lambda: all(map(is_gone, after)))

    run(test)


def test_a_service_whose_workers_cannot_begin_says_so_and_ends(tmp_path: Path):
    async def test() -> None:
        process = await asyncio.create_subprocess_exec(
            *SPEECH, "serve", "--port", "0", "--recogniser", "sherpa", cwd=tmp_path, env=ENVIRONMENT,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, err = await process.communicate()
        assert (process.returncode, out) == (1, b"")
        assert b"pip install '.[speech-sherpa]'" in err or b"--model names a directory" in err
        assert b"a worker has ended; its messages are above" in err

    run(test)


GROWTH = 200_000
"""Octets that 75 sessions more may leave behind; one utterance of the stub is 35 000."""


def test_sessions_leave_nothing_in_memory(monkeypatch: pytest.MonkeyPatch):
    """Of master, workers and clients together, in one process; what is allocated is counted to the octet."""
    # The WebSocket's library keeps a closed socket until the next heartbeat would be due, half a minute.
    for module in (master, worker):
        monkeypatch.setattr(module, "_HEARTBEAT_S", None)

    async def test() -> None:
        async with service(4) as one:

            async def wave() -> int:
                told = await asyncio.gather(*(transcribe(one, CARD) for _ in range(25)))
                assert {events_[-1]["status"] for events_ in told} == {0}
                await one.until(lambda: one.master.pool.available == 4)
                del told
                gc.collect()
                return tracemalloc.get_traced_memory()[0]

            tracemalloc.start()
            try:
                await wave()
                before = await wave()
                for _ in range(2):
                    await wave()
                assert await wave() - before < GROWTH
            finally:
                tracemalloc.stop()

    run(test)


PUSHING, PUSHED = 60, 4 << 20
HELD = 1 << 20
"""Octets for a client that nobody listens to yet: what kernel and WebSocket hold, and a message."""


def test_a_master_does_not_take_in_what_nobody_listens_to(tmp_path: Path):
    async def push(one, block: bytes) -> None:
        async with one.http.ws_connect(f"{one.url}/client/ws/speech") as socket:
            with contextlib.suppress(aiohttp.ClientError, ConnectionError):
                for _ in range(PUSHED // len(block)):
                    await socket.send_bytes(block)
            assert (await events(socket))[-1]["status"] == 9

    async def test() -> None:
        async with deployed(tmp_path, "--workers", "0", "--wait", "3") as one:
            before = kilobytes(one.master)
            await asyncio.gather(*(push(one, os.urandom(1 << 16)) for _ in range(PUSHING)))
            grown = kilobytes(one.master, "VmHWM") - before
            assert grown < PUSHING * HELD / 1024 < PUSHING * PUSHED / 1024

    run(test)
