"""The service's page in Chromium, behind an emulated link: when frames were sent and came, by who saw them.

`python tests/speech_browser.py PAGE FILE` is run on the emulated host (`voxpath exec`): it streams the file
by the page, and prints what the page itself and the browser's DevTools noted. `of_capture` is what the
link's tap saw of the same session.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from conftest import PATIENCE_S
from devtools import chromium

TEXT, BINARY = 1, 2
"""Opcodes of RFC 6455 section 5.2."""


@dataclass(frozen=True)
class Seen:
    """When frames of the session were sent and came, in seconds of one clock, and what was understood."""

    sent: list[float]
    came: list[float]
    text: str = ""

    def since(self) -> list[float]:
        """Times since the first frame of audio, which every observer has."""
        return [time - self.sent[0] for time in (*self.sent[1:], *self.came)]


def later(one: Seen, other: Seen) -> tuple[list[float], list[float]]:
    """By how many seconds an observer noted each frame after another did: those sent, and those that came.

    Their clocks differ, by the same for every frame.
    """
    assert (len(one.sent), len(one.came)) == (len(other.sent), len(other.came)), (one, other)
    return (
        [mine - others for mine, others in zip(one.sent, other.sent, strict=True)],
        [mine - others for mine, others in zip(one.came, other.came, strict=True)],
    )


def across(port: str, file: Path, cwd: Path, *link: str) -> dict[str, Seen]:
    """Streams a file to a server at a port of this machine, across 120 ms and 0.3 % unless told otherwise."""
    values = link or ("--delay", "60 ms", "--loss", "0.3 %", "--rate", "10 Mbit/s")
    command = [
        sys.executable,
        "-m",
        "voxpath",
        "exec",
        *values,
        "--reach",
        port,
        "--capture",
        "--out",
        "runs",
    ]
    command += ["--", sys.executable, __file__, f"http://machine:{port}/", str(file)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    noted = {name: Seen(**one) for name, one in json.loads(done.stdout).items()}
    run = re.findall(r"results: (\S+)", done.stderr)[-1]
    return noted | {"tap": of_capture(cwd / run / "captures" / "client.pcapng", int(port))}


async def streamed(page: str, file: Path) -> dict[str, Seen]:
    """What the page and DevTools saw."""
    # Its children may write still as it ends.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        async with asyncio.timeout(PATIENCE_S), chromium(Path(profile)) as browser:
            await browser.open("about:blank")
            await browser.call("Network.enable")
            await browser.call("Page.navigate", url=page)
            await browser.until("document.readyState === 'complete' && typeof Session === 'function'")
            await browser.choose("#file", file)
            await browser.until("session && session.over && session.latency !== undefined")
            told = await browser.value("({sent: session.sent, came: session.results.map((one) => one.at)})")
            text = await browser.value("document.getElementById('text').textContent")
            frames = {"webSocketFrameSent": [], "webSocketFrameReceived": []}
            for event in browser.events:
                name = event["method"].removeprefix("Network.")
                if name in frames:
                    frames[name].append(event["params"])
    sent, came = (
        [frame["timestamp"] for frame in some if is_audio(frame["response"]) or is_result(frame["response"])]
        for some in frames.values()
    )
    return {"page": Seen(**told, text=" ".join(text.split())), "devtools": Seen(sent, came)}


def is_audio(frame: dict) -> bool:
    return frame["opcode"] == BINARY


def is_result(frame: dict) -> bool:
    return frame["opcode"] == TEXT and '"result"' in frame["payloadData"]


def of_capture(capture: Path, port: int) -> Seen:
    """What went over the link's end at the client; a frame is there when the last of it is."""
    names = ("frame.time_epoch", "tcp.dstport", "websocket.opcode", "text")
    command = ["tshark", "-r", str(capture), "-d", f"tcp.port=={port},http", "-Y", "websocket"]
    command += ["-o", "tcp.reassemble_out_of_order:TRUE", "-T", "fields", "-E", "aggregator=|"]
    command += [word for name in names for word in ("-e", name)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    sent, came = [], []
    for line in done.stdout.splitlines():
        # Several frames may end in one packet.
        time, to, opcodes, text = line.split("\t")
        kinds = [int(opcode) for opcode in opcodes.split("|")]
        if int(to) == port:
            sent += [float(time)] * kinds.count(BINARY)
        else:
            came += [float(time)] * sum('"result"' in part for part in text.split("|"))
    return Seen(sent, came)


if __name__ == "__main__":
    seen = asyncio.run(streamed(sys.argv[1], Path(sys.argv[2])))
    sys.stdout.write(json.dumps({name: asdict(one) for name, one in seen.items()}))
