"""Sweeps on a Dask cluster that is not of our making."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from conftest import PATIENCE_S, SMALL
from processes import Tool, until

CLUSTER = """
import sys
from distributed import LocalCluster

if __name__ == "__main__":
    cluster = LocalCluster(1, threads_per_worker=1, dashboard_address="127.0.0.1:0")
    print(cluster.scheduler_address, flush=True)
    for line in sys.stdin:
        cluster.scale(int(line))
        cluster.sync(cluster._correct_state)
        print("done", flush=True)
    cluster.close()
"""


@dataclass
class Cluster:
    popen: subprocess.Popen[str]
    address: str

    def scale(self, workers: int) -> None:
        """Has so many workers from now on."""
        assert self.popen.stdin is not None
        assert self.popen.stdout is not None
        self.popen.stdin.write(f"{workers}\n")
        self.popen.stdin.flush()
        assert self.popen.stdout.readline() == "done\n"


def started(directory: Path, *wrapper: str) -> Cluster:
    (directory / "cluster.py").write_text(CLUSTER)
    popen = subprocess.Popen(
        [*wrapper, sys.executable, "cluster.py"],
        cwd=directory,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert popen.stdout is not None
    return Cluster(popen, popen.stdout.readline().strip())


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """Another current directory than the command's."""
    made = tmp_path / "elsewhere"
    made.mkdir()
    return made


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL + "[sweep]\nreplications = 4\n")
    return path


@pytest.fixture
def cluster(elsewhere: Path) -> Iterator[Cluster]:
    made = started(elsewhere)
    yield made
    made.popen.communicate(timeout=PATIENCE_S)


def test_workers_with_another_current_directory_write_to_the_store_of_the_command(
    cluster: Cluster, voxpath, small: Path, tmp_path: Path, elsewhere: Path
):
    called = voxpath("sweep", small, "--out", "runs", "--dask", cluster.address)
    assert called.code == 0, called.err
    assert "the cluster's dashboard: http://127.0.0.1:" in called.err
    assert len(list((tmp_path / "runs").glob("*/verdict.json"))) == 4
    assert not (elsewhere / "runs").exists()


def test_a_worker_that_does_not_see_the_store_is_refused_before_the_first_run(
    voxpath, small: Path, tmp_path: Path, elsewhere: Path
):
    """It has a file system of its own over the store's place."""
    (tmp_path / "there").mkdir()
    hidden = f'mount -t tmpfs none {tmp_path / "there"} && exec "$@"'
    cluster = started(elsewhere, "unshare", "--map-root-user", "--mount", "sh", "-c", hidden, "sh")
    try:
        called = voxpath("sweep", small, "--out", "there/runs", "--dask", cluster.address)
    finally:
        cluster.popen.communicate(timeout=PATIENCE_S)
    assert called.code == 2, called.out
    told = " ".join(called.err.split())
    assert "the worker at tcp://" in told
    assert f"does not see the store {tmp_path / 'there' / 'runs'}" in told
    assert "nothing was run" in told
    assert list((tmp_path / "there").iterdir()) == []


def test_a_cluster_of_this_machine_does_not_ask_for_a_port_that_others_have(voxpath, small: Path):
    with socket.socket() as taken:
        # Somebody else may have it already.
        with contextlib.suppress(OSError):
            taken.bind(("127.0.0.1", 8787))
            taken.listen()
        called = voxpath("sweep", small, "--out", "runs", "--dask", "local:1")
    assert called.code == 0, called.err
    assert called.err == ""


def test_a_worker_with_another_engine_is_refused(cluster: Cluster, small: Path, voxpath, monkeypatch):
    from voxpath import _engine

    monkeypatch.setattr(_engine, "BUILD", "another")
    called = voxpath("sweep", small, "--out", "runs", "--dask", cluster.address)
    assert called.code == 2
    assert "but another is needed; nothing was run" in " ".join(called.err.split())


def test_a_sweep_whose_scheduler_is_lost_ends_and_says_so(cluster: Cluster, small: Path, tmp_path: Path):
    small.write_text(SMALL + "[sweep]\nreplications = 1000\n")
    tool = Tool(tmp_path, "sweep", small, "--out", "there", "--dask", cluster.address, halt_at="run.noted")
    try:
        tool.halted()
        cluster.popen.kill()
        code, err = tool.ended()
    finally:
        tool.killed()
    assert code == 2, err
    assert f"the scheduler at {cluster.address} was lost" in " ".join(err.split())
    assert "Traceback" not in err


def test_a_cluster_that_lost_its_workers_is_waited_for_in_the_open_and_until_ctrl_c(
    cluster: Cluster, small: Path, tmp_path: Path
):
    small.write_text(SMALL + "[sweep]\nreplications = 10000\n")
    tool = Tool(tmp_path, "sweep", small, "--out", "there", "--dask", cluster.address, halt_at="run.noted")
    try:
        # After the first run, and before most others are handed out, however long it takes to see that.
        tool.halted()
        cluster.scale(0)
        told = ""

        def says() -> bool:
            nonlocal told
            for found in tool.processes():
                if found.halted:
                    found.go_on()
            assert tool.popen.stderr is not None
            if select.select([tool.popen.stderr], [], [], 0)[0]:
                told += os.read(tool.popen.stderr.fileno(), 65536).decode()
            tool.assert_alive()
            return "waits" in told

        until(says)
        assert f"the cluster at {cluster.address} has no workers any more" in told
        tool.interrupt()
        code, err = tool.ended()
    finally:
        tool.killed()
    assert code == 130, err
    assert "Traceback" not in err
