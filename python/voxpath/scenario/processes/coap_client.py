"""A CoAP client that puts bodies or asks for a resource."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator

from voxpath.scenario.apps.table import default
from voxpath.scenario.processes.coap import ClientTable, Ends, Exchanges, Readings
from voxpath.scenario.quantities import Several, Size, Span
from voxpath.scenario.table import faults as failed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from voxpath.scenario.problems import Path
    from voxpath.scenario.processes.table import Among


class CoapClient(ClientTable):
    """A CoAP client (RFC 7252) that puts bodies or asks for a resource, at a rate or one after the other."""

    SUMMARIES = (Exchanges(), Readings(), Ends())
    METRICS = (
        "coap_messages",
        "coap_undelivered",
        "coap_delivery_p50_ns",
        "coap_delivery_p95_ns",
        "coap_age_p50_ns",
        "coap_retransmissions",
        "coap_bodies_bytes",
        "coap_bytes",
        "coap_datagrams",
    )

    kind: Literal["coap_client"]
    method: Literal["put", "get"] = Field(
        "put", description="Whether it puts bodies, or asks for the resource."
    )
    size: Annotated[Size, Field(le=16 * 2**20)] = default("100 B", "Body of each message that is put.")
    interval: Span = default(
        "1 s", "From one message to the next one; 0 s is as soon as the one before has ended."
    )
    messages: Several = Field(1, description="How many.")
    confirmable: bool = Field(
        True, description="Whether requests are acknowledged and sent again, or sent once and forgotten."
    )

    @model_validator(mode="after")
    def _size_of_what_is_put(self) -> Self:
        if self.method == "get" and "size" in self.model_fields_set:
            raise failed((("size",), "has no effect: what is asked for is as large as the server has it"))
        return self

    @classmethod
    def ends(cls, app: Mapping[str, Any]) -> bool:  # noqa: ARG003
        """It makes all its requests."""
        return True

    def planned(self, among: Among, faults: list[tuple[Path, str]]) -> dict[str, Any]:
        """The client as a plan holds it."""
        asks = {"method": "put", "bytes": self.size} if self.method == "put" else {"method": "get"}
        return {
            "kind": self.kind,
            "client": self.client(among, faults, confirmable=self.confirmable),
            "asks": asks,
            "interval_ns": self.interval,
            "messages": self.messages,
        }
