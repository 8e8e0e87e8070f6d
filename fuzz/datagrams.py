"""Malformed datagrams that flood one end of a call between real hosts: they are counted, and nothing else.

`python fuzz/datagrams.py` sends a million (`make soak`), `tests/test_real_calls.py` fewer. A program on the
client's host sends them from the client's own address and port: a connected socket hears of nobody else.
"""

from __future__ import annotations

import argparse
import json
import random
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

import voxpath

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 20
PORTS = (49_152, 5_001)
"""The ports of the first flow's client and server (`ports_of` in the engine)."""
SLOT_S = 0.01
"""Datagrams are sent in bursts of so long."""


def malformed(draws: random.Random) -> Iterator[bytes]:
    """Datagrams that are no RTP or RTCP of any call, each in one way, in turn."""
    while True:
        rest = draws.randbytes(draws.randrange(8, 1200))
        # Another version than 2; of zero octets; no header.
        yield bytes([draws.choice((0x00, 0x40, 0xC0)) | draws.randrange(64)]) + rest
        yield b""
        yield b"\x80" + rest[: draws.randrange(11)]
        # RTP of a source that nobody announced.
        yield b"\x80" + bytes([draws.choice((96, 98, 111)), *rest[:2]]) + rest[:4] + b"\0\0\0\1" + rest
        # RTCP that says that it is longer than it is, and reports that are shorter than their count says.
        yield b"\x80" + bytes([draws.randrange(200, 207), 0xFF, 0xFF]) + rest
        yield b"\x9f\xc9\x00\x01" + rest[:4]


def flood(local: str, remote: str, datagrams: int, rate: int) -> None:
    """Sends datagrams at a rate, from an address and port that somebody else has too."""
    made = malformed(random.Random(SEED))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        out.bind((local, PORTS[0]))
        begin, sent = time.monotonic(), 0
        while sent < datagrams:
            due = min(datagrams, int((time.monotonic() - begin) * rate))
            for _ in range(due - sent):
                out.sendto(next(made), (remote, PORTS[1]))
            sent = max(sent, due)
            time.sleep(SLOT_S)


def scenario(datagrams: int, rate: int) -> dict[str, Any]:
    """The call, and the program that floods it."""
    lasts = datagrams / rate + 6
    this = str(Path(__file__).resolve())
    command = [sys.executable, this, "flood", "10.0.0.1", "10.0.0.2", str(datagrams), str(rate)]
    media = {"rate": {"start": "1 Mbit/s"}, "video": {"rate": "500 kbit/s"}, "audio": {}}
    return {
        "name": "a flood of malformed datagrams",
        "duration": f"{lasts + 20:.0f} s",
        "topology": {"kind": "pipe", "link": {"rate": "1 Gbit/s", "delay": "1 ms"}},
        "hosts": {
            "client": {"profile": "linux", "run": command, "start": "1 s"},
            "server": {"profile": "linux"},
        },
        "flows": [
            {"name": "call", "app": {"kind": "call", "duration": f"{lasts:.0f} s", **media, "nack": True}}
        ],
    }


def judge(datagrams: int, rate: int, folder: Path) -> list[str]:
    """Runs the call; what does not hold."""
    begin = time.monotonic()
    (run,) = voxpath.run(scenario(datagrams, rate), out=folder, backends=["real"]).folders
    took = time.monotonic() - begin
    flows = pl.read_parquet(run / "flows.parquet").to_dicts()
    calls = pl.read_parquet(run / "calls.parquet").with_columns(pl.col("end").cast(pl.String))
    counted = {row["end"]: row["datagrams_malformed"] for row in calls.to_dicts()}
    frames = pl.read_parquet(run / "frames.parquet")
    played = frames["played_ns"].is_not_null().mean()
    print(
        f"{datagrams} malformed datagrams at {rate} a second: {counted['server']} counted at the server,"
        f" {counted['client']} at the client; {played:.1%} of frames played; {took:.0f} s"
    )
    verdict = json.loads((run / "verdict.json").read_text())
    print("the run's own problems:", verdict["problems"] or "none")
    return [
        said
        for holds, said in (
            (counted["server"] <= datagrams, "more were counted than sent"),
            # What the kernel's receive buffer has no room for is not seen.
            (counted["server"] >= 0.9 * datagrams, "more than a tenth was not counted"),
            (counted["client"] == 0, "the client's own datagrams were taken for malformed ones"),
            (flows[0]["status"] == "completed", "the call did not come to its end"),
            (flows[0]["bytes_wrong"] == 0, "octets of media are wrong"),
            (played > 0.9, "more than a tenth of the frames was not played"),
        )
        if not holds
    ]


def main() -> int:
    """Floods a call, or is the program that does."""
    if sys.argv[1:2] == ["flood"]:
        local, remote, datagrams, rate = sys.argv[2:]
        flood(local, remote, int(datagrams), int(rate))
        return 0
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datagrams", type=int, default=1_000_000)
    parser.add_argument("--rate", type=int, default=20_000, help="datagrams a second")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        problems = judge(asked.datagrams, asked.rate, Path(folder))
    for problem in problems:
        print("does not hold:", problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
