"""The backend: every formula asked about every flow, those of the literature and a user's own."""

from __future__ import annotations

import math
import traceback
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from voxpath.backends.base import refuse_programs
from voxpath.backends.formula.base import Formula, Formulas
from voxpath.backends.formula.cardwell import cardwell
from voxpath.backends.formula.limits import medium_limit, window_limit
from voxpath.backends.formula.mathis import mathis
from voxpath.backends.formula.pftk import pftk_full, pftk_short
from voxpath.backends.formula.problems import FormulaError, NotApplicableError
from voxpath.backends.formula.queueing import token_bucket
from voxpath.backends.formula.recovery import window_recovery
from voxpath.backends.formula.stream import Stream, stream_of, traffic
from voxpath.backends.formula.transfer import Transfer, transfer_of
from voxpath.backends.formula.transmissions import (
    bit_errors_exact,
    bit_errors_linear,
    expected_transmissions,
)
from voxpath.backends.path import paths, sharers
from voxpath.results.rows import Row
from voxpath.scenario.apps import APPS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from voxpath.backends.base import Question
    from voxpath.scenario.resolve import Plan

Case = TypeVar("Case")

_TIME = ("completion_s", "goodput_bps")

TRANSFER_FORMULAS: Sequence[Formula[Transfer]] = (
    Formula("window_limit", _TIME, window_limit),
    Formula("medium_limit", _TIME, medium_limit),
    Formula("mathis", _TIME, mathis),
    Formula("pftk_full", _TIME, pftk_full),
    Formula("pftk_short", _TIME, pftk_short),
    Formula("cardwell", _TIME, cardwell),
    Formula("expected_transmissions", ("{sender}_retransmissions",), expected_transmissions),
    Formula("window_recovery", ("window_recovery_s",), window_recovery),
)
"""Of one TCP transfer."""

STREAM_FORMULAS: Sequence[Formula[Stream]] = (
    Formula("bit_errors_exact", ("datagrams_lost",), bit_errors_exact),
    Formula("bit_errors_linear", ("datagrams_lost",), bit_errors_linear),
    Formula("token_bucket", ("delay_max_ns",), token_bucket),
)
"""Of one stream of datagrams."""

BUILT_IN = Formulas(TRANSFER_FORMULAS, STREAM_FORMULAS)


@dataclass
class FormulaBackend:
    """Answers by closed forms, one question as the other, at once.

    Attributes:
        own: A user's formulas, asked after those of the literature.

    Raises:
        FormulaError: A name stands for two of them.
    """

    own: Formulas = field(default_factory=Formulas)
    name: str = field(default="formula", init=False)

    def __post_init__(self) -> None:
        self._formulas = BUILT_IN + self.own

    def check(self, questions: Sequence[Question]) -> None:
        """Refuses hosts that run programs.

        Raises:
            UnanswerableError: There is one.
        """
        refuse_programs(questions, self.name)

    def answer(self, questions: Sequence[Question]) -> list[list[Row]]:
        """Every metric of every flow by every formula; *not applicable* where one does not hold.

        Raises:
            FormulaError: A formula failed.
        """
        return [list(_rows(question.document.plan, self._formulas)) for question in questions]


def _rows(plan: Plan, formulas: Formulas) -> Iterator[Row]:
    taken = paths(plan)
    links = traffic(plan, taken)
    for index, (path, sharer) in enumerate(zip(taken, sharers(taken), strict=True)):
        flow = plan.data["flows"][index]
        rival = None if sharer is None else plan.data["flows"][sharer]["name"]
        sender = APPS[flow["app"]["kind"]].SENDER
        if plan.data["events"]:
            changing = NotApplicableError(
                "the timeline changes things during the run: the forms are of what stays"
            )
            yield from _ask(flow["name"], sender, formulas.transfer, changing)
            yield from _ask(flow["name"], sender, formulas.stream, changing)
            continue
        transfer = _case(partial(transfer_of, plan, index, path, rival))
        stream = _case(partial(stream_of, plan, index, path, rival, links))
        yield from _ask(flow["name"], sender, formulas.transfer, transfer)
        yield from _ask(flow["name"], sender, formulas.stream, stream)


def _case(make: Callable[[], Case]) -> Case | NotApplicableError:
    try:
        return make()
    except NotApplicableError as error:
        return error


def _ask(
    flow: str, sender: str, formulas: Iterable[Formula[Case]], case: Case | NotApplicableError
) -> Iterator[Row]:
    for formula in formulas:
        try:
            if isinstance(case, NotApplicableError):
                raise case
            found = _estimate(formula, case, flow, sender)
        except NotApplicableError as error:
            for name in _metrics(formula, sender):
                yield Row(flow, name, formula.name, None, 0, None, "not applicable", str(error))
        else:
            for name, value in found.items():
                yield Row(flow, name, formula.name, value)


def _estimate(formula: Formula[Case], case: Case, flow: str, sender: str) -> Mapping[str, float]:
    """The formula's metrics, in its order."""
    try:
        found = formula.estimate(case)
        values = {name: float(found[name]) for name in _metrics(formula, sender)}
    except NotApplicableError:
        raise
    except Exception as error:
        # Where the formula called what failed; the first frame is this one.
        frames = traceback.extract_tb(error.__traceback__)[1:2]
        place = "".join(f" at {frame.filename}:{frame.lineno}" for frame in frames)
        raise FormulaError(
            f"the formula {formula.name} failed on {flow!r}{place}: {type(error).__name__}: {error}"
        ) from error
    for name, value in values.items():
        if not math.isfinite(value):
            raise FormulaError(f"the formula {formula.name} says that {name} of {flow!r} is {value}")
    return values


def _metrics(formula: Formula[Case], sender: str) -> list[str]:
    return [metric.format(sender=sender) for metric in formula.metrics]
