"""What a formula is, and a set of formulas that the backend asks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from voxpath.backends.base import BACKENDS
from voxpath.backends.formula.problems import FormulaError
from voxpath.names import did_you_mean
from voxpath.results.metrics import COMPUTED, dictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from voxpath.backends.formula.stream import Stream
    from voxpath.backends.formula.transfer import Transfer

Case = TypeVar("Case")
"""What a formula is about: a `Transfer` or a `Stream`."""


@dataclass(frozen=True)
class Formula(Generic[Case]):
    """A closed form as an estimator.

    Attributes:
        name: The estimator's, as tables have it.
        metrics: What it answers, names of the metric dictionary; a metric of one end holds `{sender}`.
        estimate: The value of each metric, or `NotApplicableError`. Its docstring has equation and source.

    Raises:
        FormulaError: The name is none, or a metric does not exist.
    """

    name: str
    metrics: Sequence[str]
    estimate: Callable[[Case], Mapping[str, float]]

    def __post_init__(self) -> None:
        if re.fullmatch("[a-z][a-z0-9_]*", self.name) is None or self.name in BACKENDS:
            raise FormulaError(
                f"{self.name!r} is no name for a formula: write small letters, digits and _, a letter first,"
                f" and not the name of a backend ({', '.join(BACKENDS)})"
            )
        if isinstance(self.metrics, str) or not self.metrics:
            raise FormulaError(f"the metrics of {self.name} are a list of one name at least")
        known = [*COMPUTED, *dictionary()["flows"]]
        for metric in self.metrics:
            # A metric of one end exists for both.
            if metric.replace("{sender}", "client") not in known:
                raise FormulaError(f"{metric!r} of {self.name} is no metric; {did_you_mean(metric, known)}")


@dataclass(frozen=True)
class Formulas:
    """A set of formulas.

    Attributes:
        transfer: Of one TCP transfer.
        stream: Of one stream of datagrams.

    Raises:
        FormulaError: Two have the same name.
    """

    transfer: Sequence[Formula[Transfer]] = ()
    stream: Sequence[Formula[Stream]] = ()

    def __post_init__(self) -> None:
        names = [*(formula.name for formula in self.transfer), *(formula.name for formula in self.stream)]
        for name in names:
            if names.count(name) > 1:
                raise FormulaError(f"there are two formulas {name}: the answers of both would have that name")

    def __add__(self, more: Formulas) -> Formulas:
        return Formulas((*self.transfer, *more.transfer), (*self.stream, *more.stream))
