"""Who makes the runs: processes of this machine, or a Dask cluster. The results do not depend on it."""

from __future__ import annotations

import contextlib
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

from voxpath.sweeps.crew import Crew

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path


@dataclass(frozen=True)
class Workers:
    """Workers that are yet to be started.

    Attributes:
        jobs: Processes of this machine.
        dask: In their place a Dask cluster, as `cluster.dask_crew` takes it.
    """

    jobs: int = 1
    dask: str | None = None


@contextlib.contextmanager
def crew(workers: Workers, most: int, stores: Collection[Path]) -> Iterator[Crew]:
    """Starts workers, or joins them.

    Args:
        workers: Which.
        most: How many we start ourselves at most.
        stores: Where the runs will be kept.

    Raises:
        ClusterError: The cluster cannot be used.
        StoreError: A store cannot be written to.
    """
    # Polars has SIGINT restart what it interrupts: a thread that waits for workers would not hear of it.
    signal.siginterrupt(signal.SIGINT, True)
    if workers.dask is None:
        from voxpath.sweeps.pool import local_executor

        jobs = min(workers.jobs, most)
        with local_executor(jobs) as pool:
            yield Crew(pool, jobs)
    else:
        from voxpath.sweeps.cluster import dask_crew

        with dask_crew(workers.dask, stores) as found:
            yield found
