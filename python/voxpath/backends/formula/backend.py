"""The backend: every formula asked about every flow."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from voxpath.backends.base import Row, refuse_programs
from voxpath.backends.formula.base import Formula, NotApplicableError
from voxpath.backends.formula.cardwell import cardwell
from voxpath.backends.formula.limits import medium_limit, window_limit
from voxpath.backends.formula.mathis import mathis
from voxpath.backends.formula.pftk import pftk_full, pftk_short
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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

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


@dataclass
class FormulaBackend:
    """Answers by closed forms, one question as the other, at once."""

    name: str = field(default="formula", init=False)

    def answer(self, questions: Sequence[Question]) -> list[list[Row]]:
        """Every metric of every flow by every formula; *not applicable* where one does not hold.

        Raises:
            UnanswerableError: A host runs a program.
        """
        refuse_programs(questions, self.name)
        return [list(_rows(question.document.plan)) for question in questions]


def _rows(plan: Plan) -> Iterator[Row]:
    taken = paths(plan)
    links = traffic(plan, taken)
    for index, (path, sharer) in enumerate(zip(taken, sharers(taken), strict=True)):
        flow = plan.data["flows"][index]
        rival = None if sharer is None else plan.data["flows"][sharer]["name"]
        sender = "server" if flow["app"]["kind"] == "download" else "client"
        transfer = _case(partial(transfer_of, plan, index, path, rival))
        stream = _case(partial(stream_of, plan, index, path, rival, links))
        yield from _ask(flow["name"], sender, TRANSFER_FORMULAS, transfer)
        yield from _ask(flow["name"], sender, STREAM_FORMULAS, stream)


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
            found = formula.estimate(case)
        except NotApplicableError as error:
            for metric in formula.metrics:
                name = metric.format(sender=sender)
                yield Row(flow, name, formula.name, None, 0, None, "not applicable", str(error))
        else:
            for metric in formula.metrics:
                name = metric.format(sender=sender)
                yield Row(flow, name, formula.name, found[name])
