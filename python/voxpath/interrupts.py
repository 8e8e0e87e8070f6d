"""Signals that end a command: which they are, and how they are kept until somebody is there to take them."""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

FROM_KEYS = frozenset({signal.SIGINT, signal.SIGQUIT})
"""What a terminal sends to its whole foreground process group."""

INTERRUPTED = 130
"""How a shell tells that a command was ended by SIGINT."""

ENDING = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)


def behind(error: BaseException) -> bool:
    """Whether an error is an interrupt, or came of one.

    Python interrupts its own libraries at any line. `threading` then releases a lock that it has released
    before, and fails with another error while the interrupt is on its way.
    """
    found: BaseException | None = error
    while found is not None and not isinstance(found, KeyboardInterrupt):
        found = found.__cause__ or found.__context__
    return found is not None


@contextlib.contextmanager
def blocked() -> Iterator[None]:
    """The kernel keeps these signals until the end of the context.

    Processes and threads that are started inside are born with the signals blocked.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Ctrl-C takes effect at the end of the context; processes that are started inside never hear of it.

    They inherit that the signal is blocked. That alone would not do here: the kernel gives the signal to
    another thread, and Python then interrupts the main one, which may have started a worker by half.
    """
    heard: list[int] = []
    main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, lambda number, _: heard.append(number)) if main else None
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        if main:
            signal.signal(signal.SIGINT, handler)
        if heard:
            signal.raise_signal(signal.SIGINT)
