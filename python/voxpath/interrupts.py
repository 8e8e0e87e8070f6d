"""Signals that end a command: which they are, and how they are kept until somebody is there to take them."""

from __future__ import annotations

import contextlib
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

FROM_KEYS = frozenset({signal.SIGINT, signal.SIGQUIT})
"""What a terminal sends to its whole foreground process group."""

INTERRUPTED = 130
"""How a shell tells that a command was ended by SIGINT."""

ENDING = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)


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
