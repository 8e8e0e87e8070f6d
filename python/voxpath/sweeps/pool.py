"""Workers of this process: threads, since the engine works without the interpreter."""

from __future__ import annotations

import contextlib
import os
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Generic, ParamSpec, TypeVar

from voxpath import _engine, interrupts
from voxpath.sweeps.crew import Crew

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_P = ParamSpec("_P")
_T = TypeVar("_T")


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def local_crew(jobs: int) -> Iterator[Crew]:
    """So many threads; where the context ends by an error they stop at once, and keep what they made."""
    stop = _engine.Stop()
    pool = Threads(jobs, "worker")
    try:
        yield Crew(pool, lambda: jobs, stop=stop)
    except BaseException:
        stop.set()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


class Threads(ThreadPoolExecutor):
    """Threads that an interrupt finds started or not, and at the end of the pool gone."""

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Hands a task out, for which a thread may have to be started."""
        with interrupts.deferred():
            return super().submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the threads, however often somebody asks for haste."""
        with interrupts.deferred():
            super().shutdown(wait, cancel_futures=cancel_futures)


class Ended(Generic[_T]):
    """Tasks in the order in which they end.

    The queue holds no lock of Python's while it waits. `concurrent.futures.wait` does, and an interrupt that
    comes as it takes or gives back one becomes another error.
    """

    def __init__(self) -> None:
        self._futures: SimpleQueue[Future[_T]] = SimpleQueue()

    def watch(self, future: Future[_T]) -> None:
        """Tells of this task, too."""
        # Who is interrupted with a future's lock keeps the thread waiting for ever that has its result.
        with interrupts.deferred():
            future.add_done_callback(self._futures.put)

    def next(self, seconds: float) -> Future[_T] | None:
        """The next that has ended; nothing if none does for so long."""
        try:
            return self._futures.get(timeout=seconds)
        except Empty:
            return None
