"""One run and many runs: from tasks to folders of the store."""

from __future__ import annotations

import json
import os
import platform
import time
from concurrent.futures import as_completed
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from voxpath import _engine
from voxpath.results.identity import Identity, Observe
from voxpath.results.store import Store
from voxpath.sweep.pool import local_executor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


@dataclass(frozen=True)
class Task:
    """A run to be made.

    Attributes:
        plan: Canonical JSON of the plan.
        scenario: The scenario's text, kept beside the results.
        replication: From 0.
        observe: What is recorded.
        root: Directory of the store.
        force: Make the run though it is there already.
    """

    plan: str
    scenario: str
    replication: int
    observe: Observe
    root: str
    force: bool = False

    @property
    def identity(self) -> Identity:
        """The identity of the run."""
        return Identity(self.plan, "sim", self.replication, _engine.BUILD, self.observe)


@dataclass(frozen=True)
class Outcome:
    """A run that was made or found.

    Attributes:
        folder: Where it is.
        replication: From 0.
        reused: Whether it was there already.
        valid: Whether its verdict says so.
    """

    folder: Path
    replication: int
    reused: bool
    valid: bool


def perform(task: Task) -> Outcome:
    """Makes a run, or finds it finished.

    Raises:
        RuntimeError: The engine failed; this is a bug of ours.
        StoreError: The results cannot be written.
    """
    if found := _finished(task):
        return found
    from voxpath.results.frames import frame, parquet

    started = datetime.now(UTC)
    identity = task.identity
    wall, processor = time.perf_counter_ns(), time.thread_time_ns()
    tables, verdict, captures = _engine.run(task.plan, task.replication, task.observe.json)
    wall, processor = time.perf_counter_ns() - wall, time.thread_time_ns() - processor
    files = {
        "scenario.toml": task.scenario.encode(),
        "plan.json": task.plan.encode(),
        "identity.json": identity.json.encode(),
        "verdict.json": verdict.encode(),
        "environment.json": _environment(started, wall, processor).encode(),
    }
    files |= {f"{name}.parquet": parquet(frame(table)) for name, table in tables.items()}
    files |= {f"captures/{host}.pcapng": packets for host, packets in captures.items()}
    folder = Store(Path(task.root)).keep(identity.name, files)
    return Outcome(folder, task.replication, reused=False, valid=bool(json.loads(verdict)["valid"]))


def perform_all(
    tasks: Sequence[Task], jobs: int, on_done: Callable[[Outcome], None] = lambda _: None
) -> list[Outcome]:
    """Makes the runs that are not there yet, on `jobs` workers; outcomes are in the order of the tasks.

    Args:
        tasks: What to run.
        jobs: How many workers; the results do not depend on it.
        on_done: Told of each run as it is done.

    Raises:
        RuntimeError: As `perform`; runs that are done are kept.
        StoreError: As `perform`.
    """
    roots = {Path(task.root) for task in tasks}
    new_roots = {root for root in roots if not root.exists()}
    outcomes: dict[int, Outcome] = {}
    try:
        for root in roots:
            Store(root).clean()
        missing = []
        for index, task in enumerate(tasks):
            if found := _finished(task):
                outcomes[index] = found
                on_done(found)
            else:
                missing.append(index)
        for index, outcome in _performed(tasks, missing, min(jobs, len(missing))):
            outcomes[index] = outcome
            on_done(outcome)
    except BaseException:
        for root in roots:
            Store(root).clean()
            if root in new_roots and root.is_dir() and not any(root.iterdir()):
                root.rmdir()
        raise
    return [outcomes[index] for index in range(len(tasks))]


def _performed(tasks: Sequence[Task], indices: Sequence[int], jobs: int) -> Iterator[tuple[int, Outcome]]:
    """Performs some of the tasks; outcomes come as they are done, with the task's index."""
    if jobs <= 1:
        for index in indices:
            yield index, perform(tasks[index])
        return
    with local_executor(jobs) as pool:
        futures = {pool.submit(perform, tasks[index]): index for index in indices}
        for future in as_completed(futures):
            yield futures[future], future.result()


def _finished(task: Task) -> Outcome | None:
    """The run as it was made before, unless it is to be made anew."""
    folder = None if task.force else Store(Path(task.root)).find(task.identity.name)
    return Outcome(folder, task.replication, reused=True, valid=True) if folder else None


def _environment(started: datetime, wall_ns: int, processor_ns: int) -> str:
    """What may differ between two runs of one identity; nothing else does."""
    facts = {
        "started": started.isoformat(),
        "wall_ns": wall_ns,
        "processor_ns": processor_ns,
        "host": platform.node(),
        "machine": platform.machine(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "process": os.getpid(),
    }
    return json.dumps(facts, indent=2)
