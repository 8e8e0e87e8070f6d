"""One run and many runs: from tasks to folders of the store."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import math
import os
import platform
import shlex
import tempfile
import time
from collections import deque
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from voxpath import _engine, halts, terminal
from voxpath.results import digests
from voxpath.results.frames import of_run, of_runs, parquet, together
from voxpath.results.garbage import of_other_builds
from voxpath.results.identity import Identity, Observe
from voxpath.results.outcome import Found, Outcome, Outcomes
from voxpath.results.packs import TEXT, Packable, Packs
from voxpath.results.problems import DamagedError, StoreError
from voxpath.results.store import Store
from voxpath.sweeps.crew import Crew, unfit
from voxpath.sweeps.pool import Ended
from voxpath.sweeps.shards import Courier, Shard, shards_of
from voxpath.sweeps.workers import crew

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

    import polars as pl

    from voxpath.sweeps.workers import Workers

_P = ParamSpec("_P")
_T = TypeVar("_T")

_BATCH_SECONDS = 1.0
"""How often the progress of short runs is told, about: what a batch has not begun by then comes back."""

_LEAST_SHARE = 16
"""Into so many parts a batch is divided at most as the end comes near."""

_GATHERED = 1000
"""After so many runs it is looked whether there are loose packs to gather."""

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
        together: Keep it in a pack with others, if it records nothing but its tables.
    """

    plan: str
    scenario: Mapping[str, bytes]
    replication: int
    observe: Observe
    root: str
    force: bool = False
    together: bool = False

    @property
    def packed(self) -> bool:
        """Whether it is to be kept in a pack, should it be valid."""
        return self.together and self.observe == Observe()

    @property
    def identity(self) -> Identity:
        """The identity of the run."""
        return Identity(self.plan, "sim", self.replication, _engine.BUILD, self.observe)

    @property
    def folder(self) -> Path:
        """Where it is kept, in a folder or by this name in a pack."""
        return _root(self.root) / self.identity.name


_root = lru_cache(Path)
"""Runs have few directories; to take a path apart costs as much as all else of a run that is there."""


def perform(task: Task) -> Outcome:
    """Makes a run that has a folder, or finds it finished.

    Raises:
        RuntimeError: The engine failed; this is a bug of ours.
        StoreError: The results cannot be written.
    """
    damage = None
    try:
        if not task.force and (found := finished(Store(Path(task.root)), task.identity, task.replication)):
            return found
    except DamagedError as error:
        damage = error.reason
    return replace(_alone(task), damage=damage)


def _alone(task: Task, stop: _engine.Stop | None = None) -> Outcome:
    """Makes a run that has a folder.

    Raises:
        RuntimeError: As `perform`.
        StoreError: As `perform`.
    """
    batch = _made([task], stop)
    if batch.error is not None:
        raise batch.error
    ((_, frames),) = batch.groups
    return _keep(task, batch.runs[0], of_run(frames, 0))


@dataclass(frozen=True)
class _Made:
    """A run as the engine gives it, but for its tables."""

    verdict: str
    captures: Mapping[str, bytes]
    environment: dict[str, Any]

    @property
    def valid(self) -> bool:
        return bool(json.loads(self.verdict)["valid"])


@dataclass(frozen=True)
class _Batch:
    """Runs that were made by one call of the engine.

    Attributes:
        runs: Those that were made, in the order of their tasks.
        groups: Indices of runs of one shape, and the tables of these.
        error: What ended it before all were made.
    """

    runs: Sequence[_Made]
    groups: Sequence[tuple[Sequence[int], Mapping[str, pl.DataFrame]]]
    error: Exception | None


def _made(tasks: Sequence[Task], stop: _engine.Stop | None, seconds: float = math.inf) -> _Batch:
    """Makes runs that record the same: the first of them, once so many seconds are over."""
    halts.reached("run.begins")
    cells = [
        (plan, [task.replication for task in some])
        for plan, some in itertools.groupby(tasks, lambda task: task.plan)
    ]
    made, groups, error = _engine.run(cells, tasks[0].observe.json, stop, seconds)
    runs = [
        _Made(verdict, captures, _times(started_ns, wall_ns, processor_ns))
        for verdict, captures, started_ns, wall_ns, processor_ns in made
    ]
    return _Batch(runs, [(indices, together(tables)) for indices, tables in groups], error)


def _times(started_ns: int, wall_ns: int, processor_ns: int) -> dict[str, Any]:
    started = datetime.fromtimestamp(started_ns / 1e9, UTC)
    return {"started": started.isoformat(), "wall_ns": wall_ns, "processor_ns": processor_ns}


def _keep(task: Task, made: _Made, frames: Mapping[str, pl.DataFrame]) -> Outcome:
    files = {f"{name}.parquet": parquet(rows) for name, rows in frames.items()}
    files |= {f"captures/{host}.pcapng": packets for host, packets in made.captures.items()}
    found = Found(made.verdict, files, made.environment)
    return keep(Path(task.root), task.identity, task.scenario, task.replication, found)


def pack(tasks: Sequence[Task], stop: _engine.Stop | None = None, seconds: float = math.inf) -> list[Outcome]:
    """Makes runs, and keeps those of one shape together; those before one that fails are kept.

    Args:
        tasks: What to run.
        stop: Ends the run that is being made.
        seconds: Once these are over no further run is begun. The first one is made in any case.

    Returns:
        The outcomes of the runs that were made, which are the first ones.

    Raises:
        RuntimeError: The engine failed, which is a bug of ours, or was stopped.
        StoreError: The results cannot be written.
    """
    batch = _made(tasks, stop, seconds)
    outcomes: dict[int, Outcome] = {}
    for indices, frames in batch.groups:
        places: dict[str, list[int]] = {}
        for place, index in enumerate(indices):
            if batch.runs[index].valid:
                places.setdefault(tasks[index].root, []).append(place)
            else:
                # A fault of ours, to be looked into.
                outcomes[index] = _keep(tasks[index], batch.runs[index], of_run(frames, place))
        for root, some in places.items():
            kept = [indices[place] for place in some]
            packable = [_packable(tasks[index], batch.runs[index]) for index in kept]
            alike = frames if len(some) == len(indices) else of_runs(frames, some)
            Packs(Path(root)).keep(packable, alike)
            for index, one in zip(kept, packable, strict=True):
                folder, replication = Path(root) / one.identity.name, tasks[index].replication
                outcomes[index] = Outcome(folder, replication, reused=False, valid=True, packed=True)
    if batch.error is not None:
        raise batch.error
    return [outcomes[index] for index in range(len(batch.runs))]


def _packable(task: Task, made: _Made) -> Packable:
    return Packable(task.identity, task.scenario, made.verdict, made.environment | _machine())


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


def finished(store: Store, identity: Identity, replication: int) -> Outcome | None:
    """The run as it was made before, in a folder; from a pack it is copied into one.

    Raises:
        DamagedError: Its files are not those that were written.
        StoreError: The store cannot be read, or not be written to.
    """
    folder = store.find(identity.name)
    if folder is not None:
        return Outcome(folder, replication, reused=True, valid=True)
    if store.packs.find(identity.name) is None:
        return None
    try:
        folder = store.keep(identity.name, store.packs.files(identity.name))
    except StoreError:
        # It can be read where it is, by whoever may not write here.
        return Outcome(store.root / identity.name, replication, reused=True, valid=True, packed=True)
    return Outcome(folder, replication, reused=True, valid=True)


def perform_all(
    tasks: Sequence[Task], workers: Workers, on_done: Callable[[Outcome], None] = lambda _: None
) -> Sequence[Outcome]:
    """Makes the runs that are not there yet; outcomes are in the order of the tasks.

    Args:
        tasks: What to run.
        workers: Who runs it; the results do not depend on it.
        on_done: Told of each run as it is done.

    Raises:
        RuntimeError: As `perform`; runs that are done are kept.
        StoreError: As `perform`. Where a run is missing and nothing can be written, nothing has been run.
        ClusterError: The cluster cannot be used; nothing has been run.
    """
    stores = {root: Store(Path(root)) for root in {task.root for task in tasks}}
    new_roots = {store.root for store in stores.values() if not store.root.exists()}
    outcomes = Outcomes(len(tasks), lambda index: _place(tasks[index]))
    damage: dict[int, str] = {}
    try:
        for store in stores.values():
            store.clean()
            if workers.shards is not None:
                Courier.of(workers.shards).take_left(store.root.absolute())
            # Packs of another version are refused before anything is run, by --force too.
            store.packs.names()
        missing: list[int] = []
        # Cells may resolve into one plan; such a run is made once.
        twins: dict[int, int] = {}
        first: dict[tuple[str, str], dict[int, int]] = {}
        texts: dict[str, set[bytes]] = {root: set() for root in stores}
        for index, task in enumerate(tasks):
            try:
                if found := _found(stores[task.root], task):
                    outcomes.note(index, found)
                    on_done(found)
                    continue
            except DamagedError as error:
                damage[index] = error.reason
            twin = first.setdefault((task.root, task.identity.cell), {}).setdefault(task.replication, index)
            if twin == index:
                missing.append(index)
                if task.packed and not task.force:
                    texts[task.root].add(task.scenario[TEXT])
            else:
                twins[index] = twin
        for root in sorted({tasks[index].root for index in missing}):
            try:
                stores[root].check_writable()
            except StoreError as error:
                there = f"{len(tasks) - len(missing) - len(twins)} of {len(tasks)} runs are there"
                if damage:
                    index, reason = next(iter(damage.items()))
                    there += f", and {len(damage)} are damaged, such as {tasks[index].folder}: {reason}"
                raise StoreError(f"{error}; {there}") from None
            _tell_of_other_builds(stores[root], texts[root])
        if damage:
            for store in stores.values():
                store.packs.set_aside()
        # Whoever interrupts this finds no worker that still writes.
        with contextlib.closing(_performed(tasks, missing, workers)) as performed:
            for number, (index, made) in enumerate(performed, start=1):
                outcome = replace(made, damage=damage.get(index))
                outcomes.note(index, outcome)
                on_done(outcome)
                halts.reached("run.noted")
                if outcome.packed:
                    # What was there was damaged or invalid, or was to be made anew.
                    stores[tasks[index].root].remove(outcome.folder.name)
                if number % _GATHERED == 0:
                    _tidy(stores.values(), Packs.gather)
        for index, twin in twins.items():
            outcomes.note(index, outcomes[twin])
            on_done(outcomes[index])
        _tidy(stores.values(), Packs.seal)
    except BaseException:
        for store in stores.values():
            store.clean()
            if store.root in new_roots:
                for directory in (store.packs.directory, store.root):
                    if directory.is_dir() and not any(directory.iterdir()):
                        directory.rmdir()
        raise
    return outcomes


def _tell_of_other_builds(store: Store, texts: Iterable[bytes]) -> None:
    """Says so where a store has runs of these scenarios that this build of the engine does not use.

    They are known by their text: another version may make another plan of it.
    """
    asked = [hashlib.sha256(text).hexdigest() for text in texts]
    there = store.packs.count(of_other_builds(_engine.BUILD), asked)
    if there:
        runs = "1 run of these cells is" if there == 1 else f"{there} runs of these cells are"
        terminal.warn(
            f"{runs} of another build of the engine and not used: this one makes its own "
            f"(voxpath gc {shlex.quote(str(store.root))} --other-builds removes the others)"
        )


def _place(task: Task) -> tuple[Path, int]:
    return task.folder, task.replication


def _tidy(stores: Iterable[Store], merge: Callable[[Packs], None]) -> None:
    """Merges packs; where that cannot be done, the runs are there all the same."""
    for store in stores:
        try:
            merge(store.packs)
        except StoreError as error:
            terminal.warn(f"small packs of runs are left as they are: {error}")


def _found(store: Store, task: Task) -> Outcome | None:
    """The run as it was made before, unless it is to be made anew.

    Raises:
        DamagedError: Its files are not those that were written.
        StoreError: The store cannot be read, or not be written to.
    """
    if task.force:
        return None
    if not task.packed:
        return finished(store, task.identity, task.replication)
    name = task.identity.name
    packed = store.packs.find(name) is not None
    if not packed and store.find(name) is None:
        return None
    return Outcome(store.root / name, task.replication, reused=True, valid=True, packed=packed)


def _performed(
    tasks: Sequence[Task], indices: Sequence[int], workers: Workers
) -> Generator[tuple[int, Outcome]]:
    """Performs some of the tasks; outcomes come as they are done, with the task's index."""
    if workers.dask is None and min(workers.jobs, len(indices)) <= 1:
        yield from _spread(Crew(_Here(), lambda: 1, queued=1), indices, tasks.__getitem__)
    elif indices:
        stores = {root: Path(root).absolute() for root in {tasks[index].root for index in indices}}

        def sent(index: int) -> Task:
            """A worker elsewhere has another current directory."""
            return replace(tasks[index], root=str(stores[tasks[index].root]))

        with crew(workers, len(indices), set(stores.values())) as found:
            for index, outcome in _spread(found, indices, sent):
                yield index, replace(outcome, folder=Path(tasks[index].root) / outcome.folder.name)


class _Here(Executor):
    """This process, at once."""

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        future: Future[_T] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def _spread(
    found: Crew, indices: Sequence[int], task: Callable[[int], Task]
) -> Iterator[tuple[int, Outcome]]:
    """Hands tasks out in batches that take about `_BATCH_SECONDS`, `queued` for each worker at a time.

    Short runs come in large batches, so that handing them out and keeping them costs little; long ones one by
    one, so that no worker is idle at the end while another has a batch left. Until the first is back nobody
    knows how long they take, and each worker has one run. Where runs turn out to be longer than those before,
    the rest of a batch comes back once the run ends that is being made.
    """
    waiting = deque(indices)
    running: dict[Future[Performed], list[int]] = {}
    ended: Ended[Performed] = Ended()
    size, queued = 1, 1
    try:
        while waiting or running:
            width = found.width()
            while waiting and len(running) < queued * width:
                fair = len(waiting) // (2 * width) if width > 1 else size
                # However few are left: what a batch costs besides its runs should not show.
                least = max(size // _LEAST_SHARE, 1)
                count = min(max(fair, least), size)
                if len(waiting) - count < least:
                    count = len(waiting)
                batch = [waiting.popleft() for _ in range(count)]
                asked = [task(index) for index in batch]
                future = found.pool.submit(
                    perform_batch, asked, _engine.BUILD, found.marks, found.stop, found.courier
                )
                running[future] = batch
                ended.watch(future)
            done = ended.next(_LOOK_SECONDS)
            if done is None:
                found.look()
                continue
            batch = running.pop(done)
            made = done.result()
            if found.courier is not None:
                for shard in made.shards:
                    found.courier.keep(shard)
            outcomes = made.all()
            waiting.extendleft(
                index for place, index in reversed(list(enumerate(batch))) if place not in outcomes
            )
            size = max(1, int(_BATCH_SECONDS * len(outcomes) / max(made.seconds, 1e-9)))
            queued = found.queued
            yield from ((batch[place], outcome) for place, outcome in outcomes.items())
    except BaseException:
        for future in running:
            future.cancel()
        raise


@dataclass(frozen=True)
class Performed:
    """What a worker answers.

    Attributes:
        outcomes: Of the runs that there was time for, by their place among the tasks, unless one failed.
        seconds: How long they took.
        shards: What a courier brings to the stores.
        error: Why not all of them were made, where those before have to be brought.
    """

    outcomes: Mapping[int, Outcome]
    seconds: float
    shards: Sequence[Shard] = ()
    error: Exception | None = None

    def all(self) -> Mapping[int, Outcome]:
        """The outcomes, unless a run failed.

        Raises:
            RuntimeError: As `pack`.
            StoreError: As `pack`.
        """
        if self.error is not None:
            raise self.error
        return self.outcomes


def perform_batch(
    tasks: Sequence[Task],
    build: str,
    marks: Sequence[Path],
    stop: _engine.Stop | None = None,
    courier: Courier | None = None,
) -> Performed:
    """What a worker does: some runs, one after the other, for as long as a batch is to take.

    Raises:
        RuntimeError: As `pack`, or these runs are not for this worker.
        StoreError: As `pack`.
    """
    if reason := unfit(build, marks):
        raise RuntimeError(f"a worker on {platform.node()} {reason}")
    started = time.perf_counter()
    if courier is None:
        return Performed(_batch(tasks, stop), time.perf_counter() - started)
    outcomes: Mapping[int, Outcome] = {}
    failed: Exception | None = None
    try:
        with tempfile.TemporaryDirectory(prefix="voxpath-") as own:
            roots = {root: f"{own}/{number}" for number, root in enumerate({task.root for task in tasks})}
            try:
                outcomes = _batch([replace(task, root=roots[task.root]) for task in tasks], stop)
            except StoreError as error:
                failed = StoreError(f"a worker on {platform.node()}: {error}")
            except RuntimeError as error:
                failed = error
            sent = [courier.send(shard) for root in roots for shard in shards_of(Path(roots[root]), root)]
    except (OSError, StoreError) as error:
        raise StoreError(f"a worker on {platform.node()}: {error}") from None
    return Performed(outcomes, time.perf_counter() - started, sent, failed)


def _batch(tasks: Sequence[Task], stop: _engine.Stop | None) -> Mapping[int, Outcome]:
    """Makes some runs, one after the other, one at least: their outcomes by their place among the tasks."""
    end = time.monotonic() + _BATCH_SECONDS
    packed = [index for index, task in enumerate(tasks) if task.packed]
    made = pack([tasks[index] for index in packed], stop, _BATCH_SECONDS) if packed else []
    # Of those that are kept together the last ones may be left.
    outcomes = dict(zip(packed, made, strict=False))
    for index in sorted(set(range(len(tasks))).difference(packed)):
        if outcomes and time.monotonic() >= end:
            break
        outcomes[index] = _alone(tasks[index], stop)
    return outcomes


@cache
def _machine() -> dict[str, Any]:
    """Where this process makes runs."""
    return {
        "host": platform.node(),
        "machine": platform.machine(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "process": os.getpid(),
    }
