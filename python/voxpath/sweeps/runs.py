"""One run and many runs: from tasks to folders of the store."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import time
from collections import deque
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voxpath import _engine, halts
from voxpath.results import digests
from voxpath.results.identity import Identity, Observe
from voxpath.results.outcome import Outcome
from voxpath.results.problems import DamagedError
from voxpath.results.store import Store
from voxpath.sweeps.crew import unfit
from voxpath.sweeps.workers import crew

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Future

    from voxpath.sweeps.crew import Crew
    from voxpath.sweeps.workers import Workers

_BATCH_SECONDS = 0.2
"""How often the progress of short runs is told, about."""

_LOOK_SECONDS = 1.0
"""How often it is looked after workers from whom nothing comes."""


@dataclass(frozen=True)
class Task:
    """A run to be made.

    Attributes:
        plan: Canonical JSON of the plan.
        scenario: What is kept of the scenario beside the results: files by name.
        replication: From 0.
        observe: What is recorded.
        root: Directory of the store.
        force: Make the run though it is there already.
    """

    plan: str
    scenario: Mapping[str, bytes]
    replication: int
    observe: Observe
    root: str
    force: bool = False

    @property
    def identity(self) -> Identity:
        """The identity of the run."""
        return Identity(self.plan, "sim", self.replication, _engine.BUILD, self.observe)


def perform(task: Task) -> Outcome:
    """Makes a run, or finds it finished.

    Raises:
        RuntimeError: The engine failed; this is a bug of ours.
        StoreError: The results cannot be written.
    """
    damage = None
    try:
        if outcome := _finished(task):
            return outcome
    except DamagedError as error:
        damage = error.reason
    from voxpath.results.frames import framed, parquet

    halts.reached("run.begins")
    started = datetime.now(UTC)
    wall, processor = time.perf_counter_ns(), time.thread_time_ns()
    tables, verdict, captures = _engine.run(task.plan, task.replication, task.observe.json)
    wall, processor = time.perf_counter_ns() - wall, time.thread_time_ns() - processor
    files = {f"{name}.parquet": parquet(rows) for name, rows in framed(tables).items()}
    files |= {f"captures/{host}.pcapng": packets for host, packets in captures.items()}
    environment = {"started": started.isoformat(), "wall_ns": wall, "processor_ns": processor}
    found = Found(verdict, files, environment)
    outcome = keep(Path(task.root), task.identity, task.scenario, task.replication, found)
    return replace(outcome, damage=damage)


@dataclass(frozen=True)
class Found:
    """What came of a run.

    Attributes:
        verdict: JSON.
        files: Its tables and whatever else it left, by name.
        environment: What may differ between two runs of one identity.
    """

    verdict: str
    files: Mapping[str, bytes]
    environment: dict[str, Any]


def keep(
    root: Path, identity: Identity, scenario: Mapping[str, bytes], replication: int, found: Found
) -> Outcome:
    """Keeps a run in the store.

    Args:
        root: Directory of the store.
        identity: Of the run.
        scenario: Its files, by name.
        replication: From 0.
        found: What came of it.

    Raises:
        StoreError: The results cannot be written.
    """
    files = {
        **scenario,
        "plan.json": identity.plan.encode(),
        "identity.json": identity.json.encode(),
        "verdict.json": found.verdict.encode(),
        digests.ENVIRONMENT: digests.sealed(found.environment | _machine()),
        **found.files,
    }
    folder = Store(root).keep(identity.name, files)
    return Outcome(folder, replication, reused=False, valid=bool(json.loads(found.verdict)["valid"]))


def finished(root: Path, identity: Identity, replication: int) -> Outcome | None:
    """The run as it was made before.

    Raises:
        DamagedError: Its files are not those that were written.
        StoreError: The store cannot be read.
    """
    folder = Store(root).find(identity.name)
    return Outcome(folder, replication, reused=True, valid=True) if folder else None


def perform_all(
    tasks: Sequence[Task], workers: Workers, on_done: Callable[[Outcome], None] = lambda _: None
) -> list[Outcome]:
    """Makes the runs that are not there yet; outcomes are in the order of the tasks.

    Args:
        tasks: What to run.
        workers: Who runs it; the results do not depend on it.
        on_done: Told of each run as it is done.

    Raises:
        RuntimeError: As `perform`; runs that are done are kept.
        StoreError: As `perform`.
        ClusterError: The cluster cannot be used; nothing has been run.
    """
    roots = {Path(task.root) for task in tasks}
    new_roots = {root for root in roots if not root.exists()}
    outcomes: dict[int, Outcome] = {}
    try:
        for root in roots:
            Store(root).clean()
        missing: dict[tuple[str, str], int] = {}
        for index, task in enumerate(tasks):
            with contextlib.suppress(DamagedError):
                if found := _finished(task):
                    outcomes[index] = found
                    on_done(found)
            # Who makes it finds the damage again, and tells of it.
            if index not in outcomes:
                missing.setdefault((task.root, task.identity.name), index)
        for index, outcome in _performed(tasks, list(missing.values()), workers):
            outcomes[index] = outcome
            on_done(outcome)
            halts.reached("run.noted")
        # Cells may resolve into one plan; such a run is made once.
        for index, task in enumerate(tasks):
            if index not in outcomes:
                outcomes[index] = outcomes[missing[task.root, task.identity.name]]
                on_done(outcomes[index])
    except BaseException:
        for root in roots:
            Store(root).clean()
            if root in new_roots and root.is_dir() and not any(root.iterdir()):
                root.rmdir()
        raise
    return [outcomes[index] for index in range(len(tasks))]


def _performed(
    tasks: Sequence[Task], indices: Sequence[int], workers: Workers
) -> Iterator[tuple[int, Outcome]]:
    """Performs some of the tasks; outcomes come as they are done, with the task's index."""
    if workers.dask is None and min(workers.jobs, len(indices)) <= 1:
        for index in indices:
            yield index, perform(tasks[index])
    elif indices:
        stores = {tasks[index].root: Path(tasks[index].root).absolute() for index in indices}
        with crew(workers, len(indices), set(stores.values())) as found:
            # A worker elsewhere has another current directory.
            sent = {index: replace(tasks[index], root=str(stores[tasks[index].root])) for index in indices}
            for index, outcome in _spread(found, sent):
                yield index, replace(outcome, folder=Path(tasks[index].root) / outcome.folder.name)


def _spread(found: Crew, tasks: Mapping[int, Task]) -> Iterator[tuple[int, Outcome]]:
    """Hands tasks out in batches that take about `_BATCH_SECONDS`, two for each worker at a time.

    Short runs come in large batches, so that handing them out costs little; long ones one by one, so that no
    worker is idle at the end while another has a batch left.
    """
    waiting = deque(tasks)
    running: dict[Future[tuple[list[Outcome], float]], list[int]] = {}
    size = 1
    try:
        while waiting or running:
            while waiting and len(running) < 2 * found.width:
                fair = max(1, len(waiting) // (2 * found.width))
                batch = [waiting.popleft() for _ in range(min(size, fair))]
                asked = [tasks[index] for index in batch]
                running[found.pool.submit(perform_batch, asked, _engine.BUILD, found.marks)] = batch
            done, _ = wait(running, _LOOK_SECONDS, return_when=FIRST_COMPLETED)
            if not done:
                found.look()
            for future in done:
                batch = running.pop(future)
                outcomes, seconds = future.result()
                fitting = int(_BATCH_SECONDS * len(batch) / max(seconds, 1e-9))
                size = max(1, min(fitting, 2 * size))
                yield from zip(batch, outcomes, strict=True)
    except BaseException:
        for future in running:
            future.cancel()
        raise


def perform_batch(tasks: Sequence[Task], build: str, marks: Sequence[Path]) -> tuple[list[Outcome], float]:
    """What a worker does: some runs, one after the other; how they went and how many seconds that took.

    Raises:
        RuntimeError: As `perform`, or these runs are not for this worker.
        StoreError: As `perform`.
    """
    if reason := unfit(build, marks):
        raise RuntimeError(f"a worker on {platform.node()} {reason}")
    started = time.perf_counter()
    return [perform(task) for task in tasks], time.perf_counter() - started


def _finished(task: Task) -> Outcome | None:
    """The run as it was made before, unless it is to be made anew.

    Raises:
        DamagedError: As `finished`.
        StoreError: As `finished`.
    """
    return None if task.force else finished(Path(task.root), task.identity, task.replication)


def _machine() -> dict[str, Any]:
    """Where a run was made."""
    return {
        "host": platform.node(),
        "machine": platform.machine(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "process": os.getpid(),
    }
