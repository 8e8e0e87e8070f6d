"""Links: what happens to packets between two nodes, per direction.

A packet meets, in this order: queue, serialiser, loss, duplication, reordering, delay line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, PlainValidator, Tag, WithJsonSchema, model_validator

from voxpath import _engine
from voxpath.scenario.quantities import PositiveSize, PositiveSpan, Probability, Rate, Span, read_packets
from voxpath.scenario.table import Table, faults


@dataclass(frozen=True)
class QueueRoom:
    """Room for packets that wait for the serialiser; the one in service is not counted.

    Attributes:
        packets: Most packets that wait.
        size: Most bytes of IP packets that wait.
    """

    packets: int | None = None
    size: int | None = None


def _queue(value: object) -> QueueRoom:
    """A text, or a list of two: one in packets and one in bytes."""
    texts = value if isinstance(value, list) else [value]
    room: dict[str, int] = {}
    for text in texts:
        if not isinstance(text, str):
            raise ValueError(
                "must be text with its unit, such as '100 packets' or '64 KiB', or a list of both"
            )
        unit = re.sub(r"^[\s0-9.+-]*", "", text)
        if not unit:
            raise ValueError(
                f"{text!r} has no unit: write packets or bytes, such as '100 packets' or '64 KiB'"
            )
        key = "packets" if unit.startswith("p") else "size"
        if key in room:
            raise ValueError(f"says twice how many {'packets' if key == 'packets' else 'bytes'} wait")
        room[key] = read_packets(text) if key == "packets" else _engine.parse_size(text)
        if room[key] == 0:
            raise ValueError(f"{text!r} is zero: a queue has room for something")
    if not room:
        raise ValueError("is an empty list: write '100 packets', '64 KiB' or both")
    return QueueRoom(**room)


_QUEUE_TEXT = {"type": "string", "examples": ["100 packets", "64 KiB"]}
Queue = Annotated[
    QueueRoom,
    PlainValidator(_queue),
    WithJsonSchema(
        {"anyOf": [_QUEUE_TEXT, {"type": "array", "items": _QUEUE_TEXT, "minItems": 1, "maxItems": 2}]}
    ),
]


class BernoulliLoss(Table):
    """Each packet is lost independently; `loss = "0.3 %"` says the same."""

    kind: Literal["bernoulli"]
    probability: Probability = Field(description="That a packet is lost.")


class BitErrorLoss(Table):
    """Each bit is wrong independently; a packet with a wrong bit is lost."""

    kind: Literal["bit_errors"]
    rate: float = Field(ge=0, le=1, allow_inf_nan=False, description="Bit error rate, such as 1e-5.")
    form: Literal["exact", "linear"] = Field(
        "exact",
        description="exact: 1 - (1 - rate)^(8 L) for a packet of L bytes; linear: min(1, 8 L rate), "
        "the approximation of Sarkar et al. 2022.",
    )


class ListedLoss(Table):
    """Exactly these packets are lost, counted from 1 as they leave the serialiser."""

    kind: Literal["list"]
    packets: tuple[Annotated[int, Field(ge=1, le=2**63)], ...] = Field(
        strict=False, min_length=1, description="Ascending, without repetition."
    )

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        for index in range(1, len(self.packets)):
            if self.packets[index] <= self.packets[index - 1]:
                raise faults(
                    (
                        ("packets", index),
                        f"{self.packets[index]} does not come after {self.packets[index - 1]}",
                    )
                )
        return self


def _loss_kind(value: object) -> str | None:
    if isinstance(value, dict):
        kind = value.get("kind")
        return kind if isinstance(kind, str) else None
    return "text"


Loss = Annotated[
    Annotated[Probability, Tag("text")]
    | Annotated[BernoulliLoss, Tag("bernoulli")]
    | Annotated[BitErrorLoss, Tag("bit_errors")]
    | Annotated[ListedLoss, Tag("list")],
    Discriminator(
        _loss_kind,
        custom_error_type="loss_kind",
        custom_error_message="a table of losses has the kind bernoulli, bit_errors or list",
    ),
]


def planned_loss(loss: Loss | None) -> dict[str, Any]:
    """A model of loss as a plan holds it."""
    match loss:
        case None:
            return {"kind": "none"}
        case BernoulliLoss(probability=p):
            return {"kind": "bernoulli", "p": p}
        case BitErrorLoss(rate=rate, form=form):
            return {"kind": "bit_errors", "rate": float(rate), "form": form}
        case ListedLoss(packets=packets):
            return {"kind": "list", "packets": list(packets)}
        case p:
            return {"kind": "bernoulli", "p": p}


class Reordering(Table):
    """Packets are held back at random, so that later ones overtake them."""

    probability: Probability = Field(description="That a packet is held back.")
    by: PositiveSpan = Field(description="How much longer it takes.")


class LinkValues(Table):
    """What a link does to packets. A key that is left out has no effect."""

    rate: Rate | None = Field(None, description="Of the serialiser; without it packets pass at once.")
    delay: Span | None = Field(None, description="One-way propagation delay.")
    queue: Queue | None = Field(None, description="Room before the serialiser; unlimited without it.")
    framing: Literal["ip", "ethernet"] | None = Field(
        None,
        description="Bytes that the rate counts. ip (default): the IP packet; ethernet: 38 bytes more "
        "(preamble 8, header 14, checksum 4, gap 12).",
    )
    loss: Loss | None = Field(None, description="After the serialiser; a probability or a table.")
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
        if found:
            raise faults(*dict.fromkeys(found))
        return self
