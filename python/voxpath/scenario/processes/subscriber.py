"""MQTT clients that subscribe."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from voxpath.scenario.processes.mqtt import ClientsTable, Deliveries, Layers, Qos, Text, Wire
from voxpath.scenario.quantities import Several


class Subscriber(ClientsTable):
    """MQTT clients that subscribe at a broker, and take what comes."""

    SUMMARIES = (Deliveries(), Layers(), Wire())
    METRICS = (
        "messages_received",
        "messages_again",
        "latency_p50_ns",
        "latency_p95_ns",
        "latency_max_ns",
        "body_bytes",
        "mqtt_bytes",
        "ip_bytes",
    )

    kind: Literal["subscriber"]
    filters: tuple[Text, ...] = Field(
        min_length=1,
        strict=False,
        description="Topic filters with + and #; $share/GROUP/FILTER shares a subscription; {client} stands "
        "for the number of the client.",
    )
    qos: Qos = Field(2, description="The most that is wanted: a message comes at its own QoS, or at this.")
    messages: Several | None = Field(
        None,
        description="A client leaves after so many, and the run waits for that; it stays without it, and "
        "the run waits for what the broker has sent.",
    )

    def own(self) -> dict[str, Any]:
        """What is a subscriber's alone."""
        return {"filters": list(self.filters), "qos": self.qos, "messages": self.messages}
