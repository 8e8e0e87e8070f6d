"""What programs did, as a scenario."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import voxpath as voxpath_package
from conftest import PATIENCE_S
from voxpath.scenario import from_dict
from voxpath.scenario.replayed import NothingError, replayed

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
    document = from_dict(replayed(DATA, rows))
    flows = document.plan.data["flows"]
    assert [flow["app"]["kind"] for flow in flows] == ["download", "bulk", "bulk"]
    assert [flow["start_ns"] for flow in flows] == [7, 5_000, 9]
    names = [node["name"] for node in document.plan.data["nodes"]]
    assert [names[flow["from"]] for flow in flows] == ["client", "client", "server"]
    assert document.scenario.hosts["client"].run is None


def test_a_run_without_connections_cannot_be_replayed(voxpath, small: Path):
    with pytest.raises(NothingError, match="no TCP connection over which data went"):
        replayed(DATA, [])
    voxpath("run", small)
    (run,) = (path for path in (small.parent / "runs").iterdir() if path.is_dir())
    refused = voxpath("replay", run, "--save", "again.toml")
    assert refused.code == 2
    assert "cannot be replayed" in refused.err
    assert not (small.parent / "again.toml").exists()


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
