"""Links in one line: from texts, as options give them, to the table of a link.

What a text can be for itself, a scenario says just so. Here stands what takes several keys in a scenario:
traces, jitter, bursts, a discipline with its room; and the presets, each with its source.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from voxpath.names import did_you_mean
from voxpath.scenario.quantities import Probability, read_packets

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

BOTH, UP, DOWN = "", "up", "down"
"""Directions of what is given: both alike, and each of its own."""


class LinkError(ValueError):
    """An option that cannot be.

    Attributes:
        option: Its name, with the direction before it.
    """

    def __init__(self, direction: str, option: str, message: str) -> None:
        super().__init__(message)
        self.option = f"{direction}-{option}" if direction else option


@dataclass(frozen=True)
class Preset:
    """A link that somebody published.

    Attributes:
        values: Texts by direction and name of the option.
        source: Whose values these are, and what is ours.
    """

    values: Mapping[str, Mapping[str, str]]
    source: str


PRESETS: Mapping[str, Preset] = {
    "5g": Preset(
        {
            BOTH: {"queue": "1000 packets"},
            UP: {"rate": "50 Mbit/s", "delay": "12 ms", "jitter": "3 ms, 50 %"},
            DOWN: {"rate": "300 Mbit/s", "delay": "8 ms", "jitter": "2 ms, 50 %"},
        },
        "one-way delays between the 7 ms (down, 100 kbit/s) and 18 ms (up, 15 Mbit/s) that Kottkamp 2022 "
        "(Rohde & Schwarz) measured in a public non-standalone network, by GPS at both ends; rates, jitter "
        "and its correlation are our guess, the queue is Linux's default",
    ),
    "dsl": Preset(
        {
            BOTH: {"delay": "25 ms", "queue": "50 packets"},
            UP: {"rate": "384 kbit/s"},
            DOWN: {"rate": "1500 kbit/s"},
        },
        "WebPageTest's connection “DSL (1.5 Mbps/384 Kbps 50ms RTT)”, with the queue of 50 packets that "
        "dummynet has by default",
    ),
    "geo-satellite": Preset(
        {
            BOTH: {"delay": "300 ms", "queue": "1000 packets"},
            UP: {"rate": "2 Mbit/s"},
            DOWN: {"rate": "20 Mbit/s"},
        },
        "rates and the round trip of 600 ms as in the emulated link of Endres et al. 2022, arXiv:2202.08228; "
        "the queue is Linux's default for a device, 1000 packets",
    ),
    "lte": Preset(
        {BOTH: {"rate": "12 Mbit/s", "delay": "35 ms", "queue": "50 packets"}},
        "WebPageTest's connection “LTE (12 Mbps/12 Mbps 70ms RTT)”, with the queue of 50 packets that "
        "dummynet has by default",
    ),
    "wifi-cafe": Preset(
        {
            BOTH: {
                "rate": "30 Mbit/s",
                "delay": "2 ms",
                "jitter": "50 ms, 99 %",
                "loss": "0.2 %",
                "queue": "1000 packets",
            }
        },
        "rate and loss of “WIFI (good)” in the README of tylertreat/comcast; delay and jitter are chosen so "
        "that the round trip is above 20 ms for more than half of the packets and above 100 ms for a tenth, "
        "as over the access points of Pei et al. 2016 (INFOCOM); the correlation is our guess, the queue is "
        "Linux's default",
    ),
}


def base_of(links: Iterable[Mapping[str, Mapping[str, str]]]) -> Path:
    """A directory that all traces are below: a run keeps copies by names that lead nowhere else."""
    files = [
        Path(texts["trace"]).absolute() for given in links for texts in given.values() if "trace" in texts
    ]
    return Path(os.path.commonpath([file.parent for file in files])) if files else Path()


def link(
    given: Mapping[str, Mapping[str, str]], preset: str | None = None, base: Path | None = None
) -> dict[str, Any]:
    """The link that options describe, as a scenario has it.

    Args:
        given: Texts by direction (`BOTH`, `UP`, `DOWN`) and name of the option, as in `voxpath.options.LINK`.
        preset: The name of one, whose values count where no option says otherwise.
        base: Where the names of traces start from; that of this link without it.

    Raises:
        LinkError: An option cannot be; what is one key of a scenario is checked there.
    """
    if preset is not None and preset not in PRESETS:
        raise LinkError(BOTH, "preset", f"{preset!r} is none; {did_you_mean(preset, PRESETS)}")
    published = PRESETS[preset].values if preset is not None else {}
    top = base_of([given]) if base is None else base
    tables: dict[str, dict[str, Any]] = {}
    for direction in (UP, DOWN):
        texts = _merged(
            [published.get(BOTH, {}), published.get(direction, {})],
            [given.get(BOTH, {}), given.get(direction, {})],
            direction,
        )
        tables[direction] = _direction(texts, top)
    up, down = tables[UP], tables[DOWN]
    same = {key: value for key, value in up.items() if key in down and down[key] == value}
    table: dict[str, Any] = dict(same)
    for name, own in ((UP, up), (DOWN, down)):
        if rest := {key: value for key, value in own.items() if key not in same}:
            table[name] = rest
    return table


def option_of(key: str, given: Mapping[str, Mapping[str, str]]) -> str:
    """The option behind a key of the link, without its dashes.

    Args:
        key: Such as `up.delay.deviation`.
        given: The texts that `link` got.
    """
    found = re.match(rf"(?:({UP}|{DOWN})\.)?(\w+)(?:\.(\w+))?", key)
    if found is None:
        raise AssertionError(f"{key!r} is no key of a link")
    direction = found[1] or BOTH
    name = _OPTIONS.get((found[2], found[3] or ""), found[2])
    return f"{direction}-{name}" if name in given.get(direction, {}) and direction else name


_OPTIONS = {
    ("rate", "kind"): "trace",
    ("rate", "file"): "trace",
    ("delay", "deviation"): "jitter",
    ("delay", "correlation"): "jitter",
    ("loss", "to_bad"): "burst",
    ("loss", "to_good"): "burst",
}
"""By the key of the link and the key inside of it, where another option gives that one."""

_CAPACITIES = ("rate", "trace")
"""Two ways to say the same thing: the nearer one counts."""

_Texts = dict[str, tuple[str, str]]
"""Texts by the name of the option, each with the direction for which it was given."""


def _merged(base: Sequence[Mapping[str, str]], given: Sequence[Mapping[str, str]], direction: str) -> _Texts:
    """What counts in a direction: of a preset and of what is given, for both directions and for this one."""
    merged: _Texts = {}
    for level, where in zip((*base, *given), (BOTH, direction, BOTH, direction), strict=True):
        capacities = [name for name in _CAPACITIES if name in level]
        if len(capacities) > 1:
            raise LinkError(
                where, "trace", "says when packets are delivered, and so does --rate: leave out one"
            )
        if capacities:
            merged = {name: text for name, text in merged.items() if name not in _CAPACITIES}
        merged |= {name: (text, where) for name, text in level.items()}
    return merged


def _direction(texts: _Texts, top: Path) -> dict[str, Any]:
    """The keys of one direction."""
    table: dict[str, Any] = {}
    for name, (text, where) in texts.items():
        match name:
            case "trace":
                table["rate"] = {"kind": "trace", "file": str(Path(text).absolute().relative_to(top))}
            case "jitter":
                if "delay" not in texts:
                    raise LinkError(where, "jitter", "varies the delay: give --delay, too")
                deviation, _, correlation = (part.strip() for part in text.partition(","))
                table["delay"] = {"kind": "normal", "mean": texts["delay"][0], "deviation": deviation}
                table["delay"] |= {"correlation": correlation} if correlation else {}
            case "burst":
                if "loss" not in texts:
                    raise LinkError(where, "burst", "is the length of bursts of loss: give --loss, too")
                table["loss"] = _bursts(texts["loss"][0], text, where)
            case "queue":
                table["queue"] = _queue(text)
            case "reorder":
                probability, by, span = text.partition(" by ")
                if not by:
                    raise LinkError(where, "reorder", "write '1 % by 5 ms': how many, and by how much")
                table["reorder"] = {"probability": probability, "by": span}
            case "delay" | "loss":
                table.setdefault(name, text)
            case _:
                table[name] = text
    return table


def _queue(text: str) -> object:
    """A room, a kind, or a kind and its room."""
    found = re.fullmatch(r"\s*([a-z_]+)\s*(?:,(.+))?", text, re.DOTALL)
    if found is None:
        return text
    return {"kind": found[1]} | ({"limit": found[2].strip()} if found[2] else {})


def _bursts(loss: str, burst: str, where: str) -> dict[str, Any]:
    """A chain of Gilbert: all is lost in its bad state, in which it is as often as packets are lost.

    The bad state lasts 1/r packets on average, and is taken p / (p + r) of the time.
    """
    try:
        length = read_packets(burst)
    except ValueError as error:
        raise LinkError(where, "burst", str(error)) from None
    try:
        share = TypeAdapter(Probability).validate_python(loss)
    except ValidationError as error:
        raise LinkError(where, "loss", error.errors()[0]["msg"].removeprefix("Value error, ")) from None
    to_good = 1 / length
    to_bad = share * to_good / (1 - share) if share < 1 else 2.0
    if to_bad > 1:
        raise LinkError(where, "burst", f"bursts of {burst} leave no room between them at a loss of {loss}")
    return {"kind": "gilbert_elliott", "to_bad": f"{100 * to_bad:.9g} %", "to_good": f"{100 * to_good:.9g} %"}
