"""The queue before a serialiser: how much waits, and what is decided about it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, PlainValidator, Tag, WithJsonSchema, model_validator

from voxpath import _engine
from voxpath.scenario.elements.kinds import BY_KIND, TEXT, Planned
from voxpath.scenario.quantities import Packets, PositiveSize, PositiveSpan, Probability, Span, read_packets
from voxpath.scenario.table import From, Keys, Outside, Table, faults

_MS = 1_000_000


@dataclass(frozen=True)
class QueueRoom:
    """Room for packets that wait for the serialiser; the one in service is not counted.

    Attributes:
        packets: Most packets that wait.
        size: Most bytes of IP packets that wait.
    """

    packets: int | None = None
    size: int | None = None


def _room(value: object) -> QueueRoom:
    """A text, or a list of two: one in packets and one in bytes."""
    texts = value if isinstance(value, list) else [value]
    room: dict[str, int] = {}
    for text in texts:
        if not isinstance(text, str):
            raise ValueError(
                "must be text with its unit, such as '100 packets' or '64 KiB', a list of both, or a table"
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


_ROOM_TEXT = {"type": "string", "examples": ["100 packets", "64 KiB"]}
Room = Annotated[
    QueueRoom,
    PlainValidator(_room),
    WithJsonSchema(
        {"anyOf": [_ROOM_TEXT, {"type": "array", "items": _ROOM_TEXT, "minItems": 1, "maxItems": 2}]}
    ),
]


class Discipline(Table):
    """A queue that is more than its room."""

    PLAN: ClassVar[Keys] = {
        "queue_packets": Outside("limit", lambda queue, _: queue.room.packets),
        "queue_bytes": Outside("limit", lambda queue, _: queue.room.size),
    }

    limit: Room | None = Field(None, description="Room before the serialiser; unlimited without it.")

    @property
    def room(self) -> QueueRoom:
        """How much may wait."""
        return self.limit or QueueRoom()


_ECN = "Whether packets are marked, instead of dropped, whose ends understand that (ECN, RFC 3168)."


class DropTailQueue(Discipline):
    """First in, first out; what finds no room is dropped. `queue = "100 packets"` says the same."""

    kind: Literal["drop_tail"]


class RedQueue(Discipline):
    """Random early detection (Floyd and Jacobson 1993), by the average of waiting packets."""

    PLAN: ClassVar[Keys] = {
        "min_packets": From("min", lambda red, _: float(red.min)),
        "max_packets": From("max", lambda red, _: float(red.max)),
    }

    kind: Literal["red"]
    min: Packets = Field(description="The average from which packets are dropped (min_th).")
    max: Packets = Field(description="The average at which that has the probability max_p (max_th).")
    max_p: Probability = Field(0.1, description="That probability; '10 %' without it.")
    weight: float = Field(
        0.002, gt=0, le=1, description="Of the queue that a packet finds in the average (w_q)."
    )
    gentle: bool = Field(
        True, description="Whether the probability rises to one between max and twice that, or jumps at max."
    )
    mean_packet: PositiveSize = Field(
        500, description="By which the average of an idle link fades; 500 B without it."
    )
    ecn: bool = Field(True, description=_ECN)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.max <= self.min:
            raise faults((("max",), f"{self.max} packets are not above min, {self.min} packets"))
        return self


class CodelQueue(Discipline):
    """Controlled delay (RFC 8289): drops as packets leave, if all of an interval's have waited too long."""

    kind: Literal["codel"]
    target: Span = Field(5 * _MS, description="The wait that may stand; '5 ms' without it.")
    interval: PositiveSpan = Field(
        100 * _MS, description="How long it may be longer, about a round-trip time; '100 ms' without it."
    )
    ecn: bool = Field(True, description=_ECN)


class FqCodelQueue(Discipline):
    """Flow queue CoDel (RFC 8290): a queue for each hash of a flow, in turns, each under CoDel."""

    kind: Literal["fq_codel"]
    limit: Room = Field(
        QueueRoom(packets=10_240),
        json_schema_extra={"default": "10240 packets"},
        description="Room for all queues together; beyond it the longest loses its first packets.",
    )
    target: Span = Field(5 * _MS, description="The wait that may stand; '5 ms' without it.")
    interval: PositiveSpan = Field(
        100 * _MS, description="How long it may be longer, about a round-trip time; '100 ms' without it."
    )
    queues: Annotated[int, Field(ge=1, le=2**20)] = Field(1024, description="Among which flows are spread.")
    quantum: Annotated[PositiveSize, Field(ge=64)] = Field(
        1514, description="Bytes of a queue's turn; 1514 B without it."
    )
    ecn: bool = Field(True, description=_ECN)


def _not_too_short(update: int) -> int:
    if update < 1_000:
        raise ValueError("is too short: updates are 1 us apart at least")
    return update


class PieQueue(Discipline):
    """PIE (RFC 8033): drops as packets come, with a probability that a controller moves."""

    kind: Literal["pie"]
    target: PositiveSpan = Field(15 * _MS, description="The wait that is to be; '15 ms' without it.")
    update: Annotated[PositiveSpan, AfterValidator(_not_too_short)] = Field(
        15 * _MS, description="From one update of the probability to the next; '15 ms' without it."
    )
    max_burst: Span = Field(150 * _MS, description="The longest burst that passes; '150 ms' without it.")
    alpha: float = Field(
        0.125,
        ge=0,
        allow_inf_nan=False,
        description="Change of the probability for each second by which the wait misses its target.",
    )
    beta: float = Field(
        1.25,
        ge=0,
        allow_inf_nan=False,
        description="Change of the probability for each second by which the wait has grown.",
    )
    ecn: bool = Field(True, description=_ECN)


QueueTable = DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | PieQueue

Queue = Annotated[
    Annotated[Room, Tag(TEXT)]
    | Annotated[DropTailQueue, Tag("drop_tail")]
    | Annotated[RedQueue, Tag("red")]
    | Annotated[CodelQueue, Tag("codel")]
    | Annotated[FqCodelQueue, Tag("fq_codel")]
    | Annotated[PieQueue, Tag("pie")],
    BY_KIND,
]


def room(queue: QueueRoom | QueueTable | None) -> QueueRoom:
    """How much may wait."""
    return queue.room if isinstance(queue, Discipline) else queue or QueueRoom()


def discipline(queue: QueueRoom | QueueTable | None) -> Planned | QueueTable:
    """What a plan holds of a queue, but for its room."""
    return queue if isinstance(queue, Discipline) else {"kind": "drop_tail"}
