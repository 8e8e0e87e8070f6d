"""The packet-level simulator: runs in the store, and rows from their flows."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from voxpath.backends.base import refuse_programs
from voxpath.names import did_you_mean
from voxpath.results.identity import Observe
from voxpath.results.intervals import summarise
from voxpath.results.many import Joined, Made
from voxpath.results.rows import Row
from voxpath.results.summaries import KINDS, of_kinds
from voxpath.results.tables import tables
from voxpath.scenario.apps.summaries import carrying
from voxpath.sweeps.runs import Task, perform_all
from voxpath.sweeps.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from voxpath.backends.base import Question
    from voxpath.results.outcome import Outcome
    from voxpath.scenario import Document

OBSERVABLE = ("tcp", "rtc", "packets", "capacity")
"""What a run can record besides its results and captures."""

_MOST_FOLDERS = 100
"""So many runs of one scenario have a folder each, which people look into."""

METRICS: Mapping[str, tuple[str, ...]] = {kind: app.METRICS for kind, app in KINDS.items()}
"""What is summarised of a flow, by its application; names of the metric dictionary."""


@dataclass
class SimBackend:
    """Answers by simulation.

    Attributes:
        root: Directory of the store.
        workers: Who makes the runs; the answers do not depend on it.
        observe: What the runs record, unless a question says otherwise.
        force: Make runs that are there already.
        on_done: Told of each run as it is done.
        outcomes: The runs of the last answer, question by question.
        frames: The flows of these runs, likewise.
    """

    root: Path
    workers: Workers = field(default_factory=Workers)
    observe: Observe = field(default_factory=Observe)
    force: bool = False
    on_done: Callable[[Outcome], None] = lambda _: None
    outcomes: Sequence[Sequence[Outcome]] = field(default=(), init=False)
    frames: Sequence[pl.DataFrame] = field(default=(), init=False)
    name: str = field(default="sim", init=False)

    def check(self, questions: Sequence[Question]) -> None:
        """Refuses hosts that run programs.

        Raises:
            UnanswerableError: There is one.
        """
        refuse_programs(questions, self.name)

    def answer(self, questions: Sequence[Question]) -> list[list[Row]]:
        """Runs every replication of every question and summarises its flows."""
        self.frames = flows(self.run(questions))
        return [rows(frame, self.name) for frame in self.frames]

    def run(self, questions: Sequence[Question]) -> Sequence[Sequence[Outcome]]:
        """The runs of each question.

        Those of several questions, and many of one, are packed where they record nothing but their tables.
        """
        packed = len(questions) > 1 or any(
            len(question.replications) > _MOST_FOLDERS for question in questions
        )
        outcomes = perform_all(
            Joined([self._tasks(one, packed=packed) for one in questions]), self.workers, self.on_done
        )
        ends = list(accumulate(len(question.replications) for question in questions))
        self.outcomes = [outcomes[start:end] for start, end in pairwise([0, *ends])]
        return self.outcomes

    def _tasks(self, question: Question, *, packed: bool) -> Sequence[Task]:
        """What all replications have in common is held once."""
        document = question.document
        plan, scenario = document.plan.json, document.written
        observe, root = question.observe or self.observe, str(self.root)
        asked = question.replications
        return Made(
            len(asked), lambda index: Task(plan, scenario, asked[index], observe, root, self.force, packed)
        )


def observation(document: Document, observe: Collection[str], capture: Collection[str]) -> Observe:
    """What a run of a scenario is to record.

    Raises:
        ValueError: There is nothing of that name to observe, or no such host.
    """
    hosts = [node["name"] for node in document.plan.data["nodes"] if node["kind"] == "host"]
    for name in observe:
        if name not in OBSERVABLE:
            raise ValueError(f"{name!r} cannot be observed; {did_you_mean(name, OBSERVABLE)}")
    for name in capture:
        if name not in hosts:
            raise ValueError(f"{name!r} is no host; {did_you_mean(name, hosts)}")
    # In the order of the hosts, whatever order was asked for: the same wish is the same run.
    captured = tuple(host for host in hosts if host in capture)
    return Observe(**{name: name in observe for name in OBSERVABLE}, capture=captured)


def flows(asked: Sequence[Sequence[Outcome]]) -> Sequence[pl.DataFrame]:
    """The flows of several questions' runs: `replication`, and the columns of the table `flows`."""
    return tables(asked, "flows")


def rows(frame: pl.DataFrame, estimator: str) -> list[Row]:
    """Every metric of every flow, over its replications; `estimator` is who made the runs."""
    found: list[Row] = []
    for (flow, app), group in frame.group_by("flow", "app", maintain_order=True):
        transport = group.item(0, "transport")
        found.extend(
            _row(str(flow), metric, group, estimator)
            for metric in METRICS[str(app)]
            if _applies(metric, str(app), transport, group)
        )
    return found


def _applies(metric: str, app: str, transport: str, group: pl.DataFrame) -> bool:
    """Whether a flow can have it: not over another transport, nor where nothing was counted."""
    for summary in of_kinds([app]):
        if metric in summary.metrics:
            counted = [count for count in summary.metrics if count in group.columns]
            return transport in carrying(summary.transport) and any(
                group.get_column(count).null_count() < group.height for count in counted
            )
    return True


def _row(flow: str, metric: str, group: pl.DataFrame, estimator: str) -> Row:
    values = group.get_column(metric).drop_nulls().to_list()
    total = group.height
    if not values:
        statuses = ", ".join(sorted(set(group.get_column("status"))))
        return Row(flow, metric, estimator, None, 0, None, "incomplete", f"in no run ({statuses})")
    summary = summarise(values)
    if len(values) == total:
        return Row(flow, metric, estimator, summary.mean, summary.n, summary.interval)
    reason = f"in {len(values)} of {total} runs"
    return Row(flow, metric, estimator, summary.mean, summary.n, summary.interval, "incomplete", reason)
