"""Who makes the runs: threads of this process, or a Dask cluster. The results do not depend on it."""

from __future__ import annotations

import contextlib
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from voxpath.sweeps.crew import Crew


@dataclass(frozen=True)
class Workers:
    """Workers that are yet to be started.

    Attributes:
        jobs: Threads of this process.
        dask: In their place a Dask cluster, as `cluster.dask_crew` takes it.
        shards: How runs come from workers that do not see the stores, as `Courier.of` takes it.

    Raises:
        ValueError: There is no such way for runs, or it is asked for without a cluster.
    """

    jobs: int = 1
    dask: str | None = None
    shards: str | None = None

    def __post_init__(self) -> None:
        if self.shards is None:
            return
        if self.dask is None:
            raise ValueError("shards are what workers of a cluster send: give the address of one, too")
        from voxpath.sweeps.shards import Courier

        Courier.of(self.shards)


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
        from voxpath.sweeps.pool import local_crew

        with local_crew(min(workers.jobs, most)) as found:
            yield found
    else:
        from voxpath.sweeps.cluster import dask_crew

        with dask_crew(workers.dask, stores, workers.shards) as found:
            yield found
