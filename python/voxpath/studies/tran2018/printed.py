"""What the publication prints."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from voxpath.studies.base import Published, Tolerance

TABLE1 = "Table I"
STATIONARY, MOBILE = "stationary", "mobile"
MOBILITIES = (STATIONARY, MOBILE)


@cache
def published() -> dict[str, Any]:
    """`published.toml`."""
    return tomllib.loads(files(__package__).joinpath("published.toml").read_text("utf-8"))


def claim(name: str) -> str:
    """A sentence of sections III to V."""
    return str(published()["claims"][name])


def setting(name: str) -> int:
    """A number of section IV."""
    return int(published()["section4"][name])


def correlations() -> list[Published]:
    """Table I."""
    table = published()["table1"]
    tolerance = Tolerance(**table["tolerance"])
    return [
        Published(TABLE1, mobility, row["case"], "1", row[mobility], row[mobility], tolerance)
        for row in table["rows"]
        for mobility in MOBILITIES
    ]
