"""What goes wrong outside of a scenario: Ctrl-C, full disks, options that contradict each other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import PATIENCE_S, SMALL, without_progress
from processes import Tool, WorkerStarts, until
from voxpath import files, halts
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


READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
"""Of a directory and a command: for the command it is read-only, for root too."""


def _read_only(store: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    namespace = ["unshare", "--map-root-user", "--mount", "sh", "-c", READ_ONLY, str(store)]
    command = [*namespace, sys.executable, "-m", "voxpath", *arguments]
    return subprocess.run(
        command, cwd=store.parent, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def test_a_finished_store_that_is_read_only_is_asked_until_a_run_is_missing(voxpath, tmp_path: Path):
    (tmp_path / "sweep.toml").write_text(
        SMALL + '[sweep]\n"topology.link.loss" = ["0 %", "1 %"]\nreplications = 2\n'
    )
    sweep = ["sweep", "sweep.toml", "--backend", "sim"]
    made = voxpath(*sweep, "--json")
    assert made.code == 0, made.err
    again = _read_only(tmp_path / "runs", *sweep, "--json")
    assert again.returncode == 0, again.stderr
    assert again.stdout == made.out.replace('"reused": false', '"reused": true')
    page = _read_only(tmp_path / "runs", "report", *sweep[1:])
    assert page.returncode == 0, page.stderr
    assert "(4 of them there already)" in page.stdout
    for more, there in (("--replications=3", "4 of 6"), ("--observe=tcp", "0 of 4")):
        refused = _read_only(tmp_path / "runs", *sweep, more)
        assert refused.returncode == 1
        told = f"Error: cannot write a run to runs: Read-only file system; {there} runs are there\n"
        assert told == without_progress(refused.stderr)
    (tmp_path / "runs" / ".partial-left").mkdir()
    collected = _read_only(tmp_path / "runs", "gc")
    assert collected.stdout.startswith("removed: nothing\n")
    (table,) = (tmp_path / "runs" / "packs").glob("*/tables/flows.parquet")
    table.unlink()
    damaged = _read_only(tmp_path / "runs", *sweep)
    assert "; 0 of 4 runs are there, and 4 are damaged, such as runs/" in damaged.stderr
    assert damaged.stderr.endswith("tables/flows.parquet is missing\n")
    anew = _read_only(tmp_path / "runs", *sweep, "--force")
    assert anew.returncode == 2, "nothing has been looked for"
    assert "--out: cannot write a run to runs: Read-only file system" in anew.stderr


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


def shell(command: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """What a shell makes of a line in which `voxpath` is ours."""
    script = f'voxpath() {{ "{sys.executable}" -m voxpath "$@"; }}; {command}'
    # As in most shells: without buffers nothing is left to be written at the exit.
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(
        ["bash", "-c", script], cwd=cwd, env={**usual, **environment},
        capture_output=True, text=True, check=False, timeout=PATIENCE_S,
    )  # fmt: skip


RUN = "voxpath run small.toml --backend sim"


@pytest.mark.parametrize(
    ("command", "code", "err"),
    [
        (f"{RUN} >&-", 1, "Error: cannot write the output: Bad file descriptor\n"),
        (f"{RUN} <&-", 0, ""),
        (f"{RUN} 2>&-", 0, ""),
        (f"{RUN} | true; exit ${{PIPESTATUS[0]}}", 1, ""),
        (f"{RUN} 2>&1 | true; exit ${{PIPESTATUS[0]}}", 1, ""),
        ("voxpath run nothing.toml 2>&1 | true; exit ${PIPESTATUS[0]}", 1, ""),
    ],
)
def test_streams_that_are_closed_or_have_no_reader_are_no_accident(
    command: str, code: int, err: str, small: Path
):
    # Whoever reads a pipe may be gone before, or after, the first line.
    done = shell(command, small.parent)
    assert done.returncode in ({0, 2, code} if "| true" in command else {code}), done
    assert without_progress(done.stderr) == err


def test_another_alphabet_gets_question_marks_and_the_same_json(small: Path):
    latin = {"PYTHONIOENCODING": "ascii"}
    small.write_text(small.read_text().replace('"small"', '"smöll ✓"'), "utf-8")
    done = shell(f"{RUN} --replications 2", small.parent, **latin)
    assert (done.returncode, without_progress(done.stderr)) == (0, "")
    assert done.stdout.startswith("sm?ll ?: mean")
    told = json.loads(shell("voxpath list --json", small.parent, **latin).stdout)
    assert [one["scenario"] for one in told["scenarios"]] == ["smöll ✓"]


@pytest.mark.parametrize(
    ("command", "code", "says"),
    [
        (("sweep", "swept.toml", "--save", "a.csv"), 2, "Invalid value for --save: a.csv is a directory"),
        (("compare", "small.toml", "--save", "/proc/x.csv"), 2, "--save: cannot write to /proc"),
        (("run", "small.toml", "--formulas", "leaves.py"), 2, "leaves.py:1: SystemExit: 7"),
        (("show", "**"), 2, "Error: ** is no run"),
        (("show", "[a"), 2, "Error: [a is no run"),
        (("replay", "words.pcap", "--save", "r.toml"), 2, "no packet of UDP or TCP is in it"),
        (("call", "--heard", "a.csv"), 2, "a.csv is no recording: its name ends in .wav"),
        (("call", "said.wav", "--heard", "runs/../said.wav"), 2, "runs/../said.wav: is what is said"),
        (("exec", "--out", "small.toml", "--", "true"), 2, "--out: small.toml is not a directory"),
        (("exec", "--", "./small.toml"), 126, "Permission denied"),
        (("run", "-"), 2, "-: there is no such file"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_nobody_should_write_is_answered(
    command: tuple[str, ...], code: int, says: str, voxpath, tmp_path: Path
):
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "swept.toml").write_text(SMALL + "[sweep]\nreplications = 1\n")
    (tmp_path / "leaves.py").write_text("raise SystemExit(7)\n")
    (tmp_path / "words.pcap").write_text("hello\n")
    (tmp_path / "said.wav").write_bytes(b"")
    (tmp_path / "a.csv").mkdir()
    (tmp_path / "runs").mkdir()
    called = voxpath(*command)
    assert called.code == code, called
    assert says in called.err
    assert list((tmp_path / "runs").iterdir()) == [], "nothing was run"


def test_a_frame_that_cannot_be_written_after_all_is_told_and_leaves_nothing(
    voxpath, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(files._WRITERS, ".csv", full)
    called = voxpath("compare", small, "--save", "flows.csv")
    assert called.code == 1
    assert called.err == "Error: cannot write flows.csv: No space left on device\n"
    assert "results:" in called.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs", small.name]


def test_a_file_that_no_command_has_spoken_of_is_named(voxpath, small: Path, monkeypatch: pytest.MonkeyPatch):
    def unreadable(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "runs")

    monkeypatch.setattr("voxpath.cli.actions.store.contents", unreadable)
    (small.parent / "runs").mkdir()
    called = voxpath("list")
    assert (called.code, called.err) == (1, "Error: runs: Permission denied\n")
