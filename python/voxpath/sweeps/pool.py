"""Workers of this process: threads, since the engine works without the interpreter."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from voxpath import _engine
from voxpath.sweeps.crew import Crew

if TYPE_CHECKING:
    from collections.abc import Iterator


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def local_crew(jobs: int) -> Iterator[Crew]:
    """So many threads; where the context ends by an error they stop at once, and keep what they made."""
    stop = _engine.Stop()
    with ThreadPoolExecutor(jobs, "worker") as pool:
        try:
            yield Crew(pool, jobs, stop=stop)
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise


@contextlib.contextmanager
def interrupt_later() -> Iterator[None]:
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
