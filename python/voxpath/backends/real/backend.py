"""Answers by real hosts: runs on the wall clock, one after the other, and rows from their flows."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from voxpath import _engine
from voxpath.backends.base import UnanswerableError
from voxpath.backends.real.network import Network, ends_by_itself
from voxpath.backends.real.session import Session
from voxpath.backends.sim import flows, rows
from voxpath.results.identity import Identity, Observe, machine
from voxpath.results.store import Store
from voxpath.sweeps.runs import Outcome, finished, keep

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import polars as pl

    from voxpath.backends.base import Question, Row
    from voxpath.scenario import Document

ATTEMPTS = 3
"""How often a run is made until its timing holds."""


@dataclass
class RealBackend:
    """Answers by real hosts.

    Attributes:
        root: Directory of the store.
        observe: What the runs record.
        force: Make runs that are there already.
        attempts: How often a run is made until its timing holds.
        on_done: Told of each run as it is done.
        on_look: Called again and again while a run goes on.
        outcomes: The runs of the last answer, question by question.
        frames: The flows of these runs, likewise.
    """

    root: Path
    observe: Observe = field(default_factory=Observe)
    force: bool = False
    attempts: int = ATTEMPTS
    on_done: Callable[[Outcome], None] = lambda _: None
    on_look: Callable[[Network], None] = lambda _: None
    outcomes: list[list[Outcome]] = field(default_factory=list, init=False)
    frames: list[pl.DataFrame] = field(default_factory=list, init=False)
    name: str = field(default="real", init=False)

    def answer(self, questions: Sequence[Question]) -> list[list[Row]]:
        """Makes every replication of every question and summarises its flows.

        Raises:
            RealError: The machine cannot run it.
            UnanswerableError: The kernel cannot be what the scenario asks for.
        """
        for question in questions:
            Session(question.document.plan.json)
            _check_end(question.document)
        # What killed processes left.
        Store(self.root).clean()
        self.outcomes = [
            [self._perform(question, replication) for replication in question.replications]
            for question in questions
        ]
        self.frames = flows(self.outcomes)
        return [rows(found, self.name) for found in self.frames]

    def _perform(self, question: Question, replication: int) -> Outcome:
        document, observe = question.document, question.observe or self.observe
        identity = Identity(
            document.plan.json, "real", replication, _engine.BUILD, observe, machine=machine()
        )
        outcome = None if self.force else finished(self.root, identity, replication)
        attempts: list[dict[str, Any]] = []
        late = True
        while outcome is None or (late and not outcome.valid and len(attempts) < self.attempts):
            with Network(document, replication, observe) as network:
                network.run(self.on_look)
                found = network.finish()
            found.environment["attempts"] = attempts
            outcome = keep(self.root, identity, document.written, replication, found)
            verdict = json.loads(found.verdict)
            late = not verdict["kept_up"]
            attempts = [*attempts, verdict]
        self.on_done(outcome)
        return outcome


def _check_end(document: Document) -> None:
    """Refuses a run that nothing would end."""
    if document.plan.data["duration_ns"] is None and not ends_by_itself(document.plan.data):
        raise UnanswerableError(
            "nothing ends this run, neither a flow nor a program: give it a duration, or use voxpath shell"
        )
