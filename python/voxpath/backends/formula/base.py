"""What a formula is, and how it declines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Case = TypeVar("Case")
"""What a formula is about: a `Transfer` or a `Stream`."""


class NotApplicableError(Exception):
    """A formula does not cover the case; the message says why."""


@dataclass(frozen=True)
class Formula(Generic[Case]):
    """A closed form as an estimator.

    Attributes:
        name: The estimator's.
        metrics: What it answers, names of the metric dictionary; a metric of one end holds `{sender}`.
        estimate: The value of each metric, or `NotApplicableError`. Its docstring has equation and source.
    """

    name: str
    metrics: tuple[str, ...]
    estimate: Callable[[Case], Mapping[str, float]]
