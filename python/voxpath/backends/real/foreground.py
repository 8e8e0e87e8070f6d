"""A command on a real host that has our terminal, our input and our output, untouched.

What the terminal's keys send reaches the command as it reaches us, because it is in our process group;
without a terminal, what somebody sends to us is passed on. We note signals instead of being interrupted.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import termios
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from voxpath.backends.real.session import DEFAULT_SIGNALS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_FROM_KEYS = frozenset({signal.SIGINT, signal.SIGQUIT})
"""What a terminal sends to its whole foreground process group."""

_SIGNALS = (*_FROM_KEYS, signal.SIGTERM, signal.SIGHUP)

Noted = deque[int]
"""Signals that have come, the earliest first."""

_LOOK_S = 0.01

_TWICE_S = 1.0
"""Within which time a second Ctrl-C means that the first was not enough."""

NOT_STARTED = 125
"""The exit code of `env` and `timeout` where they fail themselves, before there is a command."""


def attach(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """Starts a command with what we have for input and output."""
    # Without a terminal a group of its own is what signals are passed on to.
    with signals_for_the_program():
        return subprocess.Popen(command, start_new_session=not _has_terminal())  # noqa: S603 - what the user says


@contextlib.contextmanager
def signals_for_the_program() -> Iterator[None]:
    """Keeps signals from what is started inside, until there is the program: see `Session.command`."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def signals_noted() -> Iterator[Noted]:
    """Notes signals for `wait`: the command gets them, and we live on to close the books."""
    noted = Noted()
    before = {number: signal.signal(number, lambda came, _: noted.append(came)) for number in _SIGNALS}
    try:
        with _terminal_kept():
            yield noted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def wait(
    process: Callable[[], subprocess.Popen[bytes] | None],
    noted: Noted,
    on_look: Callable[[], object],
) -> int:
    """Waits for a command's end; its exit code, where a signal ended it 128 and the signal's number.

    Args:
        process: The command, once it is started.
        noted: Signals that have come.
        on_look: Called again and again until it has ended.
    """
    last = -_TWICE_S
    while True:
        on_look()
        command = process()
        if command is not None and (code := command.poll()) is not None:
            return 128 - code if code < 0 else code
        if not noted:
            time.sleep(_LOOK_S)
            continue
        number = signal.Signals(noted.popleft())
        if command is None:
            return 128 + number
        now = time.monotonic()
        if number == signal.SIGINT and now - last < _TWICE_S:
            command.kill()
        elif number not in _FROM_KEYS or os.getpgid(command.pid) != os.getpgrp():
            _pass_on(command, number)
        if number == signal.SIGINT:
            last = now


def _pass_on(command: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Sends a signal to a command, which is a child of the process that entered its host."""
    with contextlib.suppress(ProcessLookupError):
        if os.getpgid(command.pid) != os.getpgrp():
            os.killpg(command.pid, number)
            return
        found = programs(command.pid)
        for process in found:
            os.kill(process, number)
        if not found:
            command.kill()


def programs(entering: int) -> list[int]:
    """What was started on a host, behind the process that entered it and the one that waits there."""
    inner = [inner for child in _children(entering) for inner in _children(child)]
    return [process for process in inner if _has_begun(process)]


def _has_begun(process: int) -> bool:
    """Whether a process is a program yet, and not what makes it deaf to no signal: see `Session.command`."""
    try:
        return DEFAULT_SIGNALS.encode() not in Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


def _children(process: int) -> list[int]:
    try:
        text = Path(f"/proc/{process}/task/{process}/children").read_text()
    except OSError:
        return []
    return [int(child) for child in text.split()]


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR))
    except OSError:
        return False
    return True


@contextlib.contextmanager
def _terminal_kept() -> Iterator[None]:
    """Leaves the terminal as it was, whatever the command made of it."""
    if not sys.stdin.isatty():
        yield
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        yield
    finally:
        # A shell makes itself the terminal's foreground, and we are to be that again.
        masked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])
        with contextlib.suppress(OSError, termios.error):
            os.tcsetpgrp(terminal, os.getpgrp())
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        signal.pthread_sigmask(signal.SIG_SETMASK, masked)
