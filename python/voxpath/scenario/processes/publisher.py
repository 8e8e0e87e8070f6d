"""MQTT clients that publish."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from voxpath.scenario.apps.table import default
from voxpath.scenario.processes.mqtt import (
    SECOND,
    ClientsTable,
    Layers,
    Publications,
    Qos,
    Seconds,
    Text,
    Wire,
)
from voxpath.scenario.quantities import Several, Size, Span
from voxpath.sealing import overhead

if TYPE_CHECKING:
    from voxpath.scenario.problems import Path
    from voxpath.scenario.processes.table import Among

_Body = Annotated[Size, Field(le=268_000_000)]


class Publisher(ClientsTable):
    """MQTT clients that publish messages to a broker, at a rate or one after the other."""

    SUMMARIES = (Publications(), Layers(), Wire())
    METRICS = (
        "messages_published",
        "messages_undelivered",
        "messages_duplicated",
        "delivery_p50_ns",
        "delivery_p95_ns",
        "body_bytes",
        "mqtt_bytes",
        "ip_bytes",
    )

    kind: Literal["publisher"]
    topic: Text = Field(description="Topic; {client} stands for the number of the client.")
    size: _Body | Annotated[tuple[_Body, ...], Field(strict=False, min_length=1)] = default(
        "100 B", "Body of each message; or a list, of which messages take one after the other, over and over."
    )
    sealed: bool = Field(
        False,
        description="Whether bodies travel as sealed objects of `voxpath.sealed`, whose publisher has the "
        "process's name: what sealing adds is added to each `size`.",
    )
    interval: Span = default(
        "1 s",
        "From one message of a client to its next one; 0 s is as soon as the one before was sent, and "
        "acknowledged at QoS 1 and 2.",
    )
    messages: Several | None = Field(
        None, description="How many a client publishes before it leaves; until the run ends without it."
    )
    qos: Qos = Field(0, description="0 at most once, 1 at least once, 2 exactly once.")
    retain: bool = Field(False, description="Whether the broker keeps the last message of each topic.")
    expiry: Seconds | None = Field(
        None, description="After which a message that waits is of no use; version 5."
    )

    def planned(self, among: Among, faults: list[tuple[Path, str]]) -> dict[str, Any]:
        """The publisher as a plan holds it."""
        plan = super().planned(among, faults)
        if self.sealed:
            plan["sizes"] = [size + overhead(among.name) for size in plan["sizes"]]
        return plan

    def own(self) -> dict[str, Any]:
        """What is a publisher's alone."""
        expiry = None if self.expiry is None else self.expiry // SECOND
        return {
            "topic": self.topic,
            "sizes": list(self.size) if isinstance(self.size, tuple) else [self.size],
            "interval_ns": self.interval,
            "messages": self.messages,
            "qos": self.qos,
            "retain": self.retain,
            "expiry_s": expiry,
        }
