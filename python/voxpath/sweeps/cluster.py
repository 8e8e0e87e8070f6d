"""Runs on a Dask cluster, by the same tasks as on this machine.

The workers need this build of the engine and the store's directory under the same path: a run is written by
the worker that makes it. Dask is optional: the extra `dask`.
"""

from __future__ import annotations

import contextlib
import logging
import re
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING

from voxpath import halts
from voxpath.extras import install
from voxpath.sweeps.pool import interrupt_later

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor

    from tornado.ioloop import IOLoop

_PATIENCE_SECONDS = 10


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
def dask_executor(address: str) -> Iterator[tuple[Executor, int]]:
    """An executor on a cluster, and how many tasks it performs at once.

    Args:
        address: A scheduler, such as `tcp://10.0.0.1:8786`, or `local:N` for a cluster of N processes here.

    Raises:
        ClusterError: The cluster cannot be used.
    """
    check_address(address)
    from distributed import Client, LocalCluster

    with contextlib.ExitStack() as stack:
        if address.startswith("local:"):
            loop = stack.enter_context(_deaf_loop())
            # Half a cluster cannot be put away.
            with interrupt_later():
                local = LocalCluster(
                    loop=loop,
                    n_workers=int(address.partition(":")[2]),
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address=None,
                    silence_logs=logging.CRITICAL,
                )
                halts.reached("cluster.made")
                client = stack.enter_context(Client(stack.enter_context(local), loop=loop))
        else:
            try:
                client = stack.enter_context(Client(address, timeout=_PATIENCE_SECONDS))
            except (OSError, ValueError) as error:
                raise ClusterError(f"no Dask scheduler answers at {address}: {error}") from None
        width = sum(client.ncores().values())
        if not width:
            raise ClusterError(f"the cluster at {address} has no workers")
        pool = client.get_executor(pure=False, retries=0)
        try:
            yield pool, width
        finally:
            pool.shutdown(wait=False)


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
    with interrupt_later():
        runner.start()
    try:
        yield runner.loop
    finally:
        runner.stop()
