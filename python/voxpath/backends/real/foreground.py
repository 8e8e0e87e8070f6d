"""A command on a real host that has our terminal, our input and our output, untouched.

What the terminal's keys send reaches the command as it reaches us, because it is in our process group; what
somebody sends to us alone is passed on. We wait for signals instead of being interrupted by them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_SIGNALS = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)

_FROM_KERNEL = 0x80
"""`SI_KERNEL`: a terminal sent it, to its whole foreground process group."""

_LOOK_S = 0.01

_TWICE_S = 1.0
"""Within which time a second Ctrl-C means that the first was not enough."""

NOT_STARTED = 125
"""The exit code of `env` and `timeout` where they fail themselves, before there is a command."""


def attach(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """Starts a command with what we have for input and output."""
    # Without a terminal a group of its own is what signals are passed on to.
    return subprocess.Popen(command, start_new_session=not _has_terminal())  # noqa: S603 - what the user says


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """Keeps signals for `wait`: the command gets them, and we live on to close the books."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        with _terminal_kept():
            yield
    finally:
        while signal.sigtimedwait(_SIGNALS, 0) is not None:
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def wait(
    process: Callable[[], subprocess.Popen[bytes] | None], on_look: Callable[[], object] = lambda: None
) -> int:
    """Waits for a command's end; its exit code, where a signal ended it 128 and the signal's number.

    Args:
        process: The command, once it is started.
        on_look: Called again and again until it has ended.
    """
    last = -_TWICE_S
    while True:
        on_look()
        command = process()
        if command is not None and (code := command.poll()) is not None:
            return 128 - code if code < 0 else code
        told = signal.sigtimedwait(_SIGNALS, _LOOK_S)
        if told is None:
            continue
        if command is None:
            return 128 + told.si_signo
        now = time.monotonic()
        if told.si_signo == signal.SIGINT and now - last < _TWICE_S:
            command.kill()
        elif not (told.si_code == _FROM_KERNEL and os.getpgid(command.pid) == os.getpgrp()):
            _pass_on(command, signal.Signals(told.si_signo))
        if told.si_signo == signal.SIGINT:
            last = now


def _pass_on(command: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Sends a signal to a command, which is a child of the process that entered its host."""
    with contextlib.suppress(ProcessLookupError):
        if os.getpgid(command.pid) != os.getpgrp():
            os.killpg(command.pid, number)
            return
        children = Path(f"/proc/{command.pid}/task/{command.pid}/children")
        try:
            found = [int(child) for child in children.read_text().split()]
        except OSError:
            found = []
        for child in found:
            os.kill(child, number)
        if not found:
            command.kill()


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
