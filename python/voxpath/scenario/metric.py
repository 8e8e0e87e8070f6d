"""What a metric means, in the words of the metric dictionary."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """What a column means.

    Attributes:
        unit: `ns`, `B`, `1` for counts and pure numbers, empty for names.
        where: Where it is observed.
        about: What it is.
        clock: Which clock a time is of; empty for what is no time.
        of: The metric that a count is a part of; empty for what is no part.
    """

    unit: str
    where: str
    about: str
    clock: str = ""
    of: str = ""
