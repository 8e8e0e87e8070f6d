"""Rate controls of calls. Each has a file here, and one in `crates/rtc/src/rate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field, WithJsonSchema

from voxpath.names import did_you_mean
from voxpath.scenario.elements.kinds import TextOrTable, tables_in
from voxpath.scenario.rates.table import ControlTable

if TYPE_CHECKING:
    from collections.abc import Mapping

RATES: Mapping[str, type[ControlTable]] = tables_in(__name__, "rates", ControlTable)
"""The table of each rate control, by its kind, in the engine's order."""


def _known(name: str) -> str:
    if name not in RATES:
        raise ValueError(f"{name!r} is no rate control; {did_you_mean(name, tuple(RATES))}")
    return name


_Name = Annotated[
    Annotated[str, Field(strict=True)],
    AfterValidator(_known),
    WithJsonSchema({"type": "string", "enum": list(RATES)}),
]
Rates = Annotated[ControlTable | str, TextOrTable(_Name, tuple(RATES.values()))]
"""A rate control by its name, or with its settings."""


def control_of(written: ControlTable | str) -> ControlTable:
    """The table of a rate control, which a name stands for too."""
    return RATES[written](kind=written) if isinstance(written, str) else written
