"""What programs did, as a scenario."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import voxpath as voxpath_package
from conftest import PATIENCE_S
from voxpath.cli.actions import replay
from voxpath.scenario import from_dict
from voxpath.scenario.replayed import NothingError, Sent, network, replayed

DATA = {
    "name": "x",
    "topology": {"kind": "pipe", "link": {"delay": "5 ms"}},
    "hosts": {"client": {"profile": "linux", "run": ["true"]}, "server": {"profile": "linux", "reach": [80]}},
}

PYTHON = sys.executable
SEND = """
import socket
with socket.create_connection(("machine", 9)) as connection:
    connection.sendall(b"x" * 30000)
    connection.shutdown(socket.SHUT_WR)
    # What is on its way when a command ends is not delivered any more.
    connection.recv(1)
"""
SINK = """
import socket
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
connection, _ = server.accept()
while connection.recv(65536):
    pass
"""


def row(flow: str, end: str, opened: int | None, sent: int) -> dict[str, object]:
    return {"flow": flow, "end": end, "opened_ns": opened, "bytes_delivered": sent}


def test_connections_become_flows_of_their_bytes_and_times():
    asked, pushed, filled = (f"client:{port} > server:80" for port in (1, 2, 3))
    rows = [row(asked, "client", 7, 71), row(asked, "server", 7, 900), row(pushed, "client", 5_000, 40)]
    rows += [row(filled, "client", 9, 0), row(filled, "server", 9, 30), row("a flow", "client", None, 5)]
    document = from_dict(replayed(DATA, rows, [], "x").data)
    flows = document.plan.data["flows"]
    assert [flow["app"]["kind"] for flow in flows] == ["download", "bulk", "bulk"]
    assert [flow["start_ns"] for flow in flows] == [7, 5_000, 9]
    names = [node["name"] for node in document.plan.data["nodes"]]
    assert [names[flow["from"]] for flow in flows] == ["client", "client", "server"]
    assert document.scenario.hosts["client"].run is None


def test_a_run_without_connections_cannot_be_replayed(voxpath, small: Path):
    with pytest.raises(NothingError, match="no TCP connection over which data went"):
        replayed(DATA, [], [], "x")
    voxpath("run", small)
    (run,) = (path for path in (small.parent / "runs").iterdir() if path.is_dir())
    refused = voxpath("replay", run, "--save", "again.toml")
    assert refused.code == 2
    assert "cannot be replayed" in refused.err
    assert not (small.parent / "again.toml").exists()


def test_datagrams_become_flows_of_their_own_files_and_changes_by_hand_stay():
    sent = [Sent("server", "client", [(5, 100), (2_000_000_007, 33)]), Sent("client", "server", [(0, 20)])]
    changed = {"at": "1 s", "link": "link", "up": {"delay": "9 ms"}}
    found = replayed({**DATA, "events": [changed]}, [], sent, "x")
    assert found.files["x-1.datagrams"] == b"0.000000000 100\n2.000000002 33\n"
    assert [flow["start"] for flow in found.flows] == ["5 ns", "0 ns"]
    assert found.data["events"] == [changed]
    alone = network({**DATA, "events": [changed]})
    assert alone.data["events"] == [changed]
    assert alone.data["hosts"] == {"client": {"profile": "linux"}, "server": DATA["hosts"]["server"]}
    assert from_dict(alone.data).plan.data["relays"][0]["port"] == 80


@pytest.mark.skipif(os.geteuid() != 0, reason="without root the ways in differ: test_real_robust")
def test_a_command_behind_a_link_is_replayed_in_virtual_time(voxpath, tmp_path: Path):
    with subprocess.Popen([PYTHON, "-c", SINK], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        ways = ["--delay", "9 ms", "--rate", "9 Mbit/s", "--reach", f"9:{server.stdout.readline().strip()}"]
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "voxpath",
                "exec",
                *ways,
                "--out",
                "kept",
                "--",
                sys.executable,
                "-c",
                SEND,
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    (run,) = (tmp_path / "kept").iterdir()
    assert voxpath("replay", run, "--save", "again.toml").code == 0
    result = voxpath_package.run(tmp_path / "again.toml", out=tmp_path / "runs")
    assert result.flows["bytes_delivered"].to_list() == [30_000]
    assert result.flows["status"].to_list() == ["completed"]


ASK = """
import socket, time
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.connect(("machine", 9))
for size in (30, 500, 20, 1200):
    out.send(b"x" * size)
    out.recv(2000)
"""
ECHO = """
import socket
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
while True:
    data, whose = server.recvfrom(2000)
    server.sendto(data * 2 if len(data) < 100 else data, whose)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="without root the ways in differ: test_real_robust")
def test_datagrams_of_a_command_are_replayed_both_ways(voxpath, tmp_path: Path):
    with subprocess.Popen([PYTHON, "-c", ECHO], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            reach = ["--reach", f"9:{server.stdout.readline().strip()}/udp"]
            command = [*reach, "--capture", "--out", "kept", "--", PYTHON, "-c", ASK]
            done = subprocess.run(
                [PYTHON, "-m", "voxpath", "exec", "--delay", "9 ms", *command],
                cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
            )  # fmt: skip
        finally:
            server.kill()
    assert done.returncode == 0, done.stderr
    (run,) = (tmp_path / "kept").iterdir()
    assert voxpath("replay", run, "--save", "again.toml").code == 0
    result = voxpath_package.run(tmp_path / "again.toml", out=tmp_path / "runs")
    flows = {row["flow"]: row for row in result.flows.to_dicts()}
    assert sorted(row["bytes_delivered"] for row in flows.values()) == [1_750, 1_800]
    rows = result.table("datagrams").sort("sent_ns")
    # In turn, as they were, each after the one before had come.
    assert rows["flow"].to_list() == [rows["flow"][0], rows["flow"][1]] * 4
    assert (rows["sent_ns"].diff().drop_nulls() >= 9_000_000).all()


def test_what_went_to_the_internet_is_not_replayed_from_its_run(tmp_path: Path):
    data = {**DATA, "hosts": {"client": {"profile": "linux", "run": ["true"]}, "server": {"internet": True}}}
    with pytest.raises(NothingError, match=r"replay a capture of it \(.*captures\), or its network alone"):
        replay._of_run(from_dict(data), tmp_path, "x")


def test_a_file_that_is_there_is_not_replaced_by_a_replay(voxpath, small: Path):
    assert voxpath("run", small, "--replication", "0").code == 0
    (run,) = (path for path in (small.parent / "runs").iterdir() if path.is_dir())
    before = small.read_text()
    refused = voxpath("replay", run, "--network", "--save", small)
    assert refused.code == 2
    assert small.read_text() == before
