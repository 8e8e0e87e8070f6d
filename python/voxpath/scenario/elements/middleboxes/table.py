"""What all middleboxes have in common: which packets they look at."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, PlainValidator, WithJsonSchema

from voxpath.scenario.table import Keys, Outside, Table

if TYPE_CHECKING:
    from voxpath.scenario.elements.kinds import Planned

_MOST = 65_535

_RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")


def _ports(value: object) -> tuple[int, int]:
    """A port, or a range of them as a text."""
    # A boolean is an integer, but no port.
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    found = _RANGE.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise ValueError(f"{value!r} is no port: write 80, or '5201-5300' for a range")
    first = int(found[1])
    last = int(found[2] or first)
    if not 1 <= first <= last <= _MOST:
        raise ValueError(f"{value!r} is no range of ports from 1 to {_MOST}")
    return first, last


Ports = Annotated[
    tuple[int, int],
    PlainValidator(_ports),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": _MOST},
                {"type": "string", "pattern": "^[0-9]{1,6}(-[0-9]{1,6})?$", "examples": ["5201-5300"]},
            ]
        }
    ),
]
"""A port, or a range of ports with both ends."""

KINDS_OF_OPTIONS = {
    "mss": 2,
    "window_scale": 3,
    "sack_permitted": 4,
    "sack": 5,
    "timestamps": 8,
    "md5": 19,
    "mptcp": 30,
    "fast_open": 34,
}
"""TCP options that have a name here (IANA, TCP parameters)."""


def _option(value: object) -> int:
    if isinstance(value, str) and value in KINDS_OF_OPTIONS:
        return KINDS_OF_OPTIONS[value]
    if isinstance(value, int) and not isinstance(value, bool) and 2 <= value <= 255:
        return value
    raise ValueError(
        f"{value!r} is no TCP option: write its kind, 2 to 255, or one of {', '.join(KINDS_OF_OPTIONS)}"
    )


OptionKind = Annotated[
    int,
    PlainValidator(_option),
    WithJsonSchema(
        {"anyOf": [{"enum": list(KINDS_OF_OPTIONS)}, {"type": "integer", "minimum": 2, "maximum": 255}]}
    ),
]
"""A TCP option, by its name or the number of its kind."""


def _which(box: Any) -> Planned:
    way = {None: None, "up": "ab", "down": "ba"}[getattr(box, "way", None)]
    return {"ports": [list(ports) for ports in box.ports], "way": way}


class MiddleboxTable(Table):
    """A middlebox, which looks at packets of both directions."""

    PLAN: ClassVar[Keys] = {"which": Outside("ports", lambda box, _: _which(box))}

    kind: str
    ports: tuple[Ports, ...] = Field(
        (),
        strict=False,
        description="Looks at packets alone that have one of these as source or destination port: 80, or "
        "'5201-5300'; at all without it.",
    )


class OneWayTable(MiddleboxTable):
    """A middlebox that may look at one direction alone."""

    PLAN: ClassVar[Keys] = {"which": Outside("ports", lambda box, _: _which(box), also=("way",))}

    way: Literal["up", "down"] | None = Field(
        None, description="Looks at packets of this direction alone; at both without it."
    )
