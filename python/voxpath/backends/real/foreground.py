"""A command on a real host that has our terminal, our input and our output, untouched.

What the terminal's keys send reaches the command as it reaches us, because it is in our process group;
what somebody sends to us is passed on. A signal that comes before the command is there is kept for it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import termios
import time
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from voxpath import halts, interrupts
from voxpath.backends.real import launch
from voxpath.backends.real.entered import Entered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from voxpath.backends.real.session import Session

_FROM_KERNEL = 0x80
"""`si_code` of a signal that a terminal sends for a key, not a process."""

_LOOK_S = 0.01

_TWICE_S = 1.0
"""Within which time a second Ctrl-C means that the first was not enough."""

NOT_STARTED = launch.FAILED
"""The exit code where we fail ourselves, before there is a command."""


class Ended(BaseException):
    """A signal came while nothing had been started that it could be for.

    Attributes:
        number: The signal's.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = signal.Signals(number)

    @property
    def code(self) -> int:
        """A shell's exit code for it."""
        return launch.BY_SIGNAL + self.number


class Came(NamedTuple):
    """A signal that has come, and whether a key of the terminal sent it, and so to the command as well."""

    number: int
    by_key: bool


class Signals:
    """Signals that end a command, while it is ours to say what they do.

    Until `wait` they end us, in order, by `Ended`. From then on they are the command's: the kernel keeps them
    until they are taken. What whoever started us has ignored stays so, for the command too.
    """

    def __init__(self) -> None:
        self._before: dict[signal.Signals, Any] = {}
        self._heard = deque[int]()
        self._ends_us = True

    def __enter__(self) -> Self:
        for number in interrupts.ENDING:
            if (handler := signal.getsignal(number)) is not signal.SIG_IGN:
                self._before[number] = handler
                signal.signal(number, self._hear)
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        return self

    def __exit__(self, *_: object) -> None:
        # The command has ended, and so do we, whatever came since.
        self._ends_us = False
        while self.take() is not None:
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def keep(self) -> None:
        """From now on they are the command's."""
        signal.pthread_sigmask(signal.SIG_BLOCK, self._before)
        self._ends_us = False

    def take(self, patience_s: float = 0.0) -> Came | None:
        """One that has come, or comes so soon."""
        if self._heard:
            # The kernel gave it to a thread that does not block it, and that does not say who sent it.
            number = self._heard.popleft()
            return Came(number, number in interrupts.FROM_KEYS)
        info = signal.sigtimedwait(self._before, patience_s)
        if info is None:
            return None
        return Came(info.si_signo, info.si_signo in interrupts.FROM_KEYS and info.si_code == _FROM_KERNEL)

    def _hear(self, number: int, _: object) -> None:
        if self._ends_us:
            # Once: what is there is put away in order, however often somebody asks for haste.
            self._ends_us = False
            raise Ended(number)
        self._heard.append(number)


def attach(
    session: Session, host: int, command: Sequence[str], given: Mapping[str, Any] | None = None
) -> Entered:
    """Starts a command with what we have for input and output, and with what else it is given.

    It waits for `wait`.
    """
    # Without a terminal a group of its own is what signals are passed on to.
    alone = not _has_terminal()
    return Entered(session, host, command, held=True, start_new_session=alone, **(given or {}))


def wait(start: Callable[[], Entered | None], signals: Signals, on_look: Callable[[], object]) -> int:
    """Waits for a command's end; its exit code, where a signal ended it 128 and the signal's number.

    Args:
        start: Gives the command that was attached; asked until there is one, and then again and again.
        signals: Those that are the command's from now on.
        on_look: Called again and again until it has ended.
    """
    signals.keep()
    halts.reached("foreground.waits")
    interrupted = -_TWICE_S
    with _terminal_kept():
        while True:
            on_look()
            command = start()
            if command is None:
                if came := signals.take(_LOOK_S):
                    return launch.BY_SIGNAL + came.number
            elif (code := command.poll()) is not None:
                return launch.BY_SIGNAL - code if code < 0 else code
            elif command.is_held:
                if command.is_there(_LOOK_S):
                    # What comes from here on reaches it.
                    early = {came.number for came in iter(signals.take, None)}
                    command.let_go(early)
                    interrupted = time.monotonic() if signal.SIGINT in early else interrupted
            elif came := signals.take(_LOOK_S):
                if came.number == signal.SIGINT:
                    again, interrupted = time.monotonic() - interrupted < _TWICE_S, time.monotonic()
                    if again:
                        command.kill()
                        continue
                if command.leads_group:
                    command.send_to_group(came.number)
                elif not came.by_key:
                    command.send_signal(came.number)


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
