"""The command line as a process with all that it starts: found, halted, killed, waited for."""

from __future__ import annotations

import os
import re
import secrets
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from conftest import PATIENCE_S, process, without_progress
from voxpath import halts

WorkerStarts = Literal["python.worker-starts"]
"""Before there is anything of ours in a worker that was spawned: Python's own start."""


@dataclass(frozen=True)
class Process:
    pid: int
    parent: int
    command: str
    halted: bool
    used_s: float
    """The processor time that it had used when it was found."""

    def go_on(self) -> None:
        """Ends the halt; it halts again when it reaches the point again."""
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    @property
    def processor_s(self) -> float:
        """The processor time that it has used by now."""
        return _used_s(_stat(Path(f"/proc/{self.pid}")))


class Tool:
    """The command line as a process. What it starts is found by a mark in the environment."""

    def __init__(
        self,
        directory: Path,
        *arguments: str | Path,
        environment: Mapping[str, str] | None = None,
        halt_at: halts.Point | WorkerStarts | None = None,
    ) -> None:
        """It, and what it starts, halt whenever they reach `halt_at`."""
        self.mark = f"VOXPATH_TEST_MARK={secrets.token_hex(8)}"
        self.temporary = directory / "temporary"
        self.temporary.mkdir(exist_ok=True)
        name, value = self.mark.split("=")
        marked = {name: value, "TMPDIR": str(self.temporary)}
        self.halts = halt_at is not None
        given = {**marked, **_halting(halt_at), **(environment or {})}
        self.popen = process(*arguments, cwd=directory, environment=given)

    def processes(self) -> list[Process]:
        """Those that are alive, the tool itself too."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if self.mark.encode() not in (folder / "environ").read_bytes().split(b"\0"):
                    continue
                state, parent, *_ = fields = _stat(folder)
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                halted = has_halted(int(folder.name))
            except OSError:
                continue
            if state != "Z":
                found.append(Process(int(folder.name), int(parent), command.strip(), halted, _used_s(fields)))
        return found

    def running(self, pattern: str) -> Process:
        """Waits for a process with such a command."""

        def look() -> Process | None:
            self.assert_alive()
            return next((found for found in self.processes() if re.search(pattern, found.command)), None)

        return until(look)

    def halted(self, count: int = 1) -> list[Process]:
        """Waits until so many processes have halted."""

        def look() -> list[Process] | None:
            self.assert_alive()
            found = [found for found in self.processes() if found.halted]
            return found if len(found) >= count else None

        return until(look)

    def halted_after(self, passings: int) -> Process:
        """The first process that reaches the point for that time; until then, whoever halts goes on."""
        seen: dict[int, int] = {}
        while True:
            for found in self.halted():
                seen[found.pid] = seen.get(found.pid, 0) + 1
                if seen[found.pid] == passings:
                    return found
                found.go_on()

    def interrupt(self) -> None:
        """Ctrl-C as a terminal sends it: to the whole group in the foreground."""
        os.killpg(self.popen.pid, signal.SIGINT)

    def assert_alive(self) -> None:
        assert self.popen.poll() is None, self.popen.communicate()

    def ended(self) -> tuple[int, str]:
        """Waits for the end, and ends every halt: the exit code, and standard error without progress."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            # Whom a test has stopped by itself stays stopped.
            for found in self.processes() if self.halts else []:
                if found.halted:
                    found.go_on()
            try:
                _, err = self.popen.communicate(timeout=LOOK_S)
            except subprocess.TimeoutExpired:
                assert time.monotonic() < deadline, self.processes()
            else:
                return self.popen.returncode, without_progress(err)

    def killed(self) -> None:
        """Ends all that is left of it."""
        for found in self.processes():
            found.kill()
        self.popen.communicate()


LOOK_S = 0.01
"""How often it is looked whether something has happened that is waited for."""


def has_halted(pid: int) -> bool:
    """Whether all threads of a process have stopped."""
    return {_stat(thread)[0] for thread in Path(f"/proc/{pid}/task").iterdir()} == {"T"}


def until(look: Callable[[], object]):
    """Waits until something is there, and gives it."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := look()):
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(LOOK_S)
    return found


def _halting(at: halts.Point | WorkerStarts | None) -> dict[str, str]:
    """The variable that makes processes halt there."""
    if at is None:
        return {}
    if at in get_args(WorkerStarts):
        path = (str(Path(__file__).parent / "at_start"), os.environ.get("PYTHONPATH"))
        return {"PYTHONPATH": os.pathsep.join(filter(None, path))}
    assert at in get_args(halts.Point), at
    return {halts.VARIABLE: at}


def _stat(folder: Path) -> list[str]:
    """What the kernel tells of a process, or of a thread: state, parent, and so on."""
    return (folder / "stat").read_text().rsplit(")", 1)[1].split()


def _used_s(fields: list[str]) -> float:
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
