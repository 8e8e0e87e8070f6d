"""The metric dictionary: unit, clock and place of observation of every column, from `metrics.toml`."""

from __future__ import annotations

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
    """

    unit: str
    where: str
    about: str
    clock: str = ""


@cache
def dictionary() -> dict[str, dict[str, Metric]]:
    """Every table's columns; `derived` holds what is computed from them."""
    text = files("voxpath.results").joinpath("metrics.toml").read_text("utf-8")
    return {
        table: {name: Metric(**entry) for name, entry in columns.items() if name != "_about"}
        for table, columns in tomllib.loads(text).items()
    }
