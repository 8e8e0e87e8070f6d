"""Answers by real hosts: runs on the wall clock, one at a time or several, and rows from their flows."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from voxpath import _engine, interrupts
from voxpath.backends.base import UnanswerableError
from voxpath.backends.real.network import Network, ends_by_itself
from voxpath.backends.real.session import Session
from voxpath.backends.sim import flows, rows
from voxpath.results.identity import Identity, Observe, machine
from voxpath.results.problems import DamagedError
from voxpath.results.store import Store
from voxpath.sweeps.pool import Ended, Threads
from voxpath.sweeps.runs import finished, keep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from voxpath.backends.base import Question
    from voxpath.results.outcome import Outcome
    from voxpath.results.rows import Row
    from voxpath.scenario import Document

ATTEMPTS = 3
"""How often a run is made until its timing holds."""

_LOOK_S = 0.05
"""How often it is looked at what is under way."""


@dataclass
class RealBackend:
    """Answers by real hosts.

    Attributes:
        root: Directory of the store.
        observe: What the runs record.
        force: Make runs that are there already.
        attempts: How often a run is made until its timing holds; with none, what is there answers alone.
        at_once: Runs that are under way together; each is judged by how late its own packets were, and how
            long its hosts waited for a processor. Those that were late are made again one by one.
        on_done: Told of each run as it is done.
        on_look: Called again and again with the networks that are under way.
        outcomes: The runs of the last answer, question by question.
        frames: The flows of these runs, likewise.
    """

    root: Path
    observe: Observe = field(default_factory=Observe)
    force: bool = False
    attempts: int = ATTEMPTS
    at_once: int = 1
    on_done: Callable[[Outcome], None] = lambda _: None
    on_look: Callable[[Sequence[Network]], None] = lambda _: None
    outcomes: list[list[Outcome]] = field(default_factory=list, init=False)
    frames: list[pl.DataFrame] = field(default_factory=list, init=False)
    name: str = field(default="real", init=False)

    def check(self, questions: Sequence[Question]) -> None:
        """Refuses what the kernel cannot be, and what nothing would end.

        Raises:
            UnanswerableError: There is such a scenario.
        """
        for question in questions:
            if problems := question.document.problems_of_real_hosts():
                raise UnanswerableError("\n".join(map(str, problems)))
            Session(question.document.plan.json)
            _check_end(question.document)

    def answer(self, questions: Sequence[Question]) -> list[list[Row]]:
        """Makes every replication of every question and summarises its flows.

        Raises:
            RealError: The machine cannot run it.
            StoreError: The results cannot be written.
        """
        # What killed processes left.
        Store(self.root).clean()
        asked = [
            [
                _Run(question.document, question.observe or self.observe, replication)
                for replication in question.replications
            ]
            for question in questions
        ]
        # Whoever interrupts has as many replications of every question, made while the machine was as busy.
        found = self._found(sorted((run for runs in asked for run in runs), key=lambda run: run.replication))
        self.outcomes = [
            [found[run.identity.name] for run in runs if run.identity.name in found] for runs in asked
        ]
        self.frames = [flows([outcomes])[0] if outcomes else pl.DataFrame() for outcomes in self.outcomes]
        return [
            _marked(rows(frame, self.name), outcomes) if outcomes else []
            for frame, outcomes in zip(self.frames, self.outcomes, strict=True)
        ]

    def _found(self, runs: Sequence[_Run]) -> dict[str, Outcome]:
        """The runs' outcomes by name; what is not there is made."""
        found: dict[str, Outcome] = {}
        # Cells may resolve into one plan; such a run is made once.
        missing = {run.identity.name: run for run in runs}
        store = Store(self.root)
        damage: dict[str, str] = {}
        for name, run in missing.items():
            try:
                if not self.force and (outcome := finished(store, run.identity, run.replication)):
                    found[name] = replace(outcome, rejected=_rejected(outcome.folder))
                    self.on_done(found[name])
            except DamagedError as error:
                damage[name] = error.reason
        missing = {name: run for name, run in missing.items() if name not in found}
        if missing:
            store.check_writable()
        at_once = self.at_once
        for attempt in range(1, self.attempts + 1):
            late = {}
            for name, outcome in self._made(missing, at_once):
                found[name] = replace(outcome, damage=damage.get(name))
                if attempt < self.attempts and not outcome.valid and not _kept_up(outcome.folder):
                    late[name] = missing[name]
                else:
                    self.on_done(found[name])
            # Alone, so that nothing of ours is in its way.
            missing, at_once = late, 1
        return found

    def _made(self, runs: Mapping[str, _Run], at_once: int) -> Iterator[tuple[str, Outcome]]:
        """Makes runs, so many at once; each as it is done."""
        room = _Room(self.on_look)
        with Threads(at_once, "voxpath-real") as pool:
            running: dict[Future[Outcome], str] = {}
            ended: Ended[Outcome] = Ended()
            try:
                for name, run in runs.items():
                    future = pool.submit(run.make, self.root, room)
                    running[future] = name
                    ended.watch(future)
                while running:
                    if done := ended.next(_LOOK_S):
                        yield running.pop(done), done.result()
                    room.look()
            except BaseException:
                # Hosts are put away in order, however often somebody asks for haste.
                with interrupts.deferred():
                    room.close()
                    pool.shutdown(cancel_futures=True)
                raise


@dataclass(frozen=True)
class _Run:
    """A run to be made."""

    document: Document
    observe: Observe
    replication: int

    @cached_property
    def identity(self) -> Identity:
        return Identity(
            self.document.plan.json,
            "real",
            self.replication,
            _engine.BUILD_REAL,
            self.observe,
            machine=machine(),
        )

    def make(self, root: Path, room: _Room) -> Outcome:
        """Makes it, whatever is there, and keeps it with the attempts that it replaces."""
        attempts = _attempts(root / self.identity.name)
        with Network(self.document, self.replication, self.observe) as network:
            room.wait(network)
            found = network.finish()
        found.environment["attempts"] = attempts
        outcome = keep(root, self.identity, self.document.written, self.replication, found)
        return replace(outcome, rejected=_reasons(attempts))


class _Room:
    """Networks that are under way, each in a thread of its own."""

    def __init__(self, on_look: Callable[[Sequence[Network]], None]) -> None:
        self._on_look = on_look
        self._networks: list[Network] = []
        self._closed = threading.Event()
        # A network may be looked at until its books are closed.
        self._looking = threading.Lock()

    def wait(self, network: Network) -> None:
        """Waits until the network's run is over.

        Raises:
            RealError: The room has been closed.
        """
        with self._looking:
            self._networks.append(network)
        try:
            network.run(self._closed)
        finally:
            with self._looking:
                self._networks.remove(network)

    def look(self) -> None:
        """Has somebody look at what is under way."""
        with self._looking:
            if self._networks:
                self._on_look(self._networks)

    def close(self) -> None:
        """Ends what is under way."""
        self._closed.set()


def _attempts(folder: Path) -> list[dict[str, Any]]:
    """The verdicts of all attempts at a run that is not finished, the latest one last."""
    try:
        verdict = json.loads((folder / "verdict.json").read_bytes())
        before = json.loads((folder / "environment.json").read_bytes())["attempts"]
        return [] if verdict["valid"] else [*before, verdict]
    except (OSError, ValueError, LookupError, TypeError):
        # There is none, or nothing that can be read.
        return []


def _rejected(folder: Path) -> tuple[str, ...]:
    """What was wrong with the attempts before the one that was kept."""
    return _reasons(json.loads((folder / "environment.json").read_bytes())["attempts"])


def _reasons(verdicts: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple("; ".join(verdict["problems"]) for verdict in verdicts)


def _kept_up(folder: Path) -> bool:
    return bool(json.loads((folder / "verdict.json").read_bytes())["kept_up"])


def _marked(found: list[Row], outcomes: Sequence[Outcome]) -> list[Row]:
    """Answers of which some runs are invalid say so."""
    invalid = sum(not outcome.valid for outcome in outcomes)
    if not invalid:
        return found
    reason = f"{invalid} of {len(outcomes)} runs {'is' if invalid == 1 else 'are'} invalid"
    return [
        replace(row, status="incomplete", reason="; ".join(filter(None, (row.reason, reason))))
        for row in found
    ]


def _check_end(document: Document) -> None:
    """Refuses a run that nothing would end."""
    if document.plan.data["duration_ns"] is None and not ends_by_itself(document.plan.data):
        raise UnanswerableError(
            "nothing ends this run, neither a flow nor a program: give it a duration, or use voxpath shell"
        )
