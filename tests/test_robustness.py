"""What goes wrong outside of a scenario: Ctrl-C, full disks, options that contradict each other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import SMALL, without_progress
from processes import Tool, WorkerStarts, until
from voxpath import halts
from voxpath.results.packs import Packs


def interrupted(
    directory: Path, *arguments: str | Path, at: halts.Point | WorkerStarts, passings: int
) -> None:
    """Presses Ctrl-C when a process has reached a point so often."""
    tool = Tool(directory, *arguments, halt_at=at)
    try:
        tool.halted_after(passings)
        tool.interrupt()
        code, err = tool.ended()
        assert code == 130, err
        assert err.splitlines()[-1] == "voxpath: interrupted"
        # Whoever watches a pipe to its parent may take a moment to see it closed.
        until(lambda: not tool.processes())
    finally:
        tool.killed()
    assert all((folder / "verdict.json").is_file() for folder in _runs(directory)), "whole or not at all"


def _runs(directory: Path) -> list[Path]:
    """Whatever a store has, hidden or not, but for packs that are what was written."""
    store = directory / "runs"
    packs = Packs(store)
    for name in packs.names():
        packs.find(name)
    whole = {packs.directory} if list(packs.directory.glob(".*")) == [] else set()
    return [path for path in store.iterdir() if path not in whole] if store.is_dir() else []


@pytest.mark.parametrize(
    ("at", "passings"),
    [
        ("run.begins", 1),
        ("run.begins", 4),
        ("store.half-written", 1),
        ("run.noted", 1),
    ],
)
def test_ctrl_c_while_workers_start_is_no_accident(
    at: halts.Point, passings: int, small: Path, tmp_path: Path
):
    interrupted(tmp_path, "run", small, "--replications", "100", "--jobs", "4", at=at, passings=passings)


@pytest.mark.parametrize(
    ("at", "passings"),
    [
        ("python.worker-starts", 1),
        ("cluster.made", 1),
        ("run.begins", 1),
        ("store.half-written", 3),
        ("run.noted", 1),
        ("run.noted", 20),
    ],
)
def test_ctrl_c_ends_a_sweep_on_a_dask_cluster(
    at: halts.Point | WorkerStarts, passings: int, small: Path, tmp_path: Path
):
    small.write_text(SMALL + "[sweep]\nreplications = 1000\n")
    interrupted(tmp_path, "sweep", small, "--dask", "local:2", at=at, passings=passings)


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
    told = without_progress(done.stderr)
    assert told == "Error: cannot write the output: No space left on device\n"


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
    from voxpath.cli.actions.common import check_store

    check_store(tmp_path / "a" / "b", ["sim"])
    (tmp_path / "there").mkdir()
    check_store(tmp_path / "there", ["sim"])
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
