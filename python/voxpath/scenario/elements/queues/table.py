"""What all queues have in common: room for packets, and what a table of a discipline says of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field, PlainValidator, WithJsonSchema

from voxpath import _engine
from voxpath.scenario.quantities import read_packets
from voxpath.scenario.table import Keys, Outside, Table

ECN = "Whether packets are marked, instead of dropped, whose ends understand that (ECN, RFC 3168)."
"""What the key `ecn` means."""


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


class QueueTable(Table):
    """A queue that is more than its room."""

    PLAN: ClassVar[Keys] = {
        "queue_packets": Outside("limit", lambda queue, _: queue.room.packets),
        "queue_bytes": Outside("limit", lambda queue, _: queue.room.size),
    }

    kind: str
    limit: Room | None = Field(None, description="Room before the serialiser; unlimited without it.")

    @property
    def room(self) -> QueueRoom:
        """How much may wait."""
        return self.limit or QueueRoom()
