"""A CoAP client that observes a resource."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from voxpath.scenario.processes.coap import ClientTable, Ends, Readings
from voxpath.scenario.quantities import Several

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voxpath.scenario.problems import Path
    from voxpath.scenario.processes.table import Among


class CoapObserver(ClientTable):
    """A CoAP client that observes a resource (RFC 7641): it is told what it is, and each change."""

    SUMMARIES = (Readings(), Ends())
    METRICS = (
        "coap_readings",
        "coap_age_p50_ns",
        "coap_age_p95_ns",
        "coap_age_max_ns",
        "coap_bodies_bytes",
        "coap_bytes",
        "coap_datagrams",
    )

    kind: Literal["coap_observer"]
    readings: Several | None = Field(
        None,
        description="It leaves after so many, and the run waits for that; it stays without it.",
    )

    @classmethod
    def ends(cls, app: Mapping[str, Any]) -> bool:
        """It leaves if it is to."""
        return app["readings"] is not None

    def planned(self, among: Among, faults: list[tuple[Path, str]]) -> dict[str, Any]:
        """The client as a plan holds it."""
        return {"kind": self.kind, "client": self.client(among, faults), "readings": self.readings}
