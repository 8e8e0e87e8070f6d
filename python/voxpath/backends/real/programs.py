"""The programs of a run: started on their hosts, waited for, ended with the run."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Self

from voxpath.backends.real.entered import Entered
from voxpath.backends.real.foreground import attach
from voxpath.backends.real.problems import RealError
from voxpath.webrtc import ROWS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import TracebackType

    import polars as pl

    from voxpath.backends.real.session import Session

LISTENING_S = 60.0
"""How long a program that serves may take until it listens; one that ends before is told at once."""

_PAUSE_S = 0.01

_GRACE_S = 2.0
"""How long a program may take to end when it is asked to, before it is killed."""

_QUOTED_LINES = 5


@dataclass
class Program:
    """A program of a plan.

    Attributes:
        host: The name of its host.
        node: The index of its host.
        command: What to run.
        listens: The port at which it serves, if it does.
        start_ns: When it starts, if it does not serve.
        ends: Whether its end ends the run.
        outputs: What it says, standard output and standard error: files without names, which cannot be left
            behind.
        rows: What it wrote to be kept as tables, likewise.
        process: Once it is started.
        started_ns: When that was; before the run's start for one that serves.
        ended_ns: When it ended by itself.
    """

    host: str
    node: int
    command: Sequence[str]
    listens: int | None
    start_ns: int
    ends: bool
    outputs: tuple[IO[bytes], IO[bytes]]
    rows: IO[bytes]
    process: Entered | None = None
    started_ns: int | None = None
    ended_ns: int | None = None

    @property
    def is_awaited(self) -> bool:
        """Whether the run waits for its end."""
        return self.listens is None and self.ended_ns is None

    @property
    def exit_code(self) -> int | None:
        """None while it runs; 128 and more is the signal that ended it."""
        return None if self.process is None else self.process.returncode


class Programs:
    """The programs of a run."""

    def __init__(self, plan: Mapping[str, Any], session: Session, foreground: str | None = None) -> None:
        """Starts nothing yet.

        Args:
            plan: What to run.
            session: The hosts.
            foreground: The host whose program has our terminal, and whose end is not judged.
        """
        self._session = session
        self._foreground = foreground
        self._files = contextlib.ExitStack()
        names = [node["name"] for node in plan["nodes"]]
        self.all = [
            Program(
                names[program["node"]],
                program["node"],
                program["command"],
                program["listens"],
                program["start_ns"],
                program["ends"],
                (self._file(), self._file()),
                self._file(),
            )
            for program in plan["programs"]
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Ends all that still run."""
        with self._files:
            self.stop()

    def start_servers(self) -> None:
        """Starts the programs that serve and waits until they listen.

        Raises:
            RealError: One of them ends, or does not listen in time.
        """
        servers = [program for program in self.all if program.listens is not None]
        for program in servers:
            self._start(program, 0)
        deadline = time.monotonic() + LISTENING_S
        for program in servers:
            while program.listens not in self._session.listening(program.node):
                if program.process is not None and program.process.poll() is not None:
                    raise RealError(f"{_who(program)} has ended before it listened{_last_words(program)}")
                if time.monotonic() > deadline:
                    raise RealError(
                        f"{_who(program)} does not listen at port {program.listens} after "
                        f"{LISTENING_S:g} s{_last_words(program)}"
                    )
                time.sleep(_PAUSE_S)

    def step(self, now_ns: int) -> None:
        """Starts what is due, and notes what has ended."""
        for program in self.all:
            if program.process is None and program.listens is None and program.start_ns <= now_ns:
                self._start(program, now_ns)
            elif (
                program.process is not None
                and program.ended_ns is None
                and program.process.poll() is not None
            ):
                program.ended_ns = now_ns

    @property
    def running(self) -> list[tuple[str, int]]:
        """The host and the first process of each program that runs."""
        return [
            (program.host, program.process.pid)
            for program in self.all
            if program.process is not None and program.ended_ns is None
        ]

    @property
    def is_done(self) -> bool:
        """Whether no program is left that the run waits for."""
        return not any(program.is_awaited for program in self.all)

    @property
    def ends_run(self) -> bool:
        """Whether a program has ended whose end is that of the run."""
        return any(program.ends and program.ended_ns is not None for program in self.all)

    @property
    def foreground(self) -> Entered | None:
        """The program that has our terminal, once it is started."""
        return next((program.process for program in self.all if program.host == self._foreground), None)

    def stop(self) -> None:
        """Ends all that still run: asks first, then kills."""
        end([program.process for program in self.all if program.process is not None])

    def problems(self) -> list[str]:
        """What programs ended with an error of their own."""
        return [
            f"{_who(program)} ended with {_how(program.exit_code)}{_last_words(program)}"
            for program in self.all
            if program.ended_ns is not None and program.exit_code != 0 and program.host != self._foreground
        ] + [
            f"{_who(program)} has not ended when the run did"
            for program in self.all
            if program.is_awaited and program.process is not None and program.host != self._foreground
        ]

    def table(self) -> pl.DataFrame:
        """One row per program."""
        import polars as pl

        schema = {
            "host": pl.String,
            "command": pl.String,
            "listens": pl.UInt64,
            "started_ns": pl.UInt64,
            "ended_ns": pl.UInt64,
            "exit_code": pl.Int64,
        }
        rows = [
            (
                program.host,
                " ".join(program.command),
                program.listens,
                program.started_ns,
                program.ended_ns,
                None if program.ended_ns is None else program.exit_code,
            )
            for program in self.all
        ]
        return pl.DataFrame(rows, schema=schema, orient="row")

    def files(self) -> dict[str, bytes]:
        """What the programs said, by the name of the file in the run's folder."""
        return {
            f"programs/{program.host}.{name}": _contents(output)
            for program in self.all
            if program.process is not None
            for name, output in zip(("stdout", "stderr"), program.outputs, strict=True)
        }

    def rows(self) -> list[bytes]:
        """What each program wrote to be kept as tables."""
        return [_contents(program.rows) for program in self.all]

    def _file(self) -> IO[bytes]:
        return self._files.enter_context(tempfile.TemporaryFile())

    def _start(self, program: Program, now_ns: int) -> None:
        if program.host == self._foreground:
            program.process = attach(self._session, program.node, program.command, _given(program.rows))
        else:
            out, err = program.outputs
            program.process = start(
                self._session, program.node, program.command, out, err, _given(program.rows)
            )
        program.started_ns = now_ns


def start(
    session: Session,
    host: int,
    command: Sequence[str],
    out: IO[bytes],
    err: IO[bytes],
    given: Mapping[str, Any] | None = None,
) -> Entered:
    """Starts a program on a host, without a terminal and without input, and with what else it is given."""
    return Entered(
        session,
        host,
        command,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        # A signal for the group reaches what the program has started, too.
        start_new_session=True,
        **(given or {}),
    )


def _given(rows: IO[bytes]) -> dict[str, Any]:
    number = rows.fileno()
    return {"pass_fds": (number,), "env": {**os.environ, ROWS: str(number)}}


def end(processes: Sequence[Entered], grace_s: float = _GRACE_S) -> None:
    """Ends what still runs: asks first, then kills."""
    _signal(processes, signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, deadline - time.monotonic()))
    _signal(processes, signal.SIGKILL)
    for process in processes:
        process.wait()


def _signal(processes: Iterable[Entered], number: signal.Signals) -> None:
    for process in processes:
        if process.poll() is None:
            process.end(number)


def _who(program: Program) -> str:
    return f"the program {program.command[0]!r} on host {program.host!r}"


def _how(exit_code: int | None) -> str:
    # A shell's code for it, where a shell waits for the program.
    number = None if exit_code is None else -exit_code if exit_code < 0 else exit_code - 128
    if number in set(signal.Signals):
        return signal.Signals(number).name
    return f"exit code {exit_code}"


def _contents(output: IO[bytes]) -> bytes:
    """All that was written; the program shares the file's position, which stays where it is."""
    return os.pread(output.fileno(), os.fstat(output.fileno()).st_size, 0)


def _last_words(program: Program) -> str:
    """The last lines that it said, standard error first."""
    for output in reversed(program.outputs):
        lines = _contents(output).decode("utf-8", "replace").strip().splitlines()
        if lines:
            return ": " + " / ".join(lines[-_QUOTED_LINES:])
    return ""
