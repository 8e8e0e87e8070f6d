"""Links: what happens to packets between two nodes, per direction.

A packet meets, in this order: middleboxes, queue, serialiser, loss, corruption, duplication, reordering,
delay line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from voxpath.scenario.elements import capacities, delays, losses, queues
from voxpath.scenario.elements.capacities import LinkRate
from voxpath.scenario.elements.capacities.trace import TracedRate
from voxpath.scenario.elements.delays import Delay
from voxpath.scenario.elements.losses import Loss
from voxpath.scenario.elements.middleboxes import Middlebox
from voxpath.scenario.elements.queues import Queue
from voxpath.scenario.planning import plan
from voxpath.scenario.quantities import PositiveSize, PositiveSpan, Probability
from voxpath.scenario.table import From, Keys, Table, faults

if TYPE_CHECKING:
    from voxpath.scenario.problems import Path
    from voxpath.scenario.traces import Traces


class Reordering(Table):
    """Packets are held back at random, so that later ones overtake them."""

    PLAN: ClassVar[Keys] = {"p": "probability"}

    probability: Probability = Field(description="That a packet is held back.")
    by: PositiveSpan = Field(description="How much longer it takes.")


class LinkValues(Table):
    """What a link does to packets. A key that is left out has no effect."""

    PLAN: ClassVar[Keys] = {
        "queue_packets": From("queue", lambda values, _: queues.room(values.queue).packets),
        "queue_bytes": From("queue", lambda values, _: queues.room(values.queue).size),
        "queueing": From("queue", lambda values, _: queues.discipline(values.queue)),
        "rate_bps": From("rate", lambda values, _: capacities.constant(values.rate)),
        "capacity": From("rate", lambda values, _: capacities.varying(values.rate)),
        "framing": From("framing", lambda values, _: values.framing or "ip"),
        "loss": From("loss", lambda values, _: losses.model(values.loss)),
        "corruption": From("corrupt", lambda values, _: losses.model(values.corrupt)),
        "duplicate": From("duplicate", lambda values, _: values.duplicate or 0.0),
        "delay_ns": From("delay", lambda values, files: delays.least(values.delay, files)),
        "delay_variation": From("delay", lambda values, _: delays.variation(values.delay)),
    }

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
    middleboxes: tuple[Middlebox, ...] = Field(
        (),
        strict=False,
        description="What stands on it and changes packets, in front of the queue in both directions; in the "
        "order in which packets that go up meet them.",
    )
    up: LinkValues | None = Field(None, description="Values of this direction alone.")
    down: LinkValues | None = Field(None, description="Values of this direction alone.")

    def direction(self, name: Literal["up", "down"]) -> LinkValues:
        """The values of one direction."""
        own: LinkValues | None = getattr(self, name)
        return (own or LinkValues.model_construct()).over(self)

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
        values: What each direction comes from.
        up: `Direction` in `crates/net/src/link/direction.rs`.
        down: The same.
        problems: What is wrong with files: place in the link, message.
    """

    values: dict[str, LinkValues]
    up: dict[str, Any]
    down: dict[str, Any]
    problems: list[tuple[Path, str]]


def planned(link: Link, traces: Traces) -> Directions:
    """The plan's directions of a link."""
    values = {"up": link.direction("up"), "down": link.direction("down")}
    parts: dict[str, dict[str, Any]] = {}
    problems: dict[tuple[Path, str], None] = {}
    for name, own in (("up", link.up), ("down", link.down)):
        faults: list[tuple[Path, str]] = []
        parts[name] = plan(values[name], traces, faults)
        for place, message in faults:
            inside = own is not None and place[0] in own.model_fields_set
            problems[(name, *place) if inside else place, message] = None
    return Directions(values, parts["up"], parts["down"], list(problems))
