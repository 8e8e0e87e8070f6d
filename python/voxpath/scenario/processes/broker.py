"""An MQTT broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from voxpath.scenario.processes.layers import LayersTable
from voxpath.scenario.processes.mqtt import SECOND, Aliases, Brokers, InFlight, Qos, Seconds
from voxpath.scenario.quantities import Count, Port, PositiveSize, Several, Size

if TYPE_CHECKING:
    from voxpath.scenario.problems import Path
    from voxpath.scenario.processes.table import Among

_MOST = 2**32 - 1


class Broker(LayersTable):
    """An MQTT broker, for versions 3.1.1 and 5. Defaults are mosquitto's where it has them."""

    WORKS = True
    CONNECTS = ("server",)
    SUMMARIES = (Brokers(),)
    METRICS = ("messages_in", "messages_out", "messages_dropped", "longest_queue", "most_connections")

    kind: Literal["broker"]
    port: Port = Field(1883, description="Where it waits.")
    connections: Annotated[Several, Field(le=_MOST)] = Field(1_000_000, description="At a time, at most.")
    sessions: Annotated[Several, Field(le=_MOST)] = Field(
        1_000_000, description="Sessions, at most, of clients that are not connected too."
    )
    packet: Annotated[PositiveSize, Field(lt=_MOST)] | None = Field(
        None, description="The largest packet that it takes; any that MQTT knows without it."
    )
    in_flight: InFlight = Field(20, description="Messages of QoS 1 and 2 in flight for each client.")
    queue: Annotated[Count, Field(le=_MOST)] = Field(
        1000, description="Messages that wait for a session, at most."
    )
    queue_size: Size | None = Field(None, description="Bytes of their bodies, at most.")
    full: Literal["drop_new", "drop_old", "disconnect"] = Field(
        "drop_new",
        description="Where a queue is full, a new message is dropped, the one that has waited longest is, or "
        "the client is disconnected.",
    )
    queue_qos0: bool = Field(
        False, description="Whether messages of QoS 0 wait for clients that are not connected."
    )
    retained: Annotated[Count, Field(le=_MOST)] = Field(1_000_000, description="Retained messages, at most.")
    topic_aliases: Aliases = Field(10, description="The highest topic alias, either way; version 5.")
    session_expiry: Seconds | None = Field(
        None, description="How long a session stays after its connection, at most."
    )
    max_qos: Qos = Field(2, description="The highest QoS.")
    persistent: bool = Field(
        False,
        description="Whether sessions, queues and retained messages are there again when the timeline has "
        "stopped and started the broker.",
    )
    users: dict[str, str] = Field(
        default_factory=dict, description="Users and their passwords; anybody is let in without them."
    )

    def planned(self, among: Among, faults: list[tuple[Path, str]]) -> dict[str, Any]:
        """The broker as a plan holds it."""
        if among.passed:
            faults.append(((), "flows go through proxies only"))
        expiry = _MOST if self.session_expiry is None else self.session_expiry // SECOND
        return {
            "kind": self.kind,
            "port": self.port,
            "connections": self.connections,
            "sessions": self.sessions,
            "packet_bytes": _MOST if self.packet is None else self.packet,
            "in_flight": self.in_flight,
            "queue_messages": self.queue,
            "queue_bytes": self.queue_size,
            "full": self.full,
            "queue_qos0": self.queue_qos0,
            "retained_messages": self.retained,
            "topic_aliases": self.topic_aliases,
            "session_expiry_s": expiry,
            "maximum_qos": self.max_qos,
            "persistent": self.persistent,
            "layers": self.layers(among.host, self.port),
            "users": [[user, password] for user, password in self.users.items()],
        }
