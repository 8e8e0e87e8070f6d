"""What goes wrong outside of a scenario: Ctrl-C, full disks, options that contradict each other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import SMALL, process


@pytest.mark.parametrize("moment", range(8))
def test_ctrl_c_while_workers_start_is_no_accident(moment: int, small: Path, tmp_path: Path):
    """The interrupt comes at several moments after the first worker is there."""
    runner = process("run", small, "--replications", "20000", "--jobs", "4", cwd=tmp_path)
    try:
        children = Path(f"/proc/{runner.pid}/task/{runner.pid}/children")
        while not any(b"spawn_main" in _command(child) for child in children.read_text().split()):
            assert runner.poll() is None, runner.communicate()
            time.sleep(0.001)
        time.sleep(0.03 * moment)
        os.killpg(runner.pid, signal.SIGINT)
        _, err = runner.communicate(timeout=10)
    finally:
        runner.kill()
    assert runner.returncode == 130
    assert err.strip() == "voxpath: interrupted"


@pytest.mark.parametrize("moment", ["a worker starts", "a run is there", "runs are made"])
def test_ctrl_c_ends_a_sweep_on_a_dask_cluster(moment: str, small: Path, tmp_path: Path):
    small.write_text(SMALL + "[sweep]\nreplications = 50000\n")
    runner = process("sweep", small, "--dask", "local:2", cwd=tmp_path)
    try:
        wanted = {
            "a worker starts": lambda: any(b"spawn_main" in _command(it) for it in _group(runner.pid)),
            "a run is there": lambda: len(_runs(tmp_path)) > 0,
            "runs are made": lambda: len(_runs(tmp_path)) > 20,
        }[moment]
        while not wanted():
            assert runner.poll() is None, runner.communicate()
            time.sleep(0.01)
        os.killpg(runner.pid, signal.SIGINT)
        _, err = runner.communicate(timeout=30)
        assert runner.returncode == 130
        assert err.splitlines()[-1] == "voxpath: interrupted"
        assert "Traceback" not in err
        assert all((folder / "verdict.json").is_file() for folder in _runs(tmp_path)), "whole or not at all"
        # Whoever watches a pipe to its parent may take a moment to see it closed.
        given_up = time.monotonic() + 10
        while _group(runner.pid) and time.monotonic() < given_up:
            time.sleep(0.01)
        assert [_command(it) for it in _group(runner.pid)] == []
    finally:
        if runner.poll() is None or _group(runner.pid):
            os.killpg(runner.pid, signal.SIGKILL)


def _runs(directory: Path) -> list[Path]:
    """Whatever a store has, hidden or not."""
    return list((directory / "runs").iterdir()) if (directory / "runs").is_dir() else []


def _group(leader: int) -> list[str]:
    """The processes of a group, but for those that are dead and not buried."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, group = path.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if group == str(leader) and state != "Z":
            found.append(path.parent.name)
    return found


def _command(process_id: str) -> bytes:
    try:
        return Path(f"/proc/{process_id}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["run", "small.toml", "--jobs", "1"], ["schema"], ["doctor"]])
def test_a_full_disk_behind_the_output_is_told(arguments: list[str], unbuffered: str, small: Path):
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "voxpath", *arguments],
            cwd=small.parent,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "Error: cannot write the output: No space left on device\n"


@pytest.mark.parametrize("command", ["run", "sweep"])
@pytest.mark.parametrize("option", [("--observe", "tcp"), ("--capture", "client")])
def test_what_only_the_simulation_observes_needs_it(
    command: str, option: tuple[str, str], voxpath, tmp_path: Path
):
    (tmp_path / "small.toml").write_text(SMALL + "[sweep]\nreplications = 1\n")
    called = voxpath(command, "small.toml", "--backend", "formula", *option)
    assert called.code == 2
    assert option[0] in called.err
    assert "needs the backend sim" in called.err
    assert called.out == ""


@pytest.mark.parametrize("command", [["run", "small.toml"], ["study", "sarkar2022", "--quick"]])
def test_a_store_without_permission_is_refused_before_the_run(
    command: list[str], voxpath, small: Path, monkeypatch: pytest.MonkeyPatch
):
    def nothing_runs(*_: object) -> None:
        raise AssertionError("something was run")

    monkeypatch.setattr("voxpath.sweeps.runs.perform", nothing_runs)
    # Nobody may make a directory in /proc, root neither.
    called = voxpath(*command, "--out", "/proc/voxpath/runs")
    assert called.code == 2
    assert "--out: cannot write a run to /proc/voxpath/runs: " in called.err
    assert [path.name for path in small.parent.iterdir()] == [small.name]


def test_the_check_of_the_store_leaves_nothing(voxpath, small: Path, tmp_path: Path):
    from voxpath.commands import _check_store

    _check_store(tmp_path / "a" / "b", ["sim"])
    (tmp_path / "there").mkdir()
    _check_store(tmp_path / "there", ["sim"])
    assert sorted(path.name for path in tmp_path.rglob("*")) == [small.name, "there"]
    assert voxpath("run", small, "--backend", "formula", "--out", "/proc/voxpath").code == 0, "writes nothing"


@pytest.mark.parametrize("command", [("run", "small.toml"), ("show", "3f")])
def test_an_empty_store_is_no_directory(command: tuple[str, str], voxpath, small: Path):
    called = voxpath(*command, "--out", "")
    assert called.code == 2
    assert "--out" in called.err
    assert "is empty" in called.err
    assert [path.name for path in small.parent.iterdir()] == [small.name]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a = 1\na = 2", "2:1: duplicate key: a"),
        ('[[f]]\n"q\\".r" = 1\n"q\\".r" = 2', '3:1: duplicate key: "q\\".r"'),
        ("[x.'y z']\n[x.'y z']", "2:4: duplicate key: 'y z'"),
        ("[t]\nb = [1, inf]", "2:9: t.b[1]: this number is not finite"),
        ("a.b = 99999999999999999999", "1:7: a.b: this whole number"),
        ("x = [{d = 1979-05-27, e = 2}]", "1:11: x[0].d: a date"),
        ("a = nan\nb = ", "2:5: string values must be quoted"),
    ],
)
def test_a_fault_of_toml_names_its_key(text: str, says: str, voxpath, tmp_path: Path):
    (tmp_path / "bad.toml").write_text(text)
    called = voxpath("run", "bad.toml")
    assert called.code == 2
    assert f"\nbad.toml:{says}" in called.err
