"""Quantities as a scenario writes them: a text of a number and a unit, held in the smallest unit.

The engine reads them, exactly and without floating point; counts that need a unit of their own (`"100
packets"`) are read here.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from voxpath import _engine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True)
class Unit:
    """The unit in which a plan holds values of a type; it stands behind the names of keys."""

    name: str


_NUMBER = r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?\s*"
MS = 1_000_000
"""Nanoseconds of a millisecond."""
_MOST = 2**32 - 1
"""The largest count that a plan holds."""


def _text(value: object, what: str, example: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        raise ValueError(f"{value} has no unit: write {what} as text with its unit, such as {example!r}")
    raise ValueError(f"must be {what}, written as text with its unit, such as {example!r}")


def _reader(parse: Callable[[str], Any], what: str, example: str) -> BeforeValidator:
    return BeforeValidator(lambda value: parse(_text(value, what, example)))


def _schema(units: str, example: str) -> WithJsonSchema:
    return WithJsonSchema(
        {"type": "string", "pattern": f"^\\s*{_NUMBER}({units})\\s*$", "examples": [example]}
    )


def _above_zero(parse: Callable[[str], int], what: str) -> Callable[[str], int]:
    def read(text: str) -> int:
        value = parse(text)
        if value == 0:
            raise ValueError(f"{text!r} is zero: {what} is above zero here")
        return value

    return read


def _count(unit: str) -> Callable[[str], int]:
    def read(text: str) -> int:
        found = re.fullmatch(rf"\s*(-?[0-9]+)\s*({unit}s?)?\s*", text)
        if found is None:
            raise ValueError(f"{text!r} is not a count of {unit}s: write one such as '100 {unit}s'")
        if found[2] is None:
            raise ValueError(f"{text!r} has no unit: write a count of {unit}s, such as '100 {unit}s'")
        count = int(found[1]) if len(found[1]) < 20 else _MOST + 1
        if count < 1:
            raise ValueError(f"{text!r} is not above zero: a count of {unit}s is 1 at least")
        if count > _MOST:
            raise ValueError(f"{text!r} is too large: a count of {unit}s is at most {_MOST}")
        return count

    return read


read_packets = _count("packet")
"""Packets of a text such as `"100 packets"`, at least one; raises ValueError."""

_SPANS, _SIZES = "ns|us|µs|ms|s|min|h", "B|kB|MB|GB|TB|KiB|MiB|GiB"

Span = Annotated[
    int, _reader(_engine.parse_span, "a duration", "20 ms"), _schema(_SPANS, "20 ms"), Unit("ns")
]
"""Nanoseconds."""

PositiveSpan = Annotated[
    int,
    _reader(_above_zero(_engine.parse_span, "a duration"), "a duration", "20 ms"),
    _schema(_SPANS, "20 ms"),
    Unit("ns"),
]
"""Nanoseconds, at least one."""

Rate = Annotated[
    int,
    _reader(_engine.parse_rate, "a rate", "5 Mbit/s"),
    _schema("[kMGT]?bit/s", "5 Mbit/s"),
    Unit("bps"),
]
"""Bits per second, at least one."""

Size = Annotated[
    int, _reader(_engine.parse_size, "a size", "64 KiB"), _schema(_SIZES, "64 KiB"), Unit("bytes")
]
"""Bytes."""

PositiveSize = Annotated[
    int,
    _reader(_above_zero(_engine.parse_size, "a size"), "a size", "64 KiB"),
    _schema(_SIZES, "64 KiB"),
    Unit("bytes"),
]
"""Bytes, at least one."""

Probability = Annotated[
    float, _reader(_engine.parse_prob, "a probability", "0.3 %"), _schema("%|ppm", "0.3 %")
]
"""Between 0 and 1."""


def _drift(text: str) -> int:
    sign, rest = (-1, text.strip()[1:]) if text.strip().startswith("-") else (1, text)
    ppb = round(_engine.parse_prob(rest) * 1e9)
    if ppb > _MOST_DRIFT:
        raise ValueError(f"{text!r} is too much: a clock gains or loses 1 % at most")
    return sign * ppb


_MOST_DRIFT = 10_000_000

Drift = Annotated[
    int,
    _reader(_drift, "what a clock gains", "100 ppm"),
    WithJsonSchema({"type": "string", "pattern": f"^\\s*-?{_NUMBER}(%|ppm)\\s*$", "examples": ["100 ppm"]}),
    Unit("ppb"),
]
"""What a clock gains, or loses where it is below zero, in parts in a thousand million."""

Packets = Annotated[
    int,
    _reader(read_packets, "a count of packets", "100 packets"),
    _schema("packets?", "100 packets"),
    Unit("packets"),
]
"""Packets, at least one."""

Number = Annotated[float, Field(allow_inf_nan=False)]
"""A number without a unit."""

Count = Annotated[int, Field(ge=0, le=_MOST)]
"""How many of something there are."""

Several = Annotated[int, Field(ge=1, le=_MOST)]
"""How many of something there are, at least one."""

Index = Annotated[int, Field(ge=0, le=2**63 - 1)]
"""Which one of something."""

Segments = Annotated[
    int,
    _reader(_count("segment"), "a count of segments", "10 segments"),
    _schema("segments?", "10 segments"),
]
"""TCP segments, at least one."""

_KINDS: tuple[Callable[[str], float], ...] = (
    _engine.parse_span,
    _engine.parse_rate,
    _engine.parse_size,
    _engine.parse_prob,
    read_packets,
    _count("segment"),
)


def in_one_unit(texts: Sequence[str]) -> tuple[list[float], str] | None:
    """Quantities as numbers of the unit that the largest is written in; none if they are not of one kind."""
    for read in _KINDS:
        try:
            values = [read(text) for text in texts]
            largest = texts[max(range(len(texts)), key=values.__getitem__)]
            unit = re.sub(rf"^\s*{_NUMBER}", "", largest).strip()
            return [float(f"{value / read(f'1 {unit}'):.12g}") for value in values], unit
        except ValueError:
            continue
    return None


def _address(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("must be an IPv4 or IPv6 address, written as text, such as '10.0.0.1'")
    if "%" in value:
        raise ValueError(f"{value!r} has a zone: interfaces of this machine are no part of a scenario")
    try:
        return str(ipaddress.ip_address(value))
    except ValueError:
        raise ValueError(f"{value!r} is not an IPv4 or IPv6 address") from None


Address = Annotated[
    str, BeforeValidator(_address), WithJsonSchema({"type": "string", "examples": ["10.0.0.1"]})
]
"""An IPv4 or IPv6 address in its canonical form."""

Port = Annotated[int, Field(ge=1, le=65_535)]

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
"""The name of a host, link or flow; it also names files and random streams."""
