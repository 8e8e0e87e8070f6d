"""What the study asks: each case with each rate control, and what its variants need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from voxpath import _engine
from voxpath.backends.base import Question
from voxpath.results.tables import tables
from voxpath.scenario import from_dict
from voxpath.studies.rfc8867.cases import AS_LISTED, CASES, Variant, scenario
from voxpath.studies.rfc8867.measures import run_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from voxpath.document import Check
    from voxpath.results.outcome import Outcome
    from voxpath.studies.base import Ask
    from voxpath.studies.rfc8867.measures import Run

_NO_CONTROL = "none"
_AT_RECEIVER = "gcc at receiver"
CONTROLS: Mapping[str, Mapping[str, Any]] = {
    **{kind: {"kind": kind} for kind in _engine.kinds("rates") if kind != _NO_CONTROL},
    _AT_RECEIVER: {"kind": "gcc", "side": "receiver"},
}
"""Every rate control there is. GCC has two places for its delay-based part."""


class Cell(NamedTuple):
    """A case with a control, and in which variant."""

    section: str
    control: str
    variant: Variant = AS_LISTED


@dataclass(frozen=True)
class Effort:
    """How much is run.

    Attributes:
        replications: Of each cell, at first.
        most: Of a cell with an expectation that so many do not decide; they are doubled until it is decided.
        sections: The cases.
        controls: The rate controls.
        variants: Whether variants of the cases are run beside them.
    """

    replications: int
    most: int
    sections: Sequence[str]
    controls: Sequence[str]
    variants: bool


FULL = Effort(5, 80, tuple(CASES), tuple(CONTROLS), variants=True)
QUICK = Effort(2, 2, ("5.1", "5.4", "5.6"), tuple(CONTROLS), variants=False)

VARIANTS: Mapping[str, Mapping[str, Variant]] = {
    "5.1": {"100 ms one way": Variant(delay_ms=100), "UDP takes capacity": Variant(background=True)},
    "5.2": {"UDP takes capacity": Variant(background=True)},
    "5.3": {"UDP takes capacity": Variant(background=True)},
    "5.6": {
        "queue of 1000 ms": Variant(queue_ms=1000),
        "TCP CUBIC": Variant(congestion="cubic"),
        "TCP BBR": Variant(congestion="bbr"),
        "FQ-CoDel": Variant(queue="fq_codel"),
        "PIE": Variant(queue="pie"),
    },
}
"""What the RFC lists several values of, or encourages to run too, by case."""

REFERENCE = Variant(clean_feedback=True)
"""Of 5.3: the backward channel is not impaired."""


def cells(effort: Effort) -> list[Cell]:
    """Everything that is run."""
    found: list[Cell] = []
    for section in effort.sections:
        for control in effort.controls:
            found.append(Cell(section, control))
            if section == "5.3":
                found.append(Cell(section, control, REFERENCE))
            if effort.variants:
                found += [Cell(section, control, one) for one in VARIANTS.get(section, {}).values()]
    return found


class Found:
    """What came back, cell by cell."""

    def __init__(self, outcomes: Mapping[Cell, Sequence[Outcome]], effort: Effort) -> None:
        """Takes the runs of the simulator."""
        self.effort = effort
        self.outcomes = outcomes
        self._checks: dict[tuple[str, str], list[Check]] = {}

    def once(self, section: str, control: str, make: Callable[[], list[Check]]) -> list[Check]:
        """The checks of a case with a control, made the first time that somebody asks."""
        if (section, control) not in self._checks:
            self._checks[section, control] = make()
        return self._checks[section, control]

    def runs(self, cell: Cell) -> list[Run]:
        """The runs of a cell; none where it was not asked."""
        return self._runs.get(cell, [])

    @cached_property
    def _runs(self) -> dict[Cell, list[Run]]:
        """All of them: to read them at once takes a fraction of the time of one by one."""
        every = [
            (cell, outcome)
            for cell, outcomes in self.outcomes.items()
            for outcome in outcomes
            if outcome.valid
        ]
        frames = [tables([[outcome] for _, outcome in every], name) for name in ("media_seconds", "flows")]
        runs: dict[Cell, list[Run]] = {}
        for (cell, _), seconds, flows in zip(every, *frames, strict=True):
            case = cell.variant.of(CASES[cell.section])
            runs.setdefault(cell, []).append(run_of(case, seconds, flows))
        return runs


def compared(cell: Cell) -> list[Cell]:
    """A cell and those whose runs are paired with its own, which need as many of them."""
    groups = [
        [Cell("5.1", cell.control), Cell("6.2", cell.control)],
        [Cell("5.3", cell.control), Cell("5.3", cell.control, REFERENCE)],
    ]
    return next((group for group in groups if cell in group), [cell])


def ask_all(ask: Ask, effort: Effort, undecided: Callable[[Found], Collection[Cell]]) -> Found:
    """Asks everything, and more of what is not decided.

    Args:
        ask: Has the simulator answer.
        effort: How much is asked.
        undecided: The cells of what is found that have an expectation which their runs do not decide.
    """
    asked = cells(effort)
    counts = dict.fromkeys(asked, effort.replications)
    found = Found(_ask(ask, {cell: range(count) for cell, count in counts.items()}), effort)
    while True:
        wanted = {other for cell in undecided(found) for other in compared(cell)}
        more = {
            cell: range(counts[cell], min(2 * counts[cell], effort.most))
            for cell in asked
            if cell in wanted and counts[cell] < effort.most
        }
        if not more:
            return found
        counts |= {cell: numbers.stop for cell, numbers in more.items()}
        new = _ask(ask, more)
        found = Found({cell: [*runs, *new.get(cell, ())] for cell, runs in found.outcomes.items()}, effort)


def _ask(ask: Ask, numbers: Mapping[Cell, range]) -> dict[Cell, Sequence[Outcome]]:
    """The runs of cells with these replications."""
    questions = [
        Question(
            from_dict(
                scenario(cell.section, CONTROLS[cell.control], cell.variant),
                f"rfc8867/{cell.section}/{cell.control}",
            ),
            replications,
        )
        for cell, replications in numbers.items()
    ]
    answers = ask(questions, ("sim",))
    return {cell: answered.outcomes for cell, answered in zip(numbers, answers, strict=True)}
