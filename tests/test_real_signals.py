"""Signals for a command on a real host, at every moment of its start: none is lost, and none counts twice."""

from __future__ import annotations

import itertools
import os
import re
import secrets
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import voxpath as voxpath_package
from conftest import process
from test_real_use import PATIENCE_S, PYTHON, Terminal, two_hosts
from voxpath import halts, interrupts
from voxpath.backends.real import launch

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="without root the ways in differ: test_real_robust")

BEFORE_IT_IS_STARTED: list[halts.Point] = ["network.begins", "foreground.waits"]
WHILE_IT_STARTS: list[halts.Point] = [
    "entered.started",
    "launch.begins",
    "launch.forked",
    "launch.told",
    "launch.answered",
    "launch.unblocked",
]
ENDINGS = itertools.cycle([signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
EXEC = [PYTHON, "-m", "voxpath", "exec", "--"]
COUNTING = """\
import signal, sys, time
came = []
def interrupted(*_):
    came.append(1)
    print("interrupted", flush=True)
def ended(*_):
    print("in all", len(came), flush=True)
    sys.exit(9)
signal.signal(signal.SIGINT, interrupted)
signal.signal(signal.SIGTERM, ended)
print("there", flush=True)
while True: time.sleep(600)
"""


@pytest.fixture(autouse=True)
def interrupts_are_heard() -> Iterator[None]:
    """Who starts tests in the background may have these signals ignored, which processes inherit."""
    heard = {*interrupts.FROM_KEYS, signal.SIGHUP}
    before = {number: signal.signal(number, signal.SIG_DFL) for number in heard}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def mark() -> dict[str, str]:
    """A variable by which processes that have it are found."""
    return {"VOXPATH_TEST_MARK": secrets.token_hex(8)}


def marked(mark: dict[str, str]) -> Iterator[tuple[int, str]]:
    """Processes with the mark, and their states."""
    ((name, value),) = mark.items()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{name}={value}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name), (folder / "stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue


def until(look: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not look():
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.01)


def halted(mark: dict[str, str]) -> None:
    """Waits until a process has come to its point."""
    until(lambda: any(state == "T" for _, state in marked(mark)))


def go_on(mark: dict[str, str], is_over: Callable[[], object]) -> None:
    """Continues whatever is halted, again and again: nsenter stops when its child does."""

    def look() -> object:
        for pid, state in marked(mark):
            if state == "T":
                os.kill(pid, signal.SIGCONT)
        return is_over()

    until(look)


@pytest.mark.parametrize(
    ("point", "number"), list(zip(BEFORE_IT_IS_STARTED + WHILE_IT_STARTS, ENDINGS, strict=False))
)
def test_a_signal_at_any_moment_of_the_start_ends_the_command(
    point: halts.Point, number: signal.Signals, mark: dict[str, str], tmp_path: Path
):
    command = ("exec", "--", "sh", "-c", "sleep 86402")
    running = process(*command, cwd=tmp_path, environment={**mark, halts.VARIABLE: point})
    halted(mark)
    running.send_signal(number)
    go_on(mark, lambda: running.poll() is not None)
    running.communicate()
    assert running.returncode == launch.BY_SIGNAL + number
    until(lambda: not list(marked(mark)))


@pytest.mark.parametrize("point", BEFORE_IT_IS_STARTED + WHILE_IT_STARTS)
def test_ctrl_c_at_any_moment_of_the_start_ends_the_command(
    point: halts.Point, mark: dict[str, str], tmp_path: Path
):
    running = Terminal(*EXEC, "sh", "-c", "sleep 86403", cwd=tmp_path, **mark, **{halts.VARIABLE: point})
    halted(mark)
    running.type("\x03")
    # The terminal has sent it when it says so.
    running.expect("^C")
    go_on(mark, lambda: all(state == "Z" for _, state in marked(mark)))
    assert running.end() == launch.BY_SIGNAL + signal.SIGINT


@pytest.mark.parametrize("by_key", [True, False])
def test_an_interrupt_reaches_a_command_at_a_terminal_once(by_key: bool, tmp_path: Path):
    """What a key sends it has from the terminal, what a process sends it has from us."""
    running = Terminal(*EXEC, PYTHON, "-c", COUNTING, cwd=tmp_path)
    running.expect("there")
    if by_key:
        running.type("\x03")
    else:
        os.kill(running.pid, signal.SIGINT)
    running.expect("interrupted")
    # We pass signals on in their order, so another interrupt would come before.
    os.kill(running.pid, signal.SIGTERM)
    running.expect("in all 1")
    assert running.end() == 9


def test_no_thread_of_ours_takes_a_signal_that_is_the_commands(mark: dict[str, str], tmp_path: Path):
    """The kernel gives a signal to any thread that does not block it; it would count when that one runs."""
    environment = {**mark, halts.VARIABLE: "foreground.waits"}
    # The page is served by threads.
    running = process("exec", "--live", "--", "true", cwd=tmp_path, environment=environment)
    halted(mark)
    wanted = sum(1 << (number - 1) for number in interrupts.ENDING)
    masks = [
        int(re.search(r"^SigBlk:\s*(\w+)$", (thread / "status").read_text(), re.MULTILINE)[1], 16)
        for thread in Path(f"/proc/{running.pid}/task").iterdir()
    ]
    go_on(mark, lambda: running.poll() is not None)
    running.communicate()
    assert running.returncode == 0
    assert len(masks) > 1
    assert all(mask & wanted == wanted for mask in masks), [hex(mask) for mask in masks]


def test_what_is_ignored_outside_is_ignored_by_the_command(tmp_path: Path):
    look = "import signal; print(signal.getsignal(signal.SIGHUP).name)"
    ignoring = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *EXEC, sys.executable, "-c", look]
    running = Terminal("/usr/bin/env", *ignoring, cwd=tmp_path)
    running.expect("SIG_IGN")
    assert running.end() == 0


@pytest.mark.parametrize("point", WHILE_IT_STARTS[1:])
def test_a_program_of_python_is_asked_to_end_while_it_starts(
    point: halts.Point, mark: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(halts.VARIABLE, point)
    with voxpath_package.real(two_hosts()) as net:
        program = net.host("client").popen(["sleep", "86404"], env={**os.environ, **mark})
        halted(mark)
        # Whoever asks waits until there is somebody to be asked.
        asking = threading.Thread(target=program.terminate)
        asking.start()
        go_on(mark, lambda: program.poll() is not None)
        asking.join()
        assert program.returncode == launch.BY_SIGNAL + signal.SIGTERM


@pytest.mark.parametrize("command", [["FOO=bar", "env"], ["-S", "env"]])
def test_a_commands_name_is_no_option_of_ours(command: list[str], tmp_path: Path):
    program = tmp_path / command[0]
    program.write_text('#!/bin/sh\necho "I am told $1"\n')
    program.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    running = process("exec", "--", *command, cwd=tmp_path, environment={"PATH": path})
    out, _ = running.communicate()
    assert (running.returncode, out) == (0, "I am told env\n")


def test_halts_of_the_launcher_are_those_of_all():
    assert launch.HALT_AT == halts.VARIABLE
