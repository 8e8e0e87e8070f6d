"""A scenario's network while it runs on the wall clock, from its hosts to its books."""

from __future__ import annotations

import contextlib
import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from voxpath import _engine, halts
from voxpath.backends.real import fidelity
from voxpath.backends.real.books import Books
from voxpath.backends.real.problems import RealError
from voxpath.backends.real.programs import Programs
from voxpath.backends.real.session import Session
from voxpath.backends.real.starvation import Processors, RunQueues, others_share, stolen_share
from voxpath.scenario.processes import PROCESSES

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping
    from types import TracebackType

    import polars as pl

    from voxpath.results.identity import Observe
    from voxpath.results.outcome import Found
    from voxpath.scenario import Document

_LOOK_S = 0.01
"""How often it is asked whether a run is done: so late may a program start."""

_FLOWS_LOOK_S = 0.1
"""The same where there is none: flows start by themselves, and asking costs what others could use."""


class Network:
    """A network that runs from entry until `finish`; what still runs on its hosts ends with the context.

    Attributes:
        session: Its hosts.
        programs: Those of the scenario.
    """

    session: Session
    programs: Programs

    def __init__(
        self,
        document: Document,
        replication: int,
        observe: Observe,
        *,
        foreground: str | None = None,
        steered: bool = False,
    ) -> None:
        """Prepares nothing yet.

        Args:
            document: The scenario.
            replication: From 0.
            observe: What is recorded.
            foreground: The host whose program has our terminal; the others' output goes to files.
            steered: Whether its links can be changed while it runs.

        Raises:
            UnanswerableError: The kernel cannot be what the scenario asks for.
        """
        self._document = document
        self._replication = replication
        self._observe = observe
        self._foreground = foreground
        self._steered = steered
        self._session = Session(document.plan.json)
        self._is_cut = False
        self._queues = RunQueues()

    def __enter__(self) -> Self:
        """Makes the hosts, starts what serves on them, and then the network; time zero is now.

        Raises:
            RealError: The machine does not let us.
        """
        plan = self._document.plan.data
        halts.reached("network.begins")
        self._began = datetime.now(UTC)
        self._pressure = _pressure()
        self._processors, self._own_ns = Processors.now(), time.process_time_ns()
        with contextlib.ExitStack() as stack:
            self.session = stack.enter_context(self._session)
            self.programs = stack.enter_context(Programs(plan, self.session, self._foreground))
            self.programs.start_servers()
            self.session.start(self._replication, self._observe.json, steered=self._steered)
            self._queues.begin(self.programs.running)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Ends everything that still runs on the hosts, and removes them."""
        self._stack.__exit__(kind, error, traceback)

    @property
    def plan(self) -> dict[str, Any]:
        """What it runs."""
        return self._document.plan.data

    def step(self) -> bool:
        """Starts programs that are due; whether the run is over by what the scenario says."""
        plan = self.plan
        now, flows_done = self.session.look()
        self.programs.step(now)
        self._queues.look(self.programs.running)
        duration = plan["duration_ns"]
        if self.programs.ends_run or (duration is not None and now >= duration):
            return True
        most = plan["limits"]["time_ns"]
        if most is not None and now >= most:
            self._is_cut = True
            return True
        return ends_by_itself(plan) and flows_done and self.programs.is_done

    def run(self, stop: threading.Event) -> None:
        """Waits until the run is over.

        Raises:
            RealError: It was stopped before.
        """
        every = _LOOK_S if self.programs.all else _FLOWS_LOOK_S
        while not self.step():
            if stop.wait(every):
                raise RealError("stopped before the run was over")

    def finish(self) -> Found:
        """Ends the network and closes its books; its tables are made at once.

        Raises:
            RealError: A device or a socket failed while it ran.
        """
        return self.close().found()

    def close(self) -> Books:
        """Ends the network and closes its books.

        Raises:
            RealError: A device or a socket failed while it ran.
        """
        plan = self._document.plan
        (tables, verdict, captures), told = self.session.finish()
        self.programs.stop()
        faithful = json.loads(told)
        limit = fidelity.limit_ns(_engine.shortest_delay(plan.json))
        names = [node["name"] for node in plan.data["nodes"]]
        judged = json.loads(verdict)
        stall_limit = fidelity.stall_limit_ns(judged["ended_ns"])
        processors = Processors.now()
        own_ns = time.process_time_ns() - self._own_ns + self._queues.used_ns
        faithful |= {
            "programs_waited_ns": self._queues.waited_ns,
            "others_share": others_share(self._processors, processors, own_ns),
            "stolen_share": stolen_share(self._processors, processors),
        }
        late = fidelity.problems(faithful, limit, stall_limit, names)
        late += fidelity.starved(faithful, judged["ended_ns"])
        judged["kept_up"] = not late
        judged["problems"] += late + self.session.problems() + self.programs.problems()
        by_browsers: dict[str, pl.DataFrame] = {}
        if rows := [lines for lines in self.programs.rows() if lines]:
            from voxpath.results import browsers

            began = time.time_ns() - time.monotonic_ns() + faithful["monotonic_origin_ns"]
            try:
                by_browsers = browsers.tables(rows, began)
            except ValueError as error:
                judged["problems"].append(f"what a program wrote for tables cannot be read: {error}")
        if self._is_cut:
            judged["limit"] = "time"
            judged["problems"].append("the run reached its limit of time, and was not over")
        judged["valid"] = not judged["problems"]
        faithful |= {"limit_ns": limit, "stall_limit_ns": stall_limit}
        faithful |= {"cpu_pressure_us": _difference(self._pressure, _pressure())}
        environment = {"started": self._began.isoformat(), "wall_ns": judged["ended_ns"]}
        return Books(
            plan=plan.data,
            verdict=judged,
            fidelity=faithful,
            environment=environment,
            tables=tables,
            captures=captures,
            programs=self.programs,
            written=self.programs.files(),
            by_browsers=by_browsers,
        )


def ends_by_itself(plan: Mapping[str, Any]) -> bool:
    """Whether something of the plan ends, with which the run does."""
    processes = (process["app"] for process in plan.get("processes", ()))
    return (
        bool(plan["flows"])
        or any(program["listens"] is None for program in plan["programs"])
        or any(PROCESSES[app["kind"]].ends(app) for app in processes)
    )


def _pressure() -> int | None:
    """For how many microseconds some task has waited for a processor since the machine's start."""
    try:
        text = Path("/proc/pressure/cpu").read_text()
    except OSError:
        return None
    return int(text.split("total=")[1].split()[0])


def _difference(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before
