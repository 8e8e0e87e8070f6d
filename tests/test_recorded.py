"""Datagrams as they were recorded: scenarios that send them, and captures that become such scenarios."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import voxpath as voxpath_package
from voxpath.results import captured
from voxpath.results.captured import CaptureError
from voxpath.scenario import ScenarioError, read

SCENARIO = """\
name = "recorded"

[topology]
kind = "pipe"
link = { delay = "10 ms", down = { loss = "5 %" } }

[[flows]]
name = "talk"
start = "1 s"
app = { kind = "recorded", file = "talk.datagrams" }

[[flows]]
name = "answers"
from = "server"
to = "client"
app = { kind = "recorded", file = "answers.datagrams" }
"""

MS = 1_000_000


def written(folder: Path, talk: str, count: int = 200) -> Path:
    (folder / "talk.datagrams").write_text(talk)
    answers = (f"{0.02 * number:.3f} {20 + 5 * number}\n" for number in range(count))
    (folder / "answers.datagrams").write_text("".join(answers))
    path = folder / "recorded.toml"
    path.write_text(SCENARIO)
    return path


def test_each_leaves_at_its_time_and_arrives_with_its_size(tmp_path: Path):
    path = written(tmp_path, "# a comment\n0 160\n0.02 1\n0.020000001 65507\n\n7 33\n")
    result = voxpath_package.run(path, out=tmp_path / "runs")
    rows = result.table("datagrams").filter(pl.col("flow") == "talk")
    assert rows["sent_ns"].to_list() == [1_000 * MS, 1_020 * MS, 1_020 * MS + 1, 8_000 * MS]
    assert rows["received_ns"].to_list() == [at + 10 * MS for at in rows["sent_ns"]]
    talk, answers = result.flows.sort("flow", descending=True).to_dicts()
    assert (talk["status"], talk["bytes_delivered"]) == ("completed", 160 + 1 + 65_507 + 33)
    # Of those that are lost the sizes are missing, whichever they are.
    lost = result.table("datagrams").filter(pl.col("flow") == "answers", pl.col("received_ns").is_null())
    assert 0 < len(lost) < 40
    sizes = sum(20 + 5 * number for number in range(200)) - sum(20 + 5 * n for n in lost["datagram"])
    assert answers["bytes_delivered"] == sizes


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("soon 160", "line 1: 'soon 160' is not a time in seconds and a size in bytes, such as 0.020 160"),
        ("0 160\n# later\n2 0", "line 3: a datagram carries 1 to 65507 bytes"),
        ("0 160\n2 9\n1 9", "line 3: comes before the one listed before it: times do not descend"),
        ("# nothing", "'talk.datagrams' is empty"),
    ],
)
def test_what_no_datagram_is_is_told_by_its_line(lines: str, told: str, tmp_path: Path):
    with pytest.raises(ScenarioError) as refused:
        read(written(tmp_path, lines))
    (problem,) = refused.value.problems
    assert told in problem.message
    assert "flows[0].app" in problem.key


def test_a_capture_becomes_a_scenario_of_the_same_datagrams_and_connections(voxpath, tmp_path: Path):
    path = written(tmp_path, "0 160\n0.02 90\n0.05 1200\n")
    text = (
        path.read_text() + '\n[[flows]]\napp = { kind = "download", request = "70 B", response = "9 kB" }\n'
    )
    path.write_text(text)
    called = voxpath("run", path.name, "--replication", "0", "--capture", "client")
    assert called.code == 0, called.err
    (run,) = (tmp_path / "runs").iterdir()
    (tmp_path / "call.pcapng").write_bytes((run / "captures/client.pcapng").read_bytes())
    called = voxpath("replay", "call.pcapng", "--preset", "lte", "--save", "again/call.toml")
    assert called.code == 0, called.err
    document = read(tmp_path / "again/call.toml")
    down, talk, fetched = (
        next(
            flow
            for flow in document.plan.data["flows"]
            if flow["app"]["kind"] == kind and flow["from"] == end
        )
        for kind, end in (("recorded", 1), ("recorded", 0), ("download", 0))
    )
    assert talk["app"]["datagrams"] == [[0, 160], [20 * MS, 90], [50 * MS, 1200]]
    assert len(down["app"]["datagrams"]) < 200, "what was lost was not captured where it should have come"
    # The capture begins with its first packet.
    assert talk["start_ns"] - fetched["start_ns"] == 1_000 * MS
    assert (fetched["app"]["request_bytes"], fetched["app"]["response_bytes"]) == (70, 9_000)
    assert document.plan.data["links"][0]["ab"]["rate_bps"] == 12_000_000
    result = voxpath_package.run(tmp_path / "again/call.toml", out=tmp_path / "runs")
    assert set(result.flows["status"]) == {"completed"}


def test_what_is_no_capture_and_options_without_sense_are_refused(voxpath, small: Path, tmp_path: Path):
    (tmp_path / "x.pcap").write_text("no capture")
    with pytest.raises(CaptureError, match=r"x\.pcap cannot be read"):
        captured.read(tmp_path / "x.pcap")
    assert "cannot be read" in voxpath("replay", "x.pcap", "--save", "y.toml").err
    assert "--network" in voxpath("replay", "x.pcap", "--network", "--save", "y.toml").err
    voxpath("run", small, "--replication", "0")
    (run,) = (tmp_path / "runs").iterdir()
    assert "--preset" in voxpath("replay", run, "--preset", "lte", "--save", "y.toml").err
    assert not (tmp_path / "y.toml").exists()
