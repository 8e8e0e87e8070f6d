"""Our call over kernel sockets: with real and simulated ends, and with datagrams that are no call."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import voxpath
from conftest import of_the_run

CALL: dict[str, Any] = {
    "kind": "call",
    "duration": "6 s",
    "control": "libwebrtc",
    "video": {},
    "audio": {},
    "rate": {"start": "300 kbit/s"},
    "nack": True,
}

MALFORMED = int(os.environ.get("VOXPATH_MALFORMED", "20000"))
"""Datagrams that are sent to a call and are none of it; `make soak` sends a million."""

SENDER = """
import random, socket, struct, sys, time

def call():
    # The socket of the call is connected: the kernel knows both ends.
    while True:
        for line in open("/proc/net/udp").readlines()[1:]:
            ends = [end.split(":") for end in line.split()[1:3]]
            if ends[1][0] != "00000000":
                return [(socket.inet_ntoa(bytes.fromhex(host)[::-1]), int(port, 16)) for host, port in ends]
        time.sleep(0.05)

(source, sport), (target, dport) = call()
draw = random.Random(1)

def datagram():
    # What begins like RTP or RTCP gets further than noise.
    kind = draw.choice([96, 97, 111, 200, 201, 202, 203, 204, 205, 206])
    head = bytes([draw.choice([0x00, 0x80, 0x81, 0x90, 0x8f, 0xa0, 0xff]), kind])
    size = draw.choice([1, 3, 4, 8, 12, 20, 60, 200])
    body = (head + draw.randbytes(size))[:size]
    return struct.pack("!HHHH", sport, dport, 8 + len(body), 0) + body

datagrams = [datagram() for _ in range(997)]
with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP) as raw:
    raw.bind((source, 0))
    for number in range(int(sys.argv[1])):
        raw.sendto(datagrams[number % len(datagrams)], (target, 0))
        if number % 100 == 99:
            # No faster than the end can read.
            time.sleep(0.002)
"""


def call(real: tuple[str, ...], **more: Any) -> dict[str, Any]:
    """A call whose ends are real or simulated, over two megabits."""
    hosts = {
        name: {"profile": "linux", "real" if name in real else "simulated": True}
        for name in ("client", "server")
    }
    return {
        "name": "a call between kinds of hosts",
        "duration": "20 s",
        "topology": {"kind": "pipe", "link": {"rate": "2 Mbit/s", "delay": "20 ms", "loss": "1 %"}},
        "hosts": hosts,
        "flows": [{"name": "call", "app": CALL}],
        **more,
    }


def seconds(folder: Path, end: str) -> pl.DataFrame:
    """Whole seconds of video of an end, the first two left out."""
    table = pl.read_parquet(folder / "media_seconds.parquet")
    return table.filter(
        pl.col("end").cast(pl.String) == end,
        pl.col("media").cast(pl.String) == "video",
        pl.col("second").is_between(2, 4),
    )


@pytest.mark.parametrize("real", [("client", "server"), ("client",), ("server",)])
def test_a_call_is_the_same_whichever_end_is_real(real: tuple[str, ...], tmp_path: Path):
    result = voxpath.run(call(real), out=tmp_path, backends=["real"])
    (folder,) = result.folders
    verdict = json.loads((folder / "verdict.json").read_text())
    assert of_the_run(verdict["problems"]) == []
    flows = pl.read_parquet(folder / "flows.parquet")
    assert flows["status"].to_list() == ["completed"]
    assert flows["bytes_wrong"].to_list() == [0]
    for end in ("client", "server"):
        table = seconds(folder, end)
        assert table["media_received_bps"].sum() > 0.9 * table["media_sent_bps"].sum() > 0
        # The first probes find the capacity; nothing of it is a question of speed.
        assert table["media_target_bps"].mean() > 300e3
        assert table["owd_mean_ns"].min() >= 20e6


def test_what_is_no_call_is_counted_and_nothing_else(tmp_path: Path):
    scenario = call(("client", "server"))
    scenario["topology"] = {"kind": "pipe", "link": {"delay": "5 ms"}}
    seconds_of_call = 6 + MALFORMED // 10_000
    scenario["flows"] = [{"name": "call", "app": {**CALL, "duration": f"{seconds_of_call} s"}}]
    scenario["duration"] = f"{4 * seconds_of_call} s"
    scenario["hosts"]["client"] |= {"run": [sys.executable, "-c", SENDER, str(MALFORMED)], "start": "1 s"}
    del scenario["hosts"]["client"]["real"]
    result = voxpath.run(scenario, out=tmp_path, backends=["real"])
    (folder,) = result.folders
    verdict = json.loads((folder / "verdict.json").read_text())
    assert of_the_run(verdict["problems"]) == []
    flows = pl.read_parquet(folder / "flows.parquet")
    assert (flows["status"].to_list(), flows["bytes_wrong"].to_list()) == (["completed"], [0])
    ends = pl.read_parquet(folder / "calls.parquet")
    counted = dict(zip(ends["end"].cast(pl.String), ends["datagrams_malformed"], strict=True))
    assert counted["client"] == 0
    # A few of the random ones are RTCP as it should be, of sources that nobody knows.
    assert 0.5 * MALFORMED < counted["server"] <= MALFORMED
    for end in ("client", "server"):
        table = seconds(folder, end)
        assert table["media_received_bps"].sum() > 0.9 * table["media_sent_bps"].sum() > 0
