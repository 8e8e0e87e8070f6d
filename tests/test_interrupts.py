"""Ctrl-C at any moment: it is an interrupt, whatever the interpreter was doing when it came."""

from __future__ import annotations

import concurrent.futures
import concurrent.futures.thread
import itertools
import queue
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import voxpath as package
from conftest import SMALL
from processes import until
from voxpath import interrupts
from voxpath.cli.actions import runs
from voxpath.sweeps import pool

LOCKING = {
    module.__file__
    for module in (threading, queue, concurrent.futures._base, concurrent.futures.thread, pool, interrupts)
}
"""Files whose lines start threads, and take and give back locks."""


class AtLine:
    """Presses Ctrl-C at the n-th line of those files that this thread comes to."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, frame: FrameType, event: str, _: Any) -> AtLine | None:
        if frame.f_code.co_filename not in LOCKING:
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                signal.raise_signal(signal.SIGINT)
        return self


@pytest.fixture
def _interrupts_are_heard() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_interrupts_are_heard")
def test_an_interrupt_is_one_at_any_line_that_starts_a_thread_or_waits_for_one(tmp_path: Path):
    scenario = tmp_path / "small.toml"
    scenario.write_text(SMALL.replace("200 kB", "2 kB"))
    document = package.load(scenario)
    for number in itertools.count(1):
        press = AtLine(number)
        sys.settrace(press)
        try:
            package.run(document, 3, out=tmp_path / str(number), jobs=2, backends=["sim"])
            came = False
        except KeyboardInterrupt:
            came = True
        finally:
            sys.settrace(None)
        assert came == (press.left <= 0), number
        # Those that have nothing to do see by themselves that nobody is there any more.
        until(lambda: not any("worker" in thread.name for thread in threading.enumerate()))
        if not came:
            break
    assert number > 100, "so many lines there are at least"


def test_an_error_that_came_of_an_interrupt_is_told_as_one(voxpath, small: Path, monkeypatch):
    """As `threading` has it, if an interrupt comes while it takes or gives back a lock."""

    def interrupted(*_: object) -> None:
        lock = threading.Lock()
        with lock:
            lock.release()
            raise KeyboardInterrupt

    monkeypatch.setattr(runs, "ask", interrupted)
    called = voxpath("run", small)
    assert (called.code, called.err.strip()) == (130, "voxpath: interrupted")
    monkeypatch.setattr(runs, "read_scenario", interrupted)
    called = voxpath("run", small)
    assert (called.code, called.err) == (130, "voxpath: interrupted\n")


def test_an_error_of_the_engine_is_still_told(voxpath, small: Path, monkeypatch):
    def failing(*_: object) -> None:
        raise RuntimeError("the engine failed")

    monkeypatch.setattr(runs, "ask", failing)
    called = voxpath("run", small)
    assert (called.code, called.err) == (1, "Error: the engine failed\n")
