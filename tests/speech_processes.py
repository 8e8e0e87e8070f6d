"""The speech service as it is deployed: a master in a process of its own, and the workers that it starts."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from conftest import PATIENCE_S, ROOT
from processes import LOOK_S

SPEECH = (sys.executable, "-m", "voxpath", "speech")
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT / "python"), "PYTHONUNBUFFERED": "1"}


@dataclass
class Deployed:
    process: asyncio.subprocess.Process
    http: aiohttp.ClientSession
    port: int

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    @property
    def master(self) -> int:
        return self.process.pid

    @property
    def workers(self) -> list[int]:
        return [
            int(one) for one in Path(f"/proc/{self.master}/task/{self.master}/children").read_text().split()
        ]

    async def free(self, count: int) -> None:
        """Until so many workers are."""
        async with (
            asyncio.timeout(PATIENCE_S),
            self.http.ws_connect(f"{self.url}/client/ws/status") as socket,
        ):
            while (await socket.receive_json())["num_workers_available"] != count:
                pass


def kilobytes(process: int, what: str = "VmRSS") -> int:
    """Memory of a process; `VmHWM` is the most that it ever had."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{what}:"))


def is_gone(process: int) -> bool:
    return not Path(f"/proc/{process}").exists()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.sleep(LOOK_S)


@contextlib.asynccontextmanager
async def deployed(cwd: Path, *options: str) -> AsyncIterator[Deployed]:
    process = await asyncio.create_subprocess_exec(
        *SPEECH, "serve", "--port", "0", *options,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, cwd=cwd, env=ENVIRONMENT,
    )  # fmt: skip
    try:
        port = int((await process.stdout.readline()).decode().strip().rpartition(":")[2])
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
            yield Deployed(process, http, port)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.communicate()
