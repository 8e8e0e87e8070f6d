"""What the publication prints, and its verdicts that need no run."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from voxpath.studies.base import Published, Tolerance

if TYPE_CHECKING:
    from collections.abc import Mapping


@cache
def published() -> dict[str, Any]:
    """`published.toml`."""
    return tomllib.loads(files(__package__).joinpath("published.toml").read_text("utf-8"))


def claim(name: str) -> str:
    """A sentence of chapter 4, or of section 2.3."""
    return str(published()["claims"][name])


def statuses() -> dict[str, int]:
    """Table 8: what is available in each status, in bit/s."""
    table = published()["table8"]
    return dict(zip(table["statuses"], table["bandwidth_bps"], strict=True))


def probabilities(first: float) -> dict[str, float]:
    """Table 8: the probability of each status.

    Args:
        first: Which part of the 25 % of both cross-traffic statuses the first of them has: it is not printed.
    """
    found: dict[str, float] = {}
    for names, share in published()["table8"]["shares"]:
        parts = [1.0] if len(names) == 1 else [first, 1 - first]
        found |= {name: share * part for name, part in zip(names, parts, strict=True)}
    return found


def mean_available(first: float, rates: Mapping[str, int] | None = None) -> float:
    """The mean of what is available, in bit/s."""
    chances = probabilities(first)
    return sum(rate * chances[name] for name, rate in (rates or statuses()).items())


def expected_loss(rate: float, first: float) -> float:
    """Which part of a constant rate is lost on the network of Table 8, in the mean."""
    chances = probabilities(first)
    return sum(chance * max(0.0, 1 - statuses()[name] / rate) for name, chance in chances.items())


def setting(table: str, case: str) -> float:
    """A value of Tables 2, 6 or 7."""
    return next(float(row["printed"]) for row in published()[table]["rows"] if row["case"] == case)


def settings(table: str) -> list[Published]:
    """All values of Tables 2, 6 or 7; they agree with nothing but themselves."""
    made = published()[table]
    name = f"Table {table.removeprefix('table')}"
    return [
        Published(
            name, "value", row["case"], row["unit"], row["printed"], row["printed"], Tolerance(relative=1e-9)
        )
        for row in made["rows"]
    ]


def table3(row: str, column: int) -> tuple[Published, float]:
    """A mean of Table 3, and the deviation printed behind it."""
    made = published()["table3"]
    data = made["rows"][row]
    value = float(data["printed"][column])
    item = Published(
        "Table 3",
        made["columns"][column],
        data["case"],
        data["unit"],
        value,
        value,
        Tolerance(**made["tolerance"]),
    )
    return item, float(data["sigma"][column])


def mean_estimate() -> Published:
    """The mean estimate of section 4.1, in Mbit/s."""
    made = published()["section4_1"]
    value = made["mean_estimate_bps"] / 1e6
    return Published(
        "Section 4.1",
        "value",
        "Average final estimated bandwidth",
        "Mbit/s",
        value,
        value,
        Tolerance(**made["tolerance"]),
    )
