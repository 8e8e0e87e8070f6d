"""Answers by real hosts: runs on the wall clock, one after the other, and rows from their flows."""

from __future__ import annotations

import json
import platform
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voxpath import _engine
from voxpath.backends.real import fidelity
from voxpath.backends.real.programs import Programs
from voxpath.backends.real.session import Session
from voxpath.backends.sim import flows, rows
from voxpath.results.frames import frame, parquet
from voxpath.results.identity import Identity, Observe
from voxpath.results.store import Store
from voxpath.sweeps.runs import Found, Outcome, finished, keep

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

    from voxpath.backends.base import Question, Row
    from voxpath.scenario import Document

_LOOK_S = 0.01
"""How often it is asked whether a run is done."""

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
        outcomes: The runs of the last answer, question by question.
        frames: The flows of these runs, likewise.
    """

    root: Path
    observe: Observe = field(default_factory=Observe)
    force: bool = False
    attempts: int = ATTEMPTS
    on_done: Callable[[Outcome], None] = lambda _: None
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
        # What killed processes left.
        Store(self.root).clean()
        self.outcomes = [
            [self._perform(question.document, replication) for replication in question.replications]
            for question in questions
        ]
        self.frames = flows(self.outcomes)
        return [rows(found, self.name) for found in self.frames]

    def _perform(self, document: Document, replication: int) -> Outcome:
        identity = Identity(
            document.plan.json, "real", replication, _engine.BUILD, self.observe, machine=_machine()
        )
        outcome = None if self.force else finished(self.root, identity, replication)
        attempts: list[dict[str, Any]] = []
        late = True
        while outcome is None or (late and not outcome.valid and len(attempts) < self.attempts):
            found = perform(document, replication, self.observe)
            found.environment["attempts"] = attempts
            outcome = keep(self.root, identity, document.text, replication, found)
            verdict = json.loads(found.verdict)
            late = not verdict["kept_up"]
            attempts = [*attempts, verdict]
        self.on_done(outcome)
        return outcome


def perform(document: Document, replication: int, observe: Observe) -> Found:
    """Makes one run.

    Raises:
        RealError: The machine cannot run it.
        UnanswerableError: The kernel cannot be what the scenario asks for.
    """
    plan = document.plan.data
    duration = plan["duration_ns"]
    began = datetime.now(UTC)
    pressure = _pressure()
    with Session(document.plan.json) as session, Programs(plan, session) as programs:
        programs.start_servers()
        session.start(replication, observe.json)
        while True:
            now, flows_done = session.look()
            programs.step(now)
            if (duration is not None and now >= duration) or (flows_done and programs.is_done):
                break
            time.sleep(_LOOK_S)
        (tables, verdict, captures), told = session.finish()
        programs.stop()
        said, failures = programs.files(), programs.problems()
    faithful = json.loads(told)
    limit = fidelity.limit_ns(_engine.shortest_delay(document.plan.json))
    names = [node["name"] for node in plan["nodes"]]
    judged = json.loads(verdict)
    late = fidelity.problems(faithful, limit, names)
    judged["kept_up"] = not late
    judged["problems"] += late + failures
    judged["valid"] = not judged["problems"]
    faithful |= {"limit_ns": limit, "cpu_pressure_us": _difference(pressure, _pressure())}
    files = {f"{name}.parquet": parquet(frame(table)) for name, table in tables.items()}
    files |= {f"captures/{host}.pcapng": packets for host, packets in captures.items()}
    files |= {"fidelity.json": json.dumps(faithful).encode(), **said}
    if programs.all:
        files["programs.parquet"] = parquet(programs.table())
    environment = {"started": began.isoformat(), "wall_ns": judged["ended_ns"]}
    return Found(json.dumps(judged), files, environment)


def _machine() -> str:
    """What a run in real time depends on besides the plan."""
    return f"{platform.release()} {platform.machine()} {platform.node()}"


def _pressure() -> int | None:
    """For how many microseconds some task has waited for a processor since the machine's start."""
    try:
        text = Path("/proc/pressure/cpu").read_text()
    except OSError:
        return None
    return int(text.split("total=")[1].split()[0])


def _difference(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before
