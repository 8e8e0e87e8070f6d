"""What a backend is: questions in, rows out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from voxpath.results.identity import Observe
    from voxpath.results.outcome import Outcome
    from voxpath.results.rows import Row
    from voxpath.scenario import Document

BACKENDS = ("sim", "formula", "real")

RUNNING = frozenset({"sim", "real"})
"""Those that make runs."""


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


class Backend(Protocol):
    """A way to answer plans."""

    @property
    def name(self) -> str:
        """`sim`, `formula`, `real`."""

    def check(self, questions: Sequence[Question]) -> None:
        """Refuses what it cannot answer, before any backend has run anything.

        Raises:
            UnanswerableError: There is such a scenario.
        """

    def answer(self, questions: Sequence[Question]) -> list[list[Row]]:
        """The rows of each question, all checked; several are asked at once to share workers."""


@runtime_checkable
class Maker(Backend, Protocol):
    """A backend that answers by runs, which it keeps."""

    @property
    def outcomes(self) -> Sequence[Sequence[Outcome]]:
        """The runs of the last answer, question by question."""

    @property
    def frames(self) -> Sequence[pl.DataFrame]:
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
