"""Changes octets of the data."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from voxpath.scenario.elements.middleboxes.table import OneWayTable
from voxpath.scenario.quantities import Several


class AlterData(OneWayTable):
    """Changes an octet of a segment's data, as application gateways do, with a TCP checksum that holds."""

    kind: Literal["alter_data"]
    first: Several = Field(
        1,
        description="Which segment with data is the first that is changed, counted from 1 for each "
        "connection and direction.",
    )
    every: Several | None = Field(
        None, description="After how many segments the next one is; without it that one alone is changed."
    )
