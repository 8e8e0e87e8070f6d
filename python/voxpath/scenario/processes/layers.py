"""What connections of a process go over: TLS and WebSocket."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from voxpath.scenario.apps.table import default
from voxpath.scenario.processes.table import ProcessTable
from voxpath.scenario.quantities import PositiveSize

CLIENT_HELLO, CLIENT_FINISHED, TICKETS = 517, 80, 510
"""Octets of flights of TLS 1.3, with record headers, as OpenSSL 3.0 sends them."""
SERVER_FLIGHT = 371
"""The same of the server's flight, besides its certificates: X25519, AES-256-GCM, and P-256."""


class LayersTable(ProcessTable):
    """A process whose connections may go over TLS 1.3 and WebSocket; both ends have to say so."""

    CONNECTS: ClassVar[tuple[Literal["client", "server"], ...]] = ("client",)

    tls: bool = Field(
        False,
        description="Whether connections go over TLS 1.3: round trips and sizes of OpenSSL's handshake, and "
        "records; simulated only.",
    )
    certificate: Annotated[PositiveSize, Field(le=16_000)] = default(
        "800 B", "Of TLS, the server's certificates; the broker's counts."
    )
    websocket: bool = Field(
        False, description="Whether connections are WebSockets, over TLS if that is there too."
    )
    path: Annotated[str, Field(pattern=r"^/[!-~]*$", max_length=1000)] = Field(
        "/mqtt", description="Of a WebSocket, where on the broker clients ask for it."
    )

    def layers(self, host: str, port: int) -> dict[str, Any]:
        """The layers as a plan holds them.

        Args:
            host: Of the broker.
            port: The broker's.
        """
        tls = {
            "client_hello_bytes": CLIENT_HELLO,
            "server_flight_bytes": SERVER_FLIGHT + self.certificate,
            "client_finished_bytes": CLIENT_FINISHED,
            "ticket_bytes": TICKETS,
        }
        place = {"host": f"{host}:{port}", "path": self.path}
        return {"tls": tls if self.tls else None, "websocket": place if self.websocket else None}
