"""Points at which tests halt a process: each is one place of the program, and some test stops there."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from conftest import ROOT
from processes import Tool, until
from voxpath import halts

POINTS = get_args(halts.Point)


def sources(folder: Path) -> str:
    return "\n".join(path.read_text() for path in folder.rglob("*.py"))


def test_every_point_is_one_place_of_the_program_and_a_test_halts_there():
    # What runs without the package has a function of its own.
    reached = re.findall(r'(?:halts\.|\b_)reached\("(.*?)"\)', sources(ROOT / "python"))
    assert sorted(reached) == sorted(POINTS)
    tests = sources(ROOT / "tests")
    assert [point for point in POINTS if f'"{point}"' not in tests] == []


def test_a_process_halts_each_time_that_it_reaches_its_point(small: Path, tmp_path: Path):
    tool = Tool(tmp_path, "run", small, "--replications", "3", "--jobs", "1", halt_at="run.begins")
    try:
        for made in range(3):
            (halted,) = tool.halted()
            assert halted.pid == tool.popen.pid
            assert len(list(tmp_path.glob("runs/*"))) == made
            halted.go_on()
        until(lambda: tool.popen.poll() is not None)
        assert tool.ended() == (0, "")
    finally:
        tool.killed()


@pytest.mark.parametrize("named", ["", "run.ends", "run.begins run.noted"])
def test_the_variable_does_nothing_but_halt_at_a_point(named: str):
    code = f"""
import os
os.environ["{halts.VARIABLE}"] = {named!r}
from voxpath import halts
for point in {POINTS!r}:
    halts.reached(point)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_what_sets_the_variable_later_halts_nobody(monkeypatch: pytest.MonkeyPatch):
    """The tests' own process is not halted by what they give to others."""
    monkeypatch.setenv(halts.VARIABLE, "run.begins")
    monkeypatch.setattr(signal, "raise_signal", lambda _: pytest.fail("halted"))
    halts.reached("run.begins")
