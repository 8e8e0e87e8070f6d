"""What a backend is: questions in, rows out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from voxpath.results.intervals import Summary
from voxpath.results.metrics import part_of, wholes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl

    from voxpath.results.identity import Observe
    from voxpath.scenario import Document
    from voxpath.sweeps.runs import Outcome

BACKENDS = ("sim", "formula", "real")

RUNNING = frozenset({"sim", "real"})
"""Those that make runs."""

Status = Literal["ok", "incomplete", "not applicable"]


@dataclass(frozen=True)
class Question:
    """A scenario to be answered.

    Attributes:
        document: The scenario.
        replications: Which replications are asked for.
        observe: What its runs record, where that is not what the backend records of every question.
    """

    document: Document
    replications: range = range(1)
    observe: Observe | None = None


@dataclass(frozen=True)
class Row:
    """One answer.

    Attributes:
        entity: What it is about, such as a flow's name.
        metric: What is measured, a name of the metric dictionary.
        estimator: How it was found: `sim`, or the name of a formula.
        value: The mean or the estimate, in the metric's unit; none where there is no answer.
        n: How many values stand behind it.
        interval: The 95 % t-interval of the mean; none where there is none.
        status: `ok`; `incomplete` where some runs gave no value; `not applicable`.
        reason: Why the status is not `ok`.
    """

    entity: str
    metric: str
    estimator: str
    value: float | None
    n: int = 1
    interval: tuple[float, float] | None = None
    status: Status = "ok"
    reason: str = ""

    @property
    def summary(self) -> Summary | None:
        """Mean and interval; none where there is no value."""
        if self.value is None:
            return None
        half_width = None if self.interval is None else (self.interval[1] - self.interval[0]) / 2
        return Summary(self.n, self.value, half_width)


class Wholes:
    """What counts are a part of, such as the datagrams sent of those lost."""

    def __init__(self, rows: Iterable[Row]) -> None:
        """Takes them from all answers to a question, of whatever backend."""
        self._found: dict[tuple[str, ...], float] = {}
        for row in rows:
            if row.value is not None and row.metric in wholes():
                self._found[row.entity, row.metric, row.estimator] = row.value
                # A formula does not count what was sent: a run does.
                self._found.setdefault((row.entity, row.metric), row.value)

    def of(self, row: Row) -> float | None:
        """The whole of a row's count; none of what is no part, or where nobody counted."""
        whole = part_of(row.metric)
        known = self._found.get((row.entity, whole, row.estimator))
        return self._found.get((row.entity, whole)) if known is None else known

    def told(self, row: Row, factor: float = 1.0) -> str:
        """A row's value, with the whole: `55 of 1000`; empty without a value."""
        if row.summary is None:
            return ""
        whole = self.of(row)
        return str(row.summary.scaled(factor)) + ("" if whole is None else f" of {whole:.6g}")


class Backend(Protocol):
    """A way to answer plans."""

    @property
    def name(self) -> str:
        """`sim`, `formula`, `real`."""

    def answer(self, questions: Sequence[Question]) -> list[list[Row]]:
        """The rows of each question; several are asked at once so that they can share workers."""


@runtime_checkable
class Maker(Backend, Protocol):
    """A backend that answers by runs, which it keeps."""

    @property
    def outcomes(self) -> list[list[Outcome]]:
        """The runs of the last answer, question by question."""

    @property
    def frames(self) -> list[pl.DataFrame]:
        """The flows of these runs, likewise."""


class UnanswerableError(ValueError):
    """A backend cannot answer such a scenario; nothing has been run."""


def refuse_programs(questions: Sequence[Question], name: str) -> None:
    """Refuses scenarios whose hosts run programs or meet the machine's: only the kernel knows what they do.

    Raises:
        UnanswerableError: There is such a host.
    """
    for question in questions:
        for program in question.document.plan.data["programs"]:
            host = question.document.plan.data["nodes"][program["node"]]["name"]
            raise UnanswerableError(
                f"the host {host!r} runs a program ({program['command'][0]}), and the backend {name} has no "
                "model of it: ask the backend real, or replace the program by a flow with an app"
            )
        for relay in question.document.plan.data["relays"]:
            host = question.document.plan.data["nodes"][relay["node"]]["name"]
            raise UnanswerableError(
                f"the host {host!r} joins this machine to the network ({relay['kind']}), and the backend "
                f"{name} has no model of what comes that way: ask the backend real"
            )
