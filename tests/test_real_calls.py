"""Our call over kernel sockets, with both ends real, or one of them simulated."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import voxpath
from conftest import ROOT, of_the_run

CALL: dict[str, Any] = {
    "kind": "call",
    "duration": "6 s",
    "control": "libwebrtc",
    "video": {},
    "audio": {},
    "rate": {"start": "300 kbit/s"},
    "nack": True,
}


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


def test_marks_of_the_network_reach_a_control_over_kernel_sockets(tmp_path: Path):
    link = {"rate": "1 Mbit/s", "delay": "20 ms", "queue": {"kind": "codel", "ecn": True}}
    app = CALL | {
        "control": {"kind": "scream", "ecn": True},
        "rate": {"start": "2 Mbit/s", "max": "3 Mbit/s"},
    }
    made = call(("client", "server"), topology={"kind": "pipe", "link": link})
    made["flows"] = [{"name": "call", "app": {**app, "back": "none"}}]
    (folder,) = voxpath.run(made, out=tmp_path, backends=["real"], observe=["rtc"]).folders
    elements = pl.read_parquet(folder / "elements.parquet")
    assert elements["packets_marked"].sum() > 0, "the queue marks what says that it may be"
    # Marks are the only sign of congestion here, and the control comes down by them.
    signals = pl.read_parquet(folder / "signals.parquet").with_columns(pl.col("signal").cast(pl.String))
    target = signals.filter(signal="target_bps")["number"]
    assert target.max() > 1e6
    assert target[-1] < 1.2e6


def test_messages_of_a_data_channel_come_over_kernel_sockets(tmp_path: Path):
    data = {"size": "2 kB", "interval": "100 ms", "messages": 30}
    made = call(("client", "server"))
    made["flows"][0]["app"] = CALL | {"data": data, "protection": "dtls_srtp"}
    (folder,) = voxpath.run(made, out=tmp_path, backends=["real"]).folders
    messages = pl.read_parquet(folder / "data_messages.parquet").with_columns(
        pl.col("outcome").cast(pl.String)
    )
    assert messages.height == 60
    assert messages["outcome"].unique().to_list() == ["delivered"]
    assert (messages["delivered_ns"] - messages["published_ns"]).min() >= 20e6
    assert pl.read_parquet(folder / "flows.parquet")["bytes_wrong"].to_list() == [0]


def test_malformed_datagrams_are_counted_and_nothing_else():
    command = [sys.executable, "fuzz/datagrams.py", "--datagrams", "20000", "--rate", "5000"]
    flooded = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert flooded.returncode == 0, flooded.stdout + flooded.stderr
