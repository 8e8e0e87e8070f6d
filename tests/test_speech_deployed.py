"""The service as it is deployed, in processes that are killed; and what it holds in memory."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp

from conftest import ROOT
from test_speech_service import CAPS, CARD, PATIENCE_S, Service, events, finals, run, transcribe
from voxpath.speech import client
from voxpath.speech.samples import samples

SPEECH = (sys.executable, "-m", "voxpath", "speech")
READ = samples("sample:librivox")[0].pcm()
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT / "python"), "PYTHONUNBUFFERED": "1"}


class Deployed(Service):
    """A master that is a process of its own, and its workers."""

    process: asyncio.subprocess.Process

    def workers_alive(self) -> list[int]:
        return children(self.process.pid)

    async def free(self, count: int) -> None:
        """Until so many workers are."""
        async with asyncio.timeout(PATIENCE_S), self.http.ws_connect(self.url("/client/ws/status")) as socket:
            while (await socket.receive_json())["num_workers_available"] != count:
                pass


def children(process: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def kilobytes(process: int, what: str = "VmHWM") -> int:
    """Memory of a process, the most that it had unless something else is asked."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{what}:"))


def gone(process: int) -> bool:
    return not Path(f"/proc/{process}").exists()


async def until(holds) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def deployed(cwd: Path, *options: str) -> AsyncIterator[Deployed]:
    process = await asyncio.create_subprocess_exec(
        *SPEECH, "serve", "--port", "0", *options,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, cwd=cwd, env=ENVIRONMENT,
    )  # fmt: skip
    try:
        port = int((await process.stdout.readline()).decode().strip().rpartition(":")[2])
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
            one = Deployed(port, None, [], http)
            one.process = process
            yield one
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.communicate()


def test_killed_clients_workers_and_masters_are_survived(tmp_path: Path):
    """One deployment, three accidents in the middle of an utterance."""

    async def test() -> None:
        async with deployed(tmp_path, "--workers", "2", "--wait", "30") as one:
            await one.free(2)
            # A client: its worker returns to the pool.
            sample = ("stream", "sample:librivox", "--server", one.url(""), "--save", "records.json")
            killed = await asyncio.create_subprocess_exec(*SPEECH, *sample, cwd=tmp_path, env=ENVIRONMENT)
            await one.free(1)
            killed.kill()
            await killed.wait()
            await one.free(2)

            # A worker: its client is told, another worker takes its place.
            before = one.workers_alive()
            async with one.speak() as socket:
                await socket.send_bytes(READ)
                assert (await socket.receive_json())["status"] == 0
                for worker in before:
                    os.kill(worker, signal.SIGKILL)
                last = (await events(socket))[-1]
                assert (last["status"], last["message"]) == (2, "the worker was lost")
            await one.free(2)
            after = one.workers_alive()
            assert len(after) == 2
            assert not set(before) & set(after)
            assert finals(await transcribe(one, CARD)) == "ten of clubs"

            # The master: its client says so, its workers end.
            audio = client.Audio("card", CARD + bytes(320_000), CAPS, 32_000.0, "ten of clubs")
            streaming = asyncio.create_task(client.stream(one.http, audio, client.Settings(one.url(""))))
            await one.free(1)
            one.process.kill()
            record = await streaming
            assert (record.status, record.word_error_rate) == (None, None)
            assert record.message
            await until(lambda: all(gone(worker) for worker in after))

    run(test)


def test_a_service_whose_workers_cannot_begin_says_so_and_ends(tmp_path: Path):
    async def test() -> None:
        process = await asyncio.create_subprocess_exec(
            *SPEECH, "serve", "--port", "0", "--recogniser", "sherpa", cwd=tmp_path, env=ENVIRONMENT,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, err = await process.communicate()
        assert (process.returncode, out) == (1, b"")
        assert b"pip install 'voxpath[speech-sherpa]'" in err or b"--model names a directory" in err
        assert b"a worker has ended; its messages are above" in err

    run(test)
