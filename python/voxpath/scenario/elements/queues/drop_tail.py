"""First in, first out."""

from __future__ import annotations

from typing import Literal

from voxpath.scenario.elements.queues.table import QueueTable


class DropTailQueue(QueueTable):
    """First in, first out; what finds no room is dropped. `queue = "100 packets"` says the same."""

    kind: Literal["drop_tail"]
