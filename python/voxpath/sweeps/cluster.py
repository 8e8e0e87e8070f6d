"""Runs on a Dask cluster, by the same tasks as on this machine.

The workers need this build of the engine. A run is written by the worker that makes it, which needs the
store's directory under the same path, or it comes as a shard (`shards.py`). Each worker is asked before the
first run; one that joins later, before its first. Dask is optional: the extra `dask`.
"""

from __future__ import annotations

import contextlib
import logging
import re
import time
import weakref
from concurrent.futures import CancelledError, Executor, Future
from dataclasses import replace
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from voxpath import _engine, halts, interrupts, terminal
from voxpath.extras import install
from voxpath.results.store import Store
from voxpath.sweeps.crew import Crew, unfit
from voxpath.sweeps.shards import Courier

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from pathlib import Path

    from distributed import Client
    from distributed import Future as DaskFuture
    from tornado.ioloop import IOLoop

_P = ParamSpec("_P")
_T = TypeVar("_T")

_PATIENCE_SECONDS = 10

_ASK_SECONDS = 1.0
"""How often it is asked who has joined and who has left."""

_ALONE_SECONDS = 3.0
"""How long a cluster may be without workers before it is said: one that restarts is soon back."""


class ClusterError(Exception):
    """A cluster that cannot be used."""


def check_address(address: str) -> None:
    """Refuses what cannot be a cluster.

    Raises:
        ClusterError: It is neither a scheduler's address nor `local:N`, or Dask is not installed.
    """
    if re.fullmatch(r"local:[1-9][0-9]{0,3}|(tcp|tls|ucx|ws|wss)://\S+", address) is None:
        raise ClusterError(
            f"{address!r} is no cluster: write a scheduler's address, such as tcp://10.0.0.1:8786, "
            "or local:2 for two processes of this machine"
        )
    try:
        import distributed  # noqa: F401 - the question is whether it is there
    except ModuleNotFoundError:
        raise ClusterError(f"Dask is not installed: {install('dask')}") from None


@contextlib.contextmanager
def dask_crew(address: str, stores: Collection[Path], shards: str | None = None) -> Iterator[Crew]:
    """The workers of a cluster, after each was asked whether it can make runs.

    Args:
        address: A scheduler, such as `tcp://10.0.0.1:8786`, or `local:N` for a cluster of N processes here.
        stores: Where the runs will be kept, as absolute paths.
        shards: How they come from workers that do not see the stores, as `Courier.of` takes it.

    Raises:
        ClusterError: The cluster cannot be used, or cannot be used any more.
        StoreError: A store cannot be written to.
    """
    check_address(address)
    from distributed import KilledWorker

    with contextlib.ExitStack() as stack:
        stack.enter_context(_quiet())
        client = stack.enter_context(_client(address))
        watch = _Watch(client, address)
        if not watch.threads():
            raise ClusterError(f"the cluster at {address} has no workers")
        marks = tuple(stack.enter_context(Store(store).marked()) for store in stores)
        courier = None if shards is None else replace(Courier.of(shards), marks=marks)
        seen = marks if courier is None else ()
        _ask(client, seen, courier)
        pool = _Tasks(client)
        try:
            # Without workers for a while, tasks wait for the first that joins.
            yield Crew(pool, lambda: max(watch.threads(), 1), seen, watch.look, courier=courier)
        except CancelledError:
            raise ClusterError(f"the scheduler at {address} was lost; runs that were done are kept") from None
        except KilledWorker as error:
            raise ClusterError(f"{error} (runs that were done are kept)") from None
        finally:
            pool.shutdown(wait=False)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Dask logs each cancelled task and each connection that ends with a traceback; we say what it means."""
    names = ("distributed", "distributed.client", "tornado.application")
    loggers = [logging.getLogger(name) for name in names]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


@contextlib.contextmanager
def _client(address: str) -> Iterator[Client]:
    from distributed import Client, LocalCluster

    with contextlib.ExitStack() as stack:
        if address.startswith("local:"):
            loop = stack.enter_context(_deaf_loop())
            # Half a cluster cannot be put away.
            with interrupts.deferred():
                local = LocalCluster(
                    loop=loop,
                    n_workers=int(address.partition(":")[2]),
                    threads_per_worker=1,
                    processes=True,
                    # Without an address it would ask for port 8787, and warn where that is taken.
                    dashboard_address="127.0.0.1:0",
                    scheduler_kwargs={"dashboard": False},
                    silence_logs=logging.CRITICAL,
                )
                halts.reached("cluster.made")
                client = stack.enter_context(Client(stack.enter_context(local), loop=loop))
        else:
            try:
                client = stack.enter_context(Client(address, timeout=_PATIENCE_SECONDS))
            except (OSError, ValueError) as error:
                raise ClusterError(f"no Dask scheduler answers at {address}: {error}") from None
            if "dashboard" in client.scheduler_info(n_workers=0)["services"]:
                terminal.tell(f"the cluster's dashboard: {client.dashboard_link}")
        yield client


def _ask(client: Client, marks: Sequence[Path], courier: Courier | None) -> None:
    """Asks every worker whether it can make runs.

    Raises:
        ClusterError: One cannot.
    """
    answers = client.run(_unfit, _engine.BUILD, marks, courier, on_error="return")
    for worker, answer in answers.items():
        failed = isinstance(answer, Exception)
        reason = f"cannot run this voxpath: {type(answer).__name__}: {answer}" if failed else answer
        if reason is not None:
            raise ClusterError(f"the worker at {worker} {reason}; nothing was run")


def _unfit(build: str, marks: Sequence[Path], courier: Courier | None) -> str | None:
    """Why this process cannot make runs for another one, or send them, if it cannot."""
    return unfit(build, marks) or (None if courier is None else courier.unfit())


class _Tasks(Executor):
    """Tasks of a cluster as futures of the standard library.

    Dask's own executor asks for a task's state after its result has come. A worker that has left by then
    makes that another one, and the result is taken for an error (distributed 2026.8, `_cascade_future`).
    A future that is cancelled leaves its task to `shutdown`.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._tasks: weakref.WeakSet[DaskFuture[Any]] = weakref.WeakSet()

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Hands a task out; nobody tries it again but where its worker is lost."""
        task = self._client.submit(fn, *args, **kwargs, pure=False, retries=0)
        self._tasks.add(task)
        answer: Future[_T] = Future()
        loop = self._client.loop
        assert loop is not None  # noqa: S101 - it has started
        loop.add_callback(_hand_on, task, answer)
        return answer

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Cancels what is not done."""
        del wait, cancel_futures
        self._client.cancel(list(self._tasks))


async def _hand_on(task: DaskFuture[Any], answer: Future[Any]) -> None:
    """Puts a task's result or error into a future, unless that was cancelled meanwhile."""
    try:
        result = await task
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is for those who wait
        # Otherwise the result could not be fetched: the scheduler is gone.
        if task.status != "error":
            answer.cancel()
        if answer.set_running_or_notify_cancel():
            answer.set_exception(error)
    else:
        if answer.set_running_or_notify_cancel():
            answer.set_result(result)


class _Watch:
    """Looks after a cluster from which nothing comes, and says so where nothing can come."""

    def __init__(self, client: Client, address: str) -> None:
        self._client = client
        self._address = address
        self._alone_since: float | None = None
        self._said = False
        self._asked: float | None = None
        self._threads = 0

    def threads(self) -> int:
        """Of all workers, as the scheduler has told within the last second."""
        now = time.monotonic()
        if self._asked is None or now - self._asked >= _ASK_SECONDS:
            self._asked = now
            self._threads = self._client.scheduler_info(n_workers=0).get("total_threads", 0)
        return self._threads

    def look(self) -> None:
        """Says so if there are no workers, and none joins for a while."""
        if self.threads():
            self._alone_since, self._said = None, False
            return
        self._alone_since = self._alone_since or time.monotonic()
        if not self._said and time.monotonic() - self._alone_since >= _ALONE_SECONDS:
            self._said = True
            terminal.warn(
                f"the cluster at {self._address} has no workers any more: this command waits until one joins "
                "it (Ctrl-C ends the command; runs that are done are kept)"
            )


@contextlib.contextmanager
def _deaf_loop() -> Iterator[IOLoop]:
    """The event loop of a cluster of this machine, whose processes are born deaf to Ctrl-C.

    It reaches the whole process group: workers that heard of it would each print how they died, be started
    again, and be waited for. That it is blocked, they inherit from the loop's thread, and that from this one.
    """
    from distributed.utils import LoopRunner

    # It would be started with the first worker, and unblocks what it finds blocked.
    resource_tracker.ensure_running()
    runner = LoopRunner()
    with interrupts.deferred():
        runner.start()
    try:
        yield runner.loop
    finally:
        runner.stop()
