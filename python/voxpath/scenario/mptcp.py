"""Multipath TCP's parameters in a scenario: TCP's, for its subflows, and a key for each of its own.

A key that is left out keeps the engine's value (`voxpath-mptcp`'s `Config`).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, WithJsonSchema, model_validator

from voxpath import _engine
from voxpath.scenario.quantities import Name, PositiveSpan, Rate, Span
from voxpath.scenario.table import faults
from voxpath.scenario.tcp import Socket, one_of

if TYPE_CHECKING:
    from collections.abc import Iterable

Scheduler = Annotated[
    str,
    one_of("scheduler", _engine.schedulers()),
    WithJsonSchema({"type": "string", "enum": _engine.schedulers()}),
]
Coupling = Annotated[
    str,
    one_of("coupling", _engine.couplings()),
    WithJsonSchema({"type": "string", "enum": _engine.couplings()}),
]

_PATHS = ("opens", "signal", "limit", "joins", "low_throughput", "retry")
_PLANNED = {"low_throughput": "low_throughput_bps"}
"""Keys that a plan calls otherwise."""
_OWN = (
    "scheduler",
    "coupling",
    "checksum",
    "long_numbers",
    "opportunistic_retransmission",
    "penalisation",
    "close_timeout",
)


class MptcpSocket(Socket):
    """Parameters of one end."""

    scheduler: Scheduler | None = Field(None, description="Which subflow carries what this end sends.")
    coupling: Coupling | None = Field(
        None, description="How the congestion windows of subflows depend on each other; `congestion` without."
    )
    opens: Literal["nothing", "full_mesh", "per_interface", "ports"] | None = Field(
        None,
        description="Subflows beside the first: from each address to each of the other end, to its first "
        "address alone, or between the first two from other ports. The end that answers opens none "
        "without this key.",
    )
    signal: bool | None = Field(None, description="Announce the other addresses of the host (ADD_ADDR).")
    limit: Annotated[int, Field(ge=0, le=255)] | None = Field(
        None, description="The most subflows beside the first that this end opens or accepts."
    )
    joins: Literal["at_once", "on_failure", "on_doubt", "on_low_throughput"] | None = Field(
        None,
        description="When further subflows are opened: as soon as the connection stands; when no subflow is "
        "heard after a timeout; when a client's oracle doubts a subflow, as it retransmits a quarter of its "
        "segments or has a timeout of 1.5 s; or when less than `low_throughput` moved in a second in which "
        "something did.",
    )
    low_throughput: Rate | None = Field(None, description="What is low, in both directions together.")
    retry: Span | None = Field(
        None,
        description="How long after a subflow failed it is tried again, twice as long after each further "
        "failure, seven times; 0 s, as without it, never does.",
    )
    backup: tuple[Name, ...] | None = Field(
        None,
        strict=False,
        description="Links of the host whose subflows are used only if no other is there (B of MP_JOIN).",
    )
    checksum: bool | None = Field(None, description="Require checksums over the data.")
    long_numbers: bool | None = Field(None, description="Data sequence numbers of 64 bits, else of 32.")
    opportunistic_retransmission: bool | None = Field(
        None, description="Retransmit what blocks the receive window on a faster subflow."
    )
    penalisation: bool | None = Field(None, description="Halve the window of the subflow that blocks it.")
    close_timeout: PositiveSpan | None = Field(
        None, description="How long the connection outlives its last subflow."
    )

    @model_validator(mode="after")
    def _effective(self) -> Self:
        if self.low_throughput is not None and self.joins != "on_low_throughput":
            raise faults((("low_throughput",), 'has no effect without joins = "on_low_throughput"'))
        if self.congestion not in {None, "reno"} and self.coupling not in {None, "uncoupled"}:
            raise faults((("congestion",), f'has no effect with coupling = "{self.coupling}"'))
        return self

    def values(self) -> dict[str, Any]:
        """The keys of the subflows' TCP that are given, as a plan holds them."""
        own = {*_PATHS, *_OWN, "backup"}
        return {key: value for key, value in super().values().items() if key not in own}


class Mptcp(MptcpSocket):
    """Multipath TCP; the keys beside `kind` hold for both ends, those of `client` and `server` for one."""

    kind: Literal["mptcp"]
    client: MptcpSocket | None = Field(None, description="Of the end that opens.")
    server: MptcpSocket | None = Field(None, description="Of the end that answers.")

    @model_validator(mode="after")
    def _opening(self) -> Self:
        answers = self.server is not None and self.server.opens in {None, "nothing"}
        client = self.opens if self.client is None or self.client.opens is None else self.client.opens
        for key in ("joins", "retry"):
            if answers and getattr(self.server, key):
                raise faults((("server", key), "has no effect: this end opens no subflows without `opens`"))
            if client == "nothing" and getattr(self, key) and (self.server is None or answers):
                raise faults(((key,), 'has no effect: opens = "nothing"'))
        return self


def config(both: MptcpSocket, own: MptcpSocket | None, *, answers: bool) -> dict[str, Any]:
    """The parameters of an end, as a plan holds them.

    Args:
        both: Of both ends.
        own: Of this one.
        answers: It opens no subflows unless its own keys say so.
    """
    found: dict[str, Any] = json.loads(_engine.mptcp())
    for layer in (both, own):
        if layer is not None:
            found |= {key: value for key in _OWN if (value := getattr(layer, key)) is not None}
            found["paths"] |= {
                _PLANNED.get(key, key): value for key in _PATHS if (value := getattr(layer, key)) is not None
            }
    if answers and (own is None or own.opens is None):
        found["paths"]["opens"] = "nothing"
    return found


def backups(layers: Iterable[MptcpSocket | None]) -> tuple[Name, ...]:
    """The links whose subflows are backups."""
    given = [layer.backup for layer in layers if layer is not None and layer.backup is not None]
    return given[-1] if given else ()
