"""Our call over kernel sockets, with both ends real, or one of them simulated."""

from __future__ import annotations

import json
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
