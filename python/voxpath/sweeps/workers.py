"""Who makes the runs: processes of this machine, or a Dask cluster. The results do not depend on it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor


@dataclass(frozen=True)
class Workers:
    """Workers that are yet to be started.

    Attributes:
        jobs: Processes of this machine.
        dask: In their place a Dask cluster, as `cluster.dask_executor` takes it.
    """

    jobs: int = 1
    dask: str | None = None


@contextlib.contextmanager
def executor(workers: Workers, most: int) -> Iterator[tuple[Executor, int]]:
    """An executor and how many tasks it performs at once, not more than `most` where we start them.

    Raises:
        ClusterError: The cluster cannot be used.
    """
    if workers.dask is None:
        from voxpath.sweeps.pool import local_executor

        jobs = min(workers.jobs, most)
        with local_executor(jobs) as pool:
            yield pool, jobs
    else:
        from voxpath.sweeps.cluster import dask_executor

        with dask_executor(workers.dask) as found:
            yield found
