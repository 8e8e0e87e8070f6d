"""What links do to one packet: the time it takes, the chance that it is lost."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from voxpath import _engine
from voxpath.backends.formula.problems import NotApplicableError

if TYPE_CHECKING:
    from voxpath.backends.path import Path
    from voxpath.scenario.resolve import Plan

Hop = Mapping[str, Any]
"""One direction of a link, `Direction` in `crates/net/src/link/direction.rs`."""

_LONGEST = 65_535
"""Bytes of the longest IP packet."""

ETHERNET_OVERHEAD = 38
"""Preamble 8, header 14, checksum 4, gap 12; `Framing` in `crates/net/src/element/serialiser.rs`."""


def wire_time(size: int, hop: Hop) -> float:
    """Seconds that an IP packet of `size` bytes occupies a link."""
    if hop["rate_bps"] is None:
        return 0.0
    framing = ETHERNET_OVERHEAD if hop["framing"] == "ethernet" else 0
    return float(8 * (size + framing) / hop["rate_bps"])


def propagation(hops: Iterable[Hop]) -> float:
    """Seconds of propagation."""
    return float(sum(hop["delay_ns"] for hop in hops) / 1e9)


def packet_error_rate(bit_error_rate: float, size: int, form: str = "exact") -> float:
    """Probability that an IP packet of `size` bytes has a wrong bit, by the engine's own rule.

    `exact`: 1 - (1 - BER)^(8 size), bits failing independently. `linear`: min(1, 8 size BER), equation (3)
    of Sarkar et al. 2022; near the exact form only while 8 size BER is far below 1.
    """
    return _engine.packet_error_rate(bit_error_rate, size, form)


def need_no_middlebox(plan: Plan, path: Path) -> None:
    """Raises where a middlebox stands on a path.

    Raises:
        NotApplicableError: One does.
    """
    links = {link for link, _ in (*path.there, *path.back)}
    if any(placed["link"] in links for placed in plan.data.get("middleboxes", ())):
        raise NotApplicableError("a middlebox on the way changes packets: the forms know links alone")


def need_plain(hops: Iterable[Hop]) -> None:
    """Raises where a link does what no form knows: it varies, corrupts packets, or manages its queue.

    Raises:
        NotApplicableError: A link does.
    """
    for hop in hops:
        if hop["capacity"] is not None:
            raise NotApplicableError("the rate of a link varies: the forms need a constant one")
        if hop["delay_variation"] is not None:
            raise NotApplicableError("the delay of a link varies: the forms need a constant one")
        if hop["queueing"]["kind"] != "drop_tail":
            kind = hop["queueing"]["kind"]
            raise NotApplicableError(f"a queue on the way is under {kind}: the forms know drop-tail alone")
        if loses({"loss": hop["corruption"]}):
            raise NotApplicableError("a link corrupts packets: the forms know loss alone")


def loses(hop: Hop) -> bool:
    """Whether a link can lose a packet."""
    return _chance(hop["loss"], _LONGEST) != 0


def loss_probability(size: int, hops: Iterable[Hop], form: str | None = None) -> float:
    """Probability that an IP packet of `size` bytes is lost on some link: 1 - Π (1 - p_i).

    Args:
        size: Bytes.
        hops: The links; each loses independently of the others.
        form: From bit to packet errors; each link's own without it.

    Raises:
        NotApplicableError: A link does not lose packets independently.
    """
    return 1 - math.prod(1 - _hop_loss(size, hop, form) for hop in hops)


def _hop_loss(size: int, hop: Hop, form: str | None) -> float:
    loss = hop["loss"]
    if form is not None and loss["kind"] == "bit_errors":
        loss = {**loss, "form": form}
    chance = _chance(loss, size)
    if isinstance(chance, str):
        raise NotApplicableError(chance)
    return chance


def _chance(loss: Mapping[str, Any], size: int) -> float | str:
    """The chance that the engine knows a packet of `size` bytes to have; else why it has none."""
    return _engine.loss_chance(json.dumps(loss), size)
