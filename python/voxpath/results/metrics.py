"""The metric dictionary: unit, clock and place of observation of every column, from `metrics.toml`."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


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


@dataclass(frozen=True)
class Shown:
    """How people read a metric.

    Attributes:
        name: Without its unit.
        unit: Empty for a pure number.
        factor: From the metric's unit to this one.
    """

    name: str
    unit: str
    factor: float

    @property
    def title(self) -> str:
        """Name and unit."""
        return f"{self.name}, {self.unit}" if self.unit else self.name


_SHOWN = {"ns": ("ms", 1e-6), "bit/s": ("Mbit/s", 1e-6), "1": ("", 1.0)}
"""Units that people read otherwise."""


@cache
def dictionary() -> dict[str, dict[str, Metric]]:
    """Every table's columns; `derived` holds what is computed from them."""
    text = files("voxpath.results").joinpath("metrics.toml").read_text("utf-8")
    return {
        table: {name: Metric(**entry) for name, entry in columns.items() if name != "_about"}
        for table, columns in tomllib.loads(text).items()
    }


def metric_of(name: str) -> Metric | None:
    """The meaning of a metric of flows, of one that is computed from theirs, or of a series."""
    known = dictionary()
    return next(
        (known[table][name] for table in ("flows", "derived", "series_metrics") if name in known[table]), None
    )


def part_of(metric: str) -> str:
    """The metric that a count is a part of; empty for what is no part."""
    found = metric_of(metric)
    return found.of if found else ""


@cache
def wholes() -> frozenset[str]:
    """Metrics that others are a part of."""
    return frozenset(metric.of for table in dictionary().values() for metric in table.values() if metric.of)


def unit_of(metric: str) -> str:
    """The unit of such a metric; empty for what is none."""
    found = metric_of(metric)
    return found.unit if found else ""


def shown(metric: str) -> Shown:
    """How people read such a metric."""
    unit = unit_of(metric)
    name = re.sub(r"_(ns|bps|bytes|s)$", "", metric).replace("_", " ")
    return Shown(name, *_SHOWN.get(unit, (unit, 1.0)))
