"""A pool of local worker processes that never outlive their parent.

Workers are spawned, not forked: polars and the engine have threads. They are born deaf to Ctrl-C, which
reaches the whole process group, and stop when the parent lets go of a pipe: on its own Ctrl-C, at the end, or
by its death.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any

from voxpath import halts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Executor, Future
    from multiprocessing.connection import Connection


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def local_executor(jobs: int) -> Iterator[Executor]:
    """An executor of `jobs` processes, which are gone when the context ends, tasks done or not."""
    context = multiprocessing.get_context("spawn")
    alive, held = context.Pipe(duplex=False)
    pool = _Pool(jobs, mp_context=context, initializer=_start, initargs=(alive,))
    try:
        yield pool
    except BaseException:
        held.close()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        held.close()
        alive.close()


class _Pool(ProcessPoolExecutor):
    """Starts its workers, which it does as tasks come, while Ctrl-C waits."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        with interrupt_later():
            future = super().submit(fn, *args, **kwargs)
            halts.reached("pool.task-submitted")
            return future


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


def _start(alive: Connection) -> None:
    """Prepares a worker."""
    halts.reached("pool.worker-begins")
    # Each worker has one processor; polars would start a thread for every one that there is.
    os.environ["POLARS_MAX_THREADS"] = "1"
    threading.Thread(target=_stop_with_parent, args=(alive,), daemon=True).start()


def _stop_with_parent(alive: Connection) -> None:
    parent = multiprocessing.parent_process()
    waiting: list[Any] = [alive] if parent is None else [alive, parent.sentinel]
    multiprocessing.connection.wait(waiting)
    # Not sys.exit: the simulation runs in another thread and would go on.
    os._exit(130)
