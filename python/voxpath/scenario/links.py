"""Links: what happens to packets between two nodes, per direction.

A packet meets, in this order: queue, serialiser, loss, corruption, duplication, reordering, delay line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from voxpath.scenario.elements.delays import Delay, planned_delay
from voxpath.scenario.elements.losses import Loss, planned_loss
from voxpath.scenario.elements.queues import Queue, planned_queue
from voxpath.scenario.elements.rates import LinkRate, TracedRate, planned_rate
from voxpath.scenario.elements.traces import TraceError, Traces
from voxpath.scenario.quantities import PositiveSize, PositiveSpan, Probability
from voxpath.scenario.table import Table, faults

if TYPE_CHECKING:
    from collections.abc import Callable

    from voxpath.scenario.problems import Path


class Reordering(Table):
    """Packets are held back at random, so that later ones overtake them."""

    probability: Probability = Field(description="That a packet is held back.")
    by: PositiveSpan = Field(description="How much longer it takes.")


class LinkValues(Table):
    """What a link does to packets. A key that is left out has no effect."""

    rate: LinkRate | None = Field(
        None,
        description="Of the serialiser, without it packets pass at once; or a table of one that varies.",
    )
    delay: Delay | None = Field(
        None, description="One-way propagation delay; a text, or a table of one that varies."
    )
    queue: Queue | None = Field(
        None, description="Room before the serialiser, unlimited without it; or a table of a discipline."
    )
    framing: Literal["ip", "ethernet"] | None = Field(
        None,
        description="Bytes that the rate counts. ip (default): the IP packet; ethernet: 38 bytes more "
        "(preamble 8, header 14, checksum 4, gap 12).",
    )
    loss: Loss | None = Field(None, description="After the serialiser; a probability or a table.")
    corrupt: Loss | None = Field(
        None,
        description="Which packets arrive damaged, so that receivers drop them; as loss.",
    )
    duplicate: Probability | None = Field(None, description="That a packet arrives twice.")
    reorder: Reordering | None = Field(None, description="Random reordering.")

    def over(self, base: LinkValues) -> LinkValues:
        """These values where they are given, else those of `base`."""
        given = {
            name: getattr(self, name) for name in self.model_fields_set if name in LinkValues.model_fields
        }
        kept = {name: getattr(base, name) for name in LinkValues.model_fields}
        return LinkValues.model_construct(**{**kept, **given})


class Link(LinkValues):
    """A link, alike in both directions unless `up` or `down` say otherwise.

    Up is from the client's side to the server's; in an explicit topology from the first of the link's ends
    to the second.
    """

    mtu: Annotated[PositiveSize, Field(ge=68, le=65_535)] | None = Field(
        None,
        description="The largest IP packet that it takes, in both directions; any without it. Larger ones are"
        " refused, and their sender is told. Hosts fit their segments to their own links.",
    )
    up: LinkValues | None = Field(None, description="Values of this direction alone.")
    down: LinkValues | None = Field(None, description="Values of this direction alone.")

    def direction(self, name: Literal["up", "down"]) -> LinkValues:
        """The values of one direction."""
        own: LinkValues | None = getattr(self, name)
        return own.over(self) if own is not None else self

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        found: list[tuple[tuple[str | int, ...], str]] = []
        overridden = self.up.model_fields_set & self.down.model_fields_set if self.up and self.down else set()
        useless = sorted(overridden & self.model_fields_set)
        found.extend(((key,), "has no effect: both up and down give their own") for key in useless)
        for name in ("up", "down"):
            values = self.direction(name)
            if values.rate is None:
                for key in ("queue", "framing"):
                    if getattr(values, key) is not None:
                        own = getattr(self, name)
                        path = (name, key) if own is not None and key in own.model_fields_set else (key,)
                        found.append((path, "has no effect without a rate: packets never wait"))
            if isinstance(values.rate, TracedRate) and values.framing is not None:
                own = getattr(self, name)
                path = (
                    (name, "framing")
                    if own is not None and "framing" in own.model_fields_set
                    else ("framing",)
                )
                found.append((path, "has no effect with a trace, which counts bytes by itself"))
        if found:
            raise faults(*dict.fromkeys(found))
        return self


@dataclass(frozen=True)
class Directions:
    """A link as the plan has it.

    Attributes:
        up: `Direction` in `crates/sim/src/plan.rs`.
        down: The same.
        problems: What is wrong with files: place in the link, message.
    """

    up: dict[str, Any]
    down: dict[str, Any]
    problems: list[tuple[Path, str]]


def planned(link: Link, traces: Traces) -> Directions:
    """The plan's directions of a link."""
    problems: dict[tuple[Path, str], None] = {}
    up, down = (_direction(link, name, traces, problems) for name in ("up", "down"))
    return Directions(up, down, list(problems))


def _direction(
    link: Link, name: Literal["up", "down"], traces: Traces, problems: dict[tuple[Path, str], None]
) -> dict[str, Any]:
    values = link.direction(name)
    own: LinkValues | None = getattr(link, name)

    def tried(key: str, plan: Callable[[Any, Traces], Any], otherwise: Any) -> Any:
        try:
            return plan(getattr(values, key), traces)
        except TraceError as error:
            inside = own is not None and key in own.model_fields_set
            problems[(name, key, "file") if inside else (key, "file"), str(error)] = None
            return otherwise

    room, queueing = planned_queue(values.queue)
    rate, capacity = tried("rate", planned_rate, (None, None))
    delay, variation = tried("delay", planned_delay, (0, None))
    reorder = values.reorder
    return {
        "queue_packets": room.packets,
        "queue_bytes": room.size,
        "queueing": queueing,
        "rate_bps": rate,
        "capacity": capacity,
        "framing": values.framing or "ip",
        "loss": tried("loss", planned_loss, {"kind": "none"}),
        "corruption": tried("corrupt", planned_loss, {"kind": "none"}),
        "duplicate": values.duplicate or 0.0,
        "reorder": None if reorder is None else {"p": reorder.probability, "by_ns": reorder.by},
        "delay_ns": delay,
        "delay_variation": variation,
    }
