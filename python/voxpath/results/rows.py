"""One answer to a question, whoever gave it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from voxpath.results.intervals import Summary
from voxpath.results.metrics import part_of, wholes

if TYPE_CHECKING:
    from collections.abc import Iterable

Status = Literal["ok", "incomplete", "not applicable"]


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
