"""Chromium by its DevTools protocol: pages that take their time, and what it notes of its sockets."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp

from processes import LOOK_S

_NAMES = ("chromium", "chromium-browser", "google-chrome")


class Browser:
    """Chromium by its DevTools protocol."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket, self._ids, self._session = socket, itertools.count(1), {}
        self.events: list[dict] = []
        """What it told without being asked."""

    async def call(self, method: str, **params):
        number = next(self._ids)
        await self._socket.send_json({"id": number, "method": method, "params": params, **self._session})
        while (told := await self._socket.receive_json()).get("id") != number:
            self.events.append(told)
        assert "error" not in told, told
        return told["result"]

    async def open(self, url: str) -> None:
        target = await self.call("Target.createTarget", url=url)
        attached = await self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = {"sessionId": attached["sessionId"]}

    async def value(self, expression: str):
        told = await self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    async def until(self, expression: str) -> None:
        while not await self.value(expression):
            await asyncio.sleep(LOOK_S)

    async def choose(self, selector: str, file: Path) -> None:
        root = await self.call("DOM.getDocument")
        node = await self.call("DOM.querySelector", nodeId=root["root"]["nodeId"], selector=selector)
        await self.call("DOM.setFileInputFiles", nodeId=node["nodeId"], files=[str(file)])


@contextlib.asynccontextmanager
async def chromium(profile: Path, *more: str) -> AsyncIterator[Browser]:
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    assert program is not None, "Chromium is missing: make setup installs it"
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-port=0"]
    flags += ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
    flags += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    process = await asyncio.create_subprocess_exec(
        program, *flags, *more, f"--user-data-dir={profile}", stderr=subprocess.DEVNULL, process_group=0
    )
    try:
        port = profile / "DevToolsActivePort"
        while not port.is_file() or port.read_text().count("\n") < 1:
            await asyncio.sleep(LOOK_S)
        number, path = port.read_text().split("\n")[:2]
        async with (
            aiohttp.ClientSession() as http,
            http.ws_connect(f"ws://127.0.0.1:{number}{path}", max_msg_size=0) as socket,
        ):
            yield Browser(socket)
            await socket.send_json({"id": 0, "method": "Browser.close"})
            async for _ in socket:
                pass
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
